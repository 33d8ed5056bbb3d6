"""Any value of a configuration can be set by its path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from solo.errors import SoloError
from solo.tasks.overrides import apply_overrides


@dataclass(frozen=True)
class Frozen:
    limits: tuple[float, float] = (0.0, 1.0)


@dataclass
class Term:
    weight: float = -0.5
    is_on: bool = True
    name: str = "fly"
    frozen: Frozen = field(default_factory=Frozen)
    params: dict[str, Any] = field(default_factory=lambda: {"size": 3, "std": None})


def configs() -> dict[str, Any]:
    return {"env": {"rewards": {"fly": Term()}}, "agent": Frozen()}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("env.rewards.fly.weight", "-1", -1.0),
        ("env.rewards.fly.weight", "1e-3", 1e-3),  # Which YAML reads as a text.
        ("env.rewards.fly.is-on", "false", False),
        ("env.rewards.fly.params.size", "7", 7),
        ("env.rewards.fly.params.std", "0.25", 0.25),
        ("env.rewards.fly.frozen.limits", "[2, 3]", (2.0, 3.0)),
        ("env.rewards.fly.frozen.limits.1", "5", 5.0),
        ("agent.limits.0", "-2", -2.0),
    ],
)
def test_a_value_keeps_its_type(path, text, expected):
    settings = configs()
    ((_, value),) = apply_overrides(settings, {path: text}).values()
    assert value == expected
    assert type(value) is type(expected)
    node: Any = settings
    for key in path.replace("-", "_").split("."):
        if isinstance(node, dict):
            node = node[key]
        else:
            is_index = isinstance(node, tuple)
            node = node[int(key)] if is_index else getattr(node, key)
    assert node == expected


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("env.rewards.flyy.weight", "1", "Did you mean 'fly'"),
        ("env.reward.fly.weight", "1", "Did you mean 'rewards'"),
        ("env.rewards.fly.weight.x", "1", "is a single value"),
        ("sim.dt", "1", "Allowed: env, agent"),
        ("env.rewards.fly.weight", "much", "must be a number"),
        ("env.rewards.fly.weight", "true", "no truth value"),
        ("env.rewards.fly.is_on", "1", "true or false"),
        ("env.rewards.fly.name", "[1]", "must be a text"),
        ("env.rewards.fly.frozen.limits", "3", "must be a list"),
        ("env.rewards.fly.frozen", "{}", "set one of its fields"),
    ],
)
def test_what_cannot_be_gets_one_line(path, text, problem):
    with pytest.raises(SoloError, match=problem) as error:
        apply_overrides(configs(), {path: text})
    assert "\n" not in str(error.value)
