"""A ring buffer of rows: the transitions the discriminator has seen of the policy."""

from __future__ import annotations

from typing import Any

import torch


class ReplayBuffer:
    """Keeps the newest `capacity` rows of width D, in one preallocated tensor.

    Old policies stay in the buffer for a while, so the discriminator does not forget
    what they looked like (Peng et al. 2021, section 5.4).
    """

    def __init__(self, capacity: int, width: int, device: str = "cpu") -> None:
        if capacity < 1:
            raise ValueError(f"Replay capacity is {capacity}; it must be at least 1.")
        self._rows = torch.zeros(capacity, width, device=device)
        self._size = 0
        self._cursor = 0

    def __len__(self) -> int:
        return self._size

    @property
    def capacity(self) -> int:
        """The largest number of rows it holds."""
        return self._rows.shape[0]

    @property
    def rows(self) -> torch.Tensor:
        """The rows held now, [len, D]; a view, in no particular order."""
        return self._rows[: self._size]

    def insert(self, rows: torch.Tensor) -> None:
        """Add rows [N, D]; the oldest rows make room for them."""
        rows = rows[-self.capacity :]
        count = rows.shape[0]
        until_end = min(count, self.capacity - self._cursor)
        self._rows[self._cursor : self._cursor + until_end] = rows[:until_end]
        self._rows[: count - until_end] = rows[until_end:]
        self._cursor = (self._cursor + count) % self.capacity
        self._size = min(self._size + count, self.capacity)

    def sample(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Draw rows [count, D] uniformly, with replacement."""
        if self._size == 0:
            raise RuntimeError("The replay buffer is empty; insert transitions first.")
        ids = torch.randint(
            self._size, (count,), generator=generator, device=self._rows.device
        )
        return self._rows[ids]

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs: the rows held and where the next one goes."""
        return {"rows": self.rows.clone(), "cursor": self._cursor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state; the capacity must be the same once it is full."""
        rows, cursor = state["rows"], state["cursor"]
        size, width = rows.shape
        fits = size == self.capacity or (size < self.capacity and cursor == size)
        if not fits or width != self._rows.shape[1]:
            raise ValueError(
                f"The saved replay has {size} rows of width {width}; this buffer holds "
                f"{self.capacity} rows of width {self._rows.shape[1]}. Resume with the "
                "replay_capacity and motions the run was started with."
            )
        self._rows[:size] = rows
        self._size, self._cursor = size, cursor % self.capacity
