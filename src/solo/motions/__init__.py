"""Reference motions: synthesis, loaders, checks, and what training draws from them."""

from __future__ import annotations

import mjlab  # noqa: F401 - Must be first, see solo.envs.
