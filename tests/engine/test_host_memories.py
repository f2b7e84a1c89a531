"""Facts from hosts' memories: one for equal words, versions for changes, hidden and restored with their files."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import memories_made as made
import pytest
from said import SCOPE, fact, stored

from scrubjay.engine.background.host_memories import HostMemories
from scrubjay.engine.core import Core
from scrubjay.histories.memory_files import kept_file, memory_files
from scrubjay.home.capture_policy import write_capture
from scrubjay.home.settings import Settings
from scrubjay.hosts.changes import connecting, disconnecting, write
from scrubjay.hosts.machine import Machine
from scrubjay.hosts.table import BY_NAME
from scrubjay.models.kept import KeptMemoryFiles
from scrubjay.models.records import Memory
from scrubjay.models.requests import Forget, parse

pytestmark = pytest.mark.long

A, B = "/h/.codex/memories/MEMORY.md", "/h/.claude/projects/-w/memory/MEMORY.md"
PORT, MOVED = "Staging listens on port 5433.", "Staging listens on port 6000."
PNPM, FRIDAY = "Atlas uses pnpm, never npm.", "We never deploy on Fridays."


async def take(core: Core, path: str, *texts: str, **more: Any) -> tuple[tuple[str, ...], int]:
    """Bring the facts in step with a file that says these; return the outcomes, and how many it hid."""
    source = "codex memory" if path == A else "claude-code memory"
    notes = [{"content": text, "scope": SCOPE, **more.get("note", {})} for text in texts]
    file = {"source": source, "path": path, "entries": notes, "is_whole": more.get("is_whole", True)}
    request = {"machine": more.get("machine", "here"), "memories": [file]}
    answer = await core.past.memories(parse(KeptMemoryFiles, request))
    return answer.files[0].outcomes, answer.files[0].deleted


async def facts(core: Core) -> dict[str, Memory]:
    """Return every fact by its words, the latest version of those that are said twice."""
    rows = await stored(core, Memory)
    return {row.content: row for row in sorted(rows, key=lambda row: row.version)}


async def visible(core: Core) -> set[str]:
    return {text for text, row in (await facts(core)).items() if row.is_latest and not row.forgotten_at}


async def test_a_changed_note_is_a_new_version_and_a_repetition_changes_nothing(core: Core):
    assert await take(core, A, PORT, PNPM, PORT) == (("added", "added", "known"), 0)
    assert await take(core, A, PORT, PNPM) == (("known", "known"), 0)
    at = {"at": "2026-03-01T09:00:00+00:00"}
    assert await take(core, A, MOVED, PNPM, note=at) == (("updated", "known"), 0)
    known = await facts(core)
    assert (known[MOVED].version, known[MOVED].parent_ids) == (2, (known[PORT].id,))
    assert not known[PORT].is_latest and known[PORT].source == "codex memory"
    assert await visible(core) == {MOVED, PNPM}
    assert await take(core, A, PORT, PNPM) == (("updated", "known"), 0)
    assert (await facts(core))[PORT].version == 3


async def test_what_its_host_deletes_is_hidden_and_says_so_until_it_returns(core: Core):
    await take(core, A, PORT, PNPM)
    assert await take(core, A, PNPM) == (("known",), 1)
    hidden = (await facts(core))[PORT]
    assert hidden.forgotten_at and "deleted by its host (codex)" in (hidden.forget_reason or "")
    assert await take(core, A, PNPM, PORT) == (("known", "restored"), 0)
    assert await visible(core) == {PORT, PNPM}


async def test_a_user_can_restore_what_its_host_deleted(core: Core):
    await take(core, A, PORT)
    await take(core, A)
    await core.removal.restore((await facts(core))[PORT].id, "cli")
    assert await take(core, A, PNPM) == (("added",), 0)
    assert await visible(core) == {PORT, PNPM}


async def test_the_same_words_of_two_hosts_are_one_fact_until_both_delete_them(core: Core):
    await take(core, A, PORT)
    assert await take(core, B, PORT) == (("known",), 0)
    assert await take(core, A, MOVED) == (("added",), 0)
    assert await visible(core) == {PORT, MOVED}
    assert await take(core, B) == ((), 1)


async def test_a_fact_of_ones_own_stays_whatever_a_host_does(core: Core):
    own = (await fact(core, PORT)).id
    assert await take(core, A, PORT) == (("known",), 0)
    assert await take(core, A) == ((), 0)
    assert (await facts(core))[PORT].id == own and await visible(core) == {PORT}


async def test_a_users_correction_is_not_undone_by_the_file(core: Core):
    await take(core, A, PORT)
    await fact(core, "Staging listens on port 7000.", updates=[(await facts(core))[PORT].id])
    assert await take(core, A, PORT) == (("known",), 0)
    assert await take(core, A) == ((), 0)
    assert await visible(core) == {"Staging listens on port 7000."}


async def test_what_the_user_forgot_or_purged_does_not_come_back(core: Core):
    await take(core, A, PORT, PNPM, FRIDAY)
    known = await facts(core)
    await core.removal.forget(Forget(id=known[PORT].id), SCOPE, "cli")
    await core.removal.forget(Forget(id=known[PNPM].id, purge=True), SCOPE, "cli")
    for path in (A, B):
        outcomes, deleted = await take(core, path, PORT, PNPM, FRIDAY)
        assert set(outcomes) <= {"known"} and not deleted
    assert await visible(core) == {FRIDAY} and PNPM not in await facts(core)
    assert await fact(core, PNPM) and await visible(core) == {FRIDAY, PNPM}


async def test_facts_of_a_deleted_file_are_hidden(core: Core, tmp_path: Path):
    path = tmp_path / "memories/MEMORY.md"
    await take(core, str(path), PORT)
    searched = {"memories": [], "searched": [str(tmp_path / "memories")]}
    for machine, hidden in (("another", 0), ("here", 1)):
        request = parse(KeptMemoryFiles, {"machine": machine, **searched})
        assert (await core.past.memories(request)).missing == hidden
    assert await visible(core) == set()


@pytest.mark.parametrize("more", [{"machine": "another"}, {"is_whole": False}])
async def test_a_file_of_another_machine_or_one_that_was_read_in_part_hides_nothing(core: Core, more: dict):
    await take(core, A, PORT)
    assert await take(core, A, PNPM, **more) == (("added",), 0)
    assert await visible(core) == {PORT, PNPM}


@pytest.mark.skipif(sys.platform != "linux", reason="editors have other folders elsewhere")
async def test_only_connected_hosts_are_read_and_none_during_a_pause(
    core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "sparrow/.git").mkdir(parents=True)
    made.write_all(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    paused = False
    policy = core._policy()
    watching = HostMemories(core.home, {}, lambda: policy._replace(paused=paused), core.past.memories)
    await watching.look()
    assert await visible(core) == set()
    ours = BY_NAME["codex"].changes(Machine({}, str(tmp_path), sys.platform))
    write(core.home, connecting(core.home, ours))
    codex = [kind for kind in made.KINDS if kind.host == "codex"]
    await watching.look()
    assert await visible(core) == {kind.fact for kind in codex}
    paused = True
    made.write(codex[0], tmp_path, PORT)
    await watching.look()
    assert PORT not in await facts(core)
    paused = False
    write(core.home, disconnecting(core.home, ours))
    await watching.look()
    assert PORT not in await facts(core)
    write(core.home, connecting(core.home, ours))
    await watching.look()
    assert PORT in await visible(core)


async def test_a_file_that_was_written_during_a_pause_is_left_out_until_it_changes(
    core: Core, tmp_path: Path, now: datetime
):
    machine = Machine({}, str(tmp_path), sys.platform)
    made.write_all(tmp_path)
    (file, *_) = memory_files("codex", machine)
    for is_paused, seconds in ((True, -60), (False, 60)):
        at = datetime.fromtimestamp(file.at + seconds, now.tzinfo)
        write_capture(core.home, Settings(paused=is_paused), at)
    assert kept_file(core.home, core._policy(), file, machine) is None
    assert kept_file(core.home, core._policy(), file._replace(at=file.at + 61), machine) is not None
