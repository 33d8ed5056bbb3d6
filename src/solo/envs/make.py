"""Build an environment without mjlab's report on standard output."""

from __future__ import annotations

import contextlib
import io

from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg


def make_env(cfg: ManagerBasedRlEnvCfg, device: str = "cpu") -> ManagerBasedRlEnv:
    """Build an environment quietly; mjlab prints a table per manager otherwise."""
    with contextlib.redirect_stdout(io.StringIO()):
        return ManagerBasedRlEnv(cfg, device=device)
