"""Anchors of records in a home: written in the background, used by searches and `why`, purged with them."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from git_made import Repository
from said import anchored, fact, search, turn

from scrubjay.cli.lookup import lines_of
from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.home import backups
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings
from scrubjay.mcp_server.render import Frame, memory_hits
from scrubjay.models.requests import Forget, parse

A = "def retry(n):\n    return n * 2\n"


@pytest.fixture
def repo(tmp_path: Path, now: datetime) -> Repository:
    made = Repository(tmp_path / "project")
    made.commit({"a.py": A}, "Retry", at=now - timedelta(days=3))
    return made


async def test_a_fact_is_marked_once_its_code_has_changed(core: Core, repo: Repository, scope: str):
    await fact(core, "`retry` doubles the waiting time of the gateway.", scope=scope)
    await anchored(core)
    hit = (await search(core, "waiting time of the gateway", scope=scope)).results[0]
    assert hit.mark is None
    repo.commit({"a.py": A.replace("2", "3")})
    hits = await search(core, "waiting time of the gateway", scope=scope, include={"explain": True})
    mark = hits.results[0].mark
    assert mark is not None and (mark.kind, mark.symbol) == ("changed", "retry")
    assert f"[{mark.text}]" in memory_hits(hits, Frame((scope,)))
    lines = "\n".join(lines_of(hits.wire(), 200))
    assert f"[{mark.text}]" in lines and f"a.py:retry, {mark.text}; noted at commit {mark.at}" in lines


async def test_of_equally_good_hits_the_one_that_holds_comes_first(core: Core, repo: Repository, scope: str):
    repo.commit({"b.py": A.replace("retry", "pause")})
    for name in ("retry", "pause"):
        await fact(core, f"`{name}` doubles the waiting time of the gateway.", scope=scope)
    await anchored(core)
    asked = {"query": "what doubles the waiting time of the gateway", "top_k": 2}
    first, second = (await search(core, scope=scope, **asked)).results
    changed = {"a.py": A, "b.py": A.replace("retry", "pause")}
    name = "a.py" if "`retry`" in str(first.memory) else "b.py"
    repo.commit({name: changed[name].replace("2", "3")})
    hits = (await search(core, scope=scope, **asked)).results
    assert [hit.id for hit in hits] == [second.id, first.id] and hits[1].mark is not None


async def test_a_turn_of_the_past_is_about_the_commit_that_was_head_then(
    core: Core, repo: Repository, scope: str, now: datetime
):
    repo.commit({"a.py": A.replace("2", "3")}, "Triple", at=now - timedelta(days=1))
    for session, days in (("old", 2), ("new", 0.5)):
        said = {"user": "How does `retry` wait?", "assistant": "It multiplies the gateway's time."}
        await turn(core, session, scope=scope, ts=(now - timedelta(days=days)).isoformat(), **said)
    await anchored(core)
    hits = await search(core, "how does retry wait for the gateway", scope=scope, top_k=5)
    marks = {hit.session_id: hit.mark and hit.mark.kind for hit in hits.results}
    assert marks == {"old": "changed", "new": None}


async def test_anchors_whose_file_is_damaged_are_written_again_when_an_engine_opens_the_home(
    core: Core, repo: Repository, scope: str, home: Home
):
    await fact(core, "`retry` doubles the waiting time.", scope=scope)
    added = await fact(core, "Alex prefers tea.", scope="user")
    await anchored(core)
    Path(home.anchors).write_bytes(b"not a database, " * 99)
    await core.anchoring._find_missing()
    await core.anchoring.work()
    assert len(core.book.recorded_ids()) == 2 and added.id not in core.book.get([added.id])


async def test_a_purge_removes_the_anchor_and_a_backup_has_it(
    core: Core, repo: Repository, scope: str, home: Home, tmp_path: Path
):
    stays = await fact(core, "`retry` doubles the waiting time.", scope=scope)
    goes = await fact(core, "See a.py for how long the gateway needs.", scope=scope)
    await anchored(core)
    await core.removal.forget(parse(Forget, {"id": goes.id, "purge": True}), scope, "test")
    await core.writer.settle()
    assert core.book.recorded_ids() == {stays.id}
    assert goes.id.encode() not in Path(home.anchors).read_bytes()
    await core.backup.make(str(tmp_path / "backup"), lambda done, total: None)
    assert (tmp_path / "backup" / "anchors.db").read_bytes() == Path(home.anchors).read_bytes()
    assert backups.has_content(home)


async def test_why_lists_turns_facts_and_commits_newest_first(
    core: Core, repo: Repository, scope: str, now: datetime
):
    files = {"a.py": A + "\n\ndef stop(): pass\n", "b.py": "X = 1\n"}
    repo.commit(files, "Add stop", at=now - timedelta(days=2))
    said = {"user": "Why does `retry` double?", "assistant": "The gateway is slow."}
    await turn(core, "s", scope=scope, ts=(now - timedelta(days=1)).isoformat(), **said)
    await fact(core, "`stop` in a.py ends the loop.", scope=scope)
    await anchored(core)

    async def names(place: str) -> list[str]:
        reasons = await core.why.reasons_for(place, str(repo.folder), scope, 10)
        return [f"{each.kind} {each.text.splitlines()[0]}" for each in reasons.results]

    about_retry = ["turn user: Why does `retry` double?", "commit Retry"]
    assert await names("a.py:retry") == await names("a.py:2") == about_retry
    stop = "fact `stop` in a.py ends the loop."
    assert await names("a.py") == [stop, about_retry[0], "commit Add stop", "commit Retry"]
    assert await names("b.py:1") == ["commit Add stop"]
    for missing in ("c.py", "a.py:99", "a.py:nothing", "../a.py"):
        with pytest.raises(InputError):
            await names(missing)


async def test_a_hint_says_that_its_code_has_changed_and_none_is_about_code_that_is_gone(
    core: Core, repo: Repository, scope: str
):
    core.settings = Settings(inject="edit")
    repo.commit({"b.py": A.replace("retry", "pause_all"), "c.py": A.replace("retry", "await_all")})
    for name in ("b.py", "c.py", "a.py", "d.py"):  # the opening says the last one
        said = f"Never edit {name} by hand, it is generated. Run `make all` by hand, never `make one`."
        await turn(core, name, scope=scope, user="Look at the generator", assistant=f"I looked. {said}")
    await anchored(core)
    repo.commit({"b.py": A.replace("2", "3")})
    repo.git("rm", "--quiet", "c.py")
    prepared = (await core.search.prepared(scope)).hints
    assert prepared is not None
    about = {hint["files"][0]: hint["text"] for hint in prepared["about"] if hint["files"]}
    assert list(about) == ["a.py", "b.py"] and "changed" not in about["a.py"]
    assert "[changed since (1 commit, last " in about["b.py"] and "by hand" in about["b.py"]
    assert not any("[" in hint["text"] for hint in prepared["about"] if hint["commands"])
