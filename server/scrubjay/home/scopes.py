"""Which project a folder belongs to, and the name of that scope for good. Keeps what it saw first in `<home>/scopes.json`; does not
know how git lays out its files, nor what is stored under a scope. Hooks share it: standard library only and Python 3.9 syntax.

A repository is known again by the path of its common folder (so worktrees share a scope), by the URL of its origin (so clones
do), and, when the recorded path is gone, by the first line of its reflog, its birth (so a move loses nothing).
"""

from __future__ import annotations

import json
import os
import time

from scrubjay.errors import HomeError, InputError
from scrubjay.home.paths import Home
from scrubjay.home.repositories import birth_of, repository
from scrubjay.home.spool import durable_write

USER_SCOPE = "user"  # what is true of the person everywhere
EVERY_SCOPE = "*"
SCOPE_NAME = r"[A-Za-z0-9_.:-]{1,100}"  # the one rule for what a scope may be called; tags follow it too
LOCK_WAIT_S = 0.25  # a hook waits no longer than this; the holder needs about a millisecond

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")


def is_scope(name: str) -> bool:
    """Whether a scope may have this name: 1 to 100 ASCII letters, digits or . _ : -"""
    return (
        0 < len(name) <= 100
        and name.isascii()
        and all(character.isalnum() or character in "._:-" for character in name)
    )


def project_dir(env: dict, cwd: str) -> str:
    """The folder of the project: what the host says it is, else the working directory (which follows `cd`)."""
    return env.get("CLAUDE_PROJECT_DIR") or env.get("CURSOR_PROJECT_DIR") or cwd


def scope_of(home: Home, folder: str, user_home: str | None = None) -> str:
    """The scope of a folder: `repo_<name>__<hash16>` in a git tree, else `user`.

    The hash is of the origin's normalised URL, else of the common folder's path, as they were at first sight. `/`, the
    user's home and whatever lies outside a git tree below them is `user`.
    """
    found = repository(folder, user_home or os.path.expanduser("~"))
    if found is None:
        return USER_SCOPE
    book = _read(home)
    scope = book and _known_as(book, found)
    if not scope or _learn(book, scope, found):
        try:
            scope, book = _change(home, lambda book: _enter(book, found))
        except OSError:  # full, read-only or busy: the same name is computed again next time
            scope = scope or _computed(found)
    return _resolve(book or _empty(), scope)


def known(home: Home) -> list:
    """Every scope seen so far: {scope, paths, origins, merged_into} with `merged_into` None for one that stands."""
    book = _read(home) or _empty()
    return [
        {
            "scope": name,
            "paths": sorted(entry["paths"]),
            "origins": list(entry["origins"]),
            "merged_into": book["merged"].get(name),
        }
        for name, entry in sorted(book["scopes"].items())
    ]


def merge(home: Home, old: str, new: str) -> None:
    """Let the name `old` mean the scope `new` from now on; what is stored under `old` is moved by the caller.

    Raises:
        InputError: a scope that was never seen, or one that already means the other.
        HomeError: scopes.json cannot be written.
    """

    def edit(book):
        for name in (old, new):
            if name not in book["scopes"] and name != USER_SCOPE:
                raise InputError(f"There is no scope {name[:120]!r}; `scrubjay scopes` lists them.")
        if old == USER_SCOPE or _resolve(book, new) == old:
            raise InputError(
                f"{old} cannot be merged into {new}: it is what {new} means already, or the user's own scope."
            )
        book["merged"][old] = new

    try:
        _change(home, edit)
    except OSError as error:
        raise HomeError(
            f"{home.scopes} cannot be written: {error.strerror or error}. Try again, or look at its rights."
        ) from error


# --- scopes.json: {"v": 1, "scopes": {name: {"paths": {path: birth}, "origins": [url]}}, "merged": {old: new}} ---------------


def _empty():
    return {"v": 1, "scopes": {}, "merged": {}}


def _read(home):
    """The book as it stands; None when there is none or it is damaged."""
    try:
        with open(home.scopes, "rb") as file:
            book = json.loads(file.read())
        entries = book["scopes"].values()
        sound = all(
            isinstance(entry["paths"], dict) and isinstance(entry["origins"], list) for entry in entries
        )
        return book if sound and isinstance(book["merged"], dict) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _known_as(book, found):
    for name, entry in book["scopes"].items():
        if found.path in entry["paths"] and not _reborn(entry["paths"][found.path], found.birth):
            return name
    for name, entry in book["scopes"].items():
        if found.origin and found.origin in entry["origins"]:
            return name
    for name, entry in book["scopes"].items():
        if found.birth and any(
            birth == found.birth and _has_left(path, birth) for path, birth in entry["paths"].items()
        ):
            return name
    return None


def _reborn(birth, now):
    """Whether another repository stands where the recorded one was.

    A reflog that was shortened begins with another line too, but only the first line of a life starts from no commit.
    """
    return bool(birth and now and birth != now and now.startswith("0" * 40))


def _has_left(path, birth):
    return not os.path.exists(path) or _reborn(birth, birth_of(path))


def _learn(book, scope, found):
    """Note in `book` what is new about a repository; whether anything was."""
    entry = book["scopes"].setdefault(scope, {"paths": {}, "origins": []})
    claimed = any(found.origin in other["origins"] for other in book["scopes"].values())
    new_origin = bool(found.origin) and not claimed
    new_path = found.path not in entry["paths"] or (
        found.birth is not None and entry["paths"][found.path] != found.birth
    )
    if new_origin:
        entry["origins"].append(found.origin)
    if new_path:
        for path in [path for path in entry["paths"] if not os.path.exists(path)]:
            del entry["paths"][path]
        entry["paths"][found.path] = found.birth
    return new_origin or new_path


def _enter(book, found):
    scope = _known_as(book, found) or _computed(found, taken=book["scopes"])
    _learn(book, scope, found)
    return scope


def _computed(found, taken=()):
    """The name of a scope at first sight. `taken`: a new repository where one stood that has moved needs another hash."""
    from hashlib import sha256  # 2.5 ms, which only the first sight of a project pays

    source = found.origin or found.path
    holder, last = os.path.split(source)
    name = os.path.basename(holder) if last.startswith(".") else last
    name = "".join(character for character in name if character in _SAFE)[:60] or "project"
    for life in range(1, len(taken) + 2):
        digest = sha256(
            (source if life == 1 else f"{source}#{life}").encode("utf-8", "surrogatepass")
        ).hexdigest()
        scope = f"repo_{name}__{digest[:16]}"
        if scope not in taken:
            break
    return scope


def _resolve(book, scope):
    seen = set()
    while scope in book["merged"] and scope not in seen:
        seen.add(scope)
        scope = book["merged"][scope]
    return scope


def _change(home, edit):
    """Edit the book alone and write it whole: (what `edit` returned, the book). A damaged one is kept as scopes.json.broken.

    Raises:
        OSError: it cannot be written, or another process held it for longer than LOCK_WAIT_S.
    """
    descriptor = os.open(os.path.join(home.root, "scopes.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
        book = _read(home)
        if book is None:
            if os.path.exists(home.scopes):
                os.replace(home.scopes, home.scopes + ".broken")
            book = _empty()
        result = edit(book)
        durable_write(home, home.scopes, json.dumps(book, indent=1, sort_keys=True).encode("ascii"))
        return result, book
    finally:
        os.close(descriptor)


def _lock(descriptor):
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            if os.name == "nt":
                import msvcrt

                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
