"""A task: a stage's environment and agent, from the paper and a profile."""

import mjlab  # noqa: F401 - Must be first, see solo.envs.
