"""Train a teacher with another reward weight and a reward term of your own.

Two iterations of the smoke profile, to see that it runs; give another profile and
more iterations to learn something (`solo train teacher` uses the laptop's on a CPU).

    python examples/03_train_with_own_rewards.py [PROFILE [ITERATIONS]]
"""

import sys
from pathlib import Path

import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.managers.reward_manager import RewardTermCfg

import solo
from solo.terrains.scene import TerrainSceneCfg


def base_height(env: ManagerBasedRlEnv, target_m: float) -> torch.Tensor:
    """Squared distance of the base from a height above the origin of its patch, [B]."""
    height = env.scene["robot"].data.root_link_pos_w[:, 2] - env.scene.env_origins[:, 2]
    return (height - target_m) ** 2


def change_rewards(cfg: ManagerBasedRlEnvCfg) -> None:
    """Weights are per second: a step of 0.02 s pays weight times value times 0.02."""
    cfg.rewards["fly"].weight = -1.0
    cfg.rewards["base_height"] = RewardTermCfg(
        func=base_height, weight=-2.0, params={"target_m": 0.75}
    )


def main(profile: str = "smoke", iterations: str = "2") -> None:
    output = Path("runs/own-rewards")
    cfg = solo.TeacherCfg(
        robot="g1",
        profile=profile,
        output=output,
        iterations=int(iterations),
        # Left out: the paper's whole curriculum.
        terrain=TerrainSceneCfg(variants=("flat", "gap"), num_levels=3, border_m=4.0),
        change_env=change_rewards,
    )
    summary = solo.train_teacher(cfg)
    print(f"Wrote {summary['checkpoint']} after {summary['env_steps']} samples.")
    print(f"Each term has a curve once episodes end: tensorboard --logdir {output}")


if __name__ == "__main__":
    main(*sys.argv[1:])
