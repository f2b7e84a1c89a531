"""Commits as documents: which are indexed, how searches answer with them, and what shaped a file."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from git_made import Repository
from said import anchored, embedded, fact, search, silent, turn

from scrubjay.cli import lookup
from scrubjay.cli.display import contents
from scrubjay.cli.notes import notes_of
from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.mcp_server.render import Frame, memory_hits, reasons
from scrubjay.models.records import Document
from scrubjay.models.requests import Forget, SearchDocuments, SearchMemories, parse
from scrubjay.models.results import Ingested

pytestmark = pytest.mark.long

REASON = (
    "Give the carrier client 30 s\n\nTheir gateway closes idle connections after 25 s and is slow on Mondays."
)
QUESTION = "why does the carrier client time out after 30 s?"


@pytest.fixture
def repo(tmp_path: Path, now: datetime) -> Repository:
    made = Repository(tmp_path / "project")
    made.commit({"client.py": "TIMEOUT = 10\n", "notes.md": "# Soup\n"}, "Begin", at=now - timedelta(days=9))
    made.commit({"client.py": "TIMEOUT = 30\n"}, REASON, at=now - timedelta(days=5))
    made.commit({"notes.md": "# Bread\n"}, "Bake bread", at=now - timedelta(days=4))
    return made


async def indexed(core: Core, folder: Path, scope: str, commits: str = "only") -> Ingested:
    options = {"source": "test", "report": silent, "commits": commits}
    return await core.ingest.run([str(folder)], scope=scope, **options)  # type: ignore[arg-type]


async def subjects(core: Core) -> set[str]:
    """The subjects of the commits that are not forgotten."""
    await core.store.flush()
    rows = await core.store.select(Document, "forgotten_at IS NULL AND type = 'commit'")
    return {(row.title or "").partition(" ")[2] for row in rows}


async def test_only_new_commits_are_read_without_merges_and_robots(core: Core, repo: Repository, scope: str):
    assert (await indexed(core, repo.folder, scope)).commits == 3
    repo.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    repo.commit({"side.py": "A = 1\n"}, "Start a side")
    repo.git("checkout", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-edit", "side")
    repo.git("-c", "user.name=dependabot[bot]", "commit", "--quiet", "--allow-empty", "-m", "Bump soup")
    assert (await indexed(core, repo.folder, scope)).commits == 1
    assert (await indexed(core, repo.folder, scope)).commits == 0
    assert await subjects(core) == {"Begin", REASON.partition("\n")[0], "Bake bread", "Start a side"}


async def test_a_rewritten_history_leaves_no_double(core: Core, repo: Repository, scope: str):
    await indexed(core, repo.folder, scope)
    repo.git("commit", "--quiet", "--amend", "--message", "Bake brown bread")
    done = await indexed(core, repo.folder, scope)
    assert (done.commits, done.removed) == (1, 1)
    assert "Bake bread" not in await subjects(core)
    repo.git("reset", "--quiet", "--hard", "HEAD@{1}")
    await indexed(core, repo.folder, scope)
    assert "Bake bread" in await subjects(core) and "Bake brown bread" not in await subjects(core)


async def test_a_commit_that_was_forgotten_stays_forgotten(core: Core, repo: Repository, scope: str):
    await indexed(core, repo.folder, scope)
    await core.store.flush()
    first = (await core.store.select(Document, "title LIKE '%Bake bread'"))[0]
    await core.removal.forget(parse(Forget, {"id": first.id}), scope, "test")
    assert (await indexed(core, repo.folder, scope)).commits == 0 and "Bake bread" not in await subjects(core)


async def test_the_root_of_a_repository_includes_its_commits_unless_they_are_unwanted(
    core: Core, repo: Repository, scope: str
):
    done = await indexed(core, repo.folder, scope, "none")
    assert (done.added, done.commits) == (2, 0)
    assert (await indexed(core, repo.folder, scope, "root")).commits == 3
    paths = {Path(row.path or "").name for row in await core.ingest.list_documents(scope, 10)}
    assert paths == {"client.py", "notes.md"} and not await core.ingest.left_out(scope)


async def test_commits_of_a_folder_outside_every_repository_are_an_error(core: Core, tmp_path: Path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError):
        await indexed(core, tmp_path / "plain", "demo")


async def test_a_commit_is_redacted_and_loses_its_trailers(core: Core, repo: Repository, scope: str):
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    repo.commit({"client.py": "A = 1\n"}, f"Rotate the key\n\nIt was {key}.\n\nSigned-off-by: Jay <j@ex.org>")
    await indexed(core, repo.folder, scope)
    asked = parse(SearchDocuments, {"query": "rotate the key"})
    hit = (await core.search.documents(asked, scope)).results[0]
    assert hit.title is not None and hit.title.endswith(" Rotate the key")
    assert key not in hit.chunks[0].content and "Signed-off" not in hit.chunks[0].content
    assert hit.chunks[0].content.endswith("Files: client.py")


async def test_a_question_that_a_commit_answers_shows_it_in_two_lines(
    core: Core, repo: Repository, scope: str
):
    await indexed(core, repo.folder, scope)
    await embedded(core)
    hits = await search(core, QUESTION, scope=scope)
    short = repo.git("rev-parse", "HEAD~1")[:12]
    assert [hit.title for hit in hits.commits] == [f"{short} Give the carrier client 30 s"]
    lines = memory_hits(hits, Frame((scope,))).splitlines()
    at = next(number for number, line in enumerate(lines) if short in line)
    assert lines[at] == f"2026-02-28 commit {short}:"
    assert "30 s" in lines[at + 1] and "25 s" in lines[at + 1] and lines[at + 1].startswith("> ")
    assert any(short in line for line in lookup.commit_lines(hits.wire(), 200))
    fitted = await search(core, QUESTION, scope=scope, tags=["other"])
    assert not fitted.commits


async def test_no_commit_follows_a_memory_that_answers_better(core: Core, repo: Repository, scope: str):
    await indexed(core, repo.folder, scope)
    await fact(core, "Lunch on Friday is soup with bread.", scope=scope)
    await embedded(core)
    assert not (await search(core, "is lunch on Friday soup with bread?", scope=scope)).commits


async def test_a_commit_of_another_branch_says_so(core: Core, repo: Repository, scope: str):
    repo.git("checkout", "--quiet", "-b", "trial")
    repo.commit({"client.py": "TIMEOUT = 90\n"}, REASON.replace("30", "90"))
    repo.git("checkout", "--quiet", "main")
    await indexed(core, repo.folder, scope)
    await embedded(core)
    commits = (await search(core, QUESTION.replace("30", "90"), scope=scope)).commits
    marks = {str(hit.title).partition(" ")[2]: hit.mark and hit.mark.text for hit in commits}
    assert marks["Give the carrier client 90 s"] == "only on branch trial"
    assert marks.get("Give the carrier client 30 s") is None


async def test_what_shaped_a_file_follows_its_earlier_names(core: Core, repo: Repository, scope: str):
    await fact(core, "The values of client.py come from the carrier.", scope=scope)
    await anchored(core)
    repo.git("mv", "client.py", "carrier.py")
    repo.commit({}, "Rename the client")
    repo.git("rm", "--quiet", "notes.md")
    repo.commit({}, "Bake no more")

    async def names(place: str, query: str = "", last: int = 9) -> list[str]:
        found = await core.why.reasons_for(place, str(repo.folder), scope, last, query)
        return [each.text.partition("\n")[0] for each in found.results]

    told = ["Rename the client", "The values of client.py come from the carrier."]
    assert await names("carrier.py") == [*told, REASON.partition("\n")[0], "Begin"]
    assert told[1] in await names("carrier.py:1") and told[1] in await names("carrier.py:TIMEOUT")
    assert await names("notes.md") == ["Bake no more", "Bake bread", "Begin"]
    assert [text[:12] for text in await names("carrier.py", "why 30 s?", 1)] == ["Give the car"]
    found = await core.why.reasons_for("carrier.py", str(repo.folder), scope, 1, "why 30 s?")
    head, quoted = reasons(found, Frame((scope,))).splitlines()[1:-1]
    assert head.startswith("2026-02-28 12:00 commit ") and "25 s" in quoted
    with pytest.raises(InputError):
        await names("nothing.py")


async def test_a_search_can_be_narrowed_to_a_branch(core: Core, repo: Repository, scope: str):
    await fact(core, "The gateway of client.py waits 10 s.", scope=scope)
    await anchored(core)
    repo.git("checkout", "--quiet", "-b", "trial")
    said = {"user": "How long does the gateway of client.py wait?", "assistant": "90 s."}
    await turn(core, "s", scope=scope, **said)
    await anchored(core)
    asked = {"query": "how long does the gateway wait"}
    request = parse(SearchMemories, asked)
    for branch, kind in (("main", "memory"), ("trial", "turn")):
        among = tuple(core.book.on_branch(branch))
        hits = await core.search.memories(request, scope, among=among)
        assert [hit.src for hit in hits.results] == [kind]
        assert [hit.src for hit in await core.lists.latest(9, scope, among=among)] == [kind]
    assert len((await search(core, **asked, scope=scope, top_k=9)).results) == 2


def test_notes_leave_commits_out():
    record = {"kind": "document", "id": "doc_1", "scope": "user", "content": "Bake bread"}
    assert not list(notes_of([record | {"type": "commit"}]))
    assert len(list(notes_of([record | {"type": "text", "title": "Bread", "created_at": "2026-03-05"}]))) == 1


async def test_commits_are_counted_apart_from_documents(core: Core, repo: Repository, scope: str):
    await indexed(core, repo.folder, scope, "only")
    records = (await core.status.report())["records"]
    assert (records["documents"], records["commits"]) == (0, 3)
    counts = (await core.counts.by_scope())[scope]
    assert (counts.documents, counts.commits) == (0, 3)
    assert contents(records).endswith("0 documents, 3 commits")
