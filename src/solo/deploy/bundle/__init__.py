"""Policy bundles: one file with the policy and everything a robot has to know about it.

`solo export` writes them; `load.load_bundle` reads them, refuses what does not fit and
does the golden sequence again. Needs numpy and onnxruntime.
"""
