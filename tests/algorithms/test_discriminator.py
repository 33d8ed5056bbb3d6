"""The discriminator and its replay: losses by hand, separation, wrapping."""

from __future__ import annotations

import pytest
import torch

from solo.algorithms.discriminator import (
    Discriminator,
    ReplayBuffer,
    compute_losses,
    compute_style_reward,
)


def test_style_reward_by_hand():
    score = torch.tensor([1.0, 0.0, -1.0, 3.0, 5.0, -2.0])
    # 1 - (d - 1)^2 / 4, never below zero.
    expected = torch.tensor([1.0, 0.75, 0.0, 0.0, 0.0, 0.0])
    torch.testing.assert_close(compute_style_reward(score), expected)


def linear_discriminator() -> Discriminator:
    """Scores 0.5 * (x0 + 2 x1) with x the pair of 1-D states, near the origin."""
    discriminator = Discriminator(1, [1])
    first = next(discriminator.trunk.children())
    assert isinstance(first, torch.nn.Linear)
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1.0, 2.0]]))
        first.bias.fill_(20.0)  # Keeps the ReLU in its linear part.
        discriminator.head.weight.fill_(0.5)
        discriminator.head.bias.fill_(-10.0)
    discriminator.normaliser.eps = 0.0  # Mean 0, deviation 1: the identity.
    return discriminator


def test_losses_of_a_linear_discriminator_by_hand():
    discriminator = linear_discriminator()
    expert = torch.tensor([[1.0, 1.0], [0.0, 1.0]])  # Scores 1.5 and 1.
    policy = torch.tensor([[-2.0, 0.0], [1.0, 0.0]])  # Scores -1 and 0.5.
    losses = compute_losses(discriminator, expert, policy, gradient_penalty=10.0)
    # Expert: (0.5^2 + 0) / 2 = 0.125. Policy: (0 + 1.5^2) / 2 = 1.125. Mean: 0.625.
    assert losses.least_squares.item() == pytest.approx(0.625)
    # The gradient is (0.5, 1) everywhere: 0.25 + 1 = 1.25.
    assert losses.gradient_penalty.item() == pytest.approx(1.25)
    assert losses.total.item() == pytest.approx(0.625 + 12.5)
    assert losses.expert_score.item() == pytest.approx(1.25)
    assert losses.policy_score.item() == pytest.approx(-0.25)
    assert losses.accuracy.item() == pytest.approx(0.75)


def test_gradient_penalty_reaches_the_weights():
    expert = torch.zeros(2, 2)
    gradients = []
    for weight in (0.0, 10.0):
        discriminator = linear_discriminator()
        compute_losses(discriminator, expert, expert, weight).total.backward()
        gradient = next(discriminator.parameters()).grad
        assert gradient is not None
        gradients.append(gradient)
    # d/dw of 10 * 0.25 * (w0^2 + w1^2) at w = (1, 2) is (5, 10).
    torch.testing.assert_close(gradients[1] - gradients[0], torch.tensor([[5.0, 10.0]]))


def test_it_separates_two_gaussians_and_rewards_the_expert_side():
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    discriminator = Discriminator(2, [32, 16])
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=3e-3)

    def draw(mean: float) -> torch.Tensor:
        return mean + torch.randn(256, 4, generator=generator)

    for _ in range(150):
        expert, policy = draw(1.0), draw(-1.0)
        discriminator.update_normaliser(torch.cat((expert, policy)))
        losses = compute_losses(discriminator, expert, policy, 1.0)
        optimizer.zero_grad()
        losses.total.backward()
        optimizer.step()
    losses = compute_losses(discriminator, draw(1.0), draw(-1.0), 1.0)
    assert losses.accuracy > 0.95
    with torch.no_grad():
        rewards = [
            compute_style_reward(discriminator(torch.full((1, 4), x))).item()
            for x in (-1.0, 0.0, 1.0)
        ]
    assert rewards[0] < rewards[1] < rewards[2]
    assert rewards[2] - rewards[0] > 0.5


def test_both_states_of_a_pair_are_normalised_alike():
    discriminator = Discriminator(2, [4])
    discriminator.update_normaliser(torch.tensor([[0.0, 10.0, 4.0, 30.0]]))
    # States (0, 10) and (4, 30): mean (2, 20), deviation (2, 10), eps 0.01.
    normalised = discriminator.normalise(torch.tensor([[4.0, 10.0, 4.0, 10.0]]))
    expected = [2.0 / 2.01, -10.0 / 10.01]
    torch.testing.assert_close(normalised, torch.tensor([expected * 2]))


def test_normalised_inputs_are_clipped():
    discriminator = Discriminator(1, [4])
    assert discriminator.normalise(torch.tensor([[1e9, -1e9]])).tolist() == [[10, -10]]


def test_replay_wraps_and_keeps_the_newest():
    replay = ReplayBuffer(5, 1)
    replay.insert(torch.arange(3.0)[:, None])
    assert len(replay) == 3
    replay.insert(torch.arange(3.0, 7.0)[:, None])
    assert len(replay) == 5
    assert sorted(replay.rows.flatten().tolist()) == [2, 3, 4, 5, 6]
    replay.insert(torch.arange(7.0, 20.0)[:, None])
    assert sorted(replay.rows.flatten().tolist()) == [15, 16, 17, 18, 19]


def test_replay_samples_all_rows_held_and_no_others():
    replay = ReplayBuffer(8, 1)
    replay.insert(torch.tensor([[1.0], [2.0], [3.0]]))
    drawn = replay.sample(200, torch.Generator().manual_seed(0))
    assert drawn.shape == (200, 1)
    assert set(drawn.flatten().tolist()) == {1.0, 2.0, 3.0}


@pytest.mark.parametrize("count", [3, 5, 7])
def test_replay_goes_on_from_its_state_as_if_nothing_happened(count):
    replay, restored = ReplayBuffer(5, 1), ReplayBuffer(5, 1)
    replay.insert(torch.arange(float(count))[:, None])
    restored.load_state_dict(replay.state_dict())
    for buffer in (replay, restored):
        buffer.insert(torch.tensor([[50.0], [60.0], [70.0]]))
    assert torch.equal(replay.rows, restored.rows)


def test_replay_of_another_size_is_refused():
    replay = ReplayBuffer(5, 1)
    replay.insert(torch.zeros(9, 1))
    for other in (ReplayBuffer(4, 1), ReplayBuffer(6, 1), ReplayBuffer(5, 2)):
        with pytest.raises(ValueError, match="replay_capacity"):
            other.load_state_dict(replay.state_dict())
