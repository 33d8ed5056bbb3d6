"""TA-MSE with a reconstructor before the student: stage 3 of the paper.

The environment gives depth images and windows of proprioception beside the privileged
groups. This class turns them into the student's groups on the way in, so that
everything behind it, rollout storage included, is stage 2 with other names. The
reconstructor learns after PPO's update, from its own buffer and with its own optimiser:

    environment -> reconstructor -> (detached) -> student -> PPO, TA-MSE, AMP
              \\-> buffer of windows -> L1 -> reconstructor

Logged: `recon_height_cm` and `recon_velocity` are errors of the estimates that the
student acted on, before anything was learned from them; `..._on/TERRAIN` the same for
each terrain; every `check_every` iterations what happens without depth. While the
reconstructor warms up, the student acts on what it saw in stage 2 and there are none.

A student can learn to ignore depth and still follow the teacher on average. This check
reveals it: how much worse estimate and action become on the same states when the images
are black or those of another robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from solo.algorithms.mirror import TERMS, SignedMap
from solo.algorithms.ta_mse import (
    TERMINAL_OBSERVATIONS,
    TaMse,
    Terrain,
    mean_per_terrain,
)
from solo.errors import SoloError
from solo.reconstruction.networks.interface import Outputs
from solo.reconstruction.online import (
    Mirrors,
    ReconstructionLearner,
    ReconstructionLearnerCfg,
)
from solo.reconstruction.perceiver import (
    DEPTH,
    PROPRIOCEPTION,
    STUDENT_GROUPS,
    TRUE_MAP,
    TRUE_VELOCITY,
    WINDOW,
    Perceiver,
)

DEPTH_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "normal": lambda depth: depth,
    "zeroed": torch.zeros_like,
    # Neighbours stand on the same terrain; those half the number away do not.
    "shuffled": lambda depth: depth.roll(len(depth) // 2, dims=0),
}
"""What may be done to the images [B, T, H, W]; 0 means that nothing was measured."""


def map_error_cm(estimate: Outputs, height_map: torch.Tensor) -> torch.Tensor:
    """Mean absolute error of the map over all cells [B], cm."""
    error = estimate["height"] - height_map
    return 100.0 * error.abs().mean(dim=(-2, -1))


class RolloutErrors:
    """Errors of a rollout's estimates, before anything was learned from it."""

    def __init__(self) -> None:
        self._height_cm: list[torch.Tensor] = []
        self._velocity: list[torch.Tensor] = []

    def add(self, estimate: Outputs, obs: TensorDict) -> None:
        """Compare the estimates of a step with the privileged groups."""
        self._height_cm.append(map_error_cm(estimate, obs[TRUE_MAP]))
        velocity_error = estimate["velocity"] - obs[TRUE_VELOCITY]
        self._velocity.append(velocity_error.abs().sum(dim=-1))

    def pop_means(self, terrain: Terrain | None) -> dict[str, float]:
        """Means over the rollout, the height also per terrain; resets the sums.

        Nothing if nothing was added.

        ``recon_height_cm`` is the mean over cells, centimetres, ``recon_velocity`` the
        sum over the axes, m/s.
        """
        if not self._height_cm:
            return {}
        height_cm, velocity = map(torch.stack, (self._height_cm, self._velocity))
        self._height_cm, self._velocity = [], []
        means = {
            "recon_height_cm": height_cm.mean().item(),
            "recon_velocity": velocity.mean().item(),
        }
        for name, mean in mean_per_terrain(height_cm, terrain).items():
            means[f"recon_height_cm_on/{name}"] = mean
        return means


@torch.no_grad()
def depth_ablation(
    perceiver: Perceiver, obs: TensorDict, gap: Callable[[TensorDict], torch.Tensor]
) -> dict[str, float]:
    """Errors of estimates and actions when the images carry no information.

    Each window is judged for itself, from the student's present memory of its body (and
    the reconstructor's memory of the episode, if it has one). ``gap`` is the distance
    of the student's action to the teacher's [B] for what the student sees; like this
    function, it changes no state.

    Returns for "normal", "zeroed" and "shuffled" images ``depth_NAME_gap`` and
    ``depth_NAME_map_cm``.
    """
    model, result = perceiver.reconstructor, {}
    state = None if perceiver.memory is None else perceiver.memory.before
    for name, change in DEPTH_CHANGES.items():
        changed = obs.clone(recurse=False)
        changed[DEPTH] = change(obs[DEPTH])
        estimate, _ = model(changed[DEPTH], changed[WINDOW], state)
        seen = perceiver.compose(changed, estimate)
        error = map_error_cm(estimate, obs[TRUE_MAP])
        result[f"depth_{name}_gap"] = gap(seen).mean().item()
        result[f"depth_{name}_map_cm"] = error.mean().item()
    return result


def window_mirrors(frame: Mapping[str, Any]) -> Mirrors:
    """Mirrors of all that a window has, from ``source`` and ``signs`` of a frame's."""
    return {
        DEPTH: TERMS["depth"],
        WINDOW: SignedMap(tuple(frame["source"]), tuple(frame["signs"])),
        TRUE_MAP: TERMS["height_map"],
        TRUE_VELOCITY: TERMS["base_lin_vel"],
    }


class PerceptiveTaMse(TaMse):
    """TA-MSE on the estimates of a reconstructor that is trained along."""

    def __init__(
        self,
        actor: MLPModel,
        critic: MLPModel,
        storage: RolloutStorage,
        teacher: MLPModel,
        learner: ReconstructionLearner,
        perceiver: Perceiver,
        check_every: int = 50,
        **settings: Any,
    ) -> None:
        """Set up the learning of student and reconstructor; see `TaMse` for the rest.

        The use of depth is checked every so many iterations.
        """
        super().__init__(actor, critic, storage, teacher, **settings)
        self.learner, self.perceiver = learner, perceiver
        self.check_every = check_every
        self._raw: TensorDict | None = None
        self._seen: TensorDict | None = None
        self._estimate: Outputs | None = None
        self._errors = RolloutErrors()
        self._checks: dict[str, float] = {}
        self._carried: dict[str, torch.Tensor] = {}

    def act(self, obs: TensorDict) -> torch.Tensor:
        """Sample actions [B, joints] from what the sensors say; keep the windows."""
        seen = self._perceive(obs)
        memory = self.perceiver.memory
        if memory is None:
            self.learner.buffer.add(obs)
        else:
            self.learner.buffer.add(obs, memory.is_new, memory.before)
        if self._estimate is not None:
            self._errors.add(self._estimate, obs)
        return super().act(seen)

    def process_env_step(
        self,
        obs: TensorDict,
        rewards: torch.Tensor,
        dones: torch.Tensor,
        extras: dict[str, torch.Tensor],
    ) -> None:
        """Perceive the new state, without memory of the episodes that are `dones`."""
        if (ends := extras.get(TERMINAL_OBSERVATIONS)) is not None:
            is_warm = self.learner.is_warm
            seen = self.perceiver.observe_end(cast(TensorDict, ends), is_warm)
            extras = {**extras, TERMINAL_OBSERVATIONS: cast(Any, seen)}
        super().process_env_step(self._perceive(obs, dones), rewards, dones, extras)

    def compute_returns(self, obs: TensorDict) -> None:
        """Compute returns and advantages; now and then, test the use of depth."""
        seen = self._perceive(obs)
        if self.learner.iteration % self.check_every == 0:
            self._checks = depth_ablation(self.perceiver, obs, self._gap)
        super().compute_returns(seen)

    def update(self) -> dict[str, float]:
        """Update the student, then the reconstructor; report both."""
        losses = super().update()
        losses |= self._errors.pop_means(self.terrain) | self._checks
        self._checks = {}
        losses |= self.learner.update()
        self.perceiver.weights_changed()
        return losses

    def _perceive(
        self, obs: TensorDict, dones: torch.Tensor | None = None
    ) -> TensorDict:
        """The student's view of an observation; once per observation."""
        if dones is None and obs is self._raw:
            assert self._seen is not None
            return self._seen
        self._raw = obs
        carried, self._carried = self._carried, {}
        newest = obs[WINDOW][:, -1]
        if dones is None and carried and torch.equal(newest, carried[PROPRIOCEPTION]):
            estimate = {k: carried[k] for k in ("height", "velocity") if k in carried}
            self._estimate = estimate or None
            self._seen = self.perceiver.compose(obs, self._estimate)
            self._seen.update({k: carried[k] for k in STUDENT_GROUPS})
        else:
            self._estimate = self._estimate_now(obs, dones)
            self._seen = self.perceiver.compose(obs, self._estimate)
        return self._seen

    def _estimate_now(
        self, obs: TensorDict, dones: torch.Tensor | None
    ) -> Outputs | None:
        """What the student acts on; None while the learner warms up."""
        if self.perceiver.memory is not None:  # It has to see every step.
            estimate = self.perceiver.estimate(obs, dones)
            return estimate if self.learner.is_warm else None
        if not self.learner.is_warm:
            return None
        # The first time, past images are not known: as if episodes had just begun.
        is_first = self._estimate is None
        return self.perceiver.estimate(obs, None if is_first else dones)

    def train_mode(self) -> None:
        """Set train mode for everything that learns."""
        super().train_mode()
        self.learner.model.train()

    def eval_mode(self) -> None:
        """Set evaluation mode for everything that learns."""
        super().eval_mode()
        self.learner.model.eval()

    def save(self) -> dict:
        """What `TaMse` saves, and the reconstructor under `reconstructor`."""
        return super().save() | {"reconstructor": self.learner.state_dict()}

    def load(self, loaded_dict: dict, load_cfg: dict | None, strict: bool) -> bool:
        """Load what `load_cfg` names (`reconstructor` among it); all when None."""
        load_iteration = super().load(loaded_dict, load_cfg, strict)
        if load_cfg is None or load_cfg.get("reconstructor"):
            if "reconstructor" not in loaded_dict:
                raise SoloError(
                    "The checkpoint holds no reconstructor, so it is not one of a "
                    "perceptive student. Give a checkpoint of stage 3."
                )
            self.learner.load_state_dict(loaded_dict["reconstructor"])
            self.perceiver.weights_changed()
        return load_iteration

    def carried_state(self) -> dict[str, Any]:
        """What the student saw last, made by weights that are gone, and past images.

        See `solo.stages.runner.learner_state`. Only CPU runs resume bit-exactly;
        elsewhere the images of thousands of environments would be most of a checkpoint.
        """
        if self._seen is None or torch.device(self.device).type != "cpu":
            return {}
        seen = {k: self._seen[k].clone() for k in STUDENT_GROUPS}
        cache = self.perceiver.cache
        estimate = self._estimate or {}
        return {
            "seen": {**seen, **{k: v.clone() for k, v in estimate.items()}},
            "cache": None if cache is None else cache.state_dict(),
        }

    def set_carried_state(self, state: dict[str, Any]) -> None:
        """Take it back, for the observation that comes next."""
        if state:
            self._carried = state["seen"]
            if self.perceiver.cache is not None and state["cache"] is not None:
                self.perceiver.cache.load_state_dict(state["cache"])

    def broadcast_parameters(self) -> None:
        """Give every process the parameters of the first one."""
        super().broadcast_parameters()
        self.learner.broadcast()

    @staticmethod
    def construct_algorithm(
        obs: TensorDict, env: VecEnv, cfg: dict, device: str
    ) -> PPO:
        """Build everything; `cfg["reconstruction"]` has the reconstructor's part.

        Its keys: `name` and `fields` of the network, `learner` with the fields of
        `ReconstructionLearnerCfg`, `mirror` of a frame of proprioception or None,
        `streaming`, `check_every`.
        """
        settings: dict[str, Any] = cfg["reconstruction"]
        processes = cfg.get("multi_gpu") or {"world_size": 1}
        learner = ReconstructionLearner(
            settings["name"],
            settings["fields"],
            ReconstructionLearnerCfg(**settings["learner"]),
            env.num_envs,
            cfg["num_steps_per_env"],
            device,
            processes["world_size"],
            None if settings["mirror"] is None else window_mirrors(settings["mirror"]),
        )
        perceiver = Perceiver(
            learner.model, env.num_envs, device, settings["streaming"]
        )
        objects = {"learner": learner, "perceiver": perceiver}
        cfg["algorithm"] |= objects | {"check_every": settings["check_every"]}
        seen = perceiver.observe(obs.to(device))
        algorithm = TaMse.construct_algorithm(seen, env, cfg, device)
        for name in objects:  # Loggers store the config.
            del cfg["algorithm"][name]
        return algorithm
