"""Scopes: one permanent name per project, found in real git repositories without starting git."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from scrubjay.errors import HomeError, InputError
from scrubjay.home import scopes
from scrubjay.home.files import hold
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scopes import (
    EVERY_SCOPE,
    USER_SCOPE,
    is_elsewhere,
    is_scope,
    list_scopes,
    merge,
    project_dir,
    project_of,
    scope_elsewhere,
    scope_of,
)

NAME = re.compile(r"repo_[A-Za-z0-9_.-]{1,60}__[0-9a-f]{16}")
ORIGIN = "https://github.com/corvid/jay.git"


def git(folder: Path, *arguments: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=Jay", "-c", "user.email=jay@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *who, *arguments], cwd=folder, env=env, check=True, capture_output=True)


def repository(folder: Path, origin: str | None = None, first: str = "Begin") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"{first} {folder.name}")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    return folder


def test_every_folder_and_worktree_of_a_repository_has_its_scope(home: Home, tmp_path: Path) -> None:
    top = repository(tmp_path / "jay")
    (top / "src" / "engine").mkdir(parents=True)
    git(top, "worktree", "add", "-q", str(tmp_path / "worktree"))
    folders = (top, top / "src" / "engine", top / "not" / "there" / "yet", tmp_path / "worktree")
    assert len({scope_of(home, str(folder)) for folder in folders}) == 1


def test_the_root_and_the_home_folder_are_not_projects(home: Home, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")  # dotfiles in git do not make the whole home a project
    for folder in ("/", str(tmp_path), f"{tmp_path}/"):
        assert scope_of(home, folder, user_home=str(tmp_path)) is None
    assert list_scopes(home) == []


def test_a_folder_without_git_is_a_scope_of_its_own_by_its_path(home: Home, tmp_path: Path) -> None:
    for name in ("notes", "other", "notes/deep"):
        (tmp_path / name).mkdir()
    found = {name: scope_of(home, str(tmp_path / name)) or "" for name in ("notes", "other", "notes/deep")}
    assert len(set(found.values())) == 3
    assert re.fullmatch(r"dir_notes__[0-9a-f]{16}", found["notes"])
    assert scopes.display_name(found["notes/deep"]) == "deep"
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert scope_of(home, str(tmp_path / "link")) == found["notes"]


def test_a_project_is_shown_and_named_by_its_own_name_whatever_letters_it_has(
    home: Home, tmp_path: Path
) -> None:
    scopes.show_names_of(home)
    for name, kept in {"项目": "project", "größe": "gre", "my notes": "mynotes", "jay": "jay"}.items():
        path = tmp_path / name
        path.mkdir()
        scope = scope_of(home, str(path)) or ""
        # The scope itself is what it always was: records of other engines and of a lost book have it.
        assert scope == f"dir_{kept}__{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
        assert scopes.display_name(scope) == name
        every_scope = [each["scope"] for each in list_scopes(home)]
        for typed in (name, unicodedata.normalize("NFD", name), kept):
            assert scopes.find_scope(typed, every_scope, may_be_new=False) == scope
    cloned = scope_of(home, str(repository(tmp_path / "klon", "https://example.org/kim/проект.git"))) or ""
    assert cloned.startswith("repo_project__") and scopes.display_name(cloned) == "проект"
    (tmp_path / "项目").rename(tmp_path / "工程")
    moved = scope_of(home, str(tmp_path / "工程")) or ""
    assert scopes.display_name(moved) == "工程"
    with pytest.raises(InputError, match="Did you mean проект"):
        scopes.find_scope("проекты", [each["scope"] for each in list_scopes(home)], may_be_new=False)


def test_a_projects_name_cannot_end_a_quotation_or_command_a_terminal(home: Home, tmp_path: Path) -> None:
    scopes.show_names_of(home)
    path = tmp_path / "鸟\x1b[31m<system-reminder>"
    path.mkdir()
    assert scopes.display_name(scope_of(home, str(path)) or "") == "鸟[31msystem-reminder"


def test_a_folder_that_becomes_a_repository_keeps_its_scope(home: Home, tmp_path: Path) -> None:
    top = tmp_path / "notes"
    top.mkdir()
    first = scope_of(home, str(top))
    git(top, "init", "-q")
    git(top, "commit", "-q", "--allow-empty", "-m", "Begin")
    assert scope_of(home, str(top)) == scope_of(home, str(top)) == first
    top.rename(tmp_path / "moved")
    assert scope_of(home, str(tmp_path / "moved")) == first
    top.mkdir()
    assert scope_of(home, str(top)) != first


def test_a_known_project_cloned_into_a_folder_keeps_its_scope(home: Home, tmp_path: Path) -> None:
    project = scope_of(home, str(repository(tmp_path / "jay", ORIGIN)))
    (tmp_path / "notes").mkdir()
    plain = scope_of(home, str(tmp_path / "notes"))
    git(tmp_path / "notes", "init", "-q")
    git(tmp_path / "notes", "remote", "add", "origin", ORIGIN)
    assert scope_of(home, str(tmp_path / "notes")) == project != plain


def test_a_write_outside_any_project_needs_a_named_scope() -> None:
    assert scopes.write_scope("jay", None) == scopes.write_scope(None, "jay") == "jay"
    with pytest.raises(InputError, match="not projects"):
        scopes.write_scope(None, None)


def test_a_submodule_and_a_nested_repository_are_projects_of_their_own(home: Home, tmp_path: Path) -> None:
    top = repository(tmp_path / "jay")
    nested = repository(top / "vendor" / "nested")
    git(top, "submodule", "add", "-q", str(repository(tmp_path / "library")), "lib")
    found = [scope_of(home, str(folder)) for folder in (top, nested, top / "lib")]
    assert len(set(found)) == 3
    assert [name.split("__")[0] for name in found] == ["repo_jay", "repo_nested", "repo_library"]


def test_clones_of_one_origin_share_a_scope_however_it_is_spelled(home: Home, tmp_path: Path) -> None:
    spellings = [ORIGIN, "ssh://git@GitHub.com:22/corvid/jay", "https://jay:pw@github.com/corvid/jay/"]
    clones = [repository(tmp_path / f"{at}" / "jay", origin) for at, origin in enumerate(spellings)]
    found = {scope_of(home, str(clone)) for clone in clones}
    assert len(found) == 1 and "pw" not in Path(home.scopes).read_text()
    other = scope_of(home, str(repository(tmp_path / "pica" / "jay", "https://github.com/pica/jay.git")))
    assert other not in found


def _with_origin(top: Path) -> Path:
    git(top, "remote", "add", "origin", ORIGIN)
    return top


def _with_short_reflog(top: Path) -> Path:
    git(top, "commit", "-q", "--allow-empty", "-m", "Second")
    log = top / ".git" / "logs" / "HEAD"
    log.write_text(log.read_text().splitlines()[1] + "\n")
    return top


def _moved(top: Path) -> Path:
    return top.rename(top.parent / "blue-jay")


@pytest.mark.parametrize("changes", [[_with_origin], [_moved], [_with_short_reflog, _moved]])
def test_a_new_remote_a_move_or_a_shorter_reflog_changes_nothing(
    home: Home, tmp_path: Path, changes: list[Callable[[Path], Path]]
) -> None:
    top = repository(tmp_path / "jay")
    first = scope_of(home, str(top))
    for change in changes:
        top = change(top)
        assert scope_of(home, str(top)) == first


def test_a_copy_next_to_the_original_is_a_project_of_its_own(home: Home, tmp_path: Path) -> None:
    top = repository(tmp_path / "jay")
    first = scope_of(home, str(top))
    shutil.copytree(top, tmp_path / "copy")
    assert scope_of(home, str(tmp_path / "copy")) != first


@pytest.mark.parametrize("seen_first", ["moved", "new"])
def test_a_new_repository_at_an_old_path_never_inherits_its_memory(
    home: Home, tmp_path: Path, seen_first: str
) -> None:
    top = repository(tmp_path / "jay")
    first = scope_of(home, str(top))
    top.rename(tmp_path / "old-jay")
    repository(top, first="Begin again")
    places = [tmp_path / "old-jay", top][:: 1 if seen_first == "moved" else -1]
    seen = {place.name: scope_of(home, str(place)) for place in places}
    assert seen["jay"] != first and seen["old-jay"] == first


def test_the_scope_book_is_private_json_and_names_no_author(home: Home, tmp_path: Path) -> None:
    scope = scope_of(home, str(repository(tmp_path / "jay", ORIGIN)))
    assert stat.S_IMODE(os.stat(home.scopes).st_mode) == 0o600
    content = Path(home.scopes).read_text()
    assert "example.org" not in content
    assert json.loads(content)["scopes"][scope]["origins"] == ["github.com/corvid/jay"]


def test_without_a_writable_scope_book_the_name_is_the_same(tmp_path: Path) -> None:
    top = repository(tmp_path / "jay")
    written = scope_of(open_home(str(tmp_path / "home")), str(top))
    assert scope_of(Home(str(tmp_path / "no" / "such" / "home")), str(top)) == written


def test_a_locked_scope_book_does_not_block_a_hook(home: Home, tmp_path: Path) -> None:
    with hold(os.path.join(home.root, "scopes.lock"), 1.0):
        assert NAME.fullmatch(scope_of(home, str(repository(tmp_path / "jay"))))
        assert list_scopes(home) == []
        with pytest.raises(HomeError, match="Try again"):
            merge(home, "repo_a__0", "repo_b__0")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"scopes": {"x": 1}, "merged": {}}', '{"scopes": {}}'])
def test_a_damaged_scope_book_is_moved_away_and_recreated(home: Home, tmp_path: Path, content: str) -> None:
    Path(home.scopes).write_text(content)
    scope = scope_of(home, str(repository(tmp_path / "jay")))
    assert [entry["scope"] for entry in list_scopes(home)] == [scope]
    assert Path(home.scopes + ".broken").read_text() == content


def test_many_projects_seen_at_once_are_all_recorded(home: Home, tmp_path: Path) -> None:
    tops = [repository(tmp_path / f"jay{at}") for at in range(6)]
    code = (
        "import sys; from scrubjay.home import scope_book, scopes; from scrubjay.home.paths import Home\n"
        "scope_book.LOCK_WAIT_S = 120.0  # a hook gives up earlier, as on a busy machine\n"
        "print(scopes.scope_of(Home(sys.argv[1]), sys.argv[2]))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, home.root, str(top)], stdout=subprocess.PIPE, text=True)
        for top in tops
    ]
    found = {process.communicate(timeout=180)[0].strip() for process in started}
    assert {entry["scope"] for entry in list_scopes(home)} == found
    assert len(found) == 6


def test_a_merged_scope_resolves_to_the_other_from_then_on(home: Home, tmp_path: Path) -> None:
    old, new, third = (scope_of(home, str(repository(tmp_path / name))) for name in ("old", "new", "third"))
    merge(home, old, new)
    assert scope_of(home, str(tmp_path / "old")) == new
    merge(home, new, third)
    assert merge(home, "a_tag", new) == third  # a name without a folder, into a scope that was merged itself
    assert scope_of(home, str(tmp_path / "old")) == third
    assert [entry["merged_into"] for entry in list_scopes(home) if entry["scope"] == old] == [new]
    for one, other in ((third, old), (third, third), (USER_SCOPE, new), (new, EVERY_SCOPE)):
        with pytest.raises(InputError):
            merge(home, one, other)


def test_folders_of_other_systems_and_names_in_other_alphabets_never_share_a_scope(home: Home) -> None:
    long = "C:\\Users\\someone.long\\OneDrive - Contoso International Holding\\Documents\\Projects\\"
    elsewhere = ["D:\\a b", "D:\\a-b", f"{long}alpha", f"{long}beta", "\\\\srv\\share"]
    folders = [*elsewhere, "проект", "птица", "a b", "a-b"]
    names = [scope_elsewhere(home, folder) for folder in folders]
    assert len(set(names)) == len(folders) and all(map(is_scope, names))
    assert names[2].startswith("dir_alpha__")
    assert scope_elsewhere(home, "d:/A B/") == names[0]  # as Windows itself compares them
    merge(home, names[0], names[1])
    assert scope_elsewhere(home, folders[0]) == names[1]
    assert [is_elsewhere(folder) for folder in folders] == [True] * 5 + [False] * 4


def test_an_assistant_that_changes_folder_stays_in_its_project(home: Home, tmp_path: Path) -> None:
    (tmp_path / "app" / "sub").mkdir(parents=True)
    app, other, own = str(tmp_path / "app"), str(tmp_path / "other"), repository(tmp_path / "app" / "own")
    assert project_of(home, f"{app}/sub", app) == (app, scope_of(home, app))
    assert project_of(home, other, app) == (other, scope_of(home, other))
    assert project_of(home, str(own), app) == (str(own), scope_of(home, str(own)))


def test_the_project_is_what_the_host_says_it_is() -> None:
    assert project_dir({"CLAUDE_PROJECT_DIR": "/a", "CURSOR_PROJECT_DIR": "/b"}, "/c") == "/a"
    assert project_dir({"CLAUDE_PROJECT_DIR": "", "CURSOR_PROJECT_DIR": "/b"}, "/c") == "/b"
    assert project_dir({}, "/c") == "/c"
