"""Damaged versions of valid bytes, for parsers of foreign input."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from said import SCOPE

_SMALL = b'\x00 \xff\xfe \xef\xbb\xbf " \\ { } [ ] , : null -1 1e999 NaN "\\ud83d" [] {} true \' = --'.split()
_LARGE = [b"9" * 5_000, b"[" * 50_000, b'{"a":' * 50_000]
STUFFING = st.sampled_from([b"", b"\r\n", *_SMALL, *_LARGE])


def damaged(sound: bytes) -> st.SearchStrategy[bytes]:
    """The same bytes after one to four changes; each replaces a part."""
    change = st.tuples(st.integers(0, len(sound)), st.integers(0, 12), STUFFING | st.binary(max_size=6))

    def changed(changes: list[tuple[int, int, bytes]]) -> bytes:
        data = sound
        for at, length, new in changes:
            data = data[:at] + new + data[at + length :]
        return data

    return st.lists(change, min_size=1, max_size=4).map(changed)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([SCOPE, "/a", "all"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def like(sound: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """JSON with the names of this object and values of any kind, or the object as bytes that were damaged."""
    values = {name: st.just(value) | JSON for name, value in sound.items()}
    return st.fixed_dictionaries({}, optional=values).map(lambda made: json.dumps(made).encode()) | damaged(
        json.dumps(sound).encode()
    )
