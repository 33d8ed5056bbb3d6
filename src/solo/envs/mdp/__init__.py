"""Terms of our tasks; what mjlab has already is taken from mjlab."""

from solo.envs.mdp.curriculums import terrain_levels
from solo.envs.mdp.observations import height_map
from solo.envs.mdp.terminations import left_terrain, physics_diverged

__all__ = ["height_map", "left_terrain", "physics_diverged", "terrain_levels"]
