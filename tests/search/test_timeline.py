"""Questions about a period: answered from it, in time order, with the budget spread over its sessions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from mcp import Client
from said import SCOPE, embedded, fact, facts, forget, search, texts, turn

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.models.records import SUMMARY
from scrubjay.models.requests import SearchMemories, parse
from scrubjay.models.results import MemoryHits
from scrubjay.store.cache import PassageRow

pytestmark = pytest.mark.long

NOW = "2026-03-05T12:05:00Z"  # a Thursday, just after the clock of `core`


async def session(core: Core, name: str, start: str, *said: str) -> None:
    """Record a turn a minute from `start` on."""
    day, _, hour = start.partition("T")
    for minute, text in enumerate(said):
        await turn(core, name, user=text, ts=f"{day}T{hour or '09'}:{minute:02d}:00Z")


async def asked(core: Core, query: str, **args: object) -> MemoryHits:
    return await search(core, query, **{"now": NOW, **args})


MONDAY = ["set up the parser", "retry with jitter", "release it"]
TUESDAY = ["draw the icon", "paint the icon blue"]
WEDNESDAY = ["retry thrice at most", "measure the parser"]


@pytest.fixture
async def week(core: Core) -> Core:
    """Three sessions on three days, and a fact of today."""
    await session(core, "monday", "2026-03-02", *MONDAY)
    await session(core, "tuesday", "2026-03-03", *TUESDAY)
    await session(core, "wednesday", "2026-03-04", *WEDNESDAY)
    await fact(core, "The icon is blue.")
    await embedded(core)
    return core


async def test_a_turn_that_gets_its_vector_during_a_search_is_found(
    week: Core, monkeypatch: pytest.MonkeyPatch
):
    read = week.store.passages.read

    async def moved(row_ids: Iterable[int]) -> dict[int, PassageRow]:
        monkeypatch.setattr(week.store.passages, "read", read)
        pieces = await week.store.passages.select("true", columns=["id"])
        vectors = {piece.id: np.eye(64, dtype=np.float32)[0] for piece in pieces}
        await week.store.set_vectors(vectors, week.store.note.space_id)
        return await read(row_ids)

    monkeypatch.setattr(week.store.passages, "read", moved)
    assert texts(await asked(week, "yesterday")) == ["retry thrice at most", "measure the parser"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("what did we talk about on March 2?", MONDAY),
        ("yesterday", WEDNESDAY),
        ("what happened last Tuesday?", TUESDAY),
        ("What were we working on 2 days ago?", TUESDAY),
        ("what did we do in the last session?", WEDNESDAY),
        ("where did we leave off?", WEDNESDAY),
        ("what did we do two sessions ago?", TUESDAY),
        ("what did we discuss in the last two sessions", TUESDAY + WEDNESDAY),
        ("what did we do from Monday to yesterday", MONDAY + TUESDAY + WEDNESDAY),
        ("what did we do today?", ["The icon is blue."]),
        ("what did we do before the release?", MONDAY[:2]),
        ("what did we work on before yesterday", MONDAY + TUESDAY),
    ],
)
async def test_a_question_about_a_period_is_answered_from_it_in_time_order(
    week: Core, query: str, said: list[str]
) -> None:
    hits = await asked(week, query)
    assert texts(hits) == said and {hit.score for hit in hits.results} == {1.0}
    assert hits.period and hits.left_out is None and hits.related == []


async def test_an_empty_period_gives_no_results_and_is_named(week: Core) -> None:
    for query, period in (
        ("what did we talk about on February 11?", "2026-02-11"),
        ("what did we do last week", "2026-02-23 to 2026-03-01"),
        ("and five sessions ago?", "the session 5 sessions ago"),
    ):
        hits = await asked(week, query)
        assert (texts(hits), hits.period) == ([], period)


async def test_an_empty_period_is_answered_by_the_facts_that_name_it(week: Core) -> None:
    release, audit = "The release is on 5 December.", "The audit is on 12 January 2027."
    outage = "The outage of August 14 came from a full disk."
    await facts(week, (release, outage, audit, "On March 2 the parser was new."))
    await embedded(week)
    for query, said in (
        ("what happens on December 5?", [release]),
        ("what happened in August?", [outage]),
        ("what is planned for 12 January?", [audit]),
        ("what happened on December 6?", []),
        ("what did we do on March 2?", MONDAY),
    ):
        assert texts(await asked(week, query)) == said, query


async def test_a_period_with_content_words_is_searched_first(week: Core) -> None:
    hits = await asked(week, "what did we decide about retry on Monday?")
    assert texts(hits)[0] == "retry with jitter" and hits.period == "2026-03-02"
    hits = await asked(week, "what did we decide about retry yesterday?")
    assert texts(hits)[0] == "retry thrice at most" and hits.period == "2026-03-04"
    assert {hit.session_id for hit in hits.results if hit.src == "turn"} == {"wednesday"}


async def test_everything_is_searched_if_a_period_has_none_of_the_words(week: Core) -> None:
    hits = await asked(week, "did we paint the icon blue yesterday?")
    assert texts(hits)[0] == "paint the icon blue" and hits.period is None


async def test_a_question_about_an_event_is_searched_before_or_since_it(week: Core) -> None:
    hits = await asked(week, "what did we decide about retry before the release?")
    assert texts(hits)[0] == "retry with jitter" and hits.period == "before 2026-03-02 09:02"
    assert "retry thrice at most" not in texts(hits)
    hits = await asked(week, "what did we do since the release?")
    assert texts(hits)[0] == "release it" and texts(hits)[-1] == "The icon is blue."
    assert hits.period == "2026-03-02 09:02 to 2026-03-05 12:05"
    hits = await asked(week, "what did we do before the zebra parade?")
    assert hits.period is None  # an unknown event is searched for by words


async def test_the_current_session_is_not_the_last_one_unless_it_is_the_only_one(week: Core) -> None:
    await session(week, "now", "2026-03-05T11", *["still at it"] * 58)
    hits = await asked(week, "what did we do in the last session?")
    assert {hit.session_id for hit in hits.results} == {"wednesday"}
    for name in ("monday", "tuesday", "wednesday"):
        for hit in (await asked(week, "what did we do this week?", session_id=name)).results:
            await forget(week, hit.id)
    hits = await asked(week, "what did we do in the last session?")
    assert {hit.session_id for hit in hits.results} == {"now"}


async def test_a_long_period_is_spread_over_its_sessions(core: Core) -> None:
    for day in range(1, 5):
        await session(core, f"s{day}", f"2026-03-0{day}", *(f"step {n} of day {day}" for n in range(30)))
    hits = await asked(core, "what did we do this week?")
    days = [hit.date.day for hit in hits.results]
    assert days == sorted(days) and set(days) == {2, 3, 4} and len(days) == 12
    assert hits.left_out == 90 - 12
    assert {"step 0 of day 2", "step 29 of day 4"} < set(texts(hits))
    few = await asked(core, "what did we do this week?", top_k=3)
    assert [hit.date.day for hit in few.results] == [2, 3, 4]
    hits = await asked(core, "what did we do before March 4?")
    assert {hit.date.day for hit in hits.results} == {1, 2, 3}


TOLD = {
    "what did we do this week?": ["s2", "s3", "s4"],
    "what did I work on in March": ["s2", "s3", "s4"],
    "what have we done since Tuesday?": ["s3", "s4"],
    "Give me a summary of the last 3 days": ["s2", "s3", "s4"],
    "What did we do yesterday?": ["s4"],
    "recap of yesterday's work": ["s4"],
    "what happened on Monday": ["s2"],
}


async def test_last_week_is_told_by_the_summaries_of_its_sessions(core: Core) -> None:
    for day in range(2, 5):
        for number in range(4):
            answer = f"We decided to move step {number} of day {day} to the worker. " + "It runs. " * 40
            user, ts = f"move step {number} of day {day}", f"2026-03-0{day}T09:0{number}:00Z"
            await turn(core, f"s{day}", user=user, assistant=answer, ts=ts)
    await core.consolidation.process_all()
    await embedded(core)
    for ask, sessions in TOLD.items():
        hits = await asked(core, ask)
        assert {hit.source for hit in hits.results} == {SUMMARY} and hits.left_out is None
        assert [hit.session_id for hit in hits.results] == sessions
        assert all("Outcome: We decided" in text for text in texts(hits))
        assert sum(map(len, texts(hits))) <= 4 * 250


async def test_no_answer_exceeds_its_budget(core: Core) -> None:
    await session(core, "long", "2026-03-04", *(f"{n} {'very long words ' * 40}" for n in range(9)))
    hits = await asked(core, "what did we do yesterday?", max_tokens=400)
    assert 0 < hits.tokens.spent <= 400 and hits.left_out


async def test_conditions_apply_in_a_timeline_too(week: Core) -> None:
    for conditions, said in (
        ({"tags": ["none"]}, []),
        ({"scope": "elsewhere"}, []),
        ({"since": "yesterday", "until": "yesterday"}, WEDNESDAY),
        ({"partition_ids": ["mem_semantic"]}, ["The icon is blue."]),
        ({"include_turns": False}, ["The icon is blue."]),
    ):
        assert texts(await asked(week, "what did we do this week?", **conditions)) == said, conditions


async def test_since_and_until_accept_words_and_a_date_is_a_whole_day(week: Core) -> None:
    for since, until, sessions in (
        ("last tuesday", "tuesday", {"tuesday"}),
        ("3 days ago", "2026-03-02", {"monday"}),
        ("2026-03-03", "2026-03-03", {"tuesday"}),
        ("2026-03-03", "2026-03-03T00:00:01Z", set()),
    ):
        hits = await asked(week, "retry parser icon", since=since, until=until)
        assert {hit.session_id for hit in hits.results} == sessions, since


async def test_an_impossible_period_is_refused_in_a_sentence(week: Core) -> None:
    with pytest.raises(InputError, match="until = '2026-03-02': must be after since = '2026-03-03'"):
        await asked(week, "retry", since="2026-03-03", until="2026-03-02")
    with pytest.raises(InputError, match="since = 'the 31st': does not name a day now"):
        await asked(week, "retry", since="the 31st")


async def test_programs_search_for_the_words_of_a_period(week: Core) -> None:
    request = parse(SearchMemories, {"query": "parser yesterday", "now": NOW})
    hits = await week.search.memories(request, SCOPE, programmatic=True)
    assert {hit.session_id for hit in hits.results} >= {"monday", "wednesday"} and hits.period is None


async def test_a_prompt_that_asks_nothing_gets_nothing_from_the_period_it_names(week: Core) -> None:
    week.settings = replace(week.settings, inject="prompt")
    assert await week.search.injection({"prompt": "Please go on and fix it yesterday style."}, SCOPE) == ""
    assert await week.search.injection({"prompt": "Let us finish that today, please."}, SCOPE) == ""
    assert "retry thrice" in await week.search.injection({"prompt": "What did we change yesterday?"}, SCOPE)


async def test_a_model_asks_for_a_period_in_words_and_learns_which_was_empty(client: Client) -> None:
    for day, text in (("03", "paint the icon"), ("04", "retry thrice")):
        said = {"session_id": day, "user": text, "ts": f"2026-03-{day}T12:00:00Z"}
        await client.call_tool("record_turn", said)
    ask = {"query": "retry the icon", "since": "last tuesday", "until": "tuesday", "now": NOW}
    assert "paint the icon" in (shown := await read(client, ask)) and "retry thrice" not in shown
    shown = await read(client, {"query": "what did we do yesterday?", "now": NOW})
    assert "retry thrice" in shown and "paint the icon" not in shown
    shown = await read(client, {"query": "what did we do on March 1?", "now": NOW})
    assert shown.startswith("No memory answers this from 2026-03-01.")


async def read(client: Client, arguments: dict[str, str]) -> str:
    (content,) = (await client.call_tool("search_memories", arguments)).content
    return str(content.text)


@pytest.fixture
def far_west(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "XXX+11")  # eleven hours behind UTC, in POSIX's sign
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="Windows sets no zone for one process")
@pytest.mark.usefixtures("far_west")
async def test_yesterday_is_in_the_users_time_zone(core: Core) -> None:
    await session(core, "a", "2026-03-04T09", "late on Tuesday")  # 22:00 there
    await session(core, "a", "2026-03-05T09", "late on Wednesday")
    assert texts(await search(core, "what did we do yesterday?")) == ["late on Wednesday"]
