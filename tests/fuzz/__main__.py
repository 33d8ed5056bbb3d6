"""``make fuzz``: damaged files and odd options; counts, tracebacks and hangs."""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.formats import TARGETS, samples, try_once
from tests.fuzz.options import prepare, random_options, run, without_work

LIMIT_S = 30
"""An input hangs that takes more CPU time, or twenty times as long."""

MEMORY = 24 * 2**30
"""Bytes of address space: sizes that a damaged file claims must not fill the memory."""


class Hang(BaseException):
    """An input took too long."""


def _ring(*_: Any) -> None:
    raise Hang


def _limit(seconds: float) -> None:
    """Ring when the time is over, and every second again: some code drops what is
    raised in it. 0 for never."""
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    signal.setitimer(signal.ITIMER_REAL, 20.0 * seconds, 1.0)


def fuzz(inputs: int, seed: int = 0, options_share: float = 0.4) -> list[str]:
    """Try inputs, print findings and counts, and return the findings."""
    names = [name for name, (_, share) in TARGETS.items() for _ in range(share)]
    found: dict[str, str] = {}
    counts, refused = Counter[str](), Counter[str]()
    seconds = defaultdict[str, float](float)
    samples()
    rings = (signal.SIGALRM, signal.SIGPROF)
    before = [signal.signal(number, _ring) for number in rings]
    started = time.monotonic()
    try:
        for index in range(inputs):
            begin, rng = time.monotonic(), random.Random(f"{seed}-{index}")
            is_options = rng.random() < options_share
            name = "options" if is_options else rng.choice(names)
            words: list[str] = []
            counts[name] += 1
            _limit(LIMIT_S)
            try:
                with (
                    tempfile.TemporaryDirectory(prefix="solo-fuzz-") as folder,
                    warnings.catch_warnings(),
                    np.errstate(all="ignore"),
                ):
                    warnings.simplefilter("ignore")
                    if is_options:
                        words = random_options(rng)
                        prepare(Path(folder))
                        with without_work():
                            run(words, Path(folder))
                    else:
                        refused[name] += try_once(TARGETS[name][0], rng, Path(folder))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                _limit(0.0)
                lines = traceback.format_exc().splitlines()
                place = [line for line in lines if "/src/solo/" in line][-1:]
                key = f"{name}: {type(error).__name__} {place}"
                if key not in found:
                    found[key] = "\n".join((f"input {index} {words}", *lines[-14:]))
                    print(f"{key}\n{found[key]}\n", flush=True)
            finally:
                _limit(0.0)
                seconds[name] += time.monotonic() - begin
    finally:
        for number, handler in zip(rings, before, strict=True):
            signal.signal(number, handler)
    for name, count in sorted(counts.items()):
        each_ms = 1000 * seconds[name] / count
        refusals = "" if name == "options" else f", {refused[name]} refused"
        print(f"{name:<16} {count:>6} inputs of {each_ms:.0f} ms{refusals}")
    hangs = sum("Hang" in key.split()[1] for key in found)
    print(
        f"{inputs} inputs in {time.monotonic() - started:.0f} s: "
        f"{len(found) - hangs} kinds of tracebacks, {hangs} of hangs"
    )
    return [f"{key}\n{text}" for key, text in found.items()]


def main() -> int:
    """Parse, try, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--options", type=float, default=0.4, help="share of options")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return 1 if fuzz(given.inputs, given.seed, given.options) else 0


if __name__ == "__main__":
    sys.exit(main())
