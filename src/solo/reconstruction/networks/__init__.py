"""Reconstructors: height map and base velocity from depth and proprioception.

Three networks with one contract (`interface`): the Query Reconstructor of the paper,
and the START-style and DPL-style baselines it is compared with. Variants:

- ``start_memory`` and ``dpl_memory``: the baselines' memory lasts as long as the
  episode, see `dense`.
- ``qr_evidence`` and ``start_evidence``: each cell is told what the newest image
  measured over it, see `evidence`. Beyond the paper.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from solo.reconstruction.networks.baselines import (
    DplCfg,
    DplReconstructor,
    StartCfg,
    StartReconstructor,
)
from solo.reconstruction.networks.evidence import EvidenceCfg
from solo.reconstruction.networks.interface import Reconstructor
from solo.reconstruction.networks.query_reconstructor import (
    QueryReconstructor,
    QueryReconstructorCfg,
)


@dataclasses.dataclass(frozen=True)
class ReconstructorKind:
    """A reconstructor by name."""

    cfg: type
    """Its config class."""
    build: Callable[[Any], Reconstructor]
    """Makes the network of a config."""
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of the config that make it this one."""


RECONSTRUCTORS = {
    "qr": ReconstructorKind(QueryReconstructorCfg, QueryReconstructor),
    "start": ReconstructorKind(StartCfg, StartReconstructor),
    "dpl": ReconstructorKind(DplCfg, DplReconstructor),
    "start_memory": ReconstructorKind(
        StartCfg, StartReconstructor, {"episode_memory": True}
    ),
    "dpl_memory": ReconstructorKind(DplCfg, DplReconstructor, {"episode_memory": True}),
    "qr_evidence": ReconstructorKind(
        QueryReconstructorCfg, QueryReconstructor, {"evidence": EvidenceCfg()}
    ),
    "start_evidence": ReconstructorKind(
        StartCfg, StartReconstructor, {"evidence": EvidenceCfg()}
    ),
}
"""Name to reconstructor."""


def make_reconstructor(name: str, **fields: Any) -> Reconstructor:
    """Build a reconstructor.

    Args:
        name: A key of `RECONSTRUCTORS`.
        fields: Fields of its config that differ from the defaults; nested configs may
            be plain dicts, so that ``make_reconstructor(name, **asdict(model.cfg))``
            builds the same again, also from JSON.

    Raises:
        ValueError: If there is no such reconstructor or no such field.
    """
    if name not in RECONSTRUCTORS:
        raise ValueError(
            f"There is no reconstructor {name!r}. Choose one of: "
            f"{', '.join(RECONSTRUCTORS)}."
        )
    kind = RECONSTRUCTORS[name]
    return kind.build(_cfg_of(kind.cfg, {**kind.defaults, **fields}))


def _cfg_of(cfg_class: type, values: Mapping[str, Any]) -> Any:
    """Config from plain values: dicts become configs, lists become tuples."""
    hints = typing.get_type_hints(cfg_class)
    unknown = set(values) - set(hints)
    if unknown:
        raise ValueError(
            f"{cfg_class.__name__} has no field {', '.join(sorted(unknown))}. "
            f"Choose from: {', '.join(hints)}."
        )
    return cfg_class(**{k: _value_of(hints[k], v) for k, v in values.items()})


def _value_of(hint: Any, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, Mapping):
        options = hint.__args__ if isinstance(hint, types.UnionType) else (hint,)
        return _cfg_of(next(o for o in options if o is not types.NoneType), value)
    return value
