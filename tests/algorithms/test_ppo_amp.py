"""PPO with a motion prior: the mix, what is recorded, checkpoints, AMP off."""

from __future__ import annotations

import io
import logging

import pytest
import torch
from rsl_rl.algorithms import PPO

from solo.algorithms.amp import AmpCfg, MotionPrior
from solo.algorithms.ppo_amp import PpoAmp, cap_action_std
from solo.errors import SoloError
from tests.algorithms.tiny import (
    AMP_DIM,
    ENVS,
    STEPS,
    TinyEnv,
    TinyMotions,
    all_parameters,
    assert_same,
    make_algorithm,
    run_iteration,
)

AMP_CFG = {"hidden_dims": [16, 8], "replay_capacity": 40}


def make_prior(**settings) -> MotionPrior:
    torch.manual_seed(0)
    cfg = AmpCfg(**{**AMP_CFG, **settings})
    return MotionPrior(cfg, TinyMotions(), AMP_DIM, batch_size=16, num_updates=4)


def set_constant_score(prior: MotionPrior, score: float) -> None:
    with torch.no_grad():
        prior.discriminator.head.weight.zero_()
        prior.discriminator.head.bias.fill_(score)


@pytest.mark.parametrize("recurrent", [False, True])
def test_amp_off_is_rsl_rl_ppo_to_the_bit(recurrent):
    results = []
    for cls in (PPO, PpoAmp):
        env = TinyEnv()
        algorithm = make_algorithm(cls, env, recurrent)
        for _ in range(3):
            losses = run_iteration(algorithm, env)
        assert set(losses) == {"value", "surrogate", "entropy"}
        results.append(all_parameters(algorithm))
    assert_same(*results)


def test_the_critic_keeps_its_own_learning_rate():
    """The KL target moves the actor's rate and leaves the critic's alone."""
    env = TinyEnv()
    own = {"schedule": "adaptive", "desired_kl": 1e-9, "critic_learning_rate": 3e-3}
    algorithm = make_algorithm(PpoAmp, env, False, **own)
    run_iteration(algorithm, env)
    actor, critic = (group["lr"] for group in algorithm.optimizer.param_groups)
    assert actor < 1e-3
    assert critic == 3e-3
    assert len(algorithm.optimizer.state) == sum(
        len(list(m.parameters())) for m in (algorithm.actor, algorithm.critic)
    )


def test_the_action_std_is_capped_over_the_samples():
    env = TinyEnv()
    per_iteration = ENVS * STEPS
    cap = ((0.0, 1.0), (2.0 * per_iteration, 0.5))
    algorithm = make_algorithm(PpoAmp, env, False, max_std=cap)
    std = dict(algorithm.actor.named_parameters())["distribution.std_param"]
    with torch.no_grad():
        std.copy_(torch.tensor([1.5, 0.5]))
    run_iteration(algorithm, env)
    assert std.mean().item() == pytest.approx(0.75)
    assert (std[0] / std[1]).item() == pytest.approx(3.0, rel=0.1)
    saved = algorithm.save()
    assert saved["num_samples"] == per_iteration
    cap_action_std(algorithm.actor, 2.0)  # A cap never raises it.
    assert std.mean().item() == pytest.approx(0.75)


@pytest.mark.parametrize("recurrent", [False, True])
def test_the_average_gives_the_newest_weights_their_share(recurrent):
    env = TinyEnv()
    algorithm = make_algorithm(PpoAmp, env, recurrent, average_over=4)
    snapshots = []
    for _ in range(3):
        run_iteration(algorithm, env)
        snapshots.append(
            {k: v.clone() for k, v in algorithm.actor.state_dict().items()}
        )
    first, second, third = snapshots
    assert algorithm.averaged is not None
    for name, value in algorithm.averaged.items():
        if value.is_floating_point():
            expected = (9 * first[name] + 3 * second[name] + 4 * third[name]) / 16
            torch.testing.assert_close(value, expected)
        else:  # Counters.
            assert torch.equal(value, third[name])


def test_the_average_does_not_change_what_is_learned():
    results = []
    for settings in ({}, {"average_over": 2}):
        env = TinyEnv()
        algorithm = make_algorithm(PpoAmp, env, False, **settings)
        for _ in range(2):
            run_iteration(algorithm, env)
        results.append(all_parameters(algorithm))
    assert_same(*results)


def test_reward_mix_by_hand():
    prior = make_prior()
    set_constant_score(prior, 0.0)  # Style reward 1 - (0 - 1)^2 / 4 = 0.75.
    state = torch.randn(3, AMP_DIM)
    task = torch.tensor([1.0, -2.0, 4.0])
    dones = torch.tensor([0, 0, 1])
    mixed = prior.mix_reward(state, state, task, dones)
    # 0.7 * task + 0.3 * 0.3 * 0.75 = 0.7 * task + 0.0675, without style at the done.
    expected = torch.tensor([0.7675, -1.3325, 2.8])
    torch.testing.assert_close(mixed, expected)
    report = prior.update()
    assert report["amp_task_part"] == pytest.approx(0.7 * 1.0)
    assert report["amp_style_part"] == pytest.approx(2 * 0.0675 / 3)
    assert report["amp_style_reward"] == pytest.approx(0.75)


def test_style_scale_multiplies_the_style_part_alone():
    prior = make_prior(style_scale=0.02)
    set_constant_score(prior, 1.0)
    state = torch.zeros(1, AMP_DIM)
    mixed = prior.mix_reward(state, state, torch.ones(1), torch.zeros(1))
    torch.testing.assert_close(mixed, torch.tensor([0.7 + 0.09 * 0.02]))


def test_transitions_across_done_never_reach_the_discriminator():
    env = TinyEnv()
    algorithm = make_algorithm(
        PpoAmp, env, amp_cfg=AMP_CFG | {"replay_capacity": 999}, motions=TinyMotions()
    )
    expected = []
    with torch.inference_mode():
        obs = env.get_observations()
        for _ in range(STEPS):
            before = obs["amp"]
            obs, rewards, dones, extras = env.step(algorithm.act(obs))
            algorithm.process_env_step(obs, rewards, dones, extras)
            pairs = torch.cat((before, obs["amp"]), dim=-1)
            expected.append(pairs[dones == 0])
    rows = algorithm.amp.replay.rows
    assert 0 < len(rows) < ENVS * STEPS
    assert torch.equal(rows, torch.cat(expected))


@pytest.mark.parametrize("recurrent", [False, True])
def test_checkpoint_round_trip_resumes_to_the_bit(recurrent):
    settings = {"amp_cfg": AMP_CFG, "motions": TinyMotions(), "average_over": 3}
    env = TinyEnv()
    straight = make_algorithm(PpoAmp, env, recurrent, **settings)
    run_iteration(straight, env)
    file = io.BytesIO()
    torch.save(straight.save(), file)
    file.seek(0)
    resumed = make_algorithm(PpoAmp, env, recurrent, seed=99, **settings)
    resumed.load(torch.load(file, weights_only=True), None, True)
    results = []
    for algorithm in (straight, resumed):
        env = TinyEnv(seed=5)
        algorithm.actor.reset()
        torch.manual_seed(7)
        losses = [run_iteration(algorithm, env) for _ in range(2)]
        discriminator = algorithm.amp.discriminator.state_dict()
        results.append(all_parameters(algorithm) | discriminator)
        results[-1]["replay"] = algorithm.amp.replay.rows
        results[-1] |= {f"averaged {k}": v for k, v in algorithm.averaged.items()}
        assert losses[-1]["amp_gradient_penalty"] > 0
    assert_same(*results)


def test_policy_earns_more_style_reward_as_it_approaches_the_reference():
    prior = make_prior(learning_rate=1e-2)
    for _ in range(40):
        state = torch.randn(32, AMP_DIM, generator=prior.generator) - 1.0
        prior.mix_reward(state, state + 0.01, torch.zeros(32), torch.zeros(32))
        prior.update()
    style = []
    for centre in (-1.0, 0.5, 1.0):
        state = torch.full((8, AMP_DIM), centre)
        prior.mix_reward(state, state + 0.01, torch.zeros(8), torch.zeros(8))
        style.append(prior.update()["amp_style_reward"])
    assert style[0] < style[1] < style[2]
    assert style[2] > 0.5


def test_saturation_is_warned_about_once_per_patience(caplog):
    prior = make_prior(saturation_patience=3)
    with caplog.at_level(logging.WARNING, logger="solo.algorithms.amp"):
        for _ in range(2):
            prior._watch_saturation(0.95, -0.95)
        prior._watch_saturation(0.5, -0.95)  # The streak breaks.
        for _ in range(6):
            prior._watch_saturation(0.95, -0.95)
    assert len(caplog.records) == 2
    assert "saturated for 3 iterations" in caplog.text


def test_symmetry_augmentation_works_together_with_amp():
    def mirror(env, obs, actions):
        obs = None if obs is None else torch.cat((obs, obs))
        actions = None if actions is None else torch.cat((actions, actions))
        return obs, actions

    env = TinyEnv()
    algorithm = make_algorithm(
        PpoAmp,
        env,
        amp_cfg=AMP_CFG,
        motions=TinyMotions(),
        symmetry_cfg={"data_augmentation_func": mirror, "use_data_augmentation": True},
    )
    losses = run_iteration(algorithm, env)
    # Rows of one batch may round differently, depending on the processor.
    assert losses["symmetry"] == pytest.approx(0.0, abs=1e-12)
    assert losses["amp_discriminator"] > 0.0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"amp_cfg": {}}, SoloError, "no reference motions"),
        (
            {"amp_cfg": {"observation_group": "style"}, "motions": TinyMotions()},
            SoloError,
            "'style'.*Add the group",
        ),
        (
            {
                "amp_cfg": {"observation_group": "proprioception"},
                "motions": TinyMotions(),
            },
            ValueError,
            r"\(2, 3\).*\(2, 4\)",
        ),
        ({"amp_cfg": {"eta": 1.0}, "motions": TinyMotions()}, TypeError, "eta"),
        (
            {"amp_cfg": {"task_weight": 1.5}, "motions": TinyMotions()},
            ValueError,
            "1.5",
        ),
    ],
)
def test_wrong_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        make_algorithm(PpoAmp, TinyEnv(), **settings)


def test_checkpoint_without_amp_is_refused_when_amp_is_on():
    plain = make_algorithm(PpoAmp, TinyEnv()).save()
    algorithm = make_algorithm(
        PpoAmp, TinyEnv(), amp_cfg=AMP_CFG, motions=TinyMotions()
    )
    with pytest.raises(SoloError, match="no AMP state"):
        algorithm.load(plain, None, True)
    algorithm.load(plain, {"actor": True, "critic": True}, True)
