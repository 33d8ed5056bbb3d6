"""Terms of our tasks; what mjlab has already is taken from mjlab."""

from solo.envs.mdp.curriculums import *  # noqa: F403
from solo.envs.mdp.depth import *  # noqa: F403
from solo.envs.mdp.events import *  # noqa: F403
from solo.envs.mdp.observations import *  # noqa: F403
from solo.envs.mdp.rewards import *  # noqa: F403
from solo.envs.mdp.rows import *  # noqa: F403
from solo.envs.mdp.soft_voids import *  # noqa: F403
from solo.envs.mdp.terminations import *  # noqa: F403
from solo.envs.mdp.voids import *  # noqa: F403
