"""The memories of hosts from outside: imported, changed, deleted, restored, purged, and kept in step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import memories_made as made
import pytest
from user import PATIENCE, User, make_user

from scrubjay.home.scopes import USER_SCOPE

pytestmark = pytest.mark.long

MOVED = "6000"  # where everything listens later; it was 5433


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A user whose assistants all remember something."""
    user = make_user(tmp_path_factory.mktemp("p"))
    made.write_all(user.folder)
    yield user
    user.types("stop")


def exported(user: User) -> dict[str, dict[str, Any]]:
    """Return the newest version of every fact, by its words."""
    records = map(json.loads, user.gets("export", "-").splitlines()[1:])
    facts = sorted((each for each in records if each["kind"] == "memory"), key=lambda each: each["version"])
    return {each["content"].rpartition("\n")[2]: each for each in facts}


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return the times and bytes of everything but Scrubjay's own home."""
    found = {}
    for path in (each for each in folder.rglob("*") if "jay" not in each.parts):
        about, content = path.stat(), path.read_bytes() if path.is_file() else b""
        found[str(path)] = (about.st_mtime_ns, about.st_ctime_ns, content)
    return found


def imports(user: User) -> dict[str, Any]:
    """Import everything, which changes no file of a host; return the counts."""
    before = snapshot(user.folder)
    answer = json.loads(user.gets("import", "--from", "all", "--json"))
    assert snapshot(user.folder) == before and not answer["unreadable"]
    names = ("facts", "added", "updated", "known", "restored")
    counts = {name: sum(each[name] for each in answer["projects"]) for name in names}
    return counts | {"hidden": answer["hidden"]}


def test_every_memory_is_imported_changed_deleted_and_restored(past: User):
    kinds = made.KINDS
    every = len(kinds)
    none = {"facts": every, "added": 0, "updated": 0, "known": 0, "restored": 0, "hidden": 0}
    assert "20 facts" in past.gets("import", "--from", "all", "--dry-run")
    assert imports(past) == {**none, "added": every}
    assert imports(past) == {**none, "known": every}
    facts = exported(past)
    for kind in kinds:
        fact = facts[kind.fact]
        assert fact["source"] == f"{kind.host} memory"
        assert (fact["scope"] == USER_SCOPE) == kind.is_users

    for kind in kinds:
        made.write(kind, past.folder, kind.fact.replace("5433", MOVED))
    assert imports(past) == {**none, "updated": every}
    facts = exported(past)
    assert {facts[kind.fact.replace("5433", MOVED)]["version"] for kind in kinds} == {2}

    for kind in kinds:
        made.write(kind, past.folder, "")
    assert imports(past) == {**none, "facts": 0, "hidden": every}
    hidden = [facts for facts in exported(past).values() if facts["version"] == 2]
    assert all("deleted by its host" in fact["forget_reason"] for fact in hidden)
    codex = next(each["id"] for each in hidden if each["source"] == "codex memory")
    assert "deleted by its host (codex)" in past.gets("show", codex)

    for kind in kinds:
        made.write(kind, past.folder, kind.fact.replace("5433", MOVED))
    assert imports(past) == {**none, "restored": every}
    assert MOVED in past.gets("search", f"what listens on port {MOVED}", "--all")


def test_replaced_secrets_are_counted_only_when_a_note_is_stored(past: User):
    kind = next(each for each in made.KINDS if each.host == "windsurf")  # it has no history, only notes
    made.write(kind, past.folder, f"{kind.fact} The key is AKIAIOSFODNN7EXAMPLQ.")
    command = ("import", "--from", "windsurf")
    assert "secret" not in past.gets(*command, "--dry-run")
    assert "1 secret in the text was replaced before it was stored." in past.gets(*command)
    again = past.gets(*command)
    assert "already known" in again and "secret" not in again


def test_the_facts_that_a_host_deleted_are_counted(past: User):
    rules = past.folder / ".codeium/windsurf/memories/global_rules.md"
    rules.parent.mkdir(parents=True, exist_ok=True)
    command = ("import", "--from", "windsurf")
    rules.write_text("- Count the herons.\n- Count the egrets.\n- Count the kites.\n")
    past.gets(*command)
    rules.write_text("- Count the herons.\n- Count the egrets.\n")
    assert "1 fact hidden, because the host deleted it." in past.gets(*command)
    rules.unlink()
    assert "2 facts hidden, because the host deleted them." in past.gets(*command)


def test_a_restored_or_purged_fact_stays_so_at_the_next_import(past: User):
    first, second = made.KINDS[1], made.KINDS[5]
    for kind in (first, second):
        made.write(kind, past.folder, kind.fact)
    imports(past)
    facts = exported(past)
    past.gets("forget", facts[second.fact]["id"], "--purge", "--yes")
    made.write(first, past.folder, "")
    assert imports(past)["hidden"] == 1
    past.gets("restore", facts[first.fact]["id"])
    path = made.write(second, past.folder)
    path.write_text(path.read_text() + "- It has been written again.\n")
    assert imports(past)["added"] == 1
    facts = exported(past)
    assert second.fact not in facts and "forgotten_at" not in facts[first.fact]


def until(holds: Callable[[], bool]) -> None:
    """Look until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end


def test_a_running_engine_keeps_in_step_with_connected_assistants(tmp_path: Path):
    user = make_user(tmp_path)
    kind = next(each for each in made.KINDS if each.text is made.CODEX)
    path = made.write(kind, user.folder)
    try:
        assert "its own memory" in user.gets("setup", "--yes", "--only", "codex")
        until(lambda: kind.fact in exported(user))
        moved = kind.fact.replace("5433", MOVED)
        made.write(kind, user.folder, moved)
        until(lambda: exported(user).get(moved, {}).get("version") == 2)
        path.unlink()
        until(lambda: "forgotten_at" in exported(user)[moved])
        made.write(kind, user.folder)
        assert "no longer read" in user.gets("setup", "--remove", "--yes")
    finally:
        user.types("stop")
