"""Ids: what names a record. Ids are opaque; their prefix says the kind, so that a wrong one is noticed."""

from __future__ import annotations

import hashlib


def derived_id(prefix: str, *parts: str) -> str:
    """The id that these parts always give: a prefix and 24 hex digits of a hash (96 bits).

    >>> derived_id("turn", "a", "b") == derived_id("turn", "a", "b") != derived_id("turn", "ab")
    True
    """
    digest = hashlib.sha256("\x00".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass"))
    return f"{prefix}_{digest.hexdigest()[:24]}"


def content_hash(text: str) -> str:
    """What two texts share that differ only in case and white space."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode()).hexdigest()[:32]
