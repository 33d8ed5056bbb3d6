"""Evidence: what the newest image measured falls onto the right cells."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import pytest
import torch

from solo.reconstruction.networks.evidence import CellEvidence, EvidenceCfg
from solo.reconstruction.networks.interface import IO_PROFILES, ReconstructionIoCfg
from solo.robots import get_robot
from solo.robots.view import camera_pose_w, cells_in_view, standing_pose
from solo.sensors.depth.camera import _pack_intrinsics

ROBOT = get_robot("g1")
LEVEL = (0.0, 0.0, -1.0)


def evidence_of(io: ReconstructionIoCfg) -> CellEvidence:
    return CellEvidence(EvidenceCfg(), io)


def felt(gravity=LEVEL, waist=(0.0, 0.0, 0.0)) -> torch.Tensor:
    """A window of proprioception of a robot that keeps still, [1, 10, 84]."""
    frames = torch.zeros(1, 10, 84)
    frames[..., 3:6], frames[..., 21:24] = torch.tensor(gravity), torch.tensor(waist)
    return frames


def ground_image(
    evidence: CellEvidence, frames: torch.Tensor, step_x_m: float, step_m: float
) -> torch.Tensor:
    """Level ground below a standing robot, higher by ``step_m`` from a place on."""
    pos, rotation = evidence.camera_pose_h(frames)
    rays = rotation @ evidence.rays_cam  # Metres at the greatest depth.
    low, high = ((z - pos[:, 2:]) / rays[:, 2] for z in (-0.757, -0.757 + step_m))
    on_step, below = (pos[:, :1] + d * rays[:, 0] >= step_x_m for d in (high, low))
    depth = torch.where(on_step, high, torch.where(below, 0.0, low))  # 0: the riser.
    depth = torch.where((depth > 0.0) & (depth <= 1.0), depth, 0.0)
    return depth.unflatten(1, evidence.io.depth_shape)


@pytest.mark.parametrize("profile", IO_PROFILES)
@pytest.mark.parametrize(
    ("gravity", "waist"),
    [(LEVEL, (0.0, 0.0, 0.0)), ((0.1, -0.08, -0.99), (0.3, -0.1, 0.2))],
)
def test_a_step_is_where_it_is_however_the_robot_leans(profile, gravity, waist):
    io = IO_PROFILES[profile]
    evidence, frames = evidence_of(io), felt(gravity, waist)
    image = ground_image(evidence, frames, step_x_m=0.8, step_m=0.1)
    found = evidence(image, frames).unflatten(2, (3, 9))[0]  # [cells, 3, 9]
    mean, top, seen = found[:, :, 4].unbind(1)  # The bin of the cell itself.
    ahead = torch.from_numpy(io.height_map.centres_h())[..., 0].flatten()
    expected = torch.where(ahead > 0.8, 0.1, 0.0) / io.height_unit_m
    # The foot of the step is hidden, its edge is at a boundary of cells.
    is_clear = (seen > 0.0) & ((ahead - 0.8).abs() > 0.06)
    assert is_clear.float().mean() > 0.3
    torch.testing.assert_close(mean[is_clear], expected[is_clear], atol=2e-3, rtol=0)
    torch.testing.assert_close(top[is_clear], expected[is_clear], atol=2e-3, rtol=0)
    assert (mean[seen == 0.0] == 0.0).all()


def test_the_camera_is_where_the_robots_joints_put_it():
    """Tilted base, turned waist: MuJoCo's kinematics have the camera there, too."""
    model, data = standing_pose(ROBOT)
    base = data.body(ROBOT.base_body).id
    joint = model.body(base).jntadr[0]
    quat = torch.tensor([0.98, 0.08, -0.12, 0.5])
    address = model.jnt_qposadr[joint]
    data.qpos[address + 3 : address + 7] = (quat / quat.norm()).numpy()
    waist = (0.3, -0.15, 0.2)
    for name, angle in zip(("yaw", "roll", "pitch"), waist, strict=True):
        joints = [model.joint(k).name for k in range(model.njnt)]
        full = next(n for n in joints if f"waist_{name}" in n)
        data.qpos[model.joint(full).qposadr[0]] = angle
    mujoco.mj_forward(model, data)
    pos_w, rotation_w = (torch.from_numpy(v).float() for v in camera_pose_w(data))
    turn = torch.from_numpy(data.xmat[base].reshape(3, 3)).float()
    gravity = turn.T @ torch.tensor(LEVEL)
    yaw = torch.atan2(turn[1, 0], turn[0, 0])
    sin, cos, zero = yaw.sin(), yaw.cos(), torch.zeros(())
    to_heading = torch.stack(
        [cos, sin, zero, -sin, cos, zero, zero, zero, torch.ones(())]
    ).view(3, 3)
    pos, rotation = evidence_of(IO_PROFILES["paper"]).camera_pose_h(
        felt(gravity.tolist(), waist)
    )
    base_w = torch.from_numpy(data.xpos[base]).float()
    expected = to_heading @ (pos_w - base_w)
    torch.testing.assert_close(pos[0], expected, atol=1e-4, rtol=0.0)
    torch.testing.assert_close(rotation[0], to_heading @ rotation_w, atol=1e-4, rtol=0)


def test_cells_in_view_have_evidence():
    evidence, frames = evidence_of(IO_PROFILES["paper"]), felt()
    image = ground_image(evidence, frames, step_x_m=9.0, step_m=0.0)
    found = evidence(image, frames).unflatten(2, (3, 9))
    seen = found[0, :, 2, 4].unflatten(0, (16, 32)) > 0.0
    in_view = torch.from_numpy(cells_in_view(ROBOT))
    assert (seen == in_view).float().mean() > 0.9


def test_neighbours_are_around_the_cell_in_the_order_of_the_map():
    """One point over one cell: the cell has it in the middle, others beside it."""
    evidence = evidence_of(IO_PROFILES["paper"])
    x, y = evidence.io.height_map.centres_h()[5, 7].tolist()
    points = torch.tensor([[[x], [y], [-0.757 + 0.25]]])
    found = evidence.binned(points, torch.ones(1, 1, dtype=torch.bool))
    seen = found.unflatten(1, (16, 32)).unflatten(3, (3, 3, 3))[0, ..., 2, :, :]
    assert seen.sum() == 9.0
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            assert seen[5 + dy, 7 + dx, 1 - dy, 1 - dx] == 1.0
    assert found.unflatten(2, (3, 9))[0, 5 * 32 + 7, 0, 4] == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(64, 113), (32, 57)])
def test_rays_go_through_the_pixels_that_are_rendered(shape):
    """Also at half the size: the renderer's intrinsics have the same rays."""
    io = ReconstructionIoCfg(depth_shape=shape)
    evidence = evidence_of(io)
    camera = replace(evidence.cfg.camera, output_height=shape[0], output_width=shape[1])
    packed = _pack_intrinsics(camera)
    rays = evidence.rays_cam.unflatten(1, shape) / camera.max_range_m
    right = packed.x0 + packed.dx * torch.arange(shape[1])
    down = packed.y0 + packed.dy * torch.arange(shape[0])
    torch.testing.assert_close(rays[0], right.expand(shape), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(
        rays[1], down.unsqueeze(1).expand(shape), atol=1e-5, rtol=0.0
    )


def test_a_block_gets_the_bins_of_its_cells_and_those_around():
    """What a query of 2 x 2 cells sees is what its four cells see, each bin once."""
    io = IO_PROFILES["laptop"]
    torch.manual_seed(0)
    points = torch.rand(2, 3, 500) * 1.6 - 0.6
    valid = torch.rand(2, 500) < 0.9
    cells = evidence_of(io).binned(points, valid)
    cells = cells.unflatten(1, (16, 32)).unflatten(3, (3, 3, 3))
    blocks = CellEvidence(EvidenceCfg(), io, block=2).binned(points, valid)
    blocks = blocks.unflatten(1, (8, 16)).unflatten(3, (3, 4, 4))
    for y in (0, 1):
        for x in (0, 1):
            part = blocks[..., y : y + 3, x : x + 3]
            assert torch.equal(part, cells[:, y::2, x::2])
