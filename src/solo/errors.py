"""The one error type whose message is meant for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterable


class SoloError(Exception):
    """A mistake in what we were given: the command line prints it as one line.

    Write the message as: which thing, what was found, what is allowed, what to do.
    Library code raises it only for input from outside (names, files, counts).
    """


class FieldError(SoloError):
    """A value of a config that cannot be; the command line names the option instead."""

    def __init__(self, field: str, problem: str) -> None:
        """Say which field and what is wrong with it, e.g. ``is 0; it must be 1``."""
        super().__init__(f"{field} {problem}")
        self.field, self.problem = field, problem

    @property
    def as_option(self) -> str:
        """The same about an option of the command line."""
        return f"--{self.field.replace('_', '-')} {self.problem}"


_MAX = 2**31 - 1
"""Largest count and seed; both are 32-bit numbers in places."""


def check_number(
    field: str, value: float | None, minimum: float, maximum: float = _MAX
) -> None:
    """Refuse a number out of its range; None passes."""
    if value is None or minimum <= value <= maximum:
        return
    allowed = f"from {minimum:g} to {maximum:g}"
    if maximum == _MAX:
        limit = f" and at most {_MAX}" if value > _MAX else ""
        allowed = f"at least {minimum}{limit}"
    raise FieldError(field, f"is {value}; it must be {allowed}.")


def unknown_name(kind: str, found: str, allowed: Iterable[str], hint: str) -> SoloError:
    """The error for a name that is not in a closed set."""
    return SoloError(f"Unknown {kind} {found!r}. Allowed: {', '.join(allowed)}. {hint}")
