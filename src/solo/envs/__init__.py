"""Environments. Importing this package registers our tasks with mjlab.

mjlab imports it by itself through the entry-point group ``mjlab.tasks``, so its own
``train``, ``play`` and ``list-envs`` know our tasks too.

mjlab does so while it is being imported. Packages of ours that use mjlab therefore
import it before anything else (this one, ``solo.robots``, ``solo.sim``,
``solo.motions`` and ``solo.tasks``): whichever is asked for first, none is found half
loaded. For the same reason modules that are reached from here import from each other's
modules, not from the packages' shortcuts.
"""

import mjlab  # noqa: F401 - Must be first, see above.

from solo.envs import make

make.install_hooks()

from solo import mjlab_tasks  # noqa: E402, F401 - Registers; it needs what is above.
