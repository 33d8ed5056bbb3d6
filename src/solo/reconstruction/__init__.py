"""The offline comparison of reconstructors: data, metrics, training, evaluation.

A sampler moves robots over terrain (`scripted`, `policy_sampler`), the `recorder`
writes what their cameras saw as `shards`, `windows` makes network inputs of them,
`training` fits one reconstructor and `comparison` measures several on held-out terrain.
"""
