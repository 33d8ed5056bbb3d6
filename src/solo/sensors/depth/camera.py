"""The depth camera: images of the ground, the robot's own links and boxes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import warp as wp

from solo.sensors.boxes import Boxes
from solo.sensors.depth import box_kernel, render_kernel
from solo.sensors.depth.cfg import DepthCameraCfg
from solo.sensors.depth.surface import NUM_LEVELS, build_surface
from solo.terrains.grid import HeightGrid

Run = Callable[[Callable[[int, int, int], None], int], None]
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
        run: Run | None = None,
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
        """Depth images of many cameras at once.

        Args:
            pos_w: Optical centres [B, 3], world, metres.
            rotation_w: Rotations camera-to-world [B, 3, 3]; the columns are the
                camera's right, down and forward axes in the world.
            capsules_w: End points of each camera's own capsules [B, C, 2, 3], world.
            radii: Radii of the capsules [C], metres.
            out: Images to write to [B, H, W]; new ones if left out.
            boxes: What stands on the ground in each camera's world; None for nothing.

        Returns:
            Depth [B, H, W], float32.
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
            wp.empty(num_images, dtype=render_kernel.View, device=self._device),
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
