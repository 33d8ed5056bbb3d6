"""TA-MSE: penalties and returns by hand, its two baselines, the frozen teacher."""

from __future__ import annotations

import io
import logging

import pytest
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from solo.algorithms import ta_mse
from solo.algorithms.ppo_amp import PpoAmp
from solo.algorithms.ta_mse import TERMINAL_OBSERVATIONS, TaMse
from solo.algorithms.teacher_matching import (
    DISTANCES,
    TEACHER_ACTION,
    compute_disagreement,
    make_joint_weights,
)
from solo.errors import SoloError
from tests.algorithms.tiny import (
    ACTION_SCALE,
    TinyEnv,
    TinyMotions,
    all_parameters,
    assert_same,
    make_algorithm,
    roll_out,
    run_iteration,
)

AMP = {
    "amp_cfg": {"hidden_dims": [8], "replay_capacity": 40},
    "motions": TinyMotions(),
}


def make_student(env: TinyEnv, recurrent: bool = False, seed: int = 1, **settings):
    settings = {"action_scale": ACTION_SCALE, **settings}
    algorithm = make_algorithm(TaMse, env, recurrent, seed, **settings)
    generator = torch.Generator().manual_seed(11)
    state = algorithm.teacher.state_dict()
    for value in state.values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape, generator=generator) + 0.1)
    algorithm.load_teacher(state)
    return algorithm


def compare_penalty(beta: float, make_env, **settings):
    """Penalty per step [T, B], the disagreement it should be made of, and dones.

    Two rollouts that differ in nothing but the penalty.
    """
    rewards = []
    for weight in (0.0, beta):
        env = make_env()
        algorithm = make_student(env, penalty_weight=weight, **settings)
        roll_out(algorithm, env)
        rewards.append(algorithm.storage.rewards.squeeze(-1).clone())
        dones = algorithm.storage.dones.squeeze(-1).bool()
        disagreement = algorithm.disagreement[1:].clone()
    return rewards[0] - rewards[1], disagreement, dones


def test_the_three_readings_of_the_distance_by_hand():
    student, teacher = torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[0.0, 0.0, 2.0]])
    found = {
        name: compute_disagreement(
            student, teacher, make_joint_weights(name, (2.0, 0.5, 1.0), 3)
        ).item()
        for name in DISTANCES
    }
    # The differences are 1, 2 and -2; in radians 2, 1 and -2.
    assert found == pytest.approx({"radians": 9.0, "raw": 9.0, "mean": 3.0})
    assert compute_disagreement(
        student, teacher, make_joint_weights("radians", (1.0, 0.0, 0.0), 3)
    ).tolist() == [1.0]


def test_loss_and_penalty_have_the_same_reading():
    """Raw units are radians of a robot whose action scale is 1."""
    results = []
    for distance in ("raw", "radians", "mean"):
        env = TinyEnv()
        algorithm = make_student(
            env, recurrent=True, distance=distance, action_scale=[1.0, 1.0]
        )
        losses = run_iteration(algorithm, env)
        results.append((all_parameters(algorithm), losses))
    (raw, losses), (radians, _), (mean, fewer) = results
    assert_same(raw, radians)
    assert any(not torch.equal(raw[name], mean[name]) for name in raw)
    for name in ("ta_penalty", "teacher_disagreement"):  # Before the update.
        assert fewer[name] == pytest.approx(losses[name] / 2)


class Scripted(torch.nn.Module):
    """A model whose output at step i is `outputs[i]`, through the observations."""

    is_recurrent = False
    output_std = torch.ones(1)

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group

    def forward(self, obs: TensorDict, stochastic_output: bool = False):
        self.output_mean = obs[self.group]
        self.output_distribution_params = (self.output_mean,)
        return self.output_mean

    def get_output_log_prob(self, actions):
        return torch.zeros(actions.shape[0])

    def get_hidden_state(self):
        return None

    def reset(self, dones=None, hidden_state=None):
        pass

    def update_normalization(self, obs):
        pass


def test_penalties_and_gae_by_hand():
    """Two environments, four steps; gamma 0.5, GAE lambda 0.5, beta 2.

    Environment 0 ends its episode at step 1 (a fall) in a state where the student says
    3, environment 1 never. The teacher always says 0, so l is the square of the
    student's action.
    """
    student = [[1.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]
    rewards = [[1.0, 1.0], [1.0, 1.0], [2.0, 1.0], [0.0, 1.0]]
    dones = [[0, 0], [1, 0], [0, 0], [0, 0]]
    value = 1.0
    observations = [
        TensorDict(
            {
                "proprioception": torch.tensor(step)[:, None],
                "critic": torch.full((2, 1), value),
                "height_map": torch.zeros(2, 1),
            },
            batch_size=[2],
        )
        for step in student
    ]
    end = observations[0][:1].clone()
    end["proprioception"] = torch.tensor([[3.0]])
    storage = RolloutStorage("rl", 2, 4, observations[0], [1])
    actor, critic = Scripted("proprioception"), Scripted("critic")
    actor.anchor = torch.nn.Parameter(torch.zeros(1))  # Optimisers need something.
    algorithm = TaMse(
        actor,  # pyright: ignore[reportArgumentType]
        critic,  # pyright: ignore[reportArgumentType]
        storage,
        teacher=Scripted("height_map"),  # pyright: ignore[reportArgumentType]
        penalty_weight=2.0,
        distance="raw",
        gamma=0.5,
        lam=0.5,
    )
    algorithm.load_teacher({})
    with torch.inference_mode():
        for step in range(4):
            algorithm.act(observations[step])
            algorithm.process_env_step(
                observations[step + 1],
                torch.tensor(rewards[step]),
                torch.tensor(dones[step]),
                {TERMINAL_OBSERVATIONS: end} if step == 1 else {},  # pyright: ignore
            )
        algorithm.compute_returns(observations[4])

    # l(t) = student^2:  env 0: 1 4 1 0 | 9     env 1: 0 1 4 1 | 1
    # r(t) - 2 l(t+1), where l(2) of env 0 is that of the fall, 9, not the next start's:
    #   env 0:  1 - 8 = -7,  1 - 18 = -17,  2 - 0 = 2,   0 - 18 = -18
    #   env 1:  1 - 2 = -1,  1 - 8 = -7,    1 - 2 = -1,  1 - 2 = -1
    torch.testing.assert_close(
        storage.rewards.squeeze(-1),
        torch.tensor([[-7.0, -1.0], [-17.0, -7.0], [2.0, -1.0], [-18.0, -1.0]]),
    )
    # delta = r + 0.5 * 1 * (not done) - 1;  A(t) = delta + 0.25 * (not done) * A(t+1).
    #   env 0: delta -7.5, -18, 1.5, -18.5
    #          A(3) = -18.5, A(2) = 1.5 - 4.625 = -3.125, A(1) = -18, A(0) = -12
    #   env 1: delta -1.5, -7.5, -1.5, -1.5
    #          A(3) = -1.5, A(2) = -1.875, A(1) = -7.96875, A(0) = -3.4921875
    # Returns are A + V = A + 1.
    torch.testing.assert_close(
        storage.returns.squeeze(-1),
        torch.tensor(
            [[-11.0, -2.4921875], [-17.0, -6.96875], [-2.125, -0.875], [-17.5, -0.5]]
        ),
    )
    # Of the seven steps that did not end an episode: penalties 8 0 18, 2 8 2 2.
    assert algorithm.per_step == pytest.approx({"ta_penalty": 40 / 7, "ta_reward": 1})


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("amp", [False, True])
def test_without_weights_it_is_the_base_algorithm_to_the_bit(recurrent, amp):
    extra = AMP if amp else {}
    env = TinyEnv()
    base = make_algorithm(PpoAmp if amp else PPO, env, recurrent, **extra)
    for _ in range(3):
        run_iteration(base, env)
    env = TinyEnv()
    student = make_student(env, recurrent, mse_weight=0.0, penalty_weight=0.0, **extra)
    losses = [run_iteration(student, env) for _ in range(3)]
    assert_same(all_parameters(base), all_parameters(student))
    assert losses[-1]["teacher_mse"] > 0.0


@pytest.mark.parametrize("recurrent", [False, True])
def test_teacher_is_unchanged_and_student_approaches_it(recurrent):
    env = TinyEnv()
    algorithm = make_student(
        env, recurrent, schedule="fixed", learning_rate=1e-2, num_learning_epochs=5
    )
    before = {k: v.clone() for k, v in algorithm.teacher.state_dict().items()}
    gaps = [run_iteration(algorithm, env)["teacher_disagreement"] for _ in range(15)]
    assert_same(before, algorithm.teacher.state_dict())
    assert not algorithm.teacher.training
    assert all(p.grad is None for p in algorithm.teacher.parameters())
    assert gaps[-1] < 0.25 * gaps[0]


@pytest.mark.parametrize("recurrent", [False, True])
def test_auxiliary_loss_is_computed_at_the_state_of_its_label(recurrent):
    """Before the first optimiser step the loss equals the rollout's disagreement."""
    env = TinyEnv()
    algorithm = make_student(
        env, recurrent, num_learning_epochs=1, num_mini_batches=1, learning_rate=0.0
    )
    # Normalisers move during the rollout, after the student's mean was taken.
    algorithm.actor.update_normalization = lambda obs: None
    losses = run_iteration(algorithm, env)
    assert algorithm.storage.dones.any()
    assert losses["teacher_mse"] == pytest.approx(
        losses["teacher_disagreement"], rel=1e-5
    )


def test_labels_follow_their_observations():
    env = TinyEnv()
    algorithm = make_student(env)
    run_iteration(algorithm, env)
    stored = algorithm.storage.observations
    labels = algorithm.teacher(stored.flatten(0, 1)).detach()
    torch.testing.assert_close(stored[TEACHER_ACTION].flatten(0, 1), labels)


@pytest.mark.parametrize("end", ["falls", "time_outs"])
def test_penalty_looks_one_step_ahead_and_never_across_done(end):
    def make_env() -> TinyEnv:
        env = TinyEnv()
        env.max_episode_length = 3 if end == "time_outs" else 1000
        if end == "falls":
            env.points += 1.4
        return env

    penalty, disagreement, dones = compare_penalty(0.5, make_env, recurrent=True)
    assert dones.any()
    torch.testing.assert_close(
        penalty[~dones], 0.5 * disagreement[~dones], rtol=1e-4, atol=1e-6
    )
    difference = (penalty - 0.5 * disagreement).abs()
    assert (difference[dones] > 1e-3).all()


@pytest.mark.parametrize("recurrent", [False, True])
def test_the_last_step_of_an_episode_is_penalised_as_if_it_were_not_the_last(recurrent):
    results = []
    for length in (3, 1000):
        env = TinyEnv()
        env.max_episode_length = length
        algorithm = make_student(env, recurrent, penalty_weight=0.5, mse_weight=0.0)
        # Robots that were reset must not change what others see.
        algorithm.actor.update_normalization = lambda obs: None
        roll_out(algorithm, env)
        dones = algorithm.storage.dones.squeeze(-1).bool()
        bootstrap = dones * 0.99 * algorithm.storage.values.squeeze(-1)
        stored = algorithm.storage.rewards.squeeze(-1)
        results.append((torch.stack(env.rewards) - stored + bootstrap, dones))
    (penalty, dones), (expected, never) = results
    is_first = dones & (dones.cumsum(0) == 1)
    assert is_first.sum() == 4
    assert not never.any()
    torch.testing.assert_close(
        penalty[is_first], expected[is_first], rtol=1e-4, atol=1e-5
    )


def test_an_environment_that_gives_no_last_observations_gets_no_penalty_there():
    def make_env() -> TinyEnv:
        env = TinyEnv()
        env.keep_terminal_observations = None  # pyright: ignore
        return env

    penalty, _, dones = compare_penalty(0.5, make_env, recurrent=True)
    assert dones.any()
    assert (penalty[dones] == 0).all()


def test_a_penalty_above_the_reward_is_said_once(monkeypatch, caplog):
    monkeypatch.setattr(ta_mse, "PATIENCE", 2)
    env = TinyEnv()
    dear = make_student(env, penalty_weight=100.0)
    cheap = make_student(env, penalty_weight=1e-9)
    with caplog.at_level(logging.WARNING, logger=ta_mse.__name__):
        for _ in range(2):
            run_iteration(dear, env)
        assert not caplog.records
        for _ in range(4):
            losses = run_iteration(dear, env)
        assert len(caplog.records) == 1
        assert "cost more" in caplog.text
        assert losses["ta_penalty"] > losses["ta_reward"]
        caplog.clear()
        env.bonus = 9.0
        for _ in range(4):
            run_iteration(cheap, env)
        assert not caplog.records


def test_extra_pass_at_the_end_leaves_the_hidden_state_alone():
    env = TinyEnv()
    algorithm = make_student(env, recurrent=True)
    obs = roll_out(algorithm, env)
    end = algorithm.disagreement[-1].clone()
    # The next rollout starts at that state: its first mean must be the same.
    algorithm.storage.clear()
    with torch.inference_mode():
        algorithm.act(obs)
    torch.testing.assert_close(algorithm.disagreement[0], end)


def test_penalty_comes_after_the_amp_mix_with_its_full_weight():
    penalty, disagreement, dones = compare_penalty(1.0, TinyEnv, **AMP)
    torch.testing.assert_close(
        penalty[~dones], disagreement[~dones], rtol=1e-4, atol=1e-6
    )


def test_symmetry_keeps_its_effect_beside_the_teacher():
    def mirror(env, obs, actions):
        obs = None if obs is None else torch.cat((obs, obs))
        actions = None if actions is None else torch.cat((actions, 0.5 * actions))
        return obs, actions

    symmetry = {
        "data_augmentation_func": mirror,
        "use_data_augmentation": True,
        "use_mirror_loss": True,
        "mirror_loss_coeff": 2.0,
    }
    env = TinyEnv()
    base = make_algorithm(PPO, env, symmetry_cfg=dict(symmetry))
    base_losses = run_iteration(base, env)
    env = TinyEnv()
    student = make_student(
        env, mse_weight=0.0, penalty_weight=0.0, symmetry_cfg=dict(symmetry)
    )
    losses = run_iteration(student, env)
    assert losses["symmetry"] == pytest.approx(base_losses["symmetry"])
    assert_same(all_parameters(base), all_parameters(student))


def test_resumed_student_brings_its_teacher_and_goes_on_to_the_bit():
    env = TinyEnv()
    straight = make_student(env, recurrent=True, **AMP)
    run_iteration(straight, env)
    file = io.BytesIO()
    torch.save(straight.save(), file)
    file.seek(0)
    resumed = make_algorithm(
        TaMse, env, recurrent=True, seed=99, action_scale=ACTION_SCALE, **AMP
    )
    resumed.load(torch.load(file, weights_only=True), None, True)
    results = []
    for algorithm in (straight, resumed):
        env = TinyEnv(seed=5)
        algorithm.actor.reset()
        torch.manual_seed(7)
        for _ in range(2):
            run_iteration(algorithm, env)
        results.append(all_parameters(algorithm))
    assert_same(*results)


def test_mistakes_are_refused_with_a_reason():
    env = TinyEnv()
    algorithm = make_algorithm(TaMse, env, distance="raw")
    with pytest.raises(RuntimeError, match="load_teacher"):
        algorithm.act(env.get_observations())
    plain = make_algorithm(PpoAmp, env).save()
    with pytest.raises(SoloError, match="no teacher"):
        algorithm.load(plain, None, True)
    with pytest.raises(ValueError, match="negative"):
        make_algorithm(TaMse, env, mse_weight=-1.0)
    with pytest.raises(ValueError, match="'degrees'; allowed are radians, raw, mean"):
        make_algorithm(TaMse, env, distance="degrees")
    with pytest.raises(ValueError, match="action scale of 2 joints, found none"):
        make_algorithm(TaMse, env)
