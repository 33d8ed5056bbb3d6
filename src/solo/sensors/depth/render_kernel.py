# pyright: reportInvalidTypeForm=false
# ruff: noqa: RUF046, UP018 (Warp: a call declares a variable that a loop may change)
"""The depth camera's kernels: the ground and capsules as one image, on CPU and CUDA."""

from __future__ import annotations

from typing import Any

import warp

from solo.sensors.depth.surface import Surface, Viewpoint, march

wp: Any = warp  # The stubs do not describe what is allowed inside kernels.
wp.set_module_options({"enable_backward": False})

_FAR = wp.constant(1e9)


@wp.struct
class Intrinsics:
    """Pixel (row, column) looks along (column * dx + x0, row * dy + y0, 1)."""

    dx: wp.float32
    dy: wp.float32
    x0: wp.float32
    y0: wp.float32
    width: wp.int32
    height: wp.int32
    min_range_m: wp.float32
    max_range_m: wp.float32


@wp.struct
class Capsule:
    """A capsule in the camera frame, and the pixels that it can cover."""

    start: wp.vec3
    axis: wp.vec3
    radius: wp.float32
    first_row: wp.int32
    last_row: wp.int32
    first_column: wp.int32
    last_column: wp.int32


@wp.func
def _hit_capsule(c: Capsule, ray: wp.vec3) -> wp.float32:
    """Parameter at which the ray enters the capsule, or `_FAR`.

    The ray starts outside, at the origin. Of the infinite cylinder around the axis it
    enters the part between the ends, or else the ball at the end that it comes by.
    """
    along = wp.dot(c.axis, c.axis)
    ray_along = wp.dot(c.axis, ray)
    start_along = -wp.dot(c.axis, c.start)
    # Squared distance to the axis, times `along`: a t^2 + 2 b t + d.
    a = wp.max(along * wp.dot(ray, ray) - ray_along * ray_along, 1e-12)
    b = -along * wp.dot(ray, c.start) - start_along * ray_along
    d = along * wp.dot(c.start, c.start) - start_along * start_along
    root = b * b - a * (d - c.radius * c.radius * along)
    if root < 0.0:
        return _FAR
    t = -(b + wp.sqrt(root)) / a
    place = start_along + t * ray_along
    if place <= 0.0 or place >= along:
        centre = c.start
        if place > 0.0:
            centre = c.start + c.axis
        a = wp.dot(ray, ray)
        b = wp.dot(ray, centre)
        root = b * b - a * (wp.dot(centre, centre) - c.radius * c.radius)
        if root < 0.0:
            return _FAR
        t = (b - wp.sqrt(root)) / a
    return wp.where(t > 0.0, t, _FAR)


@wp.func
def _ball_bounds(x: wp.float32, z: wp.float32, radius: wp.float32) -> wp.vec2:
    """Smallest and largest slope x / z of the lines that touch a circle ahead."""
    root = radius * wp.sqrt(x * x + z * z - radius * radius)
    scale = 1.0 / (z * z - radius * radius)
    return wp.vec2((x * z - root) * scale, (x * z + root) * scale)


@wp.func
def _is_inside(start: wp.vec3, axis: wp.vec3, radius: wp.float32) -> wp.bool:
    """Whether the origin is inside a capsule."""
    place = wp.clamp(-wp.dot(start, axis) / wp.max(wp.dot(axis, axis), 1e-12), 0.0, 1.0)
    return wp.length(start + place * axis) <= radius


@wp.kernel
def prepare(
    s: Surface,
    camera: Intrinsics,
    pos_w: wp.array[wp.vec3],
    rotation_w: wp.array[wp.mat33],
    ends_w: wp.array[wp.vec3],
    radii: wp.array[wp.float32],
    first: wp.int32,
    views: wp.array[Viewpoint],
    capsules: wp.array2d[Capsule],
):
    """Place each camera in the grid and find the capsules that can be in its image."""
    image = first + wp.tid()
    pos = pos_w[image]
    view = Viewpoint()
    mask = ~((1 << (2 * s.top)) - 1)
    # Beyond the border the ground does not change, so a camera far away is as good as
    # one a ray's length away, and indices stay small.
    limit = wp.float64(2 * s.reach)
    x = wp.clamp(
        (wp.float64(pos[0]) - s.corner_x_m) / s.square_m - wp.float64(0.5),
        -limit, wp.float64(s.num_x) + limit,
    )  # fmt: skip
    y = wp.clamp(
        (wp.float64(pos[1]) - s.corner_y_m) / s.square_m - wp.float64(0.5),
        -limit, wp.float64(s.num_y) + limit,
    )  # fmt: skip
    view.corner_i = (int(wp.floor(x)) & mask) - s.reach
    view.corner_j = (int(wp.floor(y)) & mask) - s.reach
    view.x = float(x - wp.float64(view.corner_i))
    view.y = float(y - wp.float64(view.corner_j))
    view.z = float(wp.float64(pos[2]) / s.quantum_m)

    to_camera = wp.transpose(rotation_w[image])
    slope_x = camera.x0 + float(camera.width) * camera.dx
    slope_y = camera.y0 + float(camera.height) * camera.dy
    count = int(0)
    inside = bool(False)
    for n in range(radii.shape[0]):
        radius = radii[n]
        at = 2 * (image * radii.shape[0] + n)
        start = to_camera @ (ends_w[at] - pos)
        end = to_camera @ (ends_w[at + 1] - pos)
        inside = inside or _is_inside(start, end - start, radius)
        c = Capsule()
        c.start = start
        c.axis = end - start
        c.radius = radius
        c.last_row = camera.height - 1
        c.last_column = camera.width - 1
        ahead = wp.max(start[2], end[2]) > -radius
        if wp.min(start[2], end[2]) > 1.01 * radius:
            a = _ball_bounds(start[0], start[2], radius)
            b = _ball_bounds(end[0], end[2], radius)
            c.first_column = int((wp.min(a[0], b[0]) - camera.x0) / camera.dx)
            c.last_column = int((wp.max(a[1], b[1]) - camera.x0) / camera.dx + 1.0)
            ahead = wp.max(a[1], b[1]) > camera.x0 and wp.min(a[0], b[0]) < slope_x
            a = _ball_bounds(start[1], start[2], radius)
            b = _ball_bounds(end[1], end[2], radius)
            c.first_row = int((wp.min(a[0], b[0]) - camera.y0) / camera.dy)
            c.last_row = int((wp.max(a[1], b[1]) - camera.y0) / camera.dy + 1.0)
            ahead = ahead and wp.max(a[1], b[1]) > camera.y0
            ahead = ahead and wp.min(a[0], b[0]) < slope_y
        if ahead:
            capsules[image, count] = c
            count += 1
    view.num_capsules = wp.where(inside, -1, count)
    views[image] = view


@wp.kernel
def render(
    s: Surface,
    camera: Intrinsics,
    rotation_w: wp.array[wp.mat33],
    views: wp.array[Viewpoint],
    capsules: wp.array2d[Capsule],
    first: wp.int32,
    depth: wp.array3d[wp.float32],
):
    """Depth of every pixel: 0 nearer than the range, the range's end beyond it."""
    part, row, column = wp.tid()
    image = first + part
    view = views[image]
    ray = wp.vec3(
        float(column) * camera.dx + camera.x0, float(row) * camera.dy + camera.y0, 1.0
    )
    t = camera.max_range_m
    for n in range(view.num_capsules):
        c = capsules[image, n]
        if (
            row >= c.first_row
            and row <= c.last_row
            and column >= c.first_column
            and column <= c.last_column
        ):
            t = wp.min(t, _hit_capsule(c, ray))
    ray_w = rotation_w[image] @ ray
    per_square = 1.0 / float(s.square_m)
    t = march(
        s, view, ray_w[0] * per_square, ray_w[1] * per_square,
        ray_w[2] / float(s.quantum_m), t,
    )  # fmt: skip
    if t < camera.min_range_m or view.num_capsules < 0:
        t = 0.0
    depth[image, row, column] = t
