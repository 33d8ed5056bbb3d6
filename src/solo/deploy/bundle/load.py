"""Read a bundle: refuse what does not fit, do the golden sequence again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo.deploy.bundle.checks import (
    AGAIN,
    EXPECTED,
    FOR_ROBOT,
    Checker,
    Expected,
    expected_from,
    make_contract,
)
from solo.deploy.bundle.format import split_model
from solo.deploy.bundle.policy import (
    PROVIDERS,
    TOLERANCE,
    BundlePolicy,
    make_session,
    replay,
)
from solo.deploy.command import CommandCfg
from solo.deploy.contract import Contract
from solo.errors import SoloError, unknown_name


@dataclass(frozen=True, eq=False)
class Bundle:
    """A policy that passed all checks."""

    contract: Contract
    """What it was trained with and a robot must provide."""
    policy: BundlePolicy
    """The policy, at the beginning of an episode."""
    command: CommandCfg
    """Range of the velocity commands it was trained with."""
    metadata: Mapping[str, Any]
    """All of the metadata: training, camera, map, effort limits, ..."""
    golden: Mapping[str, Any]
    """The golden sequence, packed."""
    golden_difference: float
    """Largest difference when it was done again."""


def load_bundle(
    path: Path | str,
    provider: str = "cpu",
    threads: int = 1,
    robot: str | None = None,
    expected: Expected | None = None,
) -> Bundle:
    """Read a bundle and check all of it.

    Args:
        path: File that `solo export` wrote.
        provider: Where to run it: cpu, cuda or tensorrt.
        threads: Threads of the CPU.
        robot: Robot that will be driven; if None, any.
        expected: What the robot's side provides; if None, what our drivers for the
            robot in the metadata provide, or what the metadata say of a robot that we
            have no driver for.

    Raises:
        SoloError: The file cannot be read, or something does not fit.
    """
    if provider not in PROVIDERS:
        raise unknown_name("provider", provider, PROVIDERS, "Choose one of these.")
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SoloError(
            f"Cannot read the bundle {str(path)!r}: {error.strerror}. Give a file that "
            "`solo export` wrote."
        ) from error
    model, check = split_model(data, path.name), Checker(path.name)
    meta, golden = check.file(model)
    try:
        check.meaning(meta)
        check.sizes(meta)
        contract = make_contract(meta)
        check.equal("the kind of the robot's name", str, type(meta["robot"]))
        check.equal("the robot", robot or meta["robot"], meta["robot"], FOR_ROBOT)
        if expected is None:  # A robot without a driver of ours has its own limits.
            own = expected_from(meta["joints"], meta["depth"])
            expected = EXPECTED.get(meta["robot"], own)
        check.robot(meta, expected)
        check.golden(golden)
        check.sums(model, meta, golden)
        low, high = tuple(meta["command"]["low"]), tuple(meta["command"]["high"])
        command = CommandCfg(low, high)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SoloError(
            f"The metadata of the bundle {path.name!r} lack something or are of "
            f"another kind ({reason}). {AGAIN}"
        ) from error
    session = make_session(model.graph, model.sha256, provider, threads)
    check.session(meta, session)
    policy = BundlePolicy(session, list(meta["graph"]["outputs"]))
    try:
        difference = replay(policy, golden, contract, TOLERANCE[provider])
    except SoloError:
        raise
    except Exception as error:  # Of its archive, its arrays or onnxruntime.
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise SoloError(
            f"The golden sequence of the bundle {path.name!r} cannot be done: "
            f"{reason}. {AGAIN}"
        ) from error
    return Bundle(contract, policy, command, meta, golden, difference)
