"""What the learner carries from one iteration to the next besides its parameters.

Hidden states of recurrent models outlast a rollout, the logger holds the rewards and
lengths of unfinished episodes, and every random draw depends on all draws before it.

An algorithm that carries more, e.g. what a student saw last, returns it as tensors
and plain values from ``carried_state()`` and restores it in
``set_carried_state(state)``, which is called only if the environment is restored too.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from rsl_rl.runners import OnPolicyRunner

_MODELS = ("actor", "critic", "teacher")
_SUMS = ("cur_reward_sum", "cur_episode_length")
_LAST_EPISODES = ("rewbuffer", "lenbuffer")


def learner_state(runner: OnPolicyRunner) -> dict[str, Any]:
    """Hidden states and episode statistics, as tensors and plain values."""
    hidden = {name: model.get_hidden_state() for name, model in _models(runner)}
    logger = runner.logger
    return {
        "hidden_states": {name: _cloned(state) for name, state in hidden.items()},
        "sums": {name: getattr(logger, name).clone() for name in _SUMS},
        "last_episodes": {name: list(getattr(logger, name)) for name in _LAST_EPISODES},
        "algorithm": getattr(runner.alg, "carried_state", dict)(),
    }


def set_learner_state(runner: OnPolicyRunner, state: dict[str, Any]) -> None:
    """Restore a saved state; the number of environments must be the same."""
    for name, model in _models(runner):
        model.reset(hidden_state=_cloned(state["hidden_states"][name]))
    with torch.inference_mode():
        for name, saved in state["sums"].items():
            getattr(runner.logger, name).copy_(saved)
    for name, saved in state["last_episodes"].items():
        values = getattr(runner.logger, name)
        values.clear()
        values.extend(saved)
    if hasattr(runner.alg, "set_carried_state"):
        runner.alg.set_carried_state(state["algorithm"])  # type: ignore[attr-defined]


def _models(runner: OnPolicyRunner) -> list[tuple[str, Any]]:
    return [(n, getattr(runner.alg, n)) for n in _MODELS if hasattr(runner.alg, n)]


def _cloned(state: Any) -> Any:
    """A copy of a hidden state: a tensor, a tuple of tensors, or None."""
    if isinstance(state, tuple):
        return tuple(part.detach().clone() for part in state)
    return None if state is None else state.detach().clone()


def rng_state() -> dict[str, Any]:
    """State of all global random generators, as plain values and tensors."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 - Others use it.
    version, internal, gauss = random.getstate()
    state = {
        "torch": torch.get_rng_state(),
        "numpy": [str(name), torch.from_numpy(np.asarray(keys, np.int64)), *rest],
        "python": [version, list(internal), gauss],
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_rng_state(state: dict[str, Any]) -> None:
    """Restore a saved random state."""
    torch.set_rng_state(state["torch"].cpu())
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))  # noqa: NPY002
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
