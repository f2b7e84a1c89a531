"""Records digests of purged facts, so that reading a host's memory again does not restore them."""

from __future__ import annotations

from scrubjay.home.files import read_whole, write_whole
from scrubjay.home.paths import Home

_LONGEST = 64 * 1024 * 1024  # bytes, enough for two million facts


def read(home: Home) -> frozenset[str]:
    """Return the digests of purged facts, none if the file is missing.

    Raises OSError or ValueError if the file cannot be read.
    """
    try:
        return frozenset(read_whole(home.purged_facts, _LONGEST, own=True).decode().split())
    except FileNotFoundError:
        return frozenset()


def add(home: Home, digests: frozenset[str]) -> None:
    """Add digests. Raises OSError or ValueError if the file cannot be read or written."""
    if digests - (existing := read(home)):
        write_whole(home.purged_facts, "\n".join(sorted(existing | digests)).encode() + b"\n")
