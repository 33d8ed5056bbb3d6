"""Step the environment with random actions and print what each reward term pays.

python examples/02_step_the_environment.py
"""

import torch

import solo
from solo.terrains.scene import TerrainSceneCfg

NUM_ENVS, STEPS = 4, 50


def main() -> None:
    # Two of the seventeen terrains, three levels of difficulty: seconds to build.
    terrain = TerrainSceneCfg(variants=("flat", "stairs_up_25"), num_levels=3)
    cfg = solo.make_locomotion_env_cfg(
        solo.get_robot("g1"), num_envs=NUM_ENVS, terrain=terrain, seed=0
    )
    env = solo.make_env(cfg)
    observations, _ = env.reset()
    for name, value in observations.items():
        print(f"observation {name}: {tuple(getattr(value, 'shape', ()))}")

    generator = torch.Generator().manual_seed(0)
    shape, falls = (NUM_ENVS, env.action_manager.total_action_dim), 0
    sums = dict.fromkeys(env.reward_manager.active_terms, 0.0)
    for _ in range(STEPS):
        actions = 0.3 * torch.randn(shape, generator=generator)
        _, _, fallen, _, _ = env.step(actions)
        falls += int(fallen.sum())
        for name, value in env.reward_manager.get_active_iterable_terms(0):
            sums[name] += value[0]
    env.close()

    print(f"{falls} falls in {NUM_ENVS * STEPS} steps; robot 0 earned per second:")
    for name, total in sorted(sums.items(), key=lambda item: item[1]):
        print(f"{total / STEPS:+8.3f}  {name}")


if __name__ == "__main__":
    main()
