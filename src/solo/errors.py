"""The one error type whose message is meant for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterable


class SoloError(Exception):
    """A mistake in what we were given: the command line prints it as one line.

    Write the message as: which thing, what was found, what is allowed, what to do.
    Library code raises it only for input from outside (names, files, counts).
    """


def unknown_name(kind: str, found: str, allowed: Iterable[str], hint: str) -> SoloError:
    """The error for a name that is not in a closed set."""
    return SoloError(f"Unknown {kind} {found!r}. Allowed: {', '.join(allowed)}. {hint}")
