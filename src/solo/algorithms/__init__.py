"""Learning algorithms on top of rsl_rl: PPO with AMP, and TA-MSE distillation."""
