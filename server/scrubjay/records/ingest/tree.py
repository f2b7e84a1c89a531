"""Which files a path stands for: the file itself, or the files of a folder that its .gitignore lets through.

No file but .gitignore is opened.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from scrubjay.errors import InputError
from scrubjay.reading.kinds import refusal

# Folders that tools make, whether or not .gitignore names them.
_NEVER = frozenset({"node_modules", "__pycache__", "site-packages", "bower_components", "venv", "env"})
_LINES = 10_000  # of a .gitignore
_Rule = Callable[[str, bool], bool | None]  # (path, whether it is a folder) -> kept out, let in, or not named


@dataclass(frozen=True)
class FileEntry:
    """A file on disk; `mtime` is in nanoseconds since 1970. `named`: the caller named the file itself."""

    path: str
    size: int
    mtime: int
    named: bool = False


def files_at(path: str) -> list[FileEntry]:
    """Return the file at an absolute path, or the files below the folder at it, sorted by path.

    Hidden files and folders, symbolic links, what a .gitignore names (of the folder, those below it, and
    those above it up to the repository's), and what is no text by its suffix are passed over; a file named by
    the caller is not.

    Raises:
        InputError: there is nothing at the path, or it cannot be looked at.
    """
    try:
        state = os.stat(path)
        if not os.path.isdir(path):
            return [FileEntry(path, state.st_size, state.st_mtime_ns, named=True)]
        return sorted(_below(path, _above(path)), key=lambda seen: seen.path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path[:300]!r} cannot be looked at: {getattr(error, 'strerror', None) or error}."
        ) from None


def _below(folder: str, ignored: list[_Rule]) -> Iterator[FileEntry]:
    try:
        with os.scandir(folder) as scan:
            entries = list(scan)
    except OSError:  # a folder that may not be entered, or is gone by now, has nothing for us
        return
    here = [*ignored, rules] if (rules := _rules(folder)) else ignored
    for entry in entries:
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            if _passed_over(entry, is_folder) or _is_ignored(entry.path, is_folder, here):
                continue
            if is_folder:
                yield from _below(entry.path, here)
            elif entry.is_file(follow_symlinks=False) and refusal(entry.name) is None:
                state = entry.stat(follow_symlinks=False)
                yield FileEntry(entry.path, state.st_size, state.st_mtime_ns)
        except OSError:  # gone since the folder was listed
            continue


def _is_ignored(path: str, is_folder: bool, rules: list[_Rule]) -> bool:
    verdicts = (rule(path, is_folder) for rule in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _passed_over(entry: os.DirEntry[str], is_folder: bool) -> bool:
    if entry.name.startswith("."):
        return True
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
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                lines += file.read().splitlines()[:_LINES]
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
