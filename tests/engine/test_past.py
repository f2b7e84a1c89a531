"""Imports of past sessions: once, whatever was captured live, forgotten, or imported before."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from said import SCOPE, forget, search, stored, texts, turn

from scrubjay.engine.core import Core
from scrubjay.home import spool
from scrubjay.models.kept import KeptFacts, KeptSessions
from scrubjay.models.records import Memory, Turn
from scrubjay.models.requests import parse
from scrubjay.models.results import FactsAdded, SessionRecorded

pytestmark = pytest.mark.long

AT = datetime.fromisoformat("2026-03-01T09:00:00+00:00")


def said(number: int, user: str, assistant: str | None = None, **more: Any) -> dict[str, Any]:
    at = AT + timedelta(minutes=5 * number)
    answer = {"assistant": assistant} if assistant else {}
    turn = {"session_id": "s1", "prompt_id": f"h{number}", "ts": at.isoformat(), "user": user, **answer}
    return turn | more


async def take(core: Core, *turns: dict[str, Any], **more: Any) -> SessionRecorded:
    session = {"session_id": "s1", "turns": list(turns), "host": "codex", "scope": SCOPE, **more}
    answer = await core.past.record(parse(KeptSessions, {"sessions": [session]}).sessions)
    return answer.sessions[0]


def counts(answer: SessionRecorded) -> tuple[int, int, int]:
    return answer.added, answer.completed, answer.known


async def turns(core: Core) -> list[Turn]:
    return sorted(await stored(core, Turn), key=lambda turn: (turn.started_at, turn.turn))


PORT = said(0, "Which port does staging use?", "Staging listens on port 5433.")
POOL = said(1, "Why is the pool exhausted?", "The poller leaks rows.")


async def test_a_session_is_imported_once_with_its_times_and_host(core: Core):
    assert counts(await take(core, PORT, POOL)) == (2, 0, 0)
    assert counts(await take(core, PORT, POOL)) == (0, 0, 2)
    first, second = await turns(core)
    assert (first.started_at, first.host, first.source) == (AT, "codex", "import")
    assert (first.turn, second.turn) == (0, 1)
    assert PORT["assistant"] in texts(await search(core, "which port does staging use"))[0]


async def test_a_turn_captured_live_is_stored_once_under_any_key(core: Core):
    for key, each in (("p-17", POOL), ("h0", PORT)):
        live = {name: each[name] for name in ("user", "assistant", "ts")}
        await turn(core, "s1", prompt_id=key, **live)
    more = said(2, "And the test port?", "5434.")
    assert counts(await take(core, PORT, POOL, more)) == (1, 0, 2)
    assert counts(await take(core, PORT, POOL, more)) == (0, 0, 3)
    assert [each.prompt_id for each in await turns(core)] == ["h0", "p-17", "h2"]


async def test_the_same_words_said_again_are_another_turn(core: Core):
    late = said(7, "go on", "Done with the second half.")
    await turn(core, "s1", prompt_id="p-1", user="go on", assistant=late["assistant"], ts=late["ts"])
    early = said(2, "go on", "Done with the first half.")
    assert counts(await take(core, early, late)) == (1, 0, 1)
    assert [each.assistant for each in await turns(core)] == [early["assistant"], late["assistant"]]


async def test_a_partly_captured_turn_is_completed_and_its_own_words_stay(core: Core):
    whole = POOL | {"assistant": "Let me look.\n\nThe poller leaks rows.", "tools": ["shell"]}
    await turn(core, "s1", prompt_id="p-1", user=POOL["user"], assistant=POOL["assistant"], ts=POOL["ts"])
    await turn(core, "s1", prompt_id="p-2", user=PORT["user"], ts=PORT["ts"])
    await turn(core, "s1", prompt_id="p-3", user="And now?", assistant="As I said.", ts=said(3, "")["ts"])
    assert counts(await take(core, PORT, whole, said(3, "And now?", "Something else."))) == (0, 2, 1)
    assert counts(await take(core, PORT, whole)) == (0, 0, 2)
    first, second, third = await turns(core)
    assert (first.assistant, second.assistant) == (PORT["assistant"], whole["assistant"])
    assert (second.tools, third.assistant) == (("shell",), "As I said.")


async def test_prompts_that_were_queued_live_are_not_new_turns(core: Core):
    both = f"{PORT['user']}\n\n{POOL['user']}"
    await turn(core, "s1", prompt_id="p-1", user=both, assistant=POOL["assistant"], ts=PORT["ts"])
    assert counts(await take(core, said(0, PORT["user"]), POOL)) == (0, 0, 2)


async def test_forgotten_and_purged_turns_are_not_restored(core: Core):
    await take(core, PORT, POOL)
    first, second = await turns(core)
    await forget(core, first.id)
    await forget(core, second.id, purge=True)
    again = POOL | {"prompt_id": "another"}
    assert counts(await take(core, PORT, again)) == (0, 0, 2)
    assert all(each.forgotten_at for each in await turns(core))


async def test_a_session_stays_in_the_scope_that_knows_it(core: Core):
    await turn(core, "s1", prompt_id="p-1", user=PORT["user"], ts=PORT["ts"])
    live = (await turns(core))[0]
    assert live.host is None
    await take(core, POOL, scope="dir_api__0123456789abcdef")
    answer = await take(core, POOL, said(2, "More?", "No."), scope="repo_api__0123456789abcdef")
    assert (answer.scope, counts(answer)) == ("dir_api__0123456789abcdef", (1, 0, 1))


async def test_turns_before_since_are_matched_but_not_changed(core: Core):
    early, late = said(2, "go on", "The first half."), said(7, "go on", "The second half.")
    await turn(core, "s1", prompt_id="p-1", user="go on", ts=early["ts"])
    answer = await take(core, said(1, "begin", "Begun."), early, late, since=said(5, "")["ts"])
    assert counts(answer) == (1, 0, 0)
    assert [each.assistant for each in await turns(core)] == [None, "The second half."]


async def test_a_long_session_is_imported_in_parts_that_know_each_other(core: Core):
    parts = [said(number, "go on", f"Step {number} is done.") for number in range(6)]
    keys = [part["prompt_id"] for part in parts]
    for _ in range(2):
        await take(core, *parts[:3], others=keys[3:])
        await take(core, *parts[3:], others=keys[:3])
    assert [each.turn for each in await turns(core)] == list(range(6))
    assert [each.assistant for each in await turns(core)] == [part["assistant"] for part in parts]


COPIED = {"prompt_id": "0f0e5c1a-7d55-4a0c-9a53-2f3d9a0b1c11"}


@pytest.mark.parametrize("first", ["the session", "its fork"])
async def test_a_fork_adds_only_its_own_turns(core: Core, first: str):
    own = said(2, "Open a pull request", "Opened it.", session_id="s2", prompt_id="h9")
    parent, fork = [PORT | COPIED, POOL], [PORT | COPIED | {"session_id": "s2"}, own]
    # Some hosts give the copies new ids; all of them copy the words and times.
    fork.append(POOL | {"session_id": "s2", "prompt_id": "new"})
    both = [(parent, "s1"), (fork, "s2")]
    for told, session in both if first == "the session" else both[::-1]:
        await take(core, *told, session_id=session)
    assert [each.user for each in await turns(core)] == [PORT["user"], POOL["user"], own["user"]]
    assert {each.turn for each in await turns(core)} <= {0, 1, 2}


async def test_forgotten_and_purged_turns_are_not_restored_by_a_fork(core: Core):
    await take(core, PORT | COPIED, POOL)
    first, second = await turns(core)
    await forget(core, second.id)
    await forget(core, first.id, purge=True)
    late = PORT | COPIED | {"session_id": "s2", "ts": said(90, "")["ts"]}
    assert counts(await take(core, late, POOL | {"session_id": "s2"}, session_id="s2")) == (0, 0, 2)
    assert [each.user for each in await turns(core)] == [None, POOL["user"]]
    renamed = PORT | {"session_id": "s3", "prompt_id": "new"}
    assert counts(await take(core, renamed, session_id="s3")) == (0, 0, 1)


async def test_the_same_words_or_short_id_in_another_session_are_not_a_copy(core: Core):
    await take(core, PORT, POOL)
    same_words = PORT | {"session_id": "s2", "prompt_id": "x", "ts": said(3, "")["ts"]}
    same_id = said(40, POOL["user"], "Done.", session_id="s2", prompt_id="h1")
    same_moment = said(1, POOL["user"], "Another answer.", session_id="s2", prompt_id="y")
    assert counts(await take(core, same_words, same_id, same_moment, session_id="s2")) == (3, 0, 0)


async def test_numbered_turns_of_two_sessions_with_equal_ids_are_not_copies(core: Core):
    later = PORT | {"session_id": "s2", "ts": said(90, "")["ts"]}
    await take(core, PORT, said(2, "continue", "", prompt_id="h2"))
    assert counts(await take(core, later, session_id="s2", host="opencode")) == (1, 0, 0)
    unanswered = said(91, "continue", "", session_id="s3", prompt_id="h2")
    assert counts(await take(core, unanswered, session_id="s3")) == (1, 0, 0)


async def test_numbered_turns_of_sessions_that_run_at_once_are_not_copies(core: Core):
    await take(core, PORT)
    for number, host in enumerate(("codex", "opencode"), 2):
        session_id = f"s{number}"
        other = said(0, "Write the release notes", "They are in CHANGELOG.md.", session_id=session_id)
        assert counts(await take(core, other, session_id=session_id, host=host)) == (1, 0, 0)


async def test_a_copy_dated_by_its_fork_gets_the_time_of_the_original(core: Core):
    await take(core, PORT | COPIED | {"ts": said(50, "")["ts"]})
    assert counts(await take(core, PORT | COPIED)) == (0, 1, 0)
    assert [each.started_at for each in await turns(core)] == [AT]


async def test_an_envelope_of_a_session_is_replayed_unchanged(core: Core):
    await take(core, PORT, POOL)
    (path,) = spool.pending(core.home)
    content = spool.read(path)
    await core.writer.settle()
    spool.write(core.home, content)  # as after a kill between the commit and the end of the envelope
    assert await core.writer.drain() == 1
    assert len(await turns(core)) == 2


def fact(**more: Any) -> dict[str, Any]:
    told = {"source": "mem0", "id": "m1", "scope": SCOPE, "content": "Kim prefers tea"}
    return told | {"created_at": "2026-01-02T00:00:00Z"} | more


async def add(core: Core, *facts: dict[str, Any]) -> FactsAdded:
    return await core.past.add(parse(KeptFacts, {"facts": list(facts)}).facts)


async def test_facts_of_another_memory_are_imported_with_their_times_and_older_values(core: Core):
    older = [("Kim prefers coffee", "2025-11-01T00:00:00Z")]
    told = fact(earlier=older, updated_at="2026-01-03T00:00:00Z", tags=["drinks"], metadata={"by": "kim"})
    assert (await add(core, told, fact(id="m2", content="Use WAL"))).outcomes == ("added", "added")
    assert (await add(core, told, fact(id="m2", content="Use another"))).outcomes == ("known", "different")
    rows = {row.content: row for row in await stored(core, Memory)}
    old, new = rows["Kim prefers coffee"], rows["Kim prefers tea"]
    assert (old.is_latest, new.is_latest, new.version) == (False, True, 2)
    assert (new.root_id, new.parent_ids) == (old.id, (old.id,))
    assert old.replaced_at == new.created_at == datetime.fromisoformat("2026-01-03T00:00:00+00:00")
    assert (new.tags, new.metadata, new.source) == (("drinks",), {"by": "kim"}, "import:mem0")
    assert rows.keys() == {"Kim prefers coffee", "Kim prefers tea", "Use WAL"}


async def held(core: Core) -> list[tuple[str, int, bool]]:
    rows = sorted(await stored(core, Memory), key=lambda row: row.version)
    assert len({row.root_id for row in rows}) == 1
    return [(row.content, row.version, row.is_latest) for row in rows]


async def test_a_fact_changed_in_the_other_memory_gets_newer_versions(core: Core):
    await add(core, fact())
    january, june = "2026-01-02T00:00:00Z", "2026-06-01T00:00:00Z"
    coffee = fact(content="Kim prefers coffee", updated_at=june, earlier=[("Kim prefers tea", january)])
    assert (await add(core, coffee)).outcomes == ("updated",)
    assert (await add(core, coffee)).outcomes == ("known",)
    assert (await add(core, fact())).outcomes == ("known",)  # an older copy of their store
    plain = fact(content="Kim prefers water", updated_at="2026-07-01T00:00:00Z")
    assert (await add(core, plain)).outcomes == ("updated",)
    older = [("Kim prefers tea", 1, False), ("Kim prefers coffee", 2, False)]
    assert await held(core) == [*older, ("Kim prefers water", 3, True)]
    assert texts(await search(core, "what does Kim prefer")) == ["Kim prefers water"]


async def test_newer_facts_stay_and_forgotten_ones_are_not_restored(core: Core):
    await add(core, fact(updated_at="2026-06-01T00:00:00Z"))
    assert (await add(core, fact(content="Kim prefers coffee"))).outcomes == ("different",)
    (row,) = await stored(core, Memory)
    await forget(core, row.id)
    changed = fact(content="Kim prefers milk", updated_at="2026-07-01T00:00:00Z")
    assert (await add(core, changed)).outcomes == ("known",)
    assert await held(core) == [("Kim prefers tea", 1, True)]


async def test_secrets_in_facts_are_replaced(core: Core):
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    assert (await add(core, fact(content=f"The token is {token}"))).redacted == 1
    assert (await add(core, fact(content=f"The token is {token}"))).outcomes == ("known",)
    (row,) = await stored(core, Memory)
    assert token not in row.content


async def test_an_answer_without_a_prompt_is_completed_only_by_the_one_turn_that_has_it(core: Core):
    await turn(core, "s1", prompt_id="a-1", assistant="Done.", ts=PORT["ts"])
    both = [said(number, f"Move the heron to lake {number}", "Done.") for number in (3, 4)]
    assert counts(await take(core, *both)) == (2, 0, 0)
    assert [each.user for each in await turns(core)] == [None, *(each["user"] for each in both)]
    await turn(core, "s2", prompt_id="a-2", assistant="Renamed it.", ts=PORT["ts"])
    one = said(5, "Rename the heron", "Renamed it.", session_id="s2")
    assert counts(await take(core, one, session_id="s2")) == (0, 1, 0)


async def test_turns_without_a_time_are_not_merged_as_simultaneous(core: Core):
    await turn(core, "s1", prompt_id="p-1", user="Where is the heron?", ts=PORT["ts"])
    untimed = [said(0, f"Feed heron {number}", "Fed.", prompt_id=f"h{number}") for number in range(3)]
    assert counts(await take(core, *untimed, untimed=["h0", "h1", "h2"])) == (3, 0, 0)


async def test_an_import_appends_to_a_prompt_and_changes_no_word_of_it(core: Core):
    await turn(core, "s1", prompt_id="h0", user="fix", ts=PORT["ts"])
    await take(core, said(0, "fix\n\nand the docs", "Fixed.", prompt_id="h0"))
    await turn(core, "s1", prompt_id="h1", user="go on", ts=POOL["ts"])
    await take(core, said(1, "open files: go on.py\n\ngo on", "Went on.", prompt_id="h1"))
    assert [each.user for each in await turns(core)] == ["fix\n\nand the docs", "go on"]
