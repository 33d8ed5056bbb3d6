# pyright: reportInvalidTypeForm=false
# ruff: noqa: RUF046, UP018 (Warp: a call declares a variable that a loop may change)
"""Warp kernels that make pixels invalid: blind regions and missing pixels.

The conventions are those of `depth_value_kernels`.
"""

from __future__ import annotations

from typing import Any

import warp

from solo.sensors.depth_value_kernels import uniform

wp: Any = warp  # The stubs do not describe what is allowed inside kernels.
wp.set_module_options({"enable_backward": False})

MAX_BLOBS = 8
"""Most blobs of missing pixels in one image."""


@wp.kernel
def stereo(
    depth: wp.array3d[wp.float32],
    first: int,
    band: wp.array[wp.float32],
    shadow: wp.array[wp.float32],
    columns_m: float,
) -> None:
    """What the right imager misses; ``columns_m`` = f * baseline in output columns."""
    image, v = wp.tid()
    b = first + image
    columns = depth.shape[2]
    band_m = band[b] * columns_m
    shadow_m = shadow[b] * columns_m
    if band_m > 0.0 or shadow_m > 0.0:
        leftmost = float(2 * columns)  # In the right image, of all to the right of u.
        for k in range(columns):
            u = columns - 1 - k
            z = depth[b, v, u]
            if z > 0.0:
                x = float(u) + 0.5
                x_right = x - shadow_m / z
                if x_right > leftmost or x * z < band_m:
                    depth[b, v, u] = 0.0
                leftmost = wp.min(leftmost, x_right)


@wp.kernel
def close_blocks(
    depth: wp.array3d[wp.float32],
    first: int,
    seed: int,
    near_m: wp.array[wp.float32],
    hole_prob: wp.array[wp.float32],
    false_prob: wp.array[wp.float32],
    block_rows: int,
    block_columns: int,
    max_range_m: float,
) -> None:
    """Invalidate what is too close, in blocks; one thread per row of blocks."""
    image, block_row = wp.tid()
    b = first + image
    near = near_m[b]
    if near > 0.0:
        rows = depth.shape[1]
        columns = depth.shape[2]
        key = wp.rand_init(seed, b)
        v0 = block_row * block_rows - int(uniform(key, 0) * float(block_rows))
        u0 = -int(uniform(key, 1) * float(block_columns))
        v_low = wp.max(v0, 0)
        v_high = wp.min(v0 + block_rows, rows)
        key = wp.rand_init(seed, (b + 1) * rows + block_row)
        for block in range(columns / block_columns + 2):
            u_low = wp.max(u0 + block * block_columns, 0)
            u_high = wp.min(u0 + (block + 1) * block_columns, columns)
            nearest = float(near)
            for v in range(v_low, v_high):
                for u in range(u_low, u_high):
                    z = depth[b, v, u]
                    if z > 0.0:
                        nearest = wp.min(nearest, z)
            if nearest < near:
                draw = uniform(key, 2 * block)
                false_z = near + (max_range_m - near) * uniform(key, 2 * block + 1)
                for v in range(v_low, v_high):
                    for u in range(u_low, u_high):
                        z = depth[b, v, u]
                        if draw < hole_prob[b]:
                            z = 0.0
                        elif draw < hole_prob[b] + false_prob[b] and z > 0.0:
                            z = false_z
                        elif z < near:
                            z = 0.0
                        depth[b, v, u] = z


@wp.kernel
def missing(
    depth: wp.array3d[wp.float32], first: int, seed: int, prob: wp.array[wp.float32]
) -> None:
    """Invalidate single pixels."""
    image, v = wp.tid()
    b = first + image
    columns = depth.shape[2]
    p = prob[b]
    if p > 0.0:
        # Jump from one missing pixel to the next: the gaps are geometrically
        # distributed, and most pixels need no random number.
        key = wp.rand_init(seed, b * depth.shape[1] + v)
        per_log = 1.0 / wp.log(wp.max(1.0 - p, 1e-30))
        u = int(-1)
        while u < columns:
            gap = wp.log(1.0 - uniform(key, u)) * per_log
            u += 1 + int(wp.min(gap, float(columns)))
            if u < columns:
                depth[b, v, u] = 0.0


@wp.kernel
def blobs(
    depth: wp.array3d[wp.float32],
    first: int,
    seed: int,
    rate: wp.array[wp.float32],
    max_half_x: float,
    max_half_y: float,
) -> None:
    """Invalidate ellipses with half axes in output pixels; one thread per blob."""
    image, slot = wp.tid()
    b = first + image
    key = wp.rand_init(seed, b * MAX_BLOBS + slot)
    if uniform(key, 0) * float(MAX_BLOBS) < rate[b]:
        rows = depth.shape[1]
        columns = depth.shape[2]
        x = uniform(key, 1) * float(columns)
        y = uniform(key, 2) * float(rows)
        half_x = wp.max(uniform(key, 3) * max_half_x, 0.75)
        half_y = wp.max(uniform(key, 4) * max_half_y, 0.75)
        for v in range(wp.max(int(y - half_y), 0), wp.min(int(y + half_y) + 1, rows)):
            dy = (float(v) + 0.5 - y) / half_y
            left = wp.max(int(x - half_x), 0)
            for u in range(left, wp.min(int(x + half_x) + 1, columns)):
                dx = (float(u) + 0.5 - x) / half_x
                if dx * dx + dy * dy < 1.0:
                    depth[b, v, u] = 0.0


@wp.kernel
def sides(
    depth: wp.array3d[wp.float32],
    first: int,
    left_px: wp.array[wp.int32],
    right_px: wp.array[wp.int32],
) -> None:
    """Invalidate columns at the left and at the right."""
    image, v = wp.tid()
    b = first + image
    columns = depth.shape[2]
    for u in range(wp.min(left_px[b], columns)):
        depth[b, v, u] = 0.0
    for u in range(wp.max(columns - right_px[b], 0), columns):
        depth[b, v, u] = 0.0
