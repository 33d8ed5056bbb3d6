"""Environments. Importing this package registers our tasks with mjlab.

mjlab imports it by itself through the entry-point group ``mjlab.tasks``, so its own
``train``, ``play`` and ``list-envs`` know our tasks too.
"""

from solo import mjlab_hooks

mjlab_hooks.install()
