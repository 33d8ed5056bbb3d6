"""Add a reconstructor and measure it beside the paper's in the offline benchmark.

It takes a window of depth images and one of proprioception and returns a height map and
a velocity. This one ignores the images. The sizes are those of a test; the real
comparison is `solo recon run --profile laptop`.

    python examples/05_add_a_reconstructor.py
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import nn

from solo.cli.recon import make_sampler
from solo.reconstruction.cfg import CollectCfg, FitCfg
from solo.reconstruction.comparison import compare
from solo.reconstruction.data.recorder import collect
from solo.reconstruction.networks import RECONSTRUCTORS, ReconstructorKind
from solo.reconstruction.networks.interface import ReconstructionIoCfg, Reconstructor


@dataclass(frozen=True)
class BlindCfg:
    io: ReconstructionIoCfg = field(default_factory=ReconstructionIoCfg)
    hidden: int = 128


class Blind(Reconstructor):
    def __init__(self, cfg: BlindCfg) -> None:
        super().__init__(cfg.io)
        self.cfg, (rows, columns) = cfg, cfg.io.height_map.cells
        size = cfg.io.proprioception_frames * cfg.io.proprioception_dim
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(size, cfg.hidden), nn.ELU())
        self.height = nn.Linear(cfg.hidden, rows * columns)
        self.velocity = nn.Linear(cfg.hidden, 3)

    def forward(self, depth: torch.Tensor, proprioception: torch.Tensor, state=None):
        features = self.body(self.normalizer(proprioception))
        relief = self.height(features).unflatten(1, self.io.height_map.cells)
        outputs = {
            "height": self.to_metres(relief),
            "velocity": self.velocity(features),
        }
        return outputs, state

    def state_shapes(self):
        return ()


RECONSTRUCTORS["blind"] = ReconstructorKind(BlindCfg, Blind)


def main() -> None:
    data, terrains = Path("data/tiny"), ("flat", "stairs_up_25")
    cfg = FitCfg("blind", updates=20, batch=8, profile="laptop")
    sampler = make_sampler("shipped-teacher", cfg.profile)
    tiny = CollectCfg(frames=320, robots=8, steps=40, sets=1, variants=terrains)
    for part in (tiny, replace(tiny, split="eval", steps=20)):
        collect(part, sampler, data)
    result, _ = compare(cfg, ("blind", "qr"), data, Path("runs/tiny"))
    rows = {**result["methods"], "flat": result["flat"]}
    for name, row in rows.items():
        print(f"{name}: {row['l1_cm']:.1f} cm, {row['parameters']} parameters")


if __name__ == "__main__":
    main()
