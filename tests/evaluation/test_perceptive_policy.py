"""Perceptive checkpoints as policies, without a simulation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from solo.errors import SoloError
from solo.evaluation.policies import PERCEPTIVE_GROUPS, PerceptivePolicy, open_policy
from solo.evaluation.rollout import LANES
from solo.reconstruction.networks.interface import Reconstructor
from solo.sensors.depth.camera import DepthHistory
from tests.evaluation.fake import make_start
from tests.evaluation.runs import write_perceptive_run
from tests.export.helpers import IO, make_networks


class Oracle(Reconstructor):
    """Stands for a reconstructor: the ground is as high as the first pixel says."""

    def forward(self, depth, proprioception, state=None):
        height = depth[:, -1, :1, :1].expand(-1, *self.io.height_map.cells)
        return {"height": height, "velocity": proprioception[:, -1, :3]}, state


def observe(num: int, height_m: float, velocity: tuple[float, float, float]) -> dict:
    """Depth and proprioception that the oracle reads 0.4 m and standstill from."""
    return {
        "depth": torch.full((num, 4, *IO.depth_shape), 0.4),
        "proprioception_window": torch.zeros(num, 10, 84),
        "height_map": torch.full((num, 16, 32), height_m),
        "base_velocity": torch.tensor([velocity]).expand(num, -1),
    }


def test_a_perfect_reconstructor_has_no_error_and_others_have_theirs():
    student, _ = make_networks()
    policy = PerceptivePolicy(student, Oracle(IO), LANES)
    with torch.inference_mode():
        _, right = policy.act(observe(LANES, 0.4, (0.0, 0.0, 0.0)))
        # 0.1 m too low everywhere; 0.3 and 0.4 m/s along two axes are 0.5 m/s.
        _, wrong = policy.act(observe(LANES, 0.5, (0.3, 0.0, 0.4)))
    assert (right["height_map_l1_m"] == 0.0).all()
    assert (right["reconstructed_velocity_error"] == 0.0).all()
    np.testing.assert_allclose(wrong["height_map_l1_m"], 0.1, atol=1e-7)
    np.testing.assert_allclose(wrong["reconstructed_velocity_error"], 0.5, atol=1e-7)


def test_the_error_is_the_mean_over_the_whole_map():
    student, _ = make_networks()
    policy = PerceptivePolicy(student, Oracle(IO), LANES)
    seen = observe(LANES, 0.4, (0.0, 0.0, 0.0))
    seen["height_map"][:, 1::2] = 1.0  # Every second row is 0.6 m off.
    with torch.inference_mode():
        _, measures = policy.act(seen)
    np.testing.assert_allclose(measures["height_map_l1_m"], 0.3, atol=1e-6)


@pytest.mark.parametrize("name", ["qr", "start"])
def test_blocks_that_begin_at_any_time_equal_whole_windows(name):
    student, reconstructor = make_networks(name)
    num, generator = 2 * LANES, torch.Generator().manual_seed(3)
    history = DepthHistory(num, max_delay=0, shape=IO.depth_shape)
    policy = PerceptivePolicy(student, reconstructor, num)
    hidden = None
    with torch.inference_mode():
        for step in range(8):
            history.push(torch.rand(num, *IO.depth_shape, generator=generator))
            if step == 5:  # The rollout of one slot has ended; another begins there.
                slot = torch.tensor([LANES + 3])
                history.reset(slot)
                history.push(torch.full((num, *IO.depth_shape), 0.5), slot)
                policy.begin([LANES + 3], [make_start(0)])
                assert hidden is not None
                for part in hidden:
                    part[:, LANES + 3] = 0.0
            window = torch.randn(num, 10, 84, generator=generator)
            seen = observe(num, 0.0, (0.0, 0.0, 0.0))
            seen |= {"depth": history.read(), "proprioception_window": window}
            actions, _ = policy.act(seen)

            estimate, _ = reconstructor(seen["depth"], window)
            student.reset(hidden_state=hidden)
            groups = {
                "proprioception": window[:, -1],
                "reconstructed_velocity": estimate["velocity"],
                "reconstructed_map": estimate["height"],
            }
            expected = student(TensorDict(groups, batch_size=[num]))
            hidden = student.get_hidden_state()
            torch.testing.assert_close(actions, expected, atol=1e-5, rtol=1e-5)


def test_a_run_tells_its_camera_and_the_truth_is_only_measured_with(tmp_path):
    source = open_policy(str(write_perceptive_run(tmp_path / "run")))
    camera = source.robot.depth_camera
    assert (camera.output_height, camera.output_width) == IO.depth_shape
    assert source.stage == source.kind == "perceptive"
    assert source.groups == PERCEPTIVE_GROUPS
    assert source.describe()["reconstructor"] == "qr"
    student, reconstructor = make_networks()
    policy = PerceptivePolicy(student, reconstructor, LANES)
    seen = observe(LANES, 0.0, (0.0, 0.0, 0.0))
    with torch.inference_mode():
        first, _ = policy.act(seen)
        policy = PerceptivePolicy(student, reconstructor, LANES)
        second, _ = policy.act(seen | {"height_map": torch.rand(LANES, 16, 32)})
    assert torch.equal(first, second)


def test_a_run_without_its_settings_gets_one_line(tmp_path):
    folder = write_perceptive_run(tmp_path / "run")
    (folder / "params" / "agent.yaml").unlink()
    with pytest.raises(SoloError, match=r"params/agent\.yaml") as error:
        open_policy(str(folder))
    assert "\n" not in str(error.value)


def test_another_size_of_image_comes_from_the_checkpoint(tmp_path):
    _, reconstructor = make_networks(depth_shape=(32, 57))
    folder = write_perceptive_run(tmp_path / "run")
    saved = torch.load(folder / "model_3.pt", weights_only=True)
    saved["reconstructor"]["model"] = reconstructor.state_dict()
    fields = saved["reconstructor"]["fields"]
    saved["reconstructor"]["fields"] = fields | {
        "io": fields["io"] | {"depth_shape": (32, 57)}
    }
    torch.save(saved, folder / "model_3.pt")
    source = open_policy(str(folder))
    assert source.describe()["depth_shape"] == [32, 57]
    camera = source.robot.depth_camera
    assert (camera.output_height, camera.output_width) == (32, 57)
