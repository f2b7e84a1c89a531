"""Gives each folder a scope, whose name never changes, and each scope a name for people to read.

A folder outside git is recognised by its path; if it becomes a repository, it keeps its scope.

Hooks import this module, so it needs only the standard library and the syntax of Python 3.9.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from functools import lru_cache

from scrubjay.errors import HomeError, InputError
from scrubjay.home import scope_book
from scrubjay.home.paths import Home
from scrubjay.home.repositories import repository

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


USER_SCOPE = "user"  # facts about the user that hold in every project
EVERY_SCOPE = "*"
SCOPE_NAME = r"[A-Za-z0-9_.:-]{1,100}"  # the rule for names of scopes and tags
NOWHERE = "/, your home folder itself and a folder that no longer exists are not projects."


def is_scope(name: str) -> bool:
    """Return True if a scope may have this name: 1 to 100 ASCII letters, digits or `._:-`."""
    return 0 < len(name) <= 100 and name.isascii() and all(char.isalnum() or char in "._:-" for char in name)


def display_name(scope: str) -> str:
    """Return the name of a scope in a short, readable form.

    A scope's name has only the ASCII letters of its project's name. If `show_names_of` was called, the
    project's own name is returned.

    >>> display_name("repo_sparrow__0123456789abcdef"), display_name("dir_notes__0123456789abcdef")
    ('sparrow', 'notes')
    """
    return _all_own_names().get(scope) or _ascii_name(scope)


def _ascii_name(scope: str) -> str:
    for kind in scope_book.KINDS:
        if scope.startswith(kind):
            return scope[len(kind) :].rpartition("__")[0] or scope
    return scope


def show_names_of(home: Home) -> None:
    """Let `display_name` return the projects' own names, such as `größe`, from this home's book."""
    _shown["home"] = home


def own_names() -> dict[str, str]:
    """Return the projects' own names that their scopes do not spell, by scope."""
    return {scope: name for scope, name in _all_own_names().items() if name != _ascii_name(scope)}


_shown: dict[str, Home] = {}  # the home whose projects are shown by their own names; a process serves one


def _all_own_names() -> dict[str, str]:
    """Return the own names of all projects by scope, from the book, which is read again when it changes."""
    if not _shown:
        return {}
    home = _shown["home"]
    version: tuple[int, ...] = ()
    with suppress(OSError):  # the book is missing, so its copy applies
        stat = os.stat(home.scopes)
        version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return _own_names_in(home, version)


@lru_cache(maxsize=1)
def _own_names_in(home: Home, version: tuple[int, ...]) -> dict[str, str]:
    named = ((name, _own_name(name, entry)) for name, entry in scope_book.read(home)["scopes"].items())
    return {name: own_name for name, own_name in named if own_name}


def _own_name(scope: str, entry: dict[str, Any]) -> str | None:
    """Return the name of the repository or folder that a scope was named after; None if it is not known."""
    sources = (os.path.split(str(source)) for source in (*entry["origins"], *entry["paths"]))
    names = [os.path.basename(parent) if last.startswith(".") else last for parent, last in sources]
    ascii_name = _ascii_name(scope)
    same = [name for name in names if scope_book.ascii_letters(name) == ascii_name]
    if not same and ascii_name == scope_book.NO_LETTERS:  # the folder was renamed
        same = names
    return _printable(same[0]) if same else None


def _printable(name: str) -> str:
    """Return a project's name in the form that is shown, without letters that could end a quotation."""
    from unicodedata import normalize  # imported here, because hooks need not load it

    letters = (char for char in normalize("NFC", name) if char.isprintable() and char not in "<>`")
    return "".join(letters)[: scope_book.NAME_LENGTH]


def find_scope(name: str, existing: Iterable[str], *, may_be_new: bool) -> str:
    """Return the scope with this name, or the only one with this display name.

    With `may_be_new`, a name without a scope is returned unchanged, unless a project has a similar name.
    Raises InputError if there is no such scope, or several scopes have this display name.
    """
    names = {*existing, USER_SCOPE, EVERY_SCOPE}
    if name in names:
        return name
    shown = _printable(name)
    displayed = sorted(each for each in names if display_name(each) == shown)
    displayed = displayed or sorted(each for each in names if _ascii_name(each) == name)
    if len(displayed) > 1:
        raise InputError(f"The scope {name} is ambiguous: {' or '.join(displayed)}. Give the full name.")
    if displayed:
        return displayed[0]
    # A new name may resemble a scope that the user named (client_2 and client_1), but not a project's name.
    candidates = [each for each in names if each.startswith(scope_book.KINDS) or not may_be_new]
    if name.isalpha():
        candidates.append(USER_SCOPE)
    suggestion = nearest(name, {*candidates, *map(display_name, candidates)})
    if name.lower() == USER_SCOPE:
        suggestion = f" Did you mean {USER_SCOPE}?"
    if may_be_new and name and not suggestion:
        return name
    raise InputError(f"There is no scope {name[:120]!r}.{suggestion} `scrubjay scopes` lists them.")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests similar names; "" if none is similar."""
    import difflib  # takes 5 ms, needed only after a typing error

    known = sorted(names)
    longer = [each for each in known if name and each.startswith(f"{name}-")]  # such as `claude`
    matches = longer[:3] or difflib.get_close_matches(name, known, n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(matches)}?" if matches else ""


def search_scopes(scope: str | None, caller: str | tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the scopes to search; None means every scope.

    They are `scope` if it is given, else `caller` (the scope of the caller's project) and the user's scope.
    If `caller` is a tuple, it has all the scopes that the caller may see, and `scope` is ignored.
    """
    if isinstance(caller, tuple):
        return caller
    if scope == EVERY_SCOPE:
        return None
    return (scope,) if scope is not None else tuple(dict.fromkeys((caller, USER_SCOPE)))


def write_scope(scope: str | None, caller: str | None) -> str:
    """Return `scope` if it is given, else the caller's. Raises InputError if both are None."""
    if scope is None and caller is None:
        raise InputError(f"{NOWHERE} Name a scope: a project's, or user for facts about yourself.")
    return scope or caller or ""


def project_dir(env: Mapping[str, str], cwd: str) -> str:
    """Return the project's folder: the one that the host names, else the working directory `cwd`."""
    return env.get("CLAUDE_PROJECT_DIR") or env.get("CURSOR_PROJECT_DIR") or cwd


def scope_of(home: Home, folder: str, user_home: str | None = None) -> str | None:
    """Return the scope of a folder: `repo_<name>__<hash16>` in a git tree, else `dir_<name>__<hash16>`.

    The hash is made from the normalised URL of the origin, else from the path (in a git tree, that of its
    common folder). It does not change if these change later. `/` and the user's home itself have no scope.
    """
    repo = repository(folder, user_home or os.path.expanduser("~"))
    if repo is None:
        return None
    book = scope_book.read(home)
    if not repo.is_git and not os.path.exists(repo.path):
        repo = scope_book.former_repository(book, repo)
    scope = scope_book.find(book, repo)
    if scope is None or scope_book.update(book, scope, repo):
        try:
            scope, book = scope_book.change(home, lambda book: scope_book.add(book, repo))
        except OSError:  # the disk is full, read-only or busy: the next call computes the same name
            scope = scope or scope_book.new_name(repo)
    return scope_book.resolve(book, scope)


def is_elsewhere(folder: str) -> bool:
    """Return True if this is an absolute path on another kind of operating system.

    >>> is_elsewhere(r"D:\\work\\jay"), is_elsewhere("work/jay")
    (True, False)
    """
    return not os.path.isabs(folder) and (_is_windows(folder) or posixpath.isabs(folder))


def scope_elsewhere(home: Home, name: str) -> str:
    """Return the scope of a folder on another system, or of a project known only by name."""
    if _is_windows(name):
        import ntpath  # imported here, because hooks need not load it

        path = ntpath.normcase(ntpath.normpath(name))
        last = ntpath.basename(path)
    else:
        path = posixpath.normpath(name)
        last = posixpath.basename(path)
    return scope_book.resolve(scope_book.read(home), scope_book.name_of(scope_book.FOLDER, last, path))


def project_of(home: Home, folder: str, session_folder: str | None) -> tuple[str, str | None]:
    """Return the folder of the project that a folder belongs to, and the project's scope.

    An assistant that enters a folder below that of its session stays in the project, unless the folder is in
    a separate repository.
    """
    if session_folder and folder != session_folder and _is_inside(folder, session_folder):
        repo = repository(folder, os.path.expanduser("~"))
        if (repo is None or not repo.is_git) and (scope := scope_of(home, session_folder)):
            return session_folder, scope
    return folder, scope_elsewhere(home, folder) if is_elsewhere(folder) else scope_of(home, folder)


def list_scopes(home: Home) -> list[dict[str, Any]]:
    """List the known scopes: {scope, paths, origins, merged_into}; `merged_into` is often None."""
    book = scope_book.read(home)
    merged = book["merged"]
    return [
        dict(scope=name, paths=sorted(entry["paths"]), origins=entry["origins"], merged_into=merged.get(name))
        for name, entry in sorted(book["scopes"].items())
    ]


def project_folders(home: Home, scope: str | None = None) -> list[str]:
    """Return the folders of the known projects, or of the project with this scope."""
    entries = (entry for entry in list_scopes(home) if scope in (None, entry["scope"]))
    paths = (path for entry in entries for path in entry["paths"])
    return [os.path.dirname(path) if os.path.basename(path) == ".git" else path for path in paths]


def merge(home: Home, old: str, new: str) -> str:
    """Assign the folders of the scope `old` to the scope `new`; return the scope that they finally get.

    The caller moves the records of `old`. If `new` was itself merged into another scope, that one is used.
    Raises InputError if both are the same scope already, or one is not a single project, and HomeError if
    scopes.json cannot be written.
    """

    def edit(book: dict[str, Any]) -> str:
        final = scope_book.resolve(book, new)
        if old == USER_SCOPE or EVERY_SCOPE in (old, new) or final == old:
            why = f"it is the same scope as {new} already, or the user's own scope, or every scope"
            raise InputError(f"{old} cannot be merged into {new}: {why}.")
        book["merged"][old] = new
        return final

    try:
        return str(scope_book.change(home, edit)[0])
    except OSError as error:
        sentence = f"{home.scopes} cannot be written: {error.strerror or error}."
        raise HomeError(f"{sentence} Try again, or check its permissions.") from error


def _is_windows(path: str) -> bool:
    """Return True if a path begins with a drive or a server, as only Windows paths do."""
    return path[:2] == "\\\\" or (path[:1].isalpha() and path[1:2] == ":" and path[2:3] in ("\\", "/"))


def _is_inside(folder: str, other: str) -> bool:
    return folder.startswith(other.rstrip("/\\") + ("\\" if _is_windows(other) else "/"))
