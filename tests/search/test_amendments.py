"""Later restatements in other words come first, and the older record says so; with the shipped model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from said import SCOPE, embedded, fact, search, texts, turn

from scrubjay.cli.lookup import lines_of
from scrubjay.encoders.change_reader import log_odds
from scrubjay.engine.core import Core
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.mcp_server.render import Frame, memory_hits
from scrubjay.models import requests
from scrubjay.models.envelopes import envelope
from scrubjay.text.short_ids import short_id

FRAME = Frame((SCOPE,), UTC)
OWNERS = "Maria owns the search service.", "Tomasz owns the search service since Maria left."
RETENTION = tuple(f"Log retention is {days} days in production and 7 days in staging." for days in (30, 90))
ELSE = ("The demo is on 5 May.", "Lunch is at noon.", "The team meets on Mondays.")
AMENDED = [
    (*OWNERS, "who owns the search service?"),
    (*RETENTION, "how long is the log retention in production?"),
    ("Passwords must have at least 8 characters.", "Passwords need 12 characters at minimum.",
     "how long must a password be?"),
]  # fmt: skip
CONTRADICTING = [
    ("Atlas uses npm.", "Atlas never uses npm.", "does Atlas use npm?"),
    ("We deploy on Fridays.", "We do not deploy on Fridays.", "do we deploy on Fridays?"),
]


async def noted(core: Core, content: str, at: datetime, *tags: str) -> str:
    """Add a fact at a given time; return its id."""
    request = requests.parse(requests.AddMemory, {"content": content, "tags": tags})
    return (await core.write(envelope("memory", request, scope=SCOPE, source="test", at=at))).id


async def noted_daily(core: Core, at: datetime, *facts: str, days: int = 1) -> list[str]:
    """Add facts, so many days apart; return their ids."""
    return [await noted(core, text, at + timedelta(days=days * number)) for number, text in enumerate(facts)]


async def both_noted(core: Core, old: str, new: str, now: datetime) -> tuple[str, str]:
    """Add two facts, three weeks apart, and some others; return the ids of the two."""
    ids = await noted_daily(core, now - timedelta(days=24), old, new, days=21)
    await noted_daily(core, now - timedelta(days=21), *ELSE, days=10)
    await embedded(core)
    return ids[0], ids[1]


@pytest.mark.parametrize(("old", "new", "query"), AMENDED)
async def test_a_later_restatement_of_a_fact_comes_first_and_the_older_one_names_it(
    shipped: Core, now: datetime, old: str, new: str, query: str
):
    older, newer = await both_noted(shipped, old, new, now)
    before = (now - timedelta(days=12)).isoformat()
    for _ in range(8):  # the older one alone is recalled
        assert texts(await search(shipped, query, until=before, top_k=1)) == [old]
    await shipped.writer.settle()
    hits = await search(shipped, query)
    assert [(hit.memory, hit.amended_by) for hit in hits.results[:2]] == [(new, None), (old, newer)]
    note = f"(older; see {short_id('memory', newer)})"
    assert f"fact {short_id('memory', older)} {note}:" in memory_hits(hits, FRAME)
    assert note in "\n".join(lines_of(hits.wire(), None))


async def test_an_amendment_may_be_stored_before_the_fact_that_it_amends(shipped: Core, now: datetime):
    newer = await noted(shipped, OWNERS[1], now - timedelta(days=3))
    await noted(shipped, OWNERS[0], now - timedelta(days=24))
    await embedded(shipped)
    hits = (await search(shipped, "who owns the search service?")).results
    assert [(hit.memory, hit.amended_by) for hit in hits[:2]] == [(OWNERS[1], None), (OWNERS[0], newer)]


@pytest.mark.parametrize(("old", "new", "query"), CONTRADICTING)
async def test_two_contradictory_facts_name_each_other(
    shipped: Core, now: datetime, old: str, new: str, query: str
):
    older, newer = await both_noted(shipped, old, new, now)
    hits = await search(shipped, query)
    assert [(hit.id, hit.contradicts) for hit in hits.results[:2]] == [(newer, older), (older, newer)]
    text, lines = memory_hits(hits, FRAME), "\n".join(lines_of(hits.wire(), None))
    for one, other in ((older, newer), (newer, older)):
        assert f"fact {short_id('memory', one)} (may contradict {short_id('memory', other)}):" in text
        assert f"(may contradict {short_id('memory', other)})" in lines


async def test_facts_about_other_matters_amend_nothing(shipped: Core, now: datetime):
    others = "The search service is written in Go.", "Tomasz owns the billing service."
    stored = "The search service stores its index in S3."
    await noted_daily(shipped, now - timedelta(days=30), OWNERS[0], *others, stored, days=7)
    await embedded(shipped)
    hits = (await search(shipped, "who owns the search service?", top_k=4)).results
    assert hits[0].memory == "Maria owns the search service."
    assert all(hit.amended_by is hit.contradicts is None for hit in hits)


SIBLINGS = [  # facts that say the same of several things
    (("The dev database listens on port 5431.", "The staging database listens on port 5433.",
      "The production database listens on port 5432."), "port of the dev database"),
    (("The endpoint /users returns 20 items per page.", "The endpoint /orders returns 50 items per page.",
      "The endpoint /invoices returns 10 items per page."), "how many items per page does /users return?"),
    (("The production cluster runs Kubernetes 1.26.", "Staging was upgraded to Kubernetes 1.29."),
     "Which Kubernetes version does production run?"),
    (("The production backend has 4 workers.", "The staging backend has 1 worker now."),
     "how many workers does the production backend have?"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "query"), SIBLINGS)
async def test_a_later_fact_about_another_thing_does_not_amend_the_one_that_the_question_names(
    shipped: Core, now: datetime, facts: tuple[str, ...], query: str
):
    await noted_daily(shipped, now - timedelta(days=20), *facts, *ELSE[1::-1])
    await embedded(shipped)
    first = (await search(shipped, query)).results[0]
    assert (first.memory, first.amended_by) == (facts[0], None)


BOTH_TRUE = [
    ("Anna prefers dark mode.", "Ben prefers dark mode.", "who likes dark mode?"),
    ("The /users endpoint is paginated.", "The /orders endpoint is paginated.", "which endpoints are paginated?"),
    ("Customer Acme pays 900 euros a month.", "Customer Globex pays 1,200 euros a month.", "what do customers pay?"),
    ("The retry limit is 3.", "The retry limit is 5 in staging.", "What is the retry limit?"),
    ("The retry limit is 3.", "The retry limit is 5 in staging now.", "What is the retry limit in production?"),
]  # fmt: skip


@pytest.mark.parametrize(("older", "newer", "query"), BOTH_TRUE)
async def test_a_fact_that_says_the_same_of_another_thing_is_not_named_as_newer(
    shipped: Core, now: datetime, older: str, newer: str, query: str
):
    await both_noted(shipped, older, newer, now)
    hits = (await search(shipped, query, top_k=2)).results
    assert {(hit.memory, hit.amended_by) for hit in hits} == {(older, None), (newer, None)}


@pytest.mark.parametrize(
    ("scope", "is_amended"), [("repo_other__0123456789abcdef", False), (USER_SCOPE, True)]
)
async def test_a_fact_of_one_project_amends_none_of_another_but_a_users_own_fact_may(
    shipped: Core, now: datetime, scope: str, is_amended: bool
):
    await noted(shipped, RETENTION[0], now - timedelta(days=9))
    newer = (await fact(shipped, RETENTION[1], scope=scope)).id
    await embedded(shipped)
    request = requests.parse(
        requests.SearchMemories, {"query": "how long is the log retention?", "scope": "*"}
    )
    hits = (await shipped.search.memories(request, SCOPE)).results
    assert {hit.memory: hit.amended_by for hit in hits}[RETENTION[0]] == (newer if is_amended else None)


TAGGED = [
    (("The cache TTL is 60 seconds.", "cache", "perf"), ("The cache TTL is 90 seconds.",), "What is the cache TTL?", 1),
    (("Billing runs on Postgres 14.", "billing"), ("Billing runs on Postgres 16 now.", "ops"),
     "Which Postgres does billing use?", 1),
    (("The database port is 5433.", "staging", "database"), ("The database port is 5432.", "production"),
     "What is the staging database port?", 0),
]  # fmt: skip


@pytest.mark.parametrize(("earlier", "later", "query", "first"), TAGGED)
async def test_a_tag_sets_an_earlier_fact_apart_only_if_the_later_one_does_not_have_its_words(
    shipped: Core, now: datetime, earlier: tuple[str, ...], later: tuple[str, ...], query: str, first: int
):
    await noted(shipped, earlier[0], now - timedelta(days=9), *earlier[1:])
    await noted(shipped, later[0], now - timedelta(days=2), *later[1:])
    await embedded(shipped)
    found = (await search(shipped, query)).results[0]
    assert (found.memory, found.amended_by) == ((earlier, later)[first][0], None)


CHANGED = [  # the later fact has few of the earlier one's words
    ("Rafe does all music himself.", "The music is written by Ottilie from now on.", "who writes the music?"),
    ("Files in the bucket expire after 90 days.", "Expiry in the bucket was lengthened to 400 days.",
     "how long are files in the bucket kept?"),
    ("Maria leads the search team.", "Maria left; Tomasz heads the search team.", "who leads the search team?"),
    ("Mesures : le capteur envoie toutes les 10 minutes.",
     "À partir du 3 mai le capteur envoie ses mesures toutes les 2 minutes.",
     "tous les combien le capteur envoie ses mesures ?"),
    ("The weekly MySQL dumps go to the tape drive in the cellar.",
     "The dump of the database lands in the Backblaze bucket; the tape drive was sold.",
     "where do the MySQL dumps go?"),
    ("The importer reads CSV files with the csv module.",
     "Polars parses the importer's CSV files, the csv module took twelve minutes.",
     "how does the importer read CSV files?"),
]  # fmt: skip
OTHERS = [  # the later fact is about another thing, and says that it changed
    ("Nightly builds are in the folder //nas/builds.", "The app now runs on Windows 11 alone.",
     "where are the nightly builds?"),
    ("The rack has 16 A per feed.", "Finance gives us 4,800 EUR from now on.", "how much power has the rack?"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "query"), [*CHANGED, *OTHERS])
async def test_a_change_comes_first_only_if_it_is_about_the_same_thing(
    shipped: Core, now: datetime, old: str, new: str, query: str
):
    await both_noted(shipped, old, new, now)
    is_same = (old, new, query) in CHANGED
    assert (await search(shipped, query, top_k=2)).results[0].memory == (new if is_same else old)


async def said(core: Core, *exchanges: tuple[int, str, str]) -> None:
    """Record sessions a, b, ... of one turn each, on these days of February."""
    for session, (day, user, assistant) in zip("abcd", exchanges, strict=False):
        await turn(core, session, user=user, assistant=assistant, ts=f"2026-02-{day:02}T09:00:00Z")
    await embedded(core)


async def uploads(core: Core) -> None:
    await said(
        core,
        (1, "How long do we keep uploads?", "Uploads are kept for 48 hours, then a job deletes them."),
        (
            20,
            "Keep uploads for 72 hours from now on.",
            "Done: uploads are kept for 72 hours now, then the job deletes them.",
        ),
    )


async def test_a_later_turn_comes_before_one_that_it_amends_and_that_one_names_it(shipped: Core):
    await uploads(shipped)
    hits = await search(shipped, "how long are uploads kept?")
    later, earlier = hits.results[:2]
    assert (later.session_id, earlier.session_id) == ("b", "a")
    assert (later.amended_by, earlier.amended_by, earlier.amended_name) == (None, later.id, "b/0")
    assert "2026-02-01 09:00 a/0 (later: 2026-02-20 09:00 b/0):" in memory_hits(hits, FRAME)
    assert f"{later.date.astimezone():%Y-%m-%d %H:%M} b/0)" in "\n".join(lines_of(hits.wire(), None))


async def test_a_turn_that_changes_another_in_other_words_comes_first(shipped: Core):
    await said(
        shipped,
        (1, "Where do crash reports go?", "Crash reports are sent to Sentry, in the project ios-release."),
        (
            20,
            "Sentry was too expensive for us, what did you do?",
            "Crash reports land in our own GlitchTip instance; the Sentry account is closed.",
        ),
        (21, "What is for lunch?", "The canteen has soup."),
    )
    hits = await search(shipped, "where do the crash reports end up?")
    assert hits.results[0].session_id == "b"


EXPORTS = "Finished exports are deleted after 30 days."
SHORTER = "Finished exports are deleted after 10 days now, the disk has no room for more."
ASKED = "after how many days are finished exports deleted?"


async def test_a_later_turn_comes_before_a_fact_that_it_amends_and_the_fact_names_it(
    shipped: Core, now: datetime
):
    await noted(shipped, EXPORTS, now - timedelta(days=24))
    await said(shipped, (27, "The disk is full again.", SHORTER))
    hits = await search(shipped, ASKED)
    later, earlier = hits.results[:2]
    assert (later.session_id, earlier.memory) == ("a", EXPORTS)
    assert (later.amended_by, earlier.amended_by, earlier.amended_name) == (None, later.id, "a/0")
    assert "(older; see a/0):" in memory_hits(hits, FRAME)


async def test_a_later_fact_comes_before_a_turn_that_it_amends_and_the_turn_names_it(
    shipped: Core, now: datetime
):
    newer = await noted(shipped, SHORTER, now - timedelta(days=3))
    await said(shipped, (9, "How long do exports stay?", EXPORTS))
    later, earlier = (await search(shipped, ASKED)).results[:2]
    assert (later.id, earlier.session_id) == (newer, "a")
    assert (earlier.amended_by, earlier.amended_name) == (newer, short_id("memory", newer))


async def test_a_question_about_the_day_of_the_earlier_turn_gets_it_first(shipped: Core):
    await uploads(shipped)
    hits = await search(shipped, "how long were uploads kept on 1 February 2026?", top_k=2)
    assert hits.results[0].session_id == "a"


async def test_no_model_reads_turns_about_the_same_thing_that_say_something_else(
    shipped: Core, now: datetime
):
    answers = (
        "The rate limiter held its lock while the socket was open; that is what made checkout slow.",
        "I moved the rate limiter's counters to Redis, because each worker had its own.",
        "All 212 tests of the rate limiter pass, the slowest takes 3.1 s.",
        "The dashboard has a histogram of what the rate limiter refuses, by tenant.",
    )
    await said(shipped, *((day, "And the limiter?", answer) for day, answer in enumerate(answers, 10)))
    before = log_odds.cache_info().misses
    await search(shipped, "why did the rate limiter slow checkout down?")
    assert log_odds.cache_info().misses == before


async def test_facts_of_the_same_day_show_the_time(shipped: Core, now: datetime):
    for hour in (8, 11):
        await noted(shipped, f"The deploy of {hour} o'clock was green.", now.replace(hour=hour, minute=5))
    await embedded(shipped)
    hits = await search(shipped, "was the deploy green?", top_k=2)
    text, lines = memory_hits(hits, FRAME), "\n".join(lines_of(hits.wire(), None))
    for hit, hour in zip(sorted(hits.results, key=lambda hit: hit.date), ("08", "11"), strict=True):
        name = short_id("memory", hit.id)
        assert f"2026-03-05 {hour}:05 fact {name}" in text
        assert f"{hit.date.astimezone():%Y-%m-%d %H:%M}  {name}" in lines


@pytest.mark.parametrize("query", ["which package manager", "which package manager does Atlas use?"])
async def test_a_question_for_a_kind_of_thing_is_answered_by_a_record_that_names_one(
    shipped: Core, now: datetime, query: str
):
    facts = "The manager of the team is Kim.", "Atlas is deployed on Fridays.", "Atlas uses pnpm, never npm."
    await noted_daily(shipped, now - timedelta(days=3), *facts)
    await embedded(shipped)
    hits = await search(shipped, query)
    assert (texts(hits)[0], hits.confidence) == ("Atlas uses pnpm, never npm.", "strong")


TWINS = [
    ("Deploys to production need an approval by Ines.", "who must approve a staging deploy"),
    ("Staging has two replicas of the gateway.", "how many gateway replicas does production have"),
    ("The nightly backup goes to the Backblaze bucket.", "where does the weekly backup go"),
    ("The app supports Android 9 and newer.", "oldest iOS that the app supports"),
    ("The CSV import takes at most 50,000 rows.", "how many rows does the CSV export take"),
]


@pytest.mark.parametrize(("fact", "query"), TWINS)
async def test_a_fact_about_one_part_is_no_certain_answer_to_a_question_about_another(
    shipped: Core, now: datetime, fact: str, query: str
):
    await noted_daily(shipped, now - timedelta(days=3), *ELSE, fact)
    await embedded(shipped)
    assert (await search(shipped, query)).confidence != "strong"


async def test_recalling_a_fact_does_not_make_it_more_recent(shipped: Core, now: datetime):
    await noted(shipped, "The search service is written in Go.", now - timedelta(days=30))
    await embedded(shipped)
    for _ in range(4):
        (hit,) = (await search(shipped, "which language is the search service written in?")).results
        assert hit.recency_score == pytest.approx(0.5, abs=1e-3)
        await shipped.writer.settle()
