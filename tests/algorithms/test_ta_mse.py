"""TA-MSE: penalties and returns by hand, its two baselines, the frozen teacher."""

from __future__ import annotations

import io

import pytest
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from solo.algorithms.ppo_amp import PpoAmp
from solo.algorithms.ta_mse import TaMse
from solo.algorithms.teacher_matching import TEACHER_ACTION, compute_disagreement
from solo.errors import SoloError
from tests.algorithms.tiny import (
    STEPS,
    TinyEnv,
    TinyMotions,
    all_parameters,
    assert_same,
    make_algorithm,
    run_iteration,
)

AMP = {
    "amp_cfg": {"hidden_dims": [8], "replay_capacity": 40},
    "motions": TinyMotions(),
}


def make_student(env: TinyEnv, recurrent: bool = False, seed: int = 1, **settings):
    algorithm = make_algorithm(TaMse, env, recurrent, seed, **settings)
    generator = torch.Generator().manual_seed(11)
    state = algorithm.teacher.state_dict()
    for value in state.values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape, generator=generator) + 0.1)
    algorithm.load_teacher(state)
    return algorithm


def roll_out(algorithm, env: TinyEnv) -> TensorDict:
    """Fill the storage and compute returns; the observation at the end."""
    with torch.inference_mode():
        obs = env.get_observations()
        for _ in range(STEPS):
            obs, *rest = env.step(algorithm.act(obs))
            algorithm.process_env_step(obs, *rest)
        algorithm.compute_returns(obs)
    return obs


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


def test_disagreement_by_hand():
    student, teacher = torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[0.0, 0.0, 2.0]])
    assert compute_disagreement(student, teacher).tolist() == [9.0]


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

    Environment 0 ends its episode at step 1 (a fall), environment 1 never. The teacher
    always says 0, so l is the square of the student's action.
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
    storage = RolloutStorage("rl", 2, 4, observations[0], [1])
    actor, critic = Scripted("proprioception"), Scripted("critic")
    actor.anchor = torch.nn.Parameter(torch.zeros(1))  # Optimisers need something.
    algorithm = TaMse(
        actor,  # pyright: ignore[reportArgumentType]
        critic,  # pyright: ignore[reportArgumentType]
        storage,
        teacher=Scripted("height_map"),  # pyright: ignore[reportArgumentType]
        penalty_weight=2.0,
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
                {},
            )
        algorithm.compute_returns(observations[4])

    # l(t) = student^2:  env 0: 1 4 1 0 | 9     env 1: 0 1 4 1 | 1
    # r(t) - 2 l(t+1), and no penalty across the done of env 0 at step 1:
    #   env 0:  1 - 8 = -7,  1,           2 - 0 = 2,   0 - 18 = -18
    #   env 1:  1 - 2 = -1,  1 - 8 = -7,  1 - 2 = -1,  1 - 2 = -1
    torch.testing.assert_close(
        storage.rewards.squeeze(-1),
        torch.tensor([[-7.0, -1.0], [1.0, -7.0], [2.0, -1.0], [-18.0, -1.0]]),
    )
    # delta = r + 0.5 * 1 * (not done) - 1;  A(t) = delta + 0.25 * (not done) * A(t+1).
    #   env 0: delta -7.5, 0, 1.5, -18.5
    #          A(3) = -18.5, A(2) = 1.5 - 4.625 = -3.125, A(1) = 0, A(0) = -7.5
    #   env 1: delta -1.5, -7.5, -1.5, -1.5
    #          A(3) = -1.5, A(2) = -1.875, A(1) = -7.96875, A(0) = -3.4921875
    # Returns are A + V = A + 1.
    torch.testing.assert_close(
        storage.returns.squeeze(-1),
        torch.tensor(
            [[-6.5, -2.4921875], [1.0, -6.96875], [-2.125, -0.875], [-17.5, -0.5]]
        ),
    )


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
    assert (penalty[dones] == 0).all()
    torch.testing.assert_close(
        penalty[~dones], 0.5 * disagreement[~dones], rtol=1e-4, atol=1e-6
    )


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
    resumed = make_algorithm(TaMse, env, recurrent=True, seed=99, **AMP)
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
    algorithm = make_algorithm(TaMse, env)
    with pytest.raises(RuntimeError, match="load_teacher"):
        algorithm.act(env.get_observations())
    plain = make_algorithm(PpoAmp, env).save()
    with pytest.raises(SoloError, match="no teacher"):
        algorithm.load(plain, None, True)
    with pytest.raises(ValueError, match="negative"):
        make_algorithm(TaMse, env, mse_weight=-1.0)
