"""Summaries of sessions: one for each, made in the background, and found where turns are left out."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from said import SCOPE, embedded, fact, forget, search, texts, turn

from scrubjay.engine.background import consolidation
from scrubjay.engine.background.tasks import quiet_for
from scrubjay.engine.core import Core
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import SUMMARY, Memory
from scrubjay.models.requests import Forget, ForgetRecords, parse
from scrubjay.records import session_summaries
from scrubjay.records.session_summaries import SILENCE
from scrubjay.store import conditions

pytestmark = pytest.mark.long

EVERY = Settings().summary_every
SECRET = "quagga-7731-zorilla"


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(consolidation, "QUIET_SECONDS", 0.02)


async def session(core: Core, name: str, count: int, *, first: int = 0, **args) -> list[str]:
    ids = []
    for n in range(first, first + count):
        answer = f"We decided to rename part {n} because of the parser."
        asked = f"Why does module {n} fail in zebra{n}.py?"
        ids.append((await turn(core, name, user=asked, assistant=answer, turn=n, **args)).id)
    return ids


async def touched(core: Core, number: int, file: str) -> None:
    """Add a touched file to a stored turn."""
    answer = f"We decided to rename part {number} because of the parser."
    await turn(core, "s", turn=number, assistant=answer, files=[file])


async def secret_told(core: Core) -> str:
    """Record a turn with a secret; return its id."""
    said = {"user": f"Where is {SECRET}?", "assistant": f"We decided to keep {SECRET} in the vault."}
    return (await turn(core, "s", **said)).id


async def forget_all(core: Core, ids: list[str]) -> None:
    request = ForgetRecords(ids=ids)
    await core.writer.write(envelope("forget", request, scope=SCOPE, source="test", at=core.clock()))


async def summaries(core: Core, until: Callable[[list[Memory]], bool] = bool) -> list[Memory]:
    """The session summaries on disk that are not forgotten, once they are as expected."""
    async with asyncio.timeout(20):
        while True:
            await core.writer.settle()
            where = conditions.both(conditions.equal("source", SUMMARY), conditions.NOT_FORGOTTEN)
            found = await core.store.select(Memory, where)
            if until(found) and not core.consolidation.waiting and not core.writer.pending:
                return sorted(found, key=lambda row: row.turn or 0)
            await asyncio.sleep(0.01)


async def quiet(core: Core) -> list[Memory]:
    return await summaries(core, lambda found: True)


async def ended(core: Core, until: Callable[[list[Memory]], bool] = bool) -> list[Memory]:
    """The summaries after the host has ended the session."""
    await core.writer.settle()
    core.consolidation.end(SCOPE, "s")
    return await summaries(core, until)


async def test_a_summary_is_not_counted_as_a_fact(core: Core):
    await session(core, "s", 3)
    await ended(core)
    await fact(core, "The port is 8421.")
    assert (await core.counts.summary())[SCOPE]["memories"] == 1
    assert (await core.status.report())["records"]["memories"] == 1


async def test_a_session_that_goes_on_is_summarised_after_every_twenty_turns(core: Core):
    ids = await session(core, "s", EVERY - 1)
    assert await quiet(core) == []
    ids += await session(core, "s", 1, first=EVERY - 1)
    (made,) = await summaries(core)
    assert made.parent_ids == tuple(ids)
    assert (made.relation, made.session_id, made.turn) == ("derives", "s", EVERY - 1)
    assert made.partition_id == "mem_episodic" and len(made.content) < 1_100
    head, place, rest = made.content.split("\n", 2)
    assert head == "Why does module 0 fail in zebra0.py?"
    assert place == "Session of 2026-03-05, turns 0 to 19." and "Outcome: We decided to rename" in rest
    ids += await session(core, "s", EVERY - 1, first=EVERY)
    assert await quiet(core) == [made]
    ids += await session(core, "s", 1, first=2 * EVERY - 1)
    (again,) = await summaries(core, lambda found: found != [made])
    assert (again.id, again.parent_ids) == (made.id, tuple(ids))


@pytest.mark.parametrize("count", [1, 3])
async def test_a_session_that_its_host_ended_is_summarised_however_short(core: Core, count: int):
    ids = await session(core, "s", count)
    (made,) = await ended(core)
    assert made.parent_ids == tuple(ids)
    await embedded(core)
    (hit,) = (await search(core, "rename because of the parser", include_turns=False, top_k=1)).results
    assert hit.id == made.id and (hit.memory or "").startswith("Why does module")


async def test_the_last_turns_of_a_very_long_session_are_summarised(core: Core, monkeypatch):
    monkeypatch.setattr(session_summaries, "MOST_TURNS", 3)
    ids = await session(core, "s", 5)
    (made,) = await ended(core)
    assert made.parent_ids == tuple(ids[-3:])


async def test_silence_ends_a_session_and_its_summary_follows_a_later_turn(core: Core, now):
    ids = [(await turn(core, "s", user="Where is zebra.py?", assistant="In src.", ts=now - SILENCE)).id]
    (before,) = await summaries(core)
    assert before.content.split("\n")[::2] == ["Where is zebra.py?", "Answered: In src."]
    ids.append((await turn(core, "s", user="Why is it slow?", assistant="Its cache is off.", ts=now)).id)
    assert await quiet(core) == [before]
    (after,) = await ended(core, lambda found: found != [before])
    assert (after.id, after.parent_ids) == (before.id, tuple(ids)) and "cache" in after.content


async def test_a_summary_is_found_only_where_turns_are_left_out(core: Core):
    await session(core, "s", EVERY)
    (made,) = await summaries(core)
    await embedded(core)
    found = await search(core, "rename because of the parser", include_turns=False)
    assert [(hit.id, hit.src, hit.session_id) for hit in found.results] == [(made.id, "memory", "s")]
    for mode in ("memories", "hybrid"):
        hits = await search(core, "rename because of the parser", search_mode=mode, top_k=50)
        assert made.id not in [hit.id for hit in (*hits.results, *hits.related)] and hits.results
    assert (await core.search.profile(SCOPE)).total == 0
    assert (await fact(core, made.content)).similar == []


async def test_conversations_between_people_have_no_summary(core: Core):
    for n in range(EVERY):
        await turn(core, "s", text=f"I decided to visit zebra number {n}.", role="Maria" if n % 2 else "Tom")
    assert await quiet(core) == []


async def test_a_turn_under_summary_only_contributes_only_its_summary(core: Core, now):
    for n in range(EVERY):
        said = {"session_id": "s", "user": f"What of {SECRET} {n}?", "assistant": f"Part {n}."}
        said["summary"] = f"Answered: We decided on part {n}."
        origin = {"scope": SCOPE, "source": "hook:stop", "capture": "summary_only"}
        await core.writer.write(Envelope(id=f"envelope_{n:04d}", kind="turn", at=now, args=said, **origin))
    (made,) = await summaries(core)
    assert "decided on part" in made.content and SECRET not in made.content


async def test_a_turn_completed_later_updates_the_summary_in_place(core: Core):
    await session(core, "s", EVERY)
    (before,) = await summaries(core)
    await touched(core, 3, "src/new_file.py")
    (after,) = await ended(core, lambda found: found != [before])
    assert "src/new_file.py" in after.content and (after.id, after.version) == (before.id, 1)
    await embedded(core)
    assert await core.store.passages.count(conditions.equal("record_id", after.id)) == 1


@pytest.mark.long
async def test_forgetting_a_turn_removes_it_from_the_summary_and_restoring_adds_it_back(core: Core):
    ids = await session(core, "s", EVERY - 1)
    ids.append(await secret_told(core))
    (before,) = await summaries(core)
    assert SECRET in before.content
    await forget(core, ids[-1])
    assert SECRET not in "".join(texts(await search(core, SECRET, include_turns=False)))
    (after,) = await summaries(core)
    assert SECRET not in after.content and after.parent_ids == tuple(ids[:-1])
    await core.removal.restore(ids[-1], "test")
    (back,) = await ended(core, lambda found: any(SECRET in row.content for row in found))
    assert (back.content, back.parent_ids) == (before.content, tuple(ids))


async def test_a_summary_whose_turns_are_all_forgotten_is_forgotten(core: Core):
    ids = await session(core, "s", EVERY)
    (made,) = await summaries(core)
    await forget_all(core, ids)
    assert await quiet(core) == []
    await core.removal.restore(ids[4], "test")
    (back,) = await ended(core)
    assert (back.id, back.parent_ids) == (made.id, (ids[4],))


@pytest.mark.parametrize("all_of_them", [False, True])
async def test_a_purged_turn_is_in_no_file_of_its_summary(core: Core, all_of_them: bool):
    ids = await session(core, "s", EVERY - 1)
    ids.append(await secret_told(core))
    assert SECRET in (await summaries(core))[0].content
    await embedded(core)
    await forget_all(core, ids if all_of_them else ids[-1:])
    await core.removal.forget(parse(Forget, {"id": ids[-1], "purge": True}), SCOPE, "test")
    left = await quiet(core)
    assert len(left) == (0 if all_of_them else 1)
    for path in Path(core.home.root).rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


async def test_a_summary_that_the_user_forgot_or_rewrote_stays_that_way(core: Core):
    for name in ("s", "t"):
        await session(core, name, EVERY)
    first, second = await summaries(core, lambda found: len(found) == 2)
    second, first = sorted((first, second), key=lambda row: row.session_id == "s")
    await forget(core, first.id)
    own = await fact(core, "In this session the parser was renamed.", updates=[second.id])
    await touched(core, 3, "src/new_file.py")
    await turn(core, "t", turn=3, assistant="We decided to rename part 3.", files=["src/new_file.py"])
    core.consolidation.end(SCOPE, "t")
    await ended(core, lambda found: True)
    assert (await core.lists.find(first.id)).content == first.content
    assert (await core.lists.find(second.id)).content == second.content
    found = texts(await search(core, "parser renamed", include_turns=False))
    assert found == ["In this session the parser was renamed."] and own.version == 2


async def test_a_summary_missed_by_a_killed_engine_is_made_after_the_next_start(
    home: Home, opens, monkeypatch
):
    monkeypatch.setattr(consolidation, "QUIET_SECONDS", 3_600.0)
    first = await opens()
    await session(first, "s", EVERY)
    await first.writer.settle()
    await opens.end()
    assert not os.path.exists(os.path.join(home.data, "consolidated.json"))
    monkeypatch.setattr(consolidation, "QUIET_SECONDS", 0.02)
    second = await opens()
    (made,) = await summaries(second)
    third = await opens()
    assert await quiet(third) == [made]
    await session(third, "s", EVERY, first=EVERY)
    (longer,) = await summaries(third, lambda found: found != [made])
    assert len(longer.parent_ids) == 2 * EVERY


async def test_a_summary_waits_for_a_concurrent_write(core: Core):
    await session(core, "s", EVERY)

    async def meanwhile() -> list:
        change = await core.consolidation._summary((SCOPE, "s"))
        await touched(core, 0, "src/late.py")
        return change

    assert not await core.writer.derive(meanwhile())
    (made,) = await summaries(core)
    assert "src/late.py" in made.content


async def test_summaries_wait_while_a_user_looks_and_then_are_made_without_pauses(core: Core, monkeypatch):
    monkeypatch.setattr(consolidation, "QUIET_SECONDS", 3_600.0)
    monkeypatch.setattr(consolidation, "AT_ONCE", 2)
    for name in ("a", "b", "c", "d", "e"):
        await session(core, name, 1, ts=core.clock() - SILENCE)
    await core.writer.settle()
    core.note_request()
    await core.consolidation.process_while_resting()
    assert core.consolidation.waiting
    monkeypatch.setattr("scrubjay.engine.core.QUIET_SECONDS", 0.0)
    await core.consolidation.process_while_resting()  # several batches, without a pause between them
    assert core.consolidation.waiting == 0 and len(await summaries(core)) == 5


async def test_passages_waiting_for_vectors_take_precedence_over_summaries(core: Core, monkeypatch):
    monkeypatch.setattr(type(core.indexer), "finished", property(lambda indexer: False))
    looked = asyncio.Event()
    monkeypatch.setattr(core.consolidation, "process_while_resting", looked.set)
    await session(core, "s", EVERY)
    await core.writer.settle()
    assert await quiet_for(0.3, looked)
    monkeypatch.undo()
    monkeypatch.setattr(consolidation, "QUIET_SECONDS", 0.02)
    assert len(await summaries(core)) == 1


async def test_the_title_and_the_summary_that_a_host_wrote_win_and_name_the_host(core: Core):
    written = {"session_title": "Mend the pool", "session_summary": "Rows were not closed."}
    files = ["/home/kim/code/demo/db/pool.py"]
    said = {"user": "why does it leak?", "assistant": "We decided to close rows.", "files": files}
    await turn(core, "s", **said, metadata=written)
    (made,) = await ended(core)
    lines = made.content.split("\n")
    assert lines[0] == "Mend the pool" and "Title by test" in lines[1]
    assert "Summary by test: Rows were not closed." in lines and "Files: db/pool.py" in lines
    assert session_summaries.title_and_text(made.content)[0] == "Mend the pool"
