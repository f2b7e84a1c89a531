"""Errors and commands: what made one pass last time, how something is run here, and what a hook may say of both."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from scrubjay.engine.core import Core
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import AddMemory, RecordTurn, SearchMemories, parse
from scrubjay.search.hints import subjects

SCOPE = "repo_jay__0123456789abcdef"
ERROR = "exit 1: ModuleNotFoundError: No module named 'redis'"


async def record(core: Core, at: datetime, session: str, user: str, assistant: str, **metadata: Any) -> str:
    arguments = {"session_id": session, "user": user, "assistant": assistant, "ts": at.isoformat()}
    request = parse(RecordTurn, {**arguments, "metadata": metadata})
    answer = await core.write(envelope("turn", request, scope=SCOPE, source="hook:stop", at=at))
    return str(answer.id)


async def search(core: Core, query: str) -> Any:
    hits = await core.search.memories(SearchMemories(query=query), SCOPE)
    return hits, hits.results[0] if hits.results else None


async def test_an_error_finds_the_turn_that_made_its_command_pass(core: Core, now: datetime) -> None:
    ago = now - timedelta(days=9)
    fixed = await record(
        core, ago, "a", "run the tests", "The client was missing.", commands=["pip install redis", "pytest -q"],
        failed=[f"pytest -q\n{ERROR}\npip install redis"],
    )  # fmt: skip
    await record(core, now - timedelta(days=1), "b", "CI: No module named 'redis'", "Not ours.")
    hits, first = await search(core, "tests/test_q.py:7: ModuleNotFoundError: No module named 'redis'")
    assert (first.id, hits.confidence) == (fixed, "strong") and "`pip install redis`" in first.note
    _, similar = await search(core, "ModuleNotFoundError: No module named 'yaml'")
    assert similar.note is None or similar.note.startswith("a similar error")


async def test_a_search_for_some_records_finds_no_command_of_others(core: Core, now: datetime) -> None:
    ago = now - timedelta(days=9)
    await record(core, ago, "a", "go on", "Done.", commands=["make check"])
    _, first = await search(core, "how do we run the check here?")
    assert first.note
    for narrow in ({"session_id": "b"}, {"tags": ["ci"]}, {"since": now.isoformat()}):
        asked = parse(SearchMemories, {"query": "how do we run the check here?", **narrow})
        assert (await core.search.memories(asked, SCOPE)).results == []


async def test_a_fix_in_the_next_turn_counts_and_the_last_fix_goes_first(core: Core, now: datetime) -> None:
    failed = {"commands": ["make up"], "failed": ["make up\nexit 1: bind: address already in use"]}
    for number, words in enumerate(("Stopped the old one.", "Changed the port to 81.")):
        at = now - timedelta(days=9 - number)
        await record(core, at, str(number), "start it", "It failed.", **failed)
        soon = at + timedelta(minutes=5)
        last = await record(core, soon, str(number), "and now?", words, commands=["make up"])
    _, first = await search(core, "bind: address already in use")
    assert first.id == last and "passed in this turn" in first.note


async def test_how_something_is_run_is_answered_by_a_command_that_passed(core: Core, now: datetime) -> None:
    commands = ["make check", "ls", "npm test"]
    for number in range(3):
        at = now - timedelta(days=9 - number)
        ran = await record(core, at, f"s{number}", "go on", "Done.", commands=commands)
    failed = {"commands": ["tox"] * 5, "failed": ["tox\nexit 1: tox: command not found"]}
    await record(core, now, "f", "try", "It failed.", **failed)
    _, first = await search(core, "how do we run the tests here?")
    assert first.id == ran and first.note.startswith("`npm test` passed here in 3 turns")


async def test_an_engine_writes_down_what_hooks_may_say(core: Core, now: datetime) -> None:
    core.settings = Settings(inject="edit")
    fact = parse(AddMemory, {"content": "Never edit `api/gen.py` by hand, run `make gen`."})
    await core.write(envelope("memory", fact, scope=SCOPE, source="mcp", at=now))
    fixed = {"commands": ["pytest"], "failed": [f"pytest\n{ERROR}\npip install redis"]}
    await record(core, now, "a", "test", "Installed it.", **fixed)
    await core.writer.settle()
    prepared = (await core.search.prepared(SCOPE)).hints
    (error,) = prepared["errors"]
    assert error["shape"] == "modulenotfounderror: no module named 'redis'"
    assert prepared["about"] == []  # the session's opening says it
    core.settings = Settings()
    assert (await core.search.prepared(SCOPE)).hints is None


def test_no_product_is_a_symbol() -> None:
    assert subjects("Use JetStream; `flush_all()` must be called in a.py.") == (("a.py",), ("flush_all",), ())


@pytest.mark.parametrize(
    ("sentence", "files"),
    [
        ("Changed a.py, b.py and c.py, never d.py.", ()),
        ("Only `index.ts` may import it.", ()),
        ("The Makefile is in every project.", ()),
        ("Never edit app/[id]/page.tsx without the flag.", ("app/[id]/page.tsx",)),
        ("Never edit routes/$post.tsx or `.env`.", ("routes/$post.tsx", ".env")),
        ("Never edit schema.prisma or docs/guide.mdx.", ("schema.prisma", "docs/guide.mdx")),
    ],
)
def test_a_sentence_is_about_the_whole_paths_of_few_files(sentence: str, files: tuple[str, ...]) -> None:
    assert subjects(sentence)[0] == files
