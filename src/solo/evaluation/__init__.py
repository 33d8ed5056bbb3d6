"""Evaluation: protocols as data, one rollout loop, metrics as pure functions.

`protocols` says what is run, `rollout` runs it, `metrics` makes numbers of the outcomes
and `results` keeps them on disk. `sim_env` and `policies` connect the loop to the
simulation and to checkpoints.
"""
