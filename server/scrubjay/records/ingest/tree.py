"""Which files a path stands for: the file itself, or the files of a folder that its .gitignore lets through.

No file but .gitignore is opened.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pathspec import GitIgnoreSpec

from scrubjay.errors import InputError
from scrubjay.home.files import read_regular
from scrubjay.reading.kinds import refusal

# Folders that tools make, whether or not .gitignore names them.
_NEVER = frozenset(
    """
    node_modules __pycache__ site-packages bower_components venv env .git .hg .svn .venv .tox .nox .cache
    .mypy_cache .pytest_cache .ruff_cache
    """.split()
)
_LINES, _MOST_RULES = 10_000, 4 << 20  # lines and bytes that are read of a .gitignore
_Rule = Callable[[str, bool], bool | None]  # (path, whether it is a folder) -> kept out, let in, or not named


@dataclass(frozen=True)
class FileEntry:
    """A file on disk; `mtime` is in nanoseconds since 1970. `named`: the caller named the file itself."""

    path: str
    size: int
    mtime: int
    named: bool = False

    @property
    def name(self) -> str:
        """The path as a document has it, where bytes that are no UTF-8 are escaped."""
        return as_text(self.path)


@dataclass(frozen=True)
class Tree:
    """The files that a path stands for, sorted by path, and hidden folders in it that were passed over."""

    files: list[FileEntry]
    passed_over: list[str] = field(default_factory=list)


def as_text(path: str) -> str:
    r"""Return a path as text.

    >>> as_text("/notes/caf\udce9.md")
    '/notes/caf\\xe9.md'
    """
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def files_at(path: str, *, hidden: bool = False) -> Tree:
    """Return the file at an absolute path, or the files below the folder at it.

    Symbolic links, what a .gitignore names (of the folder, those below it, and those above it up to the
    repository's), what is no text by its suffix and, unless they are wanted, `hidden` files and folders are
    passed over; a file or folder named by the caller is not.

    Raises:
        InputError: there is nothing at the path, or it cannot be looked at.
    """
    try:
        state = os.stat(path)
        if not os.path.isdir(path):
            return Tree([FileEntry(path, state.st_size, state.st_mtime_ns, named=True)])
        passed_over: list[str] = []
        files = sorted(_below(path, _above(path), hidden, passed_over), key=lambda seen: seen.path)
        return Tree(files, sorted(map(as_text, passed_over)))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path[:300]!r} cannot be looked at: {getattr(error, 'strerror', None) or error}."
        ) from None


def _below(folder: str, ignored: list[_Rule], hidden: bool, passed_over: list[str]) -> Iterator[FileEntry]:
    try:
        with os.scandir(folder) as scan:
            entries = list(scan)
    except OSError:  # a folder that may not be entered, or is gone by now, has nothing for us
        return
    here = [*ignored, rules] if (rules := _rules(folder)) else ignored
    for entry in entries:
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            if _is_tools(entry, is_folder) or _is_ignored(entry.path, is_folder, here):
                continue
            if entry.name.startswith(".") and not hidden:
                if is_folder:
                    passed_over.append(entry.path)
            elif is_folder:
                yield from _below(entry.path, here, hidden, passed_over)
            elif entry.is_file(follow_symlinks=False) and refusal(entry.name) is None:
                state = entry.stat(follow_symlinks=False)
                yield FileEntry(entry.path, state.st_size, state.st_mtime_ns)
        except OSError:  # gone since the folder was listed
            continue


def _is_ignored(path: str, is_folder: bool, rules: list[_Rule]) -> bool:
    verdicts = (rule(path, is_folder) for rule in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _is_tools(entry: os.DirEntry[str], is_folder: bool) -> bool:
    return is_folder and (entry.name in _NEVER or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")))


def _above(folder: str) -> list[_Rule]:
    """Return the rules of the folders above, from the repository's root down; none outside a repository."""
    found: list[_Rule] = []
    at = folder
    while not os.path.exists(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            return []
        at = parent
        if rules := _rules(at):
            found.append(rules)
    return found[::-1]


def _rules(folder: str) -> _Rule | None:
    """Return the rule of a folder's .gitignore and .git/info/exclude; None if it has neither."""
    lines: list[str] = []
    for name in (os.path.join(".git", "info", "exclude"), ".gitignore"):
        try:
            rules = read_regular(os.path.join(folder, name), _MOST_RULES, own=False)
            lines += rules.decode("utf-8", "replace").splitlines()[:_LINES]
        except OSError:
            continue
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    spec = _spec(lines)
    start = len(folder.rstrip(os.sep)) + 1

    def ignored(path: str, is_folder: bool) -> bool | None:
        inner = path[start:].replace(os.sep, "/")
        return spec.check_file(f"{inner}/" if is_folder else inner).include

    return ignored


def _spec(lines: list[str]) -> GitIgnoreSpec:
    """Parse the lines that are rules; git ignores the others too."""
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _is_rule(line)])


def _is_rule(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
