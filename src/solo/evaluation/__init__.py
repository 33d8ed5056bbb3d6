"""Evaluation: protocols as data, one rollout loop, metrics as pure functions.

`protocols` says what is run, `rollout` runs it and `metrics` makes numbers of the
outcomes; `evaluate` goes through a protocol's jobs and keeps them on disk. `sim_env`
and `policies` connect the loop to the simulation and to checkpoints. `comparisons` puts
several evaluations together.
"""
