"""The window of past depth images that a policy sees, with latency.

With 4 frames, a stride of 4 and a delay of 1, step 20 sees the images of steps 7, 11,
15 and 19. In step 2 of an episode it sees those of steps 0, 0, 0 and 1: until there are
enough images, the first one of the episode stands in for older ones.
"""

from __future__ import annotations

import torch

from solo.sensors.depth.cfg import DepthSensorCfg


class DepthHistory:
    """A ring of the last images of each env; only reading copies more than one."""

    def __init__(
        self,
        num_envs: int,
        frames: int = DepthSensorCfg.frames,
        stride: int = DepthSensorCfg.stride,
        max_delay: int = DepthSensorCfg.max_delay,
        *,
        shape: tuple[int, int],
        device: str = "cpu",
        generator: torch.Generator | None = None,
    ) -> None:
        """Make an empty history and draw the first delays.

        Args:
            num_envs: Number of images per step.
            frames: Images in the window.
            stride: Control steps between two of them.
            max_delay: Largest latency; drawn from 0..max_delay for each episode.
                One image is taken per control step, so a frame is a step.
            shape: Rows and columns of an image.
            device: Torch device.
            generator: Source of the delays, on CPU; a new one with seed 0 if None.
        """
        self.num_envs, self.frames, self.stride = num_envs, frames, stride
        self.max_delay, self.shape = max_delay, shape
        self._generator = generator or torch.Generator().manual_seed(0)
        self._length = (frames - 1) * stride + max_delay + 1
        self._ring = torch.zeros(self._length, num_envs, *shape, device=device)
        self._step = -1
        self._start = torch.zeros(num_envs, dtype=torch.long, device=device)
        self._envs = torch.arange(num_envs, device=device)
        # Ages from oldest to newest, as the window is ordered.
        self._ages = torch.arange(frames - 1, -1, -1, device=device) * stride
        self.delays = torch.zeros(num_envs, dtype=torch.long, device=device)
        """Latency of each env in frames, [B]."""
        self.reset()

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Begin a new episode in some envs (all if None) with the next image."""
        ids = self._envs[slice(None) if env_ids is None else env_ids]
        delays = torch.randint(
            self.max_delay + 1, (len(ids),), generator=self._generator
        )
        self.delays[ids] = delays.to(self.delays.device)
        self._start[ids] = self._step + 1
        # What `read` shows until the next push: no depth, nothing of the past episode.
        self._ring[self._step % self._length, ids] = 0.0

    def push(self, images: torch.Tensor, env_ids: torch.Tensor | None = None) -> None:
        """Store the images [B, H, W] of a new control step.

        With ``env_ids`` the step stays the same, and only these envs, which must have
        been reset, take their image as the first one of their episode.
        """
        if env_ids is None:
            self._step += 1
            self._ring[self._step % self._length].copy_(images)
        else:
            self._ring[self._step % self._length, env_ids] = images[env_ids]
            self._start[env_ids] = self._step

    def read(self, env_ids: torch.Tensor | None = None) -> torch.Tensor:
        """The window [B, frames, H, W] of some envs (all if None), oldest first.

        An env without an image in its present episode shows zeros.
        """
        if self._step < 0:
            raise RuntimeError("The depth history is empty; push images before read.")
        ids = self._envs if env_ids is None else env_ids
        wanted = self._step - self.delays[ids, None] - self._ages  # [B, frames]
        steps = torch.maximum(wanted, self._start[ids, None]).clamp_max(self._step)
        return self._ring[steps % self._length, ids[:, None]]
