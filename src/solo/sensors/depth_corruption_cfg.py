"""How wrong the depth images are, and by how much in each episode.

The paper names the kinds (value and edge noise, missing pixels, blind regions, blur)
and resamples their probabilities per episode; it gives no values. All values below are
therefore "not stated in the paper"; each field says why it was chosen. Sizes are in
pixels of the raw stream, so they stay the same angle at any output size. A pair is the
range of a uniform distribution, drawn anew for each episode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import torch

from solo.sensors.perception_cfg import DepthCameraCfg

Range = tuple[float, float]


def _check(cfg: object, name: str, lowest: float, highest: float) -> None:
    low, high = span = getattr(cfg, name)
    if not lowest <= low <= high <= highest:
        raise ValueError(
            f"{type(cfg).__name__}.{name} is {span}; allowed are two numbers from "
            f"{lowest:g} to {highest:g}, the smaller one first."
        )


@dataclass(frozen=True)
class ValueNoiseCfg:
    """Error of matched pixels, growing with the square of the distance."""

    subpixel_px: Range = (0.05, 0.10)
    """Disparity noise, raw pixels; the range of Intel's tuning guide for the D400."""
    scale_error: Range = (-0.01, 0.01)
    """Relative error of all depths, from calibration; a D455 promises 2 % at 4 m."""

    def __post_init__(self) -> None:
        _check(self, "subpixel_px", 0.0, math.inf)
        _check(self, "scale_error", -0.5, 0.5)


@dataclass(frozen=True)
class EdgeCfg:
    """Errors where the depth jumps; see `DepthCorruptionCfg.edge_limit_px`."""

    prob: Range
    """Probability per edge pixel."""

    def __post_init__(self) -> None:
        _check(self, "prob", 0.0, 1.0)


@dataclass(frozen=True)
class MissingCfg:
    """Pixels and small patches without a match: poor texture, reflections."""

    pixel_prob: Range = (0.0, 0.01)
    """Probability per pixel; others use 0.001 to 0.01."""
    blobs: Range = (0.0, 3.0)
    """Mean number of patches per image, at most 8; 3 of them cover about 0.5 %."""
    max_blob_radius_px: float = 20.0
    """Largest half axis, raw pixels: about twice a stereo matching window."""

    def __post_init__(self) -> None:
        _check(self, "pixel_prob", 0.0, 1.0)
        _check(self, "blobs", 0.0, 8.0)


@dataclass(frozen=True)
class CloseBlocksCfg:
    """What is nearer than stereo can match turns invalid or false, in blocks."""

    near_m: Range = (0.26, 0.34)
    """Least distance; computed 0.29 m at 640x480, reported 0.26 to 0.35 m nearby."""
    hole_prob: Range = (0.0, 0.6)
    """Probability that a block with a too close pixel is invalid as a whole."""
    false_prob: Range = (0.0, 0.05)
    """Probability that it holds one false depth instead; a rare sight on real units."""
    block_px: float = 24.0
    """Side of a block, raw pixels: two to three matching windows."""

    def __post_init__(self) -> None:
        _check(self, "near_m", 0.0, math.inf)
        _check(self, "hole_prob", 0.0, 1.0)
        _check(self, "false_prob", 0.0, 1.0)


@dataclass(frozen=True)
class StereoCfg:
    """A region that the left imager sees and the right one does not."""

    strength: Range
    """Width relative to the geometry of the two imagers."""

    def __post_init__(self) -> None:
        _check(self, "strength", 0.0, math.inf)


@dataclass(frozen=True)
class SideMaskCfg:
    """Columns that are blind for a whole episode: housing, cables, clothes."""

    prob: Range = (0.2, 0.2)
    """Probability per side; rare, because it is a fault of the mount."""
    max_width: float = 0.1
    """Largest width as a share of the image."""

    def __post_init__(self) -> None:
        _check(self, "prob", 0.0, 1.0)


@dataclass(frozen=True)
class BlurCfg:
    """Smoothing by filters and resizing."""

    sigma_px: Range = (0.0, 5.0)
    """Standard deviation, raw pixels: up to the size of one output pixel."""

    def __post_init__(self) -> None:
        _check(self, "sigma_px", 0.0, math.inf)


@dataclass(frozen=True)
class DepthCorruptionCfg:
    """All corruptions; None switches one off."""

    value_noise: ValueNoiseCfg | None = field(default_factory=ValueNoiseCfg)
    edge_noise: EdgeCfg | None = field(default_factory=lambda: EdgeCfg((0.0, 0.5)))
    """Depth of a neighbour; up to half, as a matching window straddles the edge."""
    edge_holes: EdgeCfg | None = field(default_factory=lambda: EdgeCfg((0.0, 0.3)))
    """No depth; others invalidate 20 % of the edge pixels."""
    missing: MissingCfg | None = field(default_factory=MissingCfg)
    close_blocks: CloseBlocksCfg | None = field(default_factory=CloseBlocksCfg)
    left_band: StereoCfg | None = field(default_factory=lambda: StereoCfg((0.9, 1.1)))
    """Left edge of the image; 1 is a D455, 10 % allow for units and windows."""
    shadow: StereoCfg | None = field(default_factory=lambda: StereoCfg((0.5, 1.0)))
    """Left of near objects; less than 1 because the sensor fills narrow gaps."""
    side_masks: SideMaskCfg | None = field(default_factory=SideMaskCfg)
    blur: BlurCfg | None = field(default_factory=BlurCfg)
    baseline_m: float = 0.095
    """Distance of the two imagers (D455)."""
    edge_limit_px: float = 1.0
    """Second difference of the disparity beyond which a pixel is at an edge.

    Raw pixels; ten times the disparity noise. A plane has none at any slope; a step of
    5 cm at 1 m has 1.8.
    """

    def only(self, *names: str) -> DepthCorruptionCfg:
        """The same with all corruptions off except the named ones."""
        return replace(self, **{n: None for n in CORRUPTIONS if n not in names})


CORRUPTIONS = tuple(f.name for f in fields(DepthCorruptionCfg) if "Cfg" in str(f.type))
"""Names of the fields that switch a corruption."""


@dataclass
class CorruptionState:
    """Parameters of each env for its present episode, all [B]; zero means no effect."""

    scale_error: torch.Tensor
    subpixel_px: torch.Tensor
    edge_noise_prob: torch.Tensor
    edge_hole_prob: torch.Tensor
    missing_prob: torch.Tensor
    blobs: torch.Tensor
    near_m: torch.Tensor
    close_hole_prob: torch.Tensor
    close_false_prob: torch.Tensor
    left_band: torch.Tensor
    shadow: torch.Tensor
    left_px: torch.Tensor
    """int32, output columns."""
    right_px: torch.Tensor
    """int32, output columns."""
    blur_x: torch.Tensor
    """Weight of the left and right neighbours, the centre having 1."""
    blur_y: torch.Tensor
    """Weight of the neighbours above and below."""

    def items(self) -> list[tuple[str, torch.Tensor]]:
        """Name and tensor of each parameter."""
        return [(f.name, getattr(self, f.name)) for f in fields(self)]

    def assign(self, env_ids: torch.Tensor, other: CorruptionState) -> None:
        """Overwrite the parameters of some envs, in place."""
        for name, values in self.items():
            values[env_ids] = getattr(other, name).to(values.device)


def sample_state(
    cfg: DepthCorruptionCfg,
    camera: DepthCameraCfg,
    num: int,
    generator: torch.Generator,
) -> CorruptionState:
    """Draw the parameters of ``num`` episodes, on CPU."""

    def draw(span: Range) -> torch.Tensor:
        return torch.empty(num).uniform_(span[0], span[1], generator=generator)

    off = (0.0, 0.0)
    noise, missing, near = cfg.value_noise, cfg.missing, cfg.close_blocks
    sigma_px = draw(cfg.blur.sigma_px if cfg.blur else off)
    return CorruptionState(
        scale_error=draw(noise.scale_error if noise else off),
        subpixel_px=draw(noise.subpixel_px if noise else off),
        edge_noise_prob=draw(cfg.edge_noise.prob if cfg.edge_noise else off),
        edge_hole_prob=draw(cfg.edge_holes.prob if cfg.edge_holes else off),
        missing_prob=draw(missing.pixel_prob if missing else off),
        blobs=draw(missing.blobs if missing else off),
        near_m=draw(near.near_m if near else off),
        close_hole_prob=draw(near.hole_prob if near else off),
        close_false_prob=draw(near.false_prob if near else off),
        left_band=draw(cfg.left_band.strength if cfg.left_band else off),
        shadow=draw(cfg.shadow.strength if cfg.shadow else off),
        left_px=_side_px(cfg.side_masks, camera, draw),
        right_px=_side_px(cfg.side_masks, camera, draw),
        blur_x=blur_weight(sigma_px, camera.width / camera.output_width),
        blur_y=blur_weight(sigma_px, camera.height / camera.output_height),
    )


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
