"""A network as a policy of the rollout loop, in blocks of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from rsl_rl.models import MLPModel
from tensordict import TensorDict

from solo.evaluation.protocols import Start
from solo.evaluation.rollout import LANES, Policy


class NetworkPolicy(Policy):
    """A network that acts on observation groups, without exploring.

    It is run on `LANES` slots at a time: matrix products round differently for other
    numbers of rows. Evaluations have whole blocks; elsewhere the last may be smaller.
    """

    def __init__(self, model: MLPModel, groups: Sequence[str], num_slots: int) -> None:
        self.model, self._groups = model.eval(), tuple(groups)
        self._states: list[Any] = [None] * -(-num_slots // LANES)

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Clear the memory of some slots."""
        for slot in slots:
            block, row = divmod(slot, LANES)
            for part in self._states[block] or ():  # [layers, LANES, hidden]
                part[:, row] = 0.0

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """Mean actions [B, joints]."""
        actions = []
        for block, state in enumerate(self._states):
            rows = slice(block * LANES, (block + 1) * LANES)
            groups = {name: observations[name][rows] for name in self._groups}
            size = len(next(iter(groups.values())))
            part = TensorDict(groups, batch_size=[size])
            self.model.reset(hidden_state=state)
            actions.append(self.model(part))
            self._states[block] = self.model.get_hidden_state()
        return torch.cat(actions), {}
