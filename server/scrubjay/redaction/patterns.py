"""Regular expressions that are compiled on first use and can be loaded from another process.

Python compiles a pattern in 1 ms, and redaction needs some 35 for a plain turn. A hook is a process of its
own for each turn, and spent 30 of its 50 ms on that. `re` makes a list of numbers of a pattern; one hook
dumps these lists and the next one loads them, in 1 ms. Python has no public way to do so, so functions of
its compiler are called. A Python without them compiles patterns as usual.

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

MAX_BODY = 1024 * 1024  # bytes; all of redaction's patterns make 216 kB
MAX_DUMP = MAX_BODY + 1024  # with the line before it
_IS_KNOWN = hasattr(_compiler, "_code") and hasattr(_compiler, "_sre")  # how this Python compiles

_compiled: dict[str, re.Pattern[str]] = {}  # by source
# By source: its flags, its code, how many groups it has, and the numbers of those with a name.
_numbers: dict[str, tuple[int, bytes, int, dict[str, int]]] = {}


def pattern(source: str) -> re.Pattern[str]:
    """Return the pattern of this source, compiled once in a process."""
    if source not in _compiled:
        if _IS_KNOWN and source not in _numbers:
            _numbers[source] = _numbered(source)
        _compiled[source] = _made(source) if _IS_KNOWN else re.compile(source)
    return _compiled[source]


def dump() -> bytes:
    """Return all patterns that were loaded or compiled in this process, for another one to load.

    If the dump would be too large, return only the patterns that this process used.
    """
    body = marshal.dumps(_numbers)
    if len(body) > MAX_BODY:  # mostly unused patterns of earlier versions
        body = marshal.dumps({source: _numbers[source] for source in _compiled})
    return _head(body) + b"\n" + body


def load(data: bytes) -> None:
    """Load the patterns that another process dumped.

    A dump that is damaged, or from another version of Python or Scrubjay, is ignored.
    """
    head, _, body = data.partition(b"\n")
    if head == _head(body):
        _numbers.update(marshal.loads(body))


def count() -> int:
    """Count the patterns that `dump` would give."""
    return len(_numbers)


def _head(body: bytes) -> bytes:
    """Return the first line of a dump: who can read it, and a sum that shows damage."""
    return f"{VERSION} {sys.implementation.cache_tag} {sys.hexversion:x} {zlib.crc32(body)}".encode()


def _numbered(source: str) -> tuple[int, bytes, int, dict[str, int]]:
    parsed = _parser.parse(source, 0)
    code, state = array("I", _compiler._code(parsed, 0)), parsed.state
    return state.flags, code.tobytes(), state.groups - 1, dict(state.groupdict)


def _made(source: str) -> re.Pattern[str]:
    flags, code, groups, names = _numbers[source]
    by_number: list[str | None] = [None] * (groups + 1)
    for name, number in names.items():
        by_number[number] = name
    made: re.Pattern[str] = _compiler._sre.compile(
        source, flags, array("I", code).tolist(), groups, names, tuple(by_number)
    )
    return made
