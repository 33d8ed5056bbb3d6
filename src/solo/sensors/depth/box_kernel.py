# pyright: reportInvalidTypeForm=false
"""Boxes in depth images, as a pass of its own over finished images.

Without boxes the pass is left out, so they cost nothing then. A pixel keeps the nearer
of what it shows and the box; 0 in it stands for something nearer than the range, which
a box cannot change.
"""

from __future__ import annotations

from typing import Any

import warp

from solo.sensors.depth.render_kernel import Intrinsics

wp: Any = warp  # The stubs do not describe what is allowed inside kernels.
wp.set_module_options({"enable_backward": False})

_FAR = wp.constant(1e9)
_NEAR_M = wp.constant(0.01)


@wp.struct
class SeenBox:
    """The camera in the box's frame, and the pixels that the box can cover."""

    to_box: wp.mat33  # Rotation camera-to-box.
    start: wp.vec3  # Optical centre.
    half: wp.vec3
    first_row: wp.int32
    last_row: wp.int32
    first_column: wp.int32
    last_column: wp.int32
    inside: wp.bool  # Whether the camera is in the box.


@wp.kernel
def prepare_boxes(
    camera: Intrinsics,
    pos_w: wp.array[wp.vec3],
    rotation_w: wp.array[wp.mat33],
    box_pos_w: wp.array2d[wp.vec3],
    box_rotation_w: wp.array2d[wp.mat33],
    half: wp.array[wp.vec3],
    first: wp.int32,
    boxes: wp.array2d[SeenBox],
):
    """Express each camera in the frame of each of its boxes."""
    part, n = wp.tid()
    image = first + part
    box = SeenBox()
    world_to_box = wp.transpose(box_rotation_w[image, n])
    box.to_box = world_to_box @ rotation_w[image]
    box.start = world_to_box @ (pos_w[image] - box_pos_w[image, n])
    box.half = half[n]
    outside = wp.max(
        wp.max(wp.abs(box.start[0]) - box.half[0], wp.abs(box.start[1]) - box.half[1]),
        wp.abs(box.start[2]) - box.half[2],
    )
    box.inside = outside <= 0.0

    box_to_camera = wp.transpose(box.to_box)
    nearest = float(_FAR)
    farthest = float(-_FAR)
    low_x = float(_FAR)
    high_x = float(-_FAR)
    low_y = float(_FAR)
    high_y = float(-_FAR)
    for corner in range(8):
        at = wp.vec3(
            wp.where((corner & 1) > 0, box.half[0], -box.half[0]),
            wp.where((corner & 2) > 0, box.half[1], -box.half[1]),
            wp.where((corner & 4) > 0, box.half[2], -box.half[2]),
        )
        seen = box_to_camera @ (at - box.start)
        nearest = wp.min(nearest, seen[2])
        farthest = wp.max(farthest, seen[2])
        x = seen[0] / wp.max(seen[2], _NEAR_M)
        y = seen[1] / wp.max(seen[2], _NEAR_M)
        low_x = wp.min(low_x, x)
        high_x = wp.max(high_x, x)
        low_y = wp.min(low_y, y)
        high_y = wp.max(high_y, y)
    box.last_row = camera.height - 1
    box.last_column = camera.width - 1
    if nearest > _NEAR_M:  # Else part of it is beside the camera: look at all pixels.
        box.first_column = _pixel(low_x, camera.x0, camera.dx, camera.width)
        box.last_column = _pixel(high_x, camera.x0, camera.dx, camera.width) + 1
        box.first_row = _pixel(low_y, camera.y0, camera.dy, camera.height)
        box.last_row = _pixel(high_y, camera.y0, camera.dy, camera.height) + 1
    if farthest <= 0.0:  # Behind the camera.
        box.last_row = -1
    boxes[image, n] = box


@wp.func
def _pixel(
    slope: wp.float32, first: wp.float32, step: wp.float32, count: wp.int32
) -> wp.int32:
    """The pixel at or before a slope, kept near the image."""
    return int(wp.floor(wp.clamp((slope - first) / step, -2.0, float(count))))


@wp.func
def _hit_box(box: SeenBox, ray: wp.vec3) -> wp.float32:
    """Parameter at which the ray enters the box, or `_FAR`.

    Between the two planes of a pair of opposite faces the ray is for an interval of its
    parameter; it is in the box where the three intervals overlap.
    """
    way = box.to_box @ ray
    enters = float(-_FAR)
    leaves = float(_FAR)
    for k in range(3):
        slope = way[k]
        if wp.abs(slope) < 1e-9:
            slope = 1e-9
        a = (-box.half[k] - box.start[k]) / slope
        b = (box.half[k] - box.start[k]) / slope
        enters = wp.max(enters, wp.min(a, b))
        leaves = wp.min(leaves, wp.max(a, b))
    if enters > leaves or enters <= 0.0:
        return _FAR
    return enters


@wp.kernel
def render_boxes(
    camera: Intrinsics,
    boxes: wp.array2d[SeenBox],
    num_boxes: wp.int32,
    first: wp.int32,
    depth: wp.array3d[wp.float32],
):
    """Put boxes into images of everything else."""
    part, row, column = wp.tid()
    image = first + part
    t = float(_FAR)
    for n in range(num_boxes):
        box = boxes[image, n]
        if box.inside:
            t = 0.0
        elif (
            row >= box.first_row
            and row <= box.last_row
            and column >= box.first_column
            and column <= box.last_column
        ):
            ray = wp.vec3(
                float(column) * camera.dx + camera.x0,
                float(row) * camera.dy + camera.y0,
                1.0,
            )
            t = wp.min(t, _hit_box(box, ray))
    if t < depth[image, row, column]:
        depth[image, row, column] = wp.where(t < camera.min_range_m, 0.0, t)
