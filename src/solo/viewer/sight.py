"""What one robot of an environment perceives at the moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv

from solo.envs.depth_sensor_cfg import DepthSensorCfg
from solo.envs.mdp.depth import depth_images
from solo.sensors.perception_cfg import HeightMapCfg

_DEPTH = "depth"
_HEIGHT_MAP = "height_map"


@dataclass(frozen=True, eq=False)
class Sight:
    """Perception of one robot, in metres."""

    map_m: np.ndarray
    """Ground relative to the base, [Y, X]."""
    points_w: np.ndarray
    """Where the map's cells are on the ground, world frame, [Y, X, 3]."""
    window_m: np.ndarray | None
    """Depth as the network gets it, [frames, H, W], oldest first; 0 is invalid.

    None for tasks without a camera.
    """
    clean_m: np.ndarray | None
    """Depth at this moment without errors of the image, [H, W]."""


class Eyes:
    """Reads the perception of an environment's robots."""

    def __init__(self, env: ManagerBasedRlEnv) -> None:
        self._env = env
        manager = env.observation_manager
        self.map_cfg: HeightMapCfg = manager.get_term_cfg(
            _HEIGHT_MAP, _HEIGHT_MAP
        ).params["cfg"]
        self._centres_h = self.map_cfg.centres_h()  # [Y, X, 2]
        self._depth: depth_images | None = None
        if _DEPTH in manager.active_terms:
            term = manager.get_term_cfg(_DEPTH, _DEPTH).func
            assert isinstance(term, depth_images)
            self._depth = term

    @property
    def sensor(self) -> DepthSensorCfg | None:
        """The depth camera, if the task has one."""
        return None if self._depth is None else self._depth.cfg

    def look(self, robot: int) -> Sight:
        """What a robot perceives after the last step or reset."""
        observations = self._env.observation_manager.compute()  # Those of the step.
        map_m = _as_array(observations[_HEIGHT_MAP], robot)
        window_m = clean_m = None
        if self._depth is not None:
            max_m = self._depth.cfg.camera.max_range_m
            window_m = _as_array(observations[_DEPTH], robot) * max_m
            clean_m = self._clean(self._depth, robot)
        return Sight(map_m, self._points_w(map_m, robot), window_m, clean_m)

    def _points_w(self, map_m: np.ndarray, robot: int) -> np.ndarray:
        data = self._env.scene["robot"].data
        x, y, z = data.root_link_pos_w[robot].tolist()
        yaw = float(data.heading_w[robot])
        cos, sin = np.cos(yaw), np.sin(yaw)
        ahead, left = self._centres_h[..., 0], self._centres_h[..., 1]
        return np.stack(
            [x + cos * ahead - sin * left, y + sin * ahead + cos * left, z + map_m],
            axis=-1,
        )

    def _clean(self, depth: depth_images, robot: int) -> np.ndarray:
        """One robot's image; the term itself renders those of all robots."""
        chosen = slice(robot, robot + 1)
        pos_w, rotation_w = depth.camera_pose_w()
        radii = torch.tensor([link.radius for link in depth.cfg.self_view])
        boxes = depth.boxes_w()
        image_m = depth.camera.render(
            pos_w[chosen],
            rotation_w[chosen],
            depth.links_w()[chosen],
            radii.to(pos_w.device),
            boxes=None if boxes is None else boxes[chosen],
        )[0]
        # Where corruption follows, the term's camera renders what is too near, too.
        return image_m.where(image_m >= depth.cfg.camera.min_range_m, 0.0).cpu().numpy()


def _as_array(observation: object, robot: int) -> np.ndarray:
    assert isinstance(observation, torch.Tensor)
    return observation[robot].cpu().numpy()
