# pyright: reportInvalidTypeForm=false
# ruff: noqa: RUF046, UP018 (Warp: a call declares a variable that a loop may change)
"""Warp kernels that corrupt depth images, the same on CPU and CUDA.

Some change values (edges, noise, blur), others make pixels invalid (blind regions,
missing pixels).

Images are float32 [B, H, W] in metres along the optical axis, 0 = invalid. Each kernel
works on images ``first``, ``first + 1``, ... so that threads can share a batch, with
one thread per row: on CPU that is three times as fast as one per pixel. Random numbers
are hashes of seed, image and pixel, so they do not depend on how images are shared out.
An invalid pixel stays invalid.
"""

from __future__ import annotations

from typing import Any

import warp

wp: Any = warp  # The stubs do not describe what is allowed inside kernels.
wp.set_module_options({"enable_backward": False})

MAX_BLOBS = 8
"""Most blobs of missing pixels in one image."""


@wp.func
def hash_u32(key: wp.uint32, index: int) -> wp.uint32:
    state = key + wp.uint32(index)
    return wp.randu(state)


@wp.func
def uniform(key: wp.uint32, index: int) -> float:
    """In [0, 1)."""
    return float(hash_u32(key, index) >> wp.uint32(8)) * (1.0 / 16777216.0)


@wp.func
def _is_kink(a: float, b: float, c: float, limit: float) -> bool:
    """Whether 1/a - 2/b + 1/c, times a focal length in ``limit``, is beyond it."""
    return wp.abs(b * (a + c) - 2.0 * a * c) > limit * a * b * c


@wp.kernel
def edges(
    src: wp.array3d[wp.float32],
    dst: wp.array3d[wp.float32],
    first: int,
    seed: int,
    jitter_prob: wp.array[wp.float32],
    hole_prob: wp.array[wp.float32],
    limit_per_m: float,
) -> None:
    """Edge noise and edge holes; ``limit_per_m`` = disparity limit / (f * baseline)."""
    image, v = wp.tid()
    b = first + image
    rows = src.shape[1]
    columns = src.shape[2]
    key = wp.rand_init(seed, b * rows + v)
    jitter = jitter_prob[b]
    hole = hole_prob[b]
    above = wp.max(v - 1, 0)
    below = wp.min(v + 1, rows - 1)
    left = src[b, v, 0]
    z = left
    for u in range(columns):
        right = src[b, v, wp.min(u + 1, columns - 1)]
        value = z
        if z > 0.0 and jitter + hole > 0.0:
            up = src[b, above, u]
            down = src[b, below, u]
            is_edge = False
            if left > 0.0 and right > 0.0 and u > 0 and u < columns - 1:
                is_edge = _is_kink(left, z, right, limit_per_m)
            if up > 0.0 and down > 0.0 and below - above == 2:
                is_edge = is_edge or _is_kink(up, z, down, limit_per_m)
            if is_edge:
                if uniform(key, 2 * u) < jitter:
                    side = int(hash_u32(key, 2 * u + 1) >> wp.uint32(30))
                    other = left
                    if side == 1:
                        other = right
                    elif side == 2:
                        other = up
                    elif side == 3:
                        other = down
                    if other > 0.0:
                        value = other
                if uniform(key, 2 * columns + u) < hole:
                    value = 0.0
        dst[b, v, u] = value
        left = z
        z = right


@wp.kernel
def value_noise(
    depth: wp.array3d[wp.float32],
    first: int,
    seed: int,
    scale_error: wp.array[wp.float32],
    subpixel_px: wp.array[wp.float32],
    per_px_m: float,
    normals: wp.array[wp.float32],
    max_m: float,
) -> None:
    """z -> z (1 + scale error) + z^2 subpixel / (f B) n; ``per_px_m`` = 1 / (f B)."""
    image, v = wp.tid()
    b = first + image
    key = wp.rand_init(seed, b * depth.shape[1] + v)
    scale = 1.0 + scale_error[b]
    sigma = subpixel_px[b] * per_px_m
    for u in range(depth.shape[2]):
        z = depth[b, v, u]
        # The upper 12 bits choose one of 4096 equally likely values.
        noise = normals[int(hash_u32(key, u) >> wp.uint32(20))]
        if z < max_m:
            depth[b, v, u] = z * wp.max(scale + z * sigma * noise, 0.0)


@wp.func
def _clip(z: float, min_m: float, max_m: float) -> float:
    return wp.where(z < min_m, 0.0, wp.min(z, max_m))


@wp.kernel
def clip_and_blur(
    src: wp.array3d[wp.float32],
    dst: wp.array3d[wp.float32],
    first: int,
    weight_x: wp.array[wp.float32],
    weight_y: wp.array[wp.float32],
    min_m: float,
    max_m: float,
) -> None:
    """The range of the camera, then a 3x3 normalised convolution of valid pixels."""
    image, v = wp.tid()
    b = first + image
    rows = src.shape[1]
    columns = src.shape[2]
    w = weight_x[b]
    # Rows outside the image weigh nothing.
    w_above = wp.where(v > 0, weight_y[b], 0.0)
    w_below = wp.where(v < rows - 1, weight_y[b], 0.0)
    above = wp.max(v - 1, 0)
    below = wp.min(v + 1, rows - 1)
    z = float(0.0)  # Of the column in the middle: value, weighted sum, sum of weights.
    sum_z = float(0.0)
    sum_w = float(0.0)
    last_sum_z = float(0.0)
    last_sum_w = float(0.0)
    for u in range(-1, columns):
        next_z = float(0.0)
        next_sum_z = float(0.0)
        next_sum_w = float(0.0)
        if u + 1 < columns:
            next_z = _clip(src[b, v, u + 1], min_m, max_m)
            next_sum_z = next_z
            next_sum_w = wp.where(next_z > 0.0, 1.0, 0.0)
            if w_above + w_below > 0.0:
                up = _clip(src[b, above, u + 1], min_m, max_m)
                down = _clip(src[b, below, u + 1], min_m, max_m)
                next_sum_z += w_above * up + w_below * down
                next_sum_w += wp.where(up > 0.0, w_above, 0.0)
                next_sum_w += wp.where(down > 0.0, w_below, 0.0)
        if u >= 0:
            value = z
            if z > 0.0:
                total = sum_w + w * (last_sum_w + next_sum_w)
                value = (sum_z + w * (last_sum_z + next_sum_z)) / total
            dst[b, v, u] = value
        last_sum_z = sum_z
        last_sum_w = sum_w
        z = next_z
        sum_z = next_sum_z
        sum_w = next_sum_w


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
