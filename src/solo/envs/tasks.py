"""Registration of our tasks with mjlab."""

from __future__ import annotations

from mjlab.rl import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg
from mjlab.tasks.registry import register_mjlab_task

from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.observations_cfg import Stage
from solo.robots.g1 import G1

TASKS: dict[str, Stage] = {
    "Solo-Teacher-Unitree-G1": "teacher",
    "Solo-Student-Unitree-G1": "student",
    "Solo-Perceptive-Unitree-G1": "perceptive",
}
"""Task to its stage."""


def register() -> None:
    """Tell mjlab which tasks there are."""
    for task_id, stage in TASKS.items():
        register_mjlab_task(
            task_id=task_id,
            env_cfg=make_locomotion_env_cfg(G1, stage=stage),
            play_env_cfg=make_locomotion_env_cfg(G1, stage=stage, play=True),
            rl_cfg=make_ppo_cfg(stage),
        )


def make_ppo_cfg(stage: Stage = "teacher") -> RslRlOnPolicyRunnerCfg:
    """PPO with the paper's optimisation table and mjlab's networks."""
    hidden = {"hidden_dims": (512, 256, 128), "activation": "elu"}
    actor = "teacher_proprioception" if stage == "teacher" else "proprioception"
    return RslRlOnPolicyRunnerCfg(
        obs_groups={
            "actor": (actor,),
            "critic": ("teacher_proprioception", "base_velocity", "critic"),
        },
        actor=RslRlModelCfg(
            **hidden,
            obs_normalization=True,
            distribution_cfg={
                "class_name": "GaussianDistribution",
                "init_std": 1.0,
                "std_type": "scalar",
            },
        ),
        critic=RslRlModelCfg(**hidden, obs_normalization=True),
        algorithm=RslRlPpoAlgorithmCfg(
            entropy_coef=0.005,
            num_learning_epochs=5,
            num_mini_batches=4,
            learning_rate=1.0e-3,
            schedule="adaptive",
            gamma=0.99,
            lam=0.95,
            desired_kl=0.01,
            max_grad_norm=1.0,
        ),
        experiment_name="solo_locomotion",
        # mjlab's default is wandb, which wants an account.
        logger="tensorboard",
        save_interval=50,
        num_steps_per_env=24,
        max_iterations=50_000,
    )
