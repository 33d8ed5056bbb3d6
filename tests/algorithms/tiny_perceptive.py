"""The tiny world with a camera: windows of depth and proprioception, maps, labels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from tensordict import TensorDict
from torch import nn

from solo.algorithms.perceptive_ta_mse import PerceptiveTaMse
from solo.reconstruction.networks import ReconstructorKind
from solo.reconstruction.networks.interface import (
    Outputs,
    ReconstructionIoCfg,
    Reconstructor,
    State,
)
from solo.reconstruction.perceiver import STUDENT_GROUPS
from solo.sensors.depth.camera import DepthHistory
from solo.sensors.height_map import HeightMapCfg
from tests.algorithms.tiny import ACTION_SCALE, STEPS, TinyEnv, make_cfg

IO = ReconstructionIoCfg(
    depth_shape=(4, 6),
    depth_frames=3,
    depth_stride=2,
    proprioception_dim=7,
    proprioception_frames=4,
    height_map=HeightMapCfg(
        cells=(4, 8), cell_m=0.2, x_range_m=(-0.3, 1.3), y_range_m=(-0.4, 0.4)
    ),
    query_block=2,
)
TINY_QR: dict[str, Any] = {
    "dim": 8,
    "num_heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_ff_dim": 8,
    "decoder_ff_dim": 8,
    "channels": (4, 4),
    "strides": (2, 2),
}
TINY_START: dict[str, Any] = {
    "channels": (4, 4),
    "strides": (2, 2),
    "squeeze_channels": 2,
    "depth_dim": 8,
    "proprioception_hidden_dim": 8,
    "proprioception_dim": 4,
    "hidden_dim": 8,
    "decoder_dim": 8,
    "head_hidden_dim": 8,
    "unet_channels": (4, 4),
}


@dataclass(frozen=True)
class LinearCfg:
    """Config of `LinearReconstructor`."""

    io: ReconstructionIoCfg = field(default_factory=ReconstructionIoCfg)
    uses_depth: bool = True


class LinearReconstructor(Reconstructor):
    """One linear layer over the newest frames: the smallest one with the contract."""

    def __init__(self, cfg: LinearCfg) -> None:
        super().__init__(cfg.io)
        self.cfg = cfg
        rows, columns = cfg.io.height_map.cells
        pixels = cfg.io.depth_shape[0] * cfg.io.depth_shape[1]
        inputs = cfg.io.proprioception_dim + pixels * cfg.uses_depth
        self.layer = nn.Linear(inputs, rows * columns + 3)

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        state: State | None = None,
    ) -> tuple[Outputs, State | None]:
        parts = [self.normalizer(proprioception[:, -1])]
        if self.cfg.uses_depth:
            parts.append(depth[:, -1].flatten(1))
        out = self.layer(torch.cat(parts, dim=-1))
        height = self.to_metres(out[:, :-3].unflatten(1, self.io.height_map.cells))
        return {"height": height, "velocity": out[:, -3:]}, state


LINEAR = ReconstructorKind(LinearCfg, LinearReconstructor)


class TinyPerceptiveEnv(TinyEnv):
    """Each point looks at a wavy ground; images and maps follow from its place."""

    def __init__(self, num_envs: int = 6, seed: int = 0) -> None:
        super().__init__(num_envs, seed)
        self.history = DepthHistory(
            num_envs, IO.depth_frames, IO.depth_stride, 1, shape=IO.depth_shape
        )
        self.window = torch.zeros(
            num_envs, IO.proprioception_frames, IO.proprioception_dim
        )
        self._look(torch.ones(num_envs, dtype=torch.bool))

    def _look(self, is_new: torch.Tensor) -> None:
        """Take an image and a frame of proprioception, as the real sensors do."""
        self.history.reset(is_new.nonzero().flatten())
        pixels = torch.linspace(0.0, 3.0, IO.depth_shape[0] * IO.depth_shape[1])
        waves = (pixels + self.points.sum(-1, keepdim=True)).sin()
        self.history.push(0.5 + 0.4 * waves.unflatten(1, IO.depth_shape))
        noise = torch.randn(self.num_envs, 3, generator=self.generator)
        frame = torch.cat([self.points, self.points.square(), noise], dim=-1)
        self.window = torch.cat([self.window[:, 1:], frame[:, None]], dim=1)
        self.window[is_new] = frame[is_new, None]

    def get_observations(self) -> TensorDict:
        rows, columns = IO.height_map.cells
        cells = torch.linspace(0.0, 3.0, rows * columns)
        waves = (cells + self.points.sum(-1, keepdim=True)).sin()
        seen = super().get_observations()
        seen["height_map"] = 0.1 * waves.unflatten(1, (rows, columns)) - 0.757
        seen["base_velocity"] = torch.cat([self.points, self.points[:, :1]], dim=-1)
        seen["depth"], seen["proprioception_window"] = self.history.read(), self.window
        return seen.exclude("proprioception", "reconstructed_map")

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        _, rewards, dones, extras = super().step(actions)
        self._look(dones > 0)
        return self.get_observations(), rewards, dones, extras


def make_perceptive(
    env: TinyPerceptiveEnv,
    name: str = "linear",
    seed: int = 1,
    multi_gpu: dict[str, int] | None = None,
    **changes: Any,
) -> PerceptiveTaMse:
    """The algorithm as the runner builds it; the teacher is drawn at random.

    Further arguments replace values of ``cfg["reconstruction"]``.
    """
    torch.manual_seed(seed)
    cfg = make_cfg(
        "solo.algorithms.perceptive_ta_mse:PerceptiveTaMse", action_scale=ACTION_SCALE
    )
    cfg["multi_gpu"] = multi_gpu
    maps: dict[str, Any] = {
        "ame_cfg": {"dim": 8, "num_heads": 2, "hidden_channels": 2, "map_stride": 2},
        "height_map_cfg": asdict(IO.height_map),
    }
    cfg["actor"] |= maps | {"class_name": "solo.networks.student:StudentModel"}
    cfg["teacher"] |= maps | {"class_name": "solo.networks.ame_model:AmeModel"}
    cfg["obs_groups"] = {
        "actor": list(STUDENT_GROUPS),
        "critic": ["critic", "base_velocity"],
        "teacher": ["teacher_proprioception", "base_velocity", "height_map"],
    }
    learner = {"iterations": 10, "samples": 24, "batch": 8, "updates": 3}
    cfg["reconstruction"] = {
        "name": name,
        "fields": {"io": asdict(IO), **(TINY_QR if name == "qr" else {})},
        "learner": learner | changes.pop("learner", {}),
        "mirror": None,
        "streaming": True,
        "check_every": 2,
        **changes,
    }
    algorithm = PerceptiveTaMse.construct_algorithm(
        env.get_observations(), env, cfg, "cpu"
    )
    assert isinstance(algorithm, PerceptiveTaMse)
    algorithm.load_teacher(algorithm.teacher.state_dict())
    algorithm.train_mode()
    return algorithm


def roll_out(algorithm: Any, env: TinyPerceptiveEnv) -> list[TensorDict]:
    """Fill the storage as the runner does; all observations of the environment."""
    seen = []
    with torch.inference_mode():
        obs = env.get_observations()
        for _ in range(STEPS):
            seen.append(obs)
            obs, *rest = env.step(algorithm.act(obs))
            algorithm.process_env_step(obs, *rest)
        algorithm.compute_returns(obs)
    return [*seen, obs]
