"""Recorded depth, proprioception and true terrain to train reconstructors on.

A trained teacher moves robots, the `recorder` writes what their cameras saw as
`shards`, and `windows` makes network inputs of them.
"""
