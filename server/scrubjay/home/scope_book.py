"""The book of a home's scopes, `<home>/scopes.json`: the paths and origins by which each is recognised.

    {"v": 1, "scopes": {name: {"paths": {path: birth}, "origins": [url]}}, "merged": {old: new}}

A repository is recognised

- by the path of its common git folder, so that worktrees share a scope;
- by the URL of its origin, so that clones do;
- by the first line of its reflog (its birth) if the recorded path no longer exists, so that a moved
  repository keeps its scope.

Hooks import this module, so it needs only the standard library and the syntax of Python 3.9.
"""

from __future__ import annotations

import json
import os

from scrubjay.home.files import hold, parse_json, read_whole
from scrubjay.home.kept import copy_of, write_kept
from scrubjay.home.repositories import birth_of

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from scrubjay.home.paths import Home
    from scrubjay.home.repositories import Repository

    Book = dict[str, Any]

REPO, FOLDER = KINDS = ("repo_", "dir_")  # prefixes of generated scope names
NAME_LENGTH = 60  # characters of a project's name
NO_LETTERS = "project"  # the name in a scope whose project has a name without ASCII letters
LOCK_WAIT_S = 0.25  # a hook waits at most this long; the other process needs about a millisecond
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")


def read(home: Home) -> Book:
    """Read the book, or its copy if it is missing or damaged; if neither can be read, return an empty one."""
    empty: Book = {"v": 1, "scopes": {}, "merged": {}}
    return _read_valid(home.scopes) or _read_valid(copy_of(home.scopes)) or empty


def _read_valid(path: str) -> Book | None:
    try:
        book: Book = parse_json(read_whole(path))
        entries = book["scopes"].values()
        is_valid = all(
            isinstance(entry["paths"], dict) and isinstance(entry["origins"], list) for entry in entries
        )
        return book if is_valid and isinstance(book["merged"], dict) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def change(home: Home, edit: Callable[[Book], Any]) -> tuple[Any, Book]:
    """Edit the book under the lock and write it; return (the result of `edit`, the book).

    A damaged book is renamed to scopes.json.broken. Raises OSError if it cannot be written, or another
    process held the lock for longer than LOCK_WAIT_S.
    """
    with hold(os.path.join(home.root, "scopes.lock"), LOCK_WAIT_S):
        book = read(home)
        if os.path.exists(home.scopes) and _read_valid(home.scopes) is None:
            os.replace(home.scopes, home.scopes + ".broken")
        result = edit(book)
        write_kept(home, home.scopes, json.dumps(book, indent=1, sort_keys=True).encode("ascii"))
        return result, book


def resolve(book: Book, scope: str) -> str:
    """Return the scope that a scope was merged into, or the scope itself."""
    seen = set()
    while scope in book["merged"] and scope not in seen:
        seen.add(scope)
        scope = book["merged"][scope]
    return scope


def find(book: Book, repo: Repository) -> str | None:
    """Find a scope by the path of `repo`, then by its origin, its path before it had git, and its birth."""
    for name, entry in book["scopes"].items():
        if repo.path in entry["paths"] and not _is_replaced(entry["paths"][repo.path], repo.birth):
            return str(name)
    for name, entry in book["scopes"].items():
        if repo.origin and repo.origin in entry["origins"]:
            return str(name)
    for name, entry in book["scopes"].items():
        if repo.is_git and _path_before_git(repo) in entry["paths"]:
            return str(name)
    for name, entry in book["scopes"].items():
        for path, birth in entry["paths"].items():
            if repo.birth and birth == repo.birth and _has_moved(path, birth):
                return str(name)
    return None


def _path_before_git(repo: Repository) -> str:
    """Return the path that the book has for a repository from before it had git; "" if that is unknown."""
    folder, last = os.path.split(repo.path)
    return folder if last == ".git" else ""


def former_repository(book: Book, repo: Repository) -> Repository:
    """Return the repository that a folder was in before it was removed; the folder itself if unknown."""
    known_paths = {path for entry in book["scopes"].values() for path in entry["paths"]}
    folder = repo.path
    while repo.path not in known_paths:
        if (git := os.path.join(folder, ".git")) in known_paths:
            return repo._replace(path=git, is_git=True)
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            break
    return repo


def _is_replaced(birth: str | None, current: str | None) -> bool:
    """Return True if the repository at the recorded path is now another one.

    The first line of a shortened reflog differs too, but only that of a complete one starts from no commit.
    """
    return bool(birth and current and birth != current and current.startswith("0" * 40))


def _has_moved(path: str, birth: str | None) -> bool:
    return not os.path.exists(path) or _is_replaced(birth, birth_of(path))


def update(book: Book, scope: str, repo: Repository) -> bool:
    """Add a new path or origin of a repository to `book`; return True if there was one."""
    entry = book["scopes"].setdefault(scope, {"paths": {}, "origins": []})
    paths, origins = entry["paths"], entry["origins"]
    is_known = any(repo.origin in other["origins"] for other in book["scopes"].values())
    has_new_origin = bool(repo.origin) and not is_known
    has_new_path = repo.path not in paths or (repo.birth is not None and paths[repo.path] != repo.birth)
    if has_new_origin:
        origins.append(repo.origin)
    if has_new_path:
        path_before = _path_before_git(repo) if repo.is_git else ""
        for path in [path for path in paths if path == path_before or not os.path.exists(path)]:
            del paths[path]
        paths[repo.path] = repo.birth
    return has_new_origin or has_new_path


def add(book: Book, repo: Repository) -> str:
    """Add a repository or folder to `book`, to a new scope if none is found; return its scope."""
    scope = find(book, repo) or new_name(repo, taken=book["scopes"])
    update(book, scope, repo)
    return scope


def new_name(repo: Repository, taken: Collection[str] = ()) -> str:
    """Return a name for a new scope; `taken` are names of existing scopes."""
    source = repo.origin or repo.path
    parent, last = os.path.split(source)
    name = os.path.basename(parent) if repo.is_git and last.startswith(".") else last
    for number in range(1, len(taken) + 2):
        key = source if number == 1 else f"{source}#{number}"
        scope = name_of(REPO if repo.is_git else FOLDER, name, key)
        if scope not in taken:
            break
    return scope


def name_of(kind: str, name: str, key: str) -> str:
    """Return the name of a scope: its kind, the letters of the project's name, and a hash of `key`."""
    from hashlib import sha256  # takes 2.5 ms, needed only for a new project

    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{kind}{ascii_letters(name)}__{digest}"


def ascii_letters(name: str) -> str:
    """Return the part of a project's name that its scope has.

    Letters such as ö are left out, not spelled as o: engines that share a bucket, or a home whose book was
    lost, must give a project the scope that it has.
    """
    return "".join(char for char in name if char in _SAFE)[:NAME_LENGTH] or NO_LETTERS
