"""Load a policy and step it in your own loop, with numpy and onnxruntime alone.

Replace `read_robot` and `read_camera` by your own. Here the robot stands still in its
default pose on flat ground, so the reconstructed map should be flat as well.

    python examples/01_step_a_policy.py [BUNDLE]
"""

import sys
from pathlib import Path

import numpy as np

import solo
from solo.deploy.camera import DepthProcessor
from solo.deploy.contract import Contract
from solo.deploy.drivers.protocols import DepthFrame, RobotState
from solo.deploy.observation import Observer

CAMERA_HEIGHT_M = 1.04
"""Of the G1's chest camera in the default pose."""


def read_robot(contract: Contract, time_s: float) -> RobotState:
    """Upright and at rest."""
    pose, upright = contract.joints.default_pos, np.array([1.0, 0.0, 0.0, 0.0])
    return RobotState(time_s, pose, np.zeros_like(pose), upright, np.zeros(3))


def read_camera(contract: Contract, pitch_down_deg: float) -> np.ndarray:
    """Depth of flat ground along the optical axis, millimetres, [480, 640] uint16."""
    cfg, pitch = contract.depth, np.deg2rad(pitch_down_deg)
    down = (np.arange(cfg.height) + 0.5 - cfg.cy) / cfg.fy  # Per metre of depth.
    slope = np.maximum(np.sin(pitch) + down * np.cos(pitch), 0.05)
    rows_mm = 1e3 * CAMERA_HEIGHT_M / slope
    return np.repeat(rows_mm[:, None], cfg.width, axis=1).astype(np.uint16)


def main() -> None:
    path = Path(sys.argv[1]) if sys.argv[1:] else solo.shipped_bundle()
    assert path is not None, "This checkout has no policy."
    bundle = solo.load_bundle(path)
    contract, policy = bundle.contract, bundle.policy
    joints, pitch = contract.joints, bundle.metadata["depth"]["mount"]["pitch_down_deg"]
    observer, processor = Observer(contract), DepthProcessor(contract.depth)
    command, action = np.array([0.5, 0.0, 0.0]), np.zeros(len(joints.names))

    policy.reset()
    for step in range(50):  # One second at 50 Hz.
        state = read_robot(contract, step * contract.period_s)
        frame = DepthFrame(state.time_s, read_camera(contract, pitch))
        seen = observer.observe(state, processor(frame), command, action)
        action = policy.step(seen)
        targets = joints.targets(action)  # Send these to the motors, rad.
        assert policy.view is not None
        if step % 10 == 9:
            ground = policy.view.height_map
            print(
                f"step {step + 1}: {joints.names[3]} to {targets[3]:+.2f} rad, ground "
                f"{ground.mean():+.2f} ± {ground.std():.2f} m from the base"
            )
    unused = {"torch", "mujoco", "mjlab", "warp"} - set(sys.modules)
    print(f"not loaded: {', '.join(sorted(unused))}")


if __name__ == "__main__":
    main()
