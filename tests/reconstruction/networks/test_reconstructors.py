"""The contract that all reconstructors share."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from solo.reconstruction.networks import RECONSTRUCTORS, make_reconstructor
from solo.reconstruction.networks.baselines import image_to_map
from solo.reconstruction.networks.interface import IO_PROFILES, ReconstructionIoCfg
from solo.reconstruction.update import reconstruction_loss
from tests.reconstruction.networks.helpers import IO, NAMES, make_tiny, make_windows


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_the_helpers_know_every_reconstructor():
    assert set(NAMES) == set(RECONSTRUCTORS)


@pytest.mark.parametrize(
    ("name", "millions"), [("qr", 0.54), ("start", 0.62), ("dpl", 0.78)]
)
def test_parameters_are_the_papers_within_three_percent(name, millions):
    assert make_reconstructor(name).num_parameters() == pytest.approx(
        millions * 1e6, rel=0.03
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", IO_PROFILES)
def test_output_shapes_and_flat_ground_at_the_start(name, profile):
    io = IO_PROFILES[profile]
    model = make_reconstructor(name, io=io)
    with torch.no_grad():
        outputs, state = model(*make_windows(2, io))
    assert state is None
    assert outputs["height"].shape == (2, 16, 32)
    assert outputs["velocity"].shape == (2, 3)
    # Untrained, it says about what a robot that stands still on a floor has around it.
    torch.testing.assert_close(
        outputs["height"], torch.full_like(outputs["height"], -0.757), atol=0.1, rtol=0
    )
    assert outputs["velocity"].abs().max() < 0.5


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_all_parameters(name):
    model = make_tiny(name)
    outputs, _ = model(*make_windows(4))
    loss, _ = reconstruction_loss(
        outputs, torch.zeros(4, *IO.height_map.cells), torch.ones(4, 3)
    )
    loss.backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().max() > 0.0, parameter_name


@pytest.mark.parametrize("name", NAMES)
def test_samples_of_a_batch_do_not_mix(name):
    model = make_tiny(name)
    depth, frames = make_windows(3)
    together, _ = model(depth, frames)
    for k in range(3):
        alone, _ = model(depth[k : k + 1], frames[k : k + 1])
        for key, value in alone.items():
            torch.testing.assert_close(value[0], together[key][k])


@pytest.mark.parametrize("name", NAMES)
def test_all_frames_of_both_windows_matter(name):
    model = make_tiny(name)
    depth, frames = make_windows(1)
    depth.requires_grad_()
    frames.requires_grad_()
    model(depth, frames)[0]["height"].std().backward()
    assert depth.grad is not None
    assert frames.grad is not None
    assert (depth.grad.abs().amax(dim=(0, 2, 3)) > 0.0).all()
    assert (frames.grad.abs().amax(dim=(0, 2)) > 0.0).all()


@pytest.mark.parametrize("name", NAMES)
def test_blind_and_nearly_blind_images_give_finite_outputs_and_gradients(name):
    model = make_tiny(name)
    depth, frames = make_windows(2)
    depth.zero_()
    depth[1, -1, 3, 4] = 0.5
    outputs, _ = model(depth, frames)
    (outputs["height"].sum() + outputs["velocity"].sum()).backward()
    assert all(torch.isfinite(value).all() for value in outputs.values())
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.isfinite(grad).all() for grad in grads)


@pytest.mark.parametrize("name", NAMES)
def test_reset_makes_an_env_as_new_and_leaves_the_others_alone(name):
    model = make_tiny(name).eval()
    with torch.no_grad():
        state = model.initial_state(3)
        for _ in range(8):
            _, state = model(*make_windows(3), state)
        before = [part.clone() for part in state]
        depth, frames = make_windows(3)
        by_mask = model.reset_state(state, torch.tensor([False, True, False]))
        by_index = model.reset_state(state, torch.tensor([1]))
        kept, _ = model(depth, frames, state)
        reset, _ = model(depth, frames, by_mask)
        fresh, _ = model(depth, frames, model.initial_state(3))
    for old, same in zip(before, state, strict=True):
        assert torch.equal(old, same)
    for a, b in zip(by_mask, by_index, strict=True):
        assert torch.equal(a, b)
    for key in ("height", "velocity"):
        torch.testing.assert_close(reset[key][1], fresh[key][1])
        torch.testing.assert_close(reset[key][[0, 2]], kept[key][[0, 2]])
        assert not torch.allclose(kept[key], fresh[key], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_windows_that_share_images_are_as_those_that_do_not(name):
    model = make_tiny(name).eval()
    images, frames = make_windows(3)[0][:, 0], make_windows(2)[1]
    frame_of = torch.tensor([[0, 1, 2], [1, 2, 2]])
    shared, _ = model(images, frames, frame_of=frame_of)
    apart, _ = model(images[frame_of], frames)
    torch.testing.assert_close(shared["height"], apart["height"])
    torch.testing.assert_close(shared["velocity"], apart["velocity"])


@pytest.mark.parametrize("name", ["start_memory", "dpl_memory"])
def test_a_sequence_at_once_equals_it_step_by_step_across_an_episode(name):
    model = make_tiny(name).eval()
    num, steps = 2, 5
    images = make_windows(7)[0][:, 0]
    frame_of = torch.randint(7, (num, steps, IO.depth_frames))
    windows = torch.stack([make_windows(num)[1] for _ in range(steps)], dim=1)
    begins = torch.zeros(num, steps, dtype=torch.bool)
    begins[1, 3] = True
    start = (torch.randn(num, 32),)
    with torch.no_grad():
        outputs, last = model.unroll(
            images, windows.flatten(0, 1), begins, start, frame_of.flatten(0, 1)
        )
        state, found = start, []
        for k in range(steps):
            state = model.reset_state(state, begins[:, k])
            step, state = model(images[frame_of[:, k]], windows[:, k], state)
            found.append(step["height"])
    expected = torch.stack(found, dim=1).flatten(0, 1)
    torch.testing.assert_close(outputs["height"], expected)
    torch.testing.assert_close(last[0], state[0])


def test_no_state_stays_no_state():
    model = make_tiny("start")
    assert model.reset_state(None, torch.tensor([0])) is None


@pytest.mark.parametrize("name", ["start", "dpl"])
def test_memory_step_by_step_equals_the_window_if_depth_stands_still(name):
    model = make_tiny(name).eval()
    depth, frames = make_windows(2)
    with torch.no_grad():
        expected, _ = model(depth, frames)
        state = model.initial_state(2)
        for k in range(IO.proprioception_frames):
            # Only the last frame of a window is read.
            window = frames[:, k : k + 1].expand_as(frames)
            outputs, state = model(depth, window, state)
    torch.testing.assert_close(outputs["height"], expected["height"])


@pytest.mark.parametrize("name", NAMES)
def test_a_config_survives_json(name):
    model = make_tiny(name)
    plain = json.loads(json.dumps(dataclasses.asdict(model.cfg)))
    again = make_reconstructor(name, **plain)
    assert again.cfg == model.cfg  # type: ignore[attr-defined] - All have one.
    again.load_state_dict(model.state_dict())
    windows = make_windows(2)
    torch.testing.assert_close(again(*windows)[0], model(*windows)[0])


def test_an_image_is_turned_as_the_map_lies():
    # Far left, far right; near left, near right.
    image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    # m[0, 0] is near (behind) on the right, m[1, 1] is far (ahead) on the left.
    expected = torch.tensor([[[[4.0, 2.0], [3.0, 1.0]]]])
    assert torch.equal(image_to_map(image), expected)


def test_unknown_names_and_fields_are_refused():
    with pytest.raises(ValueError, match="Choose one of: qr, start, dpl"):
        make_reconstructor("gru")
    with pytest.raises(ValueError, match="has no field dims"):
        make_reconstructor("qr", dims=3)
    with pytest.raises(ValueError, match="must be positive"):
        ReconstructionIoCfg(depth_frames=0)


def test_statistics_normalise_and_leave_constant_numbers_alone():
    model = make_reconstructor("start", io=IO)
    data = torch.randn(500, IO.proprioception_dim) * 3.0 + 2.0
    data[:, 0] = 5.0
    model.set_statistics(data.mean(0), data.std(0))
    normalised = model.normalizer(data)
    torch.testing.assert_close(
        normalised[:, 1:].mean(0), torch.zeros(6), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(normalised[:, 1:].std(0), torch.ones(6))
    assert normalised[:, 0].abs().max() == 0.0


def test_loss_of_a_hand_made_batch():
    outputs = {
        "height": torch.tensor([[[0.1, -0.3]]]),
        "velocity": torch.tensor([[1.0, 0.0, -0.5]]),
    }
    height, velocity = torch.zeros(1, 1, 2), torch.zeros(1, 3)
    loss, parts = reconstruction_loss(outputs, height, velocity)
    # (0.1 + 0.3) / 2 + 0.1 * (1.0 + 0.0 + 0.5)
    assert loss.item() == pytest.approx(0.2 + 0.15)
    assert parts["height_l1_m"].item() == pytest.approx(0.2)
    assert parts["velocity_l1"].item() == pytest.approx(1.5)
    with pytest.raises(ValueError, match="Targets have shapes"):
        reconstruction_loss(outputs, torch.zeros(1, 2, 2), velocity)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "start" else pytest.mark.slow)
        for name in NAMES
    ],
)
def test_learns_eight_maps_that_are_functions_of_depth(name):
    """The newest image says how high the ground is; how fast it goes is felt."""
    model = make_tiny(name)
    depth, frames = make_windows(8)
    relief = torch.rand(8, 1, 1) * 0.4
    depth[:, -1] = 0.7 - relief
    slope = torch.linspace(-0.1, 0.1, IO.height_map.cells[1])
    height = (-0.9 + relief + slope).expand(-1, *IO.height_map.cells)
    velocity = frames[:, -1, :3]
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    errors = []
    for _ in range(80):
        outputs, _ = model(depth, frames)
        loss, parts = reconstruction_loss(outputs, height, velocity)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors.append([part.item() for part in parts.values()])
    # The best map that is the same for all eight.
    blind = (height - height.median(0).values).abs().mean()
    assert errors[-1][0] < 0.3 * blind.item()
    assert errors[-1][1] < 0.3 * errors[0][1]
