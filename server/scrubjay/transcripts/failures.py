"""Commands that failed: the error in their output, and the shape by which the same error is recognized.

Standard library only, Python 3.9 syntax. Reading a text takes linear time, whatever it contains.
"""

from __future__ import annotations

import re
from collections import namedtuple
from functools import lru_cache

from scrubjay.transcripts.json_lines import parsed

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

MOST_FAILURES = 10  # kept of one turn: the first, because later ones often follow from them
MAX_ERROR = 200  # characters of an error line
_EDGE = 400  # characters at the beginning and the end of an output, where hosts write the exit code
_MOST_LINES = 400  # lines that are read at each end of an output
_EXIT = re.compile(
    r"^\W{0,3}(?:shellId: \w{1,40} completed with |(?:the )?(?:process|command) )?exit(?:ed)?"
    r"(?: with)?(?: exit)?[ _](?:code|status)\W{1,3}(-?\d{1,9})\b",
    re.IGNORECASE | re.MULTILINE,
)
# How an error with a name begins, and words that show an error without a name.
_NAMED = re.compile(
    r"(?:^|[\s:(])(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Exit|NotFound|Failure)"
    r"(?::|$|\s\[|\s*\()"
    r"|(?:^|\s|\])(?:fatal|panic|error|ERROR|Error|FATAL)(?:\[\w+\]|\s[A-Z]{0,8}\d+)?:"
    r"|^(?:npm (?:ERR!|error) (?:code|missing)|E {2,}\S)|\bE[A-Z]{4,}:|\berror(?:\[\w+\]| [A-Z]{2,8}\d+)"
)
_WORDS = re.compile(
    r"(?i)\b(?:not found|no such|cannot|can't|could not|couldn't|denied|refused|undefined|unresolved"
    r"|unable to|invalid|unknown|missing|timed out|already (?:exists|running)|in use|killed|conflict"
    r"|mismatch\w*|unexpected|expired|outdated|out of|overflow|violat\w+|inconsistent|incompatible|detected"
    r"|required|leak|panicked|unreachable|pending|exceed\w*|too many|duplicate|locked|unsupported"
    r"|not supported|must be|expected|fail\w*|abort\w*)\b"
)
_ASKS = re.compile(r"(?i)\s*(?:why|what|how|when|where|who|which|did|does|should)\b")
_TRACEBACK = "Traceback (most recent call last)"
_PREFIX = re.compile(
    r"^(?:E {2,}|[>|#$✖✘❌]+ |\d{4}-\d\d-\d\d[T ][\d:.,]+Z? |\[[\d:. T+-]+\] |Output: |npm (?:ERR!|error) )+"
)
_NOISE = re.compile(
    r"^(?:exit code|command:|directory:|output:|stdout|stderr|error: \(none\)|wall time|process exited"
    r"|chunk id"
    r"|original token|signal:|[-=_*~.\s]*$)",
    re.IGNORECASE,
)
# What differs between two occurrences of one error: places and measurements.
_POSITION = re.compile(r"^[\w./\\@+-]{1,120}(?:\(\d+,\d+\)|(?::\d+){1,2}):?\s+(?:- )?")
_VARIES = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"(?<![\w.@/\\])(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.@+%-]+)+[/\\]?(?::\d+)*"), "<path>"),
    (re.compile(r"\b(?:0x[0-9a-fA-F]+|(?=[a-f]*\d)[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]+){4})\b"), "<hash>"),
    (re.compile(r"(?<![\w.])[+-]?\d[\d.,:_]*(?:ms|s|m|h|[kKMGT]i?B|%)?(?![\w])"), "#"),
)  # fmt: skip
# Names that may differ in an error of the same kind: quoted names, paths inside the project, names of files.
_NAMES = re.compile(
    r"(?<!\w)'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|`[^`\n]{1,120}`"
    r"|(?<![\w<])[\w.@+-]{1,80}(?:/[\w.@+-]{1,80})+(?::\d+)*"
)
_DETAIL = re.compile(r"[\w-]{2,}")

Failure = namedtuple("Failure", "command error then")
"""A command that failed, its error line, and the commands after which it passed later in the same turn.

`then` is "" if it passed without another command, and None if it did not pass.
"""
Shape = namedtuple("Shape", "strict loose details")
"""An error without the parts that vary. `loose` lacks its names too; `details` has the omitted words."""


def exit_code(output: str) -> int | None:
    """Return the exit code that a host wrote around a command's output, or None if it wrote no code.

    >>> exit_code("Exit code 2\\nmake: *** [test] Error 1"), exit_code("ok")
    (2, None)
    """
    edges = output if len(output) <= 2 * _EDGE else f"{output[:_EDGE]}\n{output[-_EDGE:]}"
    match = _EXIT.search(edges)
    return int(match[1]) if match else None


def failure_of(output: str, is_error: bool | None = None) -> str | None:
    """Return the exit code and the error line of a failed command; None if it did not fail.

    The result is "" if a failed command has neither. `is_error` is the host's verdict, or None if it gives no
    verdict.

    >>> failure_of("Exit code 1\\nrunning\\nModuleNotFoundError: No module named 'redis'")
    "exit 1: ModuleNotFoundError: No module named 'redis'"
    """
    result = parsed(output) if output.startswith("{") else None
    if isinstance(result, dict) and isinstance(result.get("output"), str):  # as Codex writes it
        metadata = result.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        output, number = result["output"], int(code) if isinstance(code, (int, float)) else None
    else:
        number = exit_code(output)
    if not number and not (is_error and number is None):
        return None
    line = error_line(output)
    return f"exit {number}: {line}" if number is not None else line


def error_line(output: str) -> str:
    """Return the line of an output that names the error; "" for an output without text.

    It is the first line that names an error; in a traceback the last one, which tells what happened.
    """
    lines = output.splitlines()
    if len(lines) > 2 * _MOST_LINES:
        lines = lines[:_MOST_LINES] + lines[-_MOST_LINES:]
    tidy = [(_PREFIX.sub("", line[: 2 * MAX_ERROR]), line) for line in lines]
    tidy = [(line.strip(), raw) for line, raw in tidy if not _NOISE.match(line.strip())]
    if any(_TRACEBACK in raw for _, raw in tidy):
        named = [
            line for line, raw in tidy if raw[:1].strip() and _NAMED.search(line) and _TRACEBACK not in raw
        ]
        named.reverse()
    else:
        named = [line for line, raw in tidy if _NAMED.search(raw[: 2 * MAX_ERROR])]
    candidates = named or [line for line, _ in tidy if _WORDS.search(line)] or [line for line, _ in tidy]
    return " ".join(candidates[0].split())[:MAX_ERROR] if candidates else ""


def names_error(text: str) -> bool:
    """Return True if a line may name an error."""
    return bool(_NAMED.search(text) or (_WORDS.search(text) and not _ASKS.match(text)))


@lru_cache(maxsize=4096)
def shape(error: str) -> Shape:
    """Return the shape of an error line.

    >>> shape("exit 1: open /srv/a.txt: port 80 in use").strict
    'open <path>: port # in use'
    >>> shape("No module named 'redis'").loose
    "no module named ''"
    """
    error = re.sub(r"^exit -?\d+: ", "", error)[: 2 * MAX_ERROR]
    error, left_out = _POSITION.sub("", error), []
    for pattern, sign in _VARIES:
        left_out += [match[0] for match in pattern.finditer(error)]
        error = pattern.sub(sign, error)
    strict = " ".join(error.split()).casefold().rstrip(".!:")
    left_out += [match[0] for match in _NAMES.finditer(error)]
    details = frozenset(word.casefold() for part in left_out for word in _DETAIL.findall(part))
    return Shape(strict, _NAMES.sub("''", strict), details)


def packed(runs: Sequence[Sequence[Any]]) -> list[str]:
    """Return the failed commands of a turn as texts for its record.

    Each run is a call's id, a command and its failure (None if it passed). A text has a line for the
    command, one for its error and, if the same command passed later, one for the commands in between.
    """
    texts = []
    for index, (_, command, error) in enumerate(runs):
        if error is None or any(run[1] == command and run[2] is not None for run in runs[:index]):
            continue
        later = [(run[1], run[2]) for run in runs[index + 1 :]]
        passed = next((place for place, run in enumerate(later) if run == (command, None)), None)
        between = [run for run, failed in later[:passed] if run != command and failed is None]
        lines = [command, error]
        if passed is not None:
            lines.append("; ".join(dict.fromkeys(between[-3:])))
        texts.append("\n".join(lines))
    return texts[:MOST_FAILURES]


def unpacked(texts: Iterable[Any]) -> list[Failure]:
    """Parse the texts of `packed`."""
    parts = [str(text).split("\n") for text in texts]
    return [Failure(part[0], part[1], part[2] if len(part) > 2 else None) for part in parts if len(part) > 1]
