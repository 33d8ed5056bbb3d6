"""Terms of our tasks; what mjlab has already is taken from mjlab."""

from solo.envs.mdp.assist import ASSIST, fade_assist, upright_assist
from solo.envs.mdp.blurred_velocity import blurred_velocity
from solo.envs.mdp.curriculums import level_histogram, terrain_levels
from solo.envs.mdp.depth import depth_images
from solo.envs.mdp.ease_in import ease_in
from solo.envs.mdp.events import (
    body_mass_offset,
    contact_material,
    reset_joints_by_scale,
)
from solo.envs.mdp.metrics import foot_lift, single_stance, velocity_error
from solo.envs.mdp.observations import feet_contact, foot_scan, height_map
from solo.envs.mdp.reference_state import reset_to_reference
from solo.envs.mdp.rewards import (
    ang_vel_xy_l2,
    dof_pos_limits,
    energy,
    feet_air_time,
    feet_force,
    feet_slide,
    feet_stumble,
    fly,
    foothold_grad_penalty,
    joint_deviation,
    lin_vel_z_l2,
    orientation_l2,
    progress,
    stride,
    swing_lift,
    termination_penalty,
    track_ang_vel_z_exp,
    track_lin_vel_xy_exp,
    undesired_contacts,
)
from solo.envs.mdp.rows import RowCommandCfg, start_on_row
from solo.envs.mdp.soft_voids import SoftVoidsCfg
from solo.envs.mdp.terminations import (
    body_contact,
    collapsed,
    left_patch,
    left_terrain,
    physics_diverged,
)
from solo.envs.mdp.voids import (
    LANDING_COST,
    find_soft_voids,
    foot_in_hole,
    landing_cost,
    soft_levels,
    void_landings,
    void_under_feet,
)

__all__ = [
    "ASSIST",
    "LANDING_COST",
    "RowCommandCfg",
    "SoftVoidsCfg",
    "ang_vel_xy_l2",
    "blurred_velocity",
    "body_contact",
    "body_mass_offset",
    "collapsed",
    "contact_material",
    "depth_images",
    "dof_pos_limits",
    "ease_in",
    "energy",
    "fade_assist",
    "feet_air_time",
    "feet_contact",
    "feet_force",
    "feet_slide",
    "feet_stumble",
    "find_soft_voids",
    "fly",
    "foot_in_hole",
    "foot_lift",
    "foot_scan",
    "foothold_grad_penalty",
    "height_map",
    "joint_deviation",
    "landing_cost",
    "left_patch",
    "left_terrain",
    "level_histogram",
    "lin_vel_z_l2",
    "orientation_l2",
    "physics_diverged",
    "progress",
    "reset_joints_by_scale",
    "reset_to_reference",
    "single_stance",
    "soft_levels",
    "start_on_row",
    "stride",
    "swing_lift",
    "termination_penalty",
    "terrain_levels",
    "track_ang_vel_z_exp",
    "track_lin_vel_xy_exp",
    "undesired_contacts",
    "upright_assist",
    "velocity_error",
    "void_landings",
    "void_under_feet",
]
