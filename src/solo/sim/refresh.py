"""What to recompute after a control step: motion, not forces.

mjlab calls ``forward`` once per control step, because after ``mj_step`` everything that
follows from the state is one physics step behind it. Of an environment that was not
written to since, poses and velocities are computed anew and so are the sensors that
read them. Forces and accelerations (``qacc``, ``actuator_force``, contact sensors) stay
those of the last physics step, which is what rewards and terminations saw; computing
them again would cost as much as a physics step, a sixth of the time of a control step.
Environments that were reset, pushed or otherwise moved get a full ``mj_forward``.
"""

from __future__ import annotations

import mujoco

from solo.sim.kernels import RECOMPUTED, STALE, UPDATED

_MOTION_FIELDS = frozenset(
    (
        "xpos",
        "xquat",
        "xmat",
        "xipos",
        "ximat",
        "xanchor",
        "xaxis",
        "geom_xpos",
        "geom_xmat",
        "site_xpos",
        "site_xmat",
        "cam_xpos",
        "cam_xmat",
        "light_xpos",
        "light_xdir",
        "subtree_com",
        "cdof",
        "cinert",
        "cvel",
        "cdof_dot",
    )
)

_Sensor = mujoco.mjtSensor
_MOTION_SENSORS = frozenset(
    int(kind)
    for kind in (
        _Sensor.mjSENS_VELOCIMETER,
        _Sensor.mjSENS_GYRO,
        _Sensor.mjSENS_JOINTPOS,
        _Sensor.mjSENS_JOINTVEL,
        _Sensor.mjSENS_FRAMEPOS,
        _Sensor.mjSENS_FRAMEQUAT,
        _Sensor.mjSENS_FRAMEXAXIS,
        _Sensor.mjSENS_FRAMEYAXIS,
        _Sensor.mjSENS_FRAMEZAXIS,
        _Sensor.mjSENS_FRAMELINVEL,
        _Sensor.mjSENS_FRAMEANGVEL,
        _Sensor.mjSENS_SUBTREECOM,
        _Sensor.mjSENS_SUBTREELINVEL,
        _Sensor.mjSENS_SUBTREEANGMOM,
    )
)
"""Sensors of positions and velocities that need nothing but the motion of bodies."""

_MOTION = ("mj_kinematics", "mj_comPos", "mj_camlight", "mj_comVel")
# mj_subtreeVel: MuJoCo would call it only if it had not been for this state, which it
# cannot know when states are exchanged.
_SENSORS = ("mj_subtreeVel", "mj_sensorPos", "mj_sensorVel")


def refresh_level(field: str) -> int:
    """What a refresh does to a field of ``mjData``."""
    if field == "sensordata":
        return UPDATED
    return RECOMPUTED if field in _MOTION_FIELDS else STALE


def refresh_functions(model: mujoco.MjModel, has_sensors: bool) -> tuple[str, ...]:
    """The functions of a refresh; none if the model has sensors that need more.

    Args:
        model: The model.
        has_sensors: Whether anybody reads sensor data.
    """
    if not has_sensors:
        return _MOTION
    of_forces = model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC
    if all(int(kind) in _MOTION_SENSORS for kind in model.sensor_type[~of_forces]):
        return _MOTION + _SENSORS
    return ()
