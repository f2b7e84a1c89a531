"""The one place the version is spelled, and how two versions are compared. Standard library only."""

from __future__ import annotations

VERSION = "0.1.0"


def newer(one: str, other: str) -> bool:
    """Whether version `one` is newer than `other`: dotted numbers, compared as numbers; junk counts as 0.

    >>> newer("0.10.0", "0.9.9"), newer("1.0", "1.0.0"), newer("0.1", "0.2")
    (True, False, False)
    """
    return _numbers(one) > _numbers(other)


def _numbers(version: str) -> tuple:
    parts = [int(part) if part.isdigit() else 0 for part in version.split(".")[:3]]
    return tuple(parts + [0] * (3 - len(parts)))
