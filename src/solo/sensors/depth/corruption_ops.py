"""The depth corruptions one by one.

Each function makes a `Corruption`. Call it with a batch of images to get corrupted
copies, ``edge_holes(prob, camera)(depth, generator)``; `corruption` runs all of them
without copies. Images are float32 [B, H, W], metres along the optical axis, 0 =
invalid; parameters that differ between envs are [B]. With zero parameters each is the
identity, and none of them makes an invalid pixel valid.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import warp as wp

from solo.sensors.depth import corruption_kernels as kernels
from solo.sensors.depth.cfg import (
    CloseBlocksCfg,
    DepthCameraCfg,
    DepthCorruptionCfg,
    MissingCfg,
)

_NUM_NORMALS = 4096


@dataclass(frozen=True)
class Corruption:
    """One kernel with the parameters of all envs."""

    kernel: Any
    threads: int
    """Kernel threads per image."""
    inputs: tuple[Any, ...]
    """Arguments of the kernel behind images, first image and seed."""
    is_random: bool = True
    """Whether the kernel takes a seed."""
    is_copy: bool = False
    """Whether the kernel reads neighbours and so needs a second image to write to."""

    def launch(self, src: Any, dst: Any, first: int, count: int, seed: int) -> None:
        """Corrupt Warp images ``first`` to ``first + count``, in place unless is_copy.

        The result of one in place is in ``dst``; ``src`` is then not read.
        """
        images = (src, dst) if self.is_copy else (dst,)
        seeds = (seed,) if self.is_random else ()
        wp.launch(
            self.kernel,
            dim=(count, self.threads),
            inputs=[*images, first, *seeds, *self.inputs],
            device=dst.device,
        )

    def __call__(
        self, depth: torch.Tensor, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Corrupted copies of the images [B, H, W]; ``generator`` is on CPU."""
        src = depth.contiguous()
        dst = torch.empty_like(src) if self.is_copy else src.clone()
        (seed,) = draw_seeds(generator, 1)
        with on_torch_stream(depth.device):
            self.launch(wp.from_torch(src), wp.from_torch(dst), 0, len(src), seed)
        return dst


def draw_seeds(generator: torch.Generator | None, count: int) -> list[int]:
    """Seeds of kernels, from a generator on CPU."""
    return torch.randint(2**31 - 1, (count,), generator=generator).tolist()


def on_torch_stream(device: torch.device) -> AbstractContextManager[Any]:
    """Let Warp launch in torch's order on CUDA; on CPU there is nothing to do."""
    if device.type != "cuda":
        return nullcontext()
    return wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(device)))


def value_noise(
    subpixel_px: torch.Tensor,
    scale_error: torch.Tensor,
    camera: DepthCameraCfg,
    baseline_m: float = DepthCorruptionCfg.baseline_m,
) -> Corruption:
    """Normal noise with sigma = z^2 * subpixel_px / (fx * baseline), and a scale error.

    The formula is that of a raw pixel. An output pixel covers about 6x8 of them, which
    is one stereo matching window: their errors move together, so resizing neither
    lowers the noise nor links neighbouring output pixels. Noise is therefore drawn at
    full strength and independently per output pixel; `blur` links neighbours. Pixels at
    or beyond the camera's range stay: their depth is not a measurement.
    """
    # Medians of 4096 equally likely slices of the normal distribution, scaled to unit
    # variance: ten times cheaper than drawing a normal number per pixel.
    share = (torch.arange(_NUM_NORMALS) + 0.5) / _NUM_NORMALS
    normals = torch.special.ndtri(share.double())
    normals = (normals / normals.square().mean().sqrt()).float()
    return Corruption(
        kernels.value_noise,
        camera.output_height,
        (
            _array(scale_error),
            _array(subpixel_px),
            1.0 / (camera.fx * baseline_m),
            _array(normals.to(subpixel_px.device)),
            camera.max_range_m,
        ),
    )


def edges(
    noise_prob: torch.Tensor,
    hole_prob: torch.Tensor,
    camera: DepthCameraCfg,
    limit_px: float = DepthCorruptionCfg.edge_limit_px,
    baseline_m: float = DepthCorruptionCfg.baseline_m,
) -> Corruption:
    """Edge noise and edge holes, at jumps between valid pixels.

    A pixel is at an edge if the second difference of its disparity, along x or y, is
    above ``limit_px`` raw pixels. Disparity is linear on a plane, so a sloping floor
    has no edges. With ``noise_prob`` the pixel takes the depth of one of its four
    neighbours, which makes outlines ragged; with ``hole_prob`` it turns invalid.
    """
    return Corruption(
        kernels.edges,
        camera.output_height,
        (_array(noise_prob), _array(hole_prob), limit_px / (camera.fx * baseline_m)),
        is_copy=True,
    )


def stereo(
    left_band: torch.Tensor,
    shadow: torch.Tensor,
    camera: DepthCameraCfg,
    baseline_m: float = DepthCorruptionCfg.baseline_m,
) -> Corruption:
    """Blind regions of a stereo pair whose image is that of its left imager.

    A point at depth Z appears fx * baseline / Z raw pixels further left in the right
    imager. It has no match if that is outside the image (a band at the left edge), or
    behind something nearer (a shadow at the left of an object). ``left_band`` and
    ``shadow`` scale the shift: 1 is the geometry, 0 is no such region.
    """
    columns_m = camera.fx * baseline_m * camera.output_width / camera.width
    return Corruption(
        kernels.stereo,
        camera.output_height,
        (_array(left_band), _array(shadow), columns_m),
        is_random=False,
    )


def close_blocks(
    near_m: torch.Tensor,
    hole_prob: torch.Tensor,
    false_prob: torch.Tensor,
    camera: DepthCameraCfg,
    block_px: float = CloseBlocksCfg.block_px,
) -> Corruption:
    """Invalidate pixels nearer than ``near_m``, some with the block around them.

    Blocks of ``block_px`` raw pixels lie on a lattice that moves with each image. One
    with a too close pixel turns invalid as a whole with ``hole_prob``, or its valid
    pixels take one false depth with ``false_prob``.
    """
    rows = max(1, round(block_px * camera.output_height / camera.height))
    columns = max(1, round(block_px * camera.output_width / camera.width))
    return Corruption(
        kernels.close_blocks,
        math.ceil(camera.output_height / rows) + 1,
        (
            *(_array(value) for value in (near_m, hole_prob, false_prob)),
            rows,
            columns,
            camera.max_range_m,
        ),
    )


def missing_pixels(prob: torch.Tensor, camera: DepthCameraCfg) -> Corruption:
    """Invalidate single pixels with probability ``prob``."""
    return Corruption(kernels.missing, camera.output_height, (_array(prob),))


def missing_blobs(
    mean_count: torch.Tensor,
    camera: DepthCameraCfg,
    max_radius_px: float = MissingCfg.max_blob_radius_px,
) -> Corruption:
    """Invalidate ellipses, ``mean_count`` (at most 8) of them per image on average."""
    half_x = max_radius_px * camera.output_width / camera.width
    half_y = max_radius_px * camera.output_height / camera.height
    return Corruption(
        kernels.blobs, kernels.MAX_BLOBS, (_array(mean_count), half_x, half_y)
    )


def side_masks(
    left_px: torch.Tensor, right_px: torch.Tensor, camera: DepthCameraCfg
) -> Corruption:
    """Invalidate output columns at both sides; the widths are int32 [B]."""
    widths = (_array(left_px), _array(right_px))
    return Corruption(kernels.sides, camera.output_height, widths, is_random=False)


def blur(
    weight_x: torch.Tensor,
    weight_y: torch.Tensor,
    camera: DepthCameraCfg,
    range_m: tuple[float, float] = (0.0, math.inf),
) -> Corruption:
    """The range of the camera, then the mean of the valid pixels in a 3x3 window.

    Values below the range turn invalid, values above it take its end. Neighbours weigh
    ``weight_x`` and ``weight_y`` where the centre has 1 (see `blur_weight`). Only valid
    pixels count, so holes neither spread nor close.
    """
    weights = (_array(weight_x), _array(weight_y))
    return Corruption(
        kernels.clip_and_blur,
        camera.output_height,
        (*weights, *range_m),
        is_random=False,
        is_copy=True,
    )


def _array(values_b: torch.Tensor) -> Any:
    wp.init()
    return wp.from_torch(values_b.contiguous())
