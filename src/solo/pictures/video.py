"""Videos as files: GIF of a limited size, and MP4."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from PIL import Image

from solo.files import written_aside
from solo.pictures.images import ATTENTION_COLOURS, HEIGHT_COLOURS, colour

MIN_FRAME_MS = 20
"""Shortest duration of a frame that browsers keep to."""
MAX_BYTES = 3_000_000
"""Size of a GIF with one palette, at most, so that a README can show it."""

_TRIES = ((1, 128), (1, 64), (2, 64), (3, 48), (4, 32))
"""Take every n-th frame, in so many colours; the first that is small enough is kept."""
_RAMP_PX = 60
"""Rows of each colour map beside the pictures that the palette is made of."""


def save_mp4(
    frames: Sequence[Image.Image], path: Path, fps: int, hold_s: float = 0.0
) -> None:
    """Write H.264, which every browser plays; the last frame stays for a while.

    Sides are cut to multiples of 2, as the codec wants them.
    """
    width, height = (2 * (side // 2) for side in frames[0].size)
    with written_aside(path) as unfinished:
        writer = imageio_ffmpeg.write_frames(
            str(unfinished), (width, height), fps=fps, macro_block_size=2
        )
        writer.send(None)
        for frame in [*frames, *[frames[-1]] * round(hold_s * fps)]:
            pixels = np.asarray(frame.convert("RGB"))[:height, :width]
            writer.send(np.ascontiguousarray(pixels))
        writer.close()


def save_gif(
    frames: Sequence[Image.Image],
    path: Path,
    frame_s: float,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Write an endless GIF of a limited size, with fewer frames and colours if need be.

    It plays in the same time, whatever was left out.
    """
    data, frame_ms = b"", max(MIN_FRAME_MS, round(1000 * frame_s))
    for stride, colours in _TRIES:
        data = _encode(frames[::stride], colours, stride * frame_ms)
        if len(data) <= max_bytes:
            break
    with written_aside(path) as unfinished:
        unfinished.write_bytes(data)


def _encode(frames: Sequence[Image.Image], num_colours: int, frame_ms: int) -> bytes:
    """A GIF with one palette for all, so that what stands still costs nothing."""
    palette = _sample(frames).quantize(num_colours, dither=Image.Dither.NONE)
    first, *others = [
        frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames
    ]
    stream = io.BytesIO()
    first.save(
        stream,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=frame_ms,
        loop=0,
        optimize=False,
    )
    return stream.getvalue()


def _sample(frames: Sequence[Image.Image]) -> Image.Image:
    """Some pictures under each other, and the brighter colours of the maps.

    Where they are rare in the pictures, as those of high ground, they would otherwise
    not be in the palette.
    """
    chosen = [np.asarray(f) for f in frames[:: max(1, len(frames) // 8)]]
    width, limits = chosen[0].shape[1], (0.0, 1.0)
    for colours in (HEIGHT_COLOURS, ATTENTION_COLOURS):
        ramp = colour(np.linspace(0.35, 1.0, width), limits, colours)
        chosen.append(np.repeat(ramp[None], _RAMP_PX, axis=0))
    return Image.fromarray(np.concatenate(chosen))
