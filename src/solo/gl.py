"""Which OpenGL library MuJoCo draws with when there is no screen."""

from __future__ import annotations

import ctypes
import os
import sys

INSTALL_HINT = "apt-get install libegl1 (or libosmesa6)"
"""What gives 3-D pictures on Debian and Ubuntu."""

_LIBRARIES = {
    "egl": ("libEGL.so.1", "libEGL.so"),
    "osmesa": ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),
}


class NoGraphicsError(RuntimeError):
    """There is no OpenGL on this machine that draws without a screen."""


def choose_gl() -> None:
    """Point MuJoCo to a library that is there; called when solo is imported.

    MuJoCo reads ``MUJOCO_GL`` once, at import, and mjlab would set it to EGL whether
    that is installed or not; without it the import fails, also for those who draw
    nothing. A value that is already set is kept.
    """
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL"):
        return
    found = _find_libraries()
    os.environ["MUJOCO_GL"] = found[0] if found else "disabled"


def has_gl() -> bool:
    """Whether a library that draws without a screen is installed."""
    return sys.platform != "linux" or bool(_find_libraries())


def _find_libraries() -> list[str]:
    return [gl for gl, names in _LIBRARIES.items() if any(map(_can_load, names))]


def _can_load(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
