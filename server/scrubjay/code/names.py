"""Finds the paths and symbols that a text may name; a tree decides which of them exist."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

MOST = 12  # paths or symbols that are used of one text

# A word may contain a path or a name; web frameworks have folders such as `[id]`, `(group)` and `$name`.
_WORD = re.compile(r"(?:[\w.@+~$\\/-]|(?<=/)[\[(]{1,2}[\w.@-]+[\])]{1,2}(?=[/.]))+")
_LONGEST_WORD = 120  # characters; longer words are skipped: `_PATH` and `_SHAPED` take quadratic time
# Names of files that have no extension, such as `Makefile`, or only an extension, such as `.env`.
BARE_FILE = (
    r"(?:[A-Z][a-z]+|just|make)file|LICENSE|CODEOWNERS"
    r"|\.(?:env|[\w-]{2,20}(?:rc|ignore|config|attributes|modules|versions?))"
)
_PATH = re.compile(
    r"[\w.@+~$()\[\]\\/-]*[\w+)\]-]\.[A-Za-z]\w{0,9}\b|[\w.@+$-]+(?:/[\w.@+$()\[\]-]+)+"
    rf"|(?<![\w.@+~$\\/-])(?:{BARE_FILE})(?![\w/-])"
)
_SPACED = re.compile(r"`([^`\n]{1,60} [^`\n]{1,60}\.[A-Za-z]\w{0,9})`")  # a path with spaces
_LONGEST = 20_000  # characters of a text that are searched
# Names in the form of code: in backticks, before a call, with an underscore, a dot or several capitals.
_TICKED = re.compile(r"`([A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*)(?:\([^`\n]{0,80})?`")
_CALLED = re.compile(r"(?<![\w.`/])((?:[A-Za-z_]\w*(?:\.|::))*[A-Za-z_]\w{2,})\(")
_SHAPED = re.compile(
    r"(?<![\w./\\-])((?:[A-Za-z_]\w*\.)*(?:_*[A-Za-z][a-z0-9]*_\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[a-z0-9]*[A-Z]\w*"
    r"|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z][a-z]\w*\.[a-z_]\w+))(?!\.?\w|[/\\-])"
)
_EXTENSION = re.compile(r"\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|php|cs|cpp|cc|c|h|md|json|toml|ya?ml|txt|sh)$")


def symbols(text: str) -> tuple[str, ...]:
    """Return the possible names of functions, types and constants in a text, with dots, each once.

    >>> symbols("`Store.commit` calls flush_all() and MOST_TOKENS; see store.py")
    ('Store.commit', 'flush_all', 'MOST_TOKENS')
    """
    text = text[:_LONGEST]
    matches = {(match.start(1), match[1]) for rule in (_TICKED, _CALLED) for match in rule.finditer(text)}
    matches.update((start + match.start(1), match[1]) for start, match in _in_words(_SHAPED, text))
    names = (re.sub("::|#", ".", name) for _, name in sorted(matches))
    return tuple(dict.fromkeys(name for name in names if not _EXTENSION.search(name)))[: 4 * MOST]


def paths(text: str) -> tuple[str, ...]:
    """Return the possible paths of files in a text, each once.

    >>> paths("In `src/a.py:12`, b.toml and the Makefile, not in app/[id]/page.tsx.")
    ('src/a.py', 'b.toml', 'Makefile', 'app/[id]/page.tsx')
    """
    text = text[:_LONGEST]
    in_words = (match[0] for _, match in _in_words(_PATH, text))
    matches = (path.rstrip(".").replace("\\", "/") for path in (*in_words, *_SPACED.findall(text)))
    return tuple(dict.fromkeys(matches))[: 4 * MOST]


def _in_words(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the matches of a pattern in each word, after the position where the word starts."""
    for word in _WORD.finditer(text):
        if len(word[0]) <= _LONGEST_WORD:
            yield from ((word.start(), match) for match in pattern.finditer(word[0]))


class Listing:
    """The files of a tree, which can be found by path, by the end of a path, or by a unique name."""

    def __init__(self, paths: Iterable[str], roots: Sequence[str] = ()) -> None:
        self._paths = frozenset(paths)
        self._roots = tuple(f"{root.rstrip('/')}/" for root in roots)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The files by the last part of their path, to find files that are named by a part of their path."""
        by_name: dict[str, list[str]] = {}
        for path in self._paths:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return by_name

    def find(self, name: str) -> str | None:
        """Return the only file with this path or end of a path, or None.

        >>> listing = Listing(["src/a.py", "b/x.py", "c/x.py"], ["/work"])
        >>> [listing.find(path) for path in ("/work/src/a.py", "a.py", "b/x.py", "x.py")]
        ['src/a.py', 'src/a.py', 'b/x.py', None]
        """
        if os.path.isabs(name):
            root = next((root for root in self._roots if name.startswith(root)), None)
            path = name[len(root) :] if root else ""
            return path if path in self._paths else None
        path = os.path.normpath(name)
        if path in self._paths:
            return path
        matches = [
            file for file in self._by_name.get(os.path.basename(path), ()) if file.endswith(f"/{path}")
        ]
        return matches[0] if len(matches) == 1 else None
