"""Recorded depth, proprioception and true terrain to train reconstructors on.

A sampler moves robots (`policy_sampler`: a trained teacher; `scripted`), the `recorder`
writes what their cameras saw as `shards`, and `windows` makes network inputs of them.
"""
