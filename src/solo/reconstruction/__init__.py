"""Reconstructors: height map and base velocity from depth and proprioception.

- `networks`: the Query Reconstructor, START and DPL, and their variants.
- `data`: recording what robots see, and network inputs from it.
- `update`: the loss, the optimiser and one update, the same offline and online.
- `offline`: one training on recorded data, and the file that keeps it.
- `online`: learning from a policy's rollouts in stage 3.
- `perceiver`: estimates, step by step, in front of a policy.
- `metrics`, `comparison`: several reconstructors on held-out terrain.
"""
