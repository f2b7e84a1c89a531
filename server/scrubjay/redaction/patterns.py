"""Compiles regular expressions on first use, and dumps and loads them between processes.

Python compiles a pattern in 1 ms, and redaction needs about 35 patterns for a plain turn. A hook is a new
process for each turn, and spent 30 of its 50 ms on compiling. `re` compiles a pattern to a list of numbers;
one hook dumps these lists and the next one loads them, in 1 ms. Python has no public function for that, so we
call functions of its compiler. A Python without these functions compiles patterns as usual.

Standard library only, Python 3.9 syntax: hooks import it with `python -I -S`.
"""

from __future__ import annotations

import marshal
import re
import sys
import zlib
from array import array

from scrubjay import VERSION

try:
    from re import _compiler, _parser  # type: ignore[attr-defined]
except ImportError:  # before Python 3.11
    import sre_compile as _compiler
    import sre_parse as _parser

# Bytes that a hook reads of a dump. All patterns of redaction have 216 kB. A longer dump, with patterns of
# many versions, is cut: so the hook ignores it as damaged, and writes a short one.
MAX_DUMP = 1024 * 1024
_CAN_DUMP = hasattr(_compiler, "_code") and hasattr(_compiler, "_sre")  # we know how this Python compiles

_compiled: dict[str, re.Pattern[str]] = {}  # by source
# By source: flags, code, number of groups, and the numbers of named groups.
_codes: dict[str, tuple[int, bytes, int, dict[str, int]]] = {}


def pattern(source: str) -> re.Pattern[str]:
    """Return the pattern of this source, which is compiled once per process."""
    if source not in _compiled:
        if _CAN_DUMP and source not in _codes:
            _codes[source] = _code_of(source)
        _compiled[source] = _from_code(source) if _CAN_DUMP else re.compile(source)
    return _compiled[source]


def dump() -> bytes:
    """Return all patterns that were loaded or compiled in this process, for another process to load."""
    body = marshal.dumps(_codes)
    return _head(body) + b"\n" + body


def load(data: bytes) -> None:
    """Load the patterns that another process dumped.

    A dump that is damaged, or from another version of Python or Scrubjay, is ignored.
    """
    head, _, body = data.partition(b"\n")
    if head == _head(body):
        _codes.update(marshal.loads(body))


def count() -> int:
    """Return the number of patterns that can be dumped."""
    return len(_codes)


def _head(body: bytes) -> bytes:
    """Return the first line of a dump: the versions that can read it, and a checksum."""
    return f"{VERSION} {sys.implementation.cache_tag} {sys.hexversion:x} {zlib.crc32(body)}".encode()


def _code_of(source: str) -> tuple[int, bytes, int, dict[str, int]]:
    parsed = _parser.parse(source, 0)
    code, state = array("I", _compiler._code(parsed, 0)), parsed.state
    return state.flags, code.tobytes(), state.groups - 1, dict(state.groupdict)


def _from_code(source: str) -> re.Pattern[str]:
    flags, code, groups, names = _codes[source]
    by_number: list[str | None] = [None] * (groups + 1)
    for name, number in names.items():
        by_number[number] = name
    compiled: re.Pattern[str] = _compiler._sre.compile(
        source, flags, array("I", code).tolist(), groups, names, tuple(by_number)
    )
    return compiled
