"""The depth camera: images of the ground, the robot's links and boxes; past images."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import warp as wp

from solo.sensors.depth import box_kernel, render_kernel
from solo.sensors.depth.cfg import DepthCameraCfg, DepthSensorCfg
from solo.sensors.depth.surface import NUM_LEVELS, build_surface
from solo.sensors.height_map import Boxes
from solo.terrains.grid import HeightGrid

ShareOut = Callable[[Callable[[int, int, int], None], int], None]
"""``run(work, num_items)`` calls ``work(slot, lo, hi)`` until all items are done."""


class DepthCamera:
    """Renders depth images of the height grid, capsules (the robot's links) and boxes.

    One ray is cast through the centre of each output pixel. Depth is along the optical
    axis, in metres: 0 (invalid) where the nearest surface is nearer than
    ``cfg.min_range_m``, because stereo finds no match there, and ``cfg.max_range_m``
    where it is farther. A camera in the ground, a capsule or a box sees nothing: all 0.
    Outside the grid the height of its border continues.
    """

    def __init__(
        self,
        grid: HeightGrid,
        cfg: DepthCameraCfg,
        device: str,
        run: ShareOut | None = None,
        walls: bool = True,
        num_levels: int = NUM_LEVELS,
    ) -> None:
        """Put the grid on the device and compile the kernels.

        Args:
            grid: The ground.
            cfg: Intrinsics, output size and range.
            device: Device of all tensors.
            run: Shares out images among threads on CPU, such as `WorkerPool.run`
                (Warp's CPU kernels run without the GIL); None renders in the calling
                thread. Unused on CUDA.
            walls: See risers as the vertical walls they are in the world; else as the
                ramps of 2.5 cm that physics makes of them.
            num_levels: Levels of the pyramid that skips empty space; changes speed,
                not images.
        """
        self.cfg = cfg
        self._device = device
        self._run = run if torch.device(device).type == "cpu" else None
        wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
        wp.load_module(render_kernel, device=device)
        self._intrinsics = _pack_intrinsics(cfg)
        self._surface = build_surface(
            grid, longest_ray_m(cfg), device, walls, num_levels
        )
        self._scratch = self._allocate(1, 1)

    def render(
        self,
        pos_w: torch.Tensor,
        rotation_w: torch.Tensor,
        capsules_w: torch.Tensor,
        radii: torch.Tensor,
        out: torch.Tensor | None = None,
        *,
        boxes: Boxes | None = None,
    ) -> torch.Tensor:
        """Depth [B, H, W], float32, of many cameras at once.

        Args:
            pos_w: Optical centres [B, 3], world, metres.
            rotation_w: Rotations camera-to-world [B, 3, 3]; the columns are the
                camera's right, down and forward axes in the world.
            capsules_w: End points of each camera's own capsules [B, C, 2, 3], world.
            radii: Radii of the capsules [C], metres.
            out: Images to write to [B, H, W]; new ones if left out.
            boxes: What stands on the ground in each camera's world; None for nothing.
        """
        count, height, width = len(pos_w), self.cfg.output_height, self.cfg.output_width
        if out is None:
            out = torch.empty(count, height, width, device=self._device)
        views, capsules = self._scratch
        if views.shape[0] < count or capsules.shape[1] < len(radii):
            views, capsules = self._scratch = self._allocate(count, len(radii))
        pos = wp.from_torch(pos_w.contiguous(), wp.vec3)
        rotation = wp.from_torch(rotation_w.contiguous(), wp.mat33)
        ends = wp.from_torch(capsules_w.reshape(2 * count * len(radii), 3), wp.vec3)
        radius, depth = wp.from_torch(radii.contiguous()), wp.from_torch(out)
        camera, surface = self._intrinsics, self._surface
        add_boxes = None if boxes is None else self._bind_boxes(boxes, pos, rotation)

        def work(slot: int, lo: int, hi: int) -> None:
            wp.launch(
                render_kernel.prepare,
                hi - lo,
                [surface, camera, pos, rotation, ends, radius, lo, views, capsules],
                device=self._device,
            )
            wp.launch(
                render_kernel.render,
                (hi - lo, height, width),
                [surface, camera, rotation, views, capsules, lo, depth],
                device=self._device,
            )
            if add_boxes is not None:
                add_boxes(lo, hi, depth)

        if self._run is None:
            work(0, 0, count)
        else:
            self._run(work, count)
        return out

    def _bind_boxes(
        self, boxes: Boxes, pos: wp.array, rotation: wp.array
    ) -> Callable[[int, int, wp.array], None]:
        """The pass that puts boxes into some of the images."""
        wp.load_module(box_kernel, device=self._device)
        count, num_boxes = boxes.pos_w.shape[:2]
        box_pos = wp.from_torch(boxes.pos_w.contiguous(), wp.vec3)
        box_rotation = wp.from_torch(boxes.rotation_w.contiguous(), wp.mat33)
        half = wp.from_torch(boxes.half_m.contiguous(), wp.vec3)
        shape = (count, max(num_boxes, 1))
        seen = wp.empty(shape, dtype=box_kernel.SeenBox, device=self._device)
        camera = self._intrinsics

        def add(lo: int, hi: int, depth: wp.array) -> None:
            wp.launch(
                box_kernel.prepare_boxes,
                (hi - lo, num_boxes),
                [camera, pos, rotation, box_pos, box_rotation, half, lo, seen],
                device=self._device,
            )
            wp.launch(
                box_kernel.render_boxes,
                (hi - lo, camera.height, camera.width),
                [camera, seen, num_boxes, lo, depth],
                device=self._device,
            )

        return add

    def _allocate(
        self, num_images: int, num_capsules: int
    ) -> tuple[wp.array, wp.array]:
        shape = (num_images, max(num_capsules, 1))
        return (
            wp.empty(num_images, dtype=render_kernel.Viewpoint, device=self._device),
            wp.empty(shape, dtype=render_kernel.Capsule, device=self._device),
        )


def longest_ray_m(cfg: DepthCameraCfg) -> float:
    """Length of the ray to the farthest corner of the image at the end of the range."""
    x = max(abs(cfg.cx), abs(cfg.width - cfg.cx)) / cfg.fx
    y = max(abs(cfg.cy), abs(cfg.height - cfg.cy)) / cfg.fy
    return cfg.max_range_m * math.hypot(x, y, 1.0)


def _pack_intrinsics(cfg: DepthCameraCfg) -> render_kernel.Intrinsics:
    camera = render_kernel.Intrinsics()
    camera.dx = cfg.width / cfg.output_width / cfg.fx
    camera.dy = cfg.height / cfg.output_height / cfg.fy
    camera.x0 = 0.5 * camera.dx - cfg.cx / cfg.fx
    camera.y0 = 0.5 * camera.dy - cfg.cy / cfg.fy
    camera.width, camera.height = cfg.output_width, cfg.output_height
    camera.min_range_m, camera.max_range_m = cfg.min_range_m, cfg.max_range_m
    return camera


class DepthHistory:
    """The window of past depth images that a policy sees, with latency.

    With 4 frames, a stride of 4 and a delay of 1, step 20 sees the images of steps 7,
    11, 15 and 19. In step 2 of an episode it sees those of steps 0, 0, 0 and 1: until
    there are enough images, the first one of the episode stands in for older ones.

    A ring of the last images of each env; only reading copies more than one.
    """

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
