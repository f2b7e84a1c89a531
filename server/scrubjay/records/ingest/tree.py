"""Lists the files at a path: the file itself, or the files of a folder that its .gitignore does not ignore.

It opens only .gitignore files, and files whose names do not show whether they are text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scrubjay.errors import InputError
from scrubjay.home.files import open_regular
from scrubjay.home.paths import is_home
from scrubjay.models.results import NotRead
from scrubjay.reading.kinds import HEAD, refusal
from scrubjay.records.ingest.gitignore import Rules

# Folders that tools create; they are skipped even if no .gitignore names them.
_TOOL_FOLDERS = frozenset(
    """
    node_modules __pycache__ site-packages bower_components venv env .git .hg .svn .venv .tox .nox .cache
    .mypy_cache .pytest_cache .ruff_cache
    """.split()
)
_MOST_NAMED = 5  # files that are listed for one reason
_MOST_BYTES = 100_000  # read from a .gitignore; each rule takes time at each file
_ActiveRules = tuple[Rules, str]  # the rules of a folder, and the path from there, such as "a/b/"


@dataclass(frozen=True)
class FileEntry:
    """A file on disk; `mtime` is in nanoseconds since 1970; `named` means that the caller named it."""

    path: str
    size: int
    mtime: int
    named: bool = False

    @property
    def name(self) -> str:
        """The path of its document, in which bytes that are not UTF-8 are escaped."""
        return as_text(self.path)


@dataclass(frozen=True)
class Tree:
    """The files at a path, sorted, and the hidden folders in it that were skipped.

    `not_read` says what could not be read, or was read only in part. `unreadable` are paths that the disk
    refused to read, so they may have files.
    """

    files: list[FileEntry]
    passed_over: list[str] = field(default_factory=list)
    not_read: list[NotRead] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)  # files that are not text, by reason

    def leave_out(self, path: str, reason: str) -> None:
        """Add a file that becomes no document, with the reason."""
        self.left_out.setdefault(reason, []).append(as_text(path))

    def add_unreadable(self, path: str, error: OSError) -> None:
        """Add a file or folder that cannot be read now, so that its documents stay."""
        path = as_text(path)
        self.unreadable.append(path)
        reason = f"{path[:300]} cannot be read now ({error.strerror}); its documents stay."
        self.not_read.append(NotRead(path=path, reason=reason))

    def why_left_out(self, folder: str) -> Iterator[NotRead]:
        """Yield a sentence for each reason, with the number of its files and the names of the first ones."""
        for reason, paths in self.left_out.items():
            paths.sort()
            names = ", ".join(os.path.relpath(path, folder)[:100] for path in paths[:_MOST_NAMED])
            more = ", ..." if len(paths) > _MOST_NAMED else ""
            yield NotRead(path=paths[0], reason=f"{_with_count(len(paths), reason)}: {names}{more}.")


def as_text(path: str) -> str:
    r"""Return a path as text, with bytes that are not UTF-8 escaped.

    >>> as_text("/notes/caf\udce9.md")
    '/notes/caf\\xe9.md'
    """
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def files_at(path: str, *, hidden: bool = False) -> Tree | None:
    """Return the file at an absolute path, or the files below a folder; None if the path does not exist.

    These are skipped: symbolic links, files whose suffix shows that they are not text, everything that a
    .gitignore names (in the folder, below it, or above it up to the repository's root) and, unless `hidden`,
    hidden files and folders. The path itself is not skipped; a home of Scrubjay always is.

    Raises InputError if the path cannot be read, is in a home, or is the whole disk.
    """
    if os.path.dirname(path) == path:
        raise InputError(f"{path!r} is the whole disk. Give the path of a folder with your documents.")
    if home := _home_around(path):
        raise InputError(f"{path[:300]!r} is in Scrubjay's own folder {home}, which is never indexed.")
    try:
        state = os.stat(path)
        if not os.path.isdir(path):
            return Tree([FileEntry(path, state.st_size, state.st_mtime_ns, named=True)])
        tree = Tree([])
        tree.files.extend(sorted(_below(path, hidden, tree), key=lambda file: file.path))
        tree.passed_over.sort()
        return tree
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path[:300]!r} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from None


def _below(top: str, hidden: bool, tree: Tree) -> Iterator[FileEntry]:
    """Yield the files below a folder, and add what is left out to the tree."""
    pending = [(top, _outer_rules(top, tree))]
    while pending:
        folder, outer_rules = pending.pop()
        if not (entries := _entries(folder, tree)):
            continue
        active = _with_folder_rules(outer_rules, folder, tree)
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                if (is_folder and _is_skipped_folder(entry)) or _is_ignored(entry.name, is_folder, active):
                    continue
                if entry.name.startswith(".") and not hidden:
                    if is_folder:
                        tree.passed_over.append(as_text(entry.path))
                elif is_folder:
                    pending.append((entry.path, _inside(active, entry.name)))
                elif entry.is_symlink():
                    tree.leave_out(entry.path, "is a link, and links are not followed")
                elif entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    reason = _refusal(entry)
                    if reason or not state.st_size:
                        tree.leave_out(entry.path, reason or "is empty")
                    if not reason:
                        yield FileEntry(entry.path, state.st_size, state.st_mtime_ns)
            except FileNotFoundError:  # gone since the folder was listed
                continue
            except OSError as error:
                tree.add_unreadable(entry.path, error)


def _entries(folder: str, tree: Tree) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except (FileNotFoundError, NotADirectoryError):  # gone since its parent was listed
        return []
    except OSError as error:  # such as missing permissions, or folders so deep that the path is too long
        tree.add_unreadable(folder, error)
        return []


def _refusal(entry: os.DirEntry[str]) -> str | None:
    """Return why a file is not read, or None; its bytes are examined only if its name does not decide."""
    if (reason := refusal(entry.name)) or refusal(entry.name, b"\x00") is None:
        return reason
    with open_regular(entry.path, own=False) as file:
        return refusal(entry.name, file.read(HEAD))


def _with_count(count: int, reason: str) -> str:
    """Return a reason as a sentence about this many files, such as "3 files: each is empty"."""
    return f"1 file {reason}" if count == 1 else f"{count:,} files: each {reason}"


def _home_around(path: str) -> str | None:
    """Return the home of Scrubjay that a path is in, or None."""
    while not is_home(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path if is_home(path) else None


def _is_ignored(name: str, is_folder: bool, active: Sequence[_ActiveRules]) -> bool:
    verdicts = (rules.verdict(path + name, is_folder) for rules, path in reversed(active))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _inside(active: Sequence[_ActiveRules], name: str) -> list[_ActiveRules]:
    return [(rules, f"{path}{name}/") for rules, path in active]


def _is_skipped_folder(entry: os.DirEntry[str]) -> bool:
    is_of_tool = entry.name in _TOOL_FOLDERS or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
    return is_of_tool or is_home(entry.path)  # indexing a home would change it


def _outer_rules(folder: str, tree: Tree) -> list[_ActiveRules]:
    """Return the rules of the folders above, from the repository's root down, or [] outside a repository."""
    current, names = folder, []
    while not os.path.exists(os.path.join(current, ".git")):
        parent, name = os.path.split(current)
        if parent == current:
            return []
        current = parent
        names.append(name)
    active: list[_ActiveRules] = []
    for name in reversed(names):
        active = _inside(_with_folder_rules(active, current, tree), name)
        current = os.path.join(current, name)
    return active


def _with_folder_rules(active: list[_ActiveRules], folder: str, tree: Tree) -> list[_ActiveRules]:
    """Add the rules of a folder's .gitignore and .git/info/exclude to the active ones."""
    lines: list[str] = []
    for name in (os.path.join(".git", "info", "exclude"), ".gitignore"):
        path = os.path.join(folder, name)
        try:
            with open_regular(path, own=False) as file:
                data = file.read(_MOST_BYTES + 1)
        except OSError:
            continue
        if len(data) > _MOST_BYTES:
            path = as_text(path)
            reason = f"{path} is too long; only its rules in the first {_MOST_BYTES:,} bytes count."
            tree.not_read.append(NotRead(path=path, reason=reason))
            data = data[:_MOST_BYTES].rpartition(b"\n")[0]
        text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        lines += [line.removesuffix("\r") for line in text.split("\n")]
    return [*active, (Rules(lines), "")] if any(lines) else active
