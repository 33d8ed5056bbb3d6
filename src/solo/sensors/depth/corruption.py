"""Synthetic corruption of depth images, with new strengths in each episode.

The order is that of a stereo camera: what can be matched at all (edges, regions that
only one imager sees), the error of a match (value noise), where matching fails (too
close, missing pixels, masked sides), what the host makes of it (range, blur).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
import warp as wp

from solo.sensors.depth import corruption_ops as ops
from solo.sensors.depth.camera import ShareOut
from solo.sensors.depth.cfg import (
    DepthCameraCfg,
    DepthCorruptionCfg,
    Range,
    SideMaskCfg,
)


def draw_strengths(
    cfg: DepthCorruptionCfg,
    camera: DepthCameraCfg,
    num: int,
    generator: torch.Generator,
) -> dict[str, torch.Tensor]:
    """Draw the parameters of ``num`` episodes [B], on CPU; zero means no effect.

    ``left_px`` and ``right_px`` are output columns, int32; ``blur_x`` and ``blur_y``
    the weights of the neighbours along x and y, the centre having 1.
    """

    def draw(span: Range) -> torch.Tensor:
        return torch.empty(num).uniform_(span[0], span[1], generator=generator)

    off = (0.0, 0.0)
    noise, missing, near = cfg.value_noise, cfg.missing, cfg.close_blocks
    sigma_px = draw(cfg.blur.sigma_px if cfg.blur else off)
    return {
        "scale_error": draw(noise.scale_error if noise else off),
        "subpixel_px": draw(noise.subpixel_px if noise else off),
        "edge_noise_prob": draw(cfg.edge_noise.prob if cfg.edge_noise else off),
        "edge_hole_prob": draw(cfg.edge_holes.prob if cfg.edge_holes else off),
        "missing_prob": draw(missing.pixel_prob if missing else off),
        "blobs": draw(missing.blobs if missing else off),
        "near_m": draw(near.near_m if near else off),
        "close_hole_prob": draw(near.hole_prob if near else off),
        "close_false_prob": draw(near.false_prob if near else off),
        "left_band": draw(cfg.left_band.strength if cfg.left_band else off),
        "shadow": draw(cfg.shadow.strength if cfg.shadow else off),
        "left_px": _side_px(cfg.side_masks, camera, draw),
        "right_px": _side_px(cfg.side_masks, camera, draw),
        "blur_x": blur_weight(sigma_px, camera.width / camera.output_width),
        "blur_y": blur_weight(sigma_px, camera.height / camera.output_height),
    }


def blur_weight(sigma_px: torch.Tensor, raw_per_output: float) -> torch.Tensor:
    """Gaussian weight of the next output pixel; 0 for a sigma of 0."""
    spread = (sigma_px / raw_per_output).clamp_min(1e-6)
    return torch.exp(-0.5 / spread**2)


def _side_px(
    cfg: SideMaskCfg | None,
    camera: DepthCameraCfg,
    draw: Callable[[Range], torch.Tensor],
) -> torch.Tensor:
    is_masked = draw((0.0, 1.0)) < draw(cfg.prob if cfg else (0.0, 0.0))
    width = draw((0.0, 1.0)) * (cfg.max_width if cfg else 0.0) * camera.output_width
    return (is_masked * torch.ceil(width)).to(torch.int32)


class DepthCorruptor:
    """Corrupts the images of all envs, each with the strengths of its episode."""

    def __init__(
        self,
        cfg: DepthCorruptionCfg,
        camera: DepthCameraCfg,
        num_envs: int,
        device: str,
        run: ShareOut | None = None,
        seed: int = 0,
    ) -> None:
        """Draw the first strengths.

        ``run`` shares images among CPU threads, and the result does not depend on it;
        one thread if None, unused on CUDA.
        """
        self.cfg, self.camera, self.num_envs = cfg, camera, num_envs
        self._run = (
            run
            if run is not None and torch.device(device).type == "cpu"
            else (lambda work, num: work(0, 0, num))
        )
        self._generator = torch.Generator().manual_seed(seed)
        drawn = draw_strengths(cfg, camera, num_envs, self._generator)
        self.state = {name: values.to(device) for name, values in drawn.items()}
        """Strengths of each env in its present episode, see `draw_strengths`."""
        self._envs = torch.arange(num_envs, device=device)
        shape = (num_envs, camera.output_height, camera.output_width)
        self._spare = torch.empty(shape, device=device)
        self._stages = self._make_stages()

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Draw new strengths for some envs (all if None)."""
        ids = self._envs[slice(None) if env_ids is None else env_ids]
        drawn = draw_strengths(self.cfg, self.camera, len(ids), self._generator)
        for name, values in self.state.items():
            values[ids] = drawn[name].to(values.device)

    def __call__(self, depth: torch.Tensor) -> torch.Tensor:
        """Corrupt one image per env, float32 [B, H, W], metres, 0 = invalid, in place.

        What stays valid is within the camera's range.
        """
        expected = tuple(self._spare.shape)
        if tuple(depth.shape) != expected or not depth.is_contiguous():
            raise ValueError(
                f"Depth has shape {tuple(depth.shape)}; expected contiguous {expected}."
            )
        images, spare = wp.from_torch(depth), wp.from_torch(self._spare)
        seeds = ops.draw_seeds(self._generator, len(self._stages))

        def work(_slot: int, lo: int, hi: int) -> None:
            # The first stage writes from `images` to `spare`, the last one back.
            for k, (stage, seed) in enumerate(zip(self._stages, seeds, strict=True)):
                is_last = k == len(self._stages) - 1
                src, dst = (spare, images) if is_last else (images, spare)
                stage.launch(src, dst, lo, hi - lo, seed)

        with ops.on_torch_stream(depth.device):
            self._run(work, self.num_envs)
        return depth

    def _make_stages(self) -> list[ops.Corruption]:
        cfg, camera, state = self.cfg, self.camera, self.state
        baseline_m = cfg.baseline_m
        stages = [
            ops.edges(
                state["edge_noise_prob"],
                state["edge_hole_prob"],
                camera,
                cfg.edge_limit_px,
                baseline_m,
            )
        ]
        if cfg.left_band or cfg.shadow:
            stages += [
                ops.stereo(state["left_band"], state["shadow"], camera, baseline_m)
            ]
        if cfg.value_noise:
            stages += [
                ops.value_noise(
                    state["subpixel_px"], state["scale_error"], camera, baseline_m
                )
            ]
        if near := cfg.close_blocks:
            probs = (state["close_hole_prob"], state["close_false_prob"])
            stages += [ops.close_blocks(state["near_m"], *probs, camera, near.block_px)]
        if missing := cfg.missing:
            radius_px = missing.max_blob_radius_px
            stages += [
                ops.missing_pixels(state["missing_prob"], camera),
                ops.missing_blobs(state["blobs"], camera, radius_px),
            ]
        if cfg.side_masks:
            stages += [ops.side_masks(state["left_px"], state["right_px"], camera)]
        range_m = (camera.min_range_m, camera.max_range_m)
        return [*stages, ops.blur(state["blur_x"], state["blur_y"], camera, range_m)]


def without_near_limit(camera: DepthCameraCfg) -> DepthCameraCfg:
    """The camera to render with when corruption follows, which applies the range.

    Things too close to be measured must still be in the image: they cast stereo
    shadows and spoil the blocks around them.
    """
    return replace(camera, min_range_m=0.01)


def normalise(depth: torch.Tensor, camera: DepthCameraCfg) -> torch.Tensor:
    """Depth as a share of the largest range, in [0, 1]; invalid stays 0."""
    return (depth / camera.max_range_m).clamp_max(1.0)
