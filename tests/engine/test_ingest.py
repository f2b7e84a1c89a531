"""Folders into documents: what is read, what is skipped, and that only changes are processed again."""

import asyncio
import errno
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import said

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.home.paths import open_home
from scrubjay.models.records import Document
from scrubjay.models.requests import Forget, SearchDocuments, parse
from scrubjay.models.results import Ingested
from scrubjay.records.ingest.tree import files_at

pytestmark = pytest.mark.long


async def stored(core: Core) -> dict[str, Document]:
    """The documents that are not forgotten, by path."""
    await core.store.flush()
    return {row.path or "": row for row in await core.store.select(Document, "forgotten_at IS NULL")}


async def ingest(core: Core, *paths: Path, again: bool = False) -> Ingested:
    options = {"scope": said.SCOPE, "source": "test", "report": said.silent, "again": again}
    return await core.ingest.run([str(path) for path in paths], **options)  # type: ignore[arg-type]


async def found(core: Core, query: str, **args: object) -> list[str]:
    hits = await core.search.documents(parse(SearchDocuments, {"query": query, **args}), said.SCOPE)
    return [os.path.basename(hit.path or "") for hit in hits.results]


def names(folder: Path) -> list[str]:
    return [os.path.relpath(seen.path, folder) for seen in files_at(str(folder)).files]


async def test_documents_of_an_unreadable_folder_are_retained(
    core: Core, tree: Path, monkeypatch: pytest.MonkeyPatch
):
    await ingest(core, tree)
    scan = os.scandir

    def refused(folder: str) -> object:
        if folder == hidden:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scan(folder)

    monkeypatch.setattr("scrubjay.records.ingest.tree.os.scandir", refused)
    for hidden, unchanged in ((str(tree / "docs"), 1), (str(tree), 0)):
        done = await ingest(core, tree)
        assert (done.removed, done.unchanged) == (0, unchanged)
        assert [each.path for each in done.failed] == [hidden]
        assert "its documents stay" in done.failed[0].reason
    assert len(await stored(core)) == 2 and await found(core, "API port") == ["ports.md"]


async def test_a_file_that_cannot_be_read_now_keeps_its_stored_text(
    core: Core, tree: Path, monkeypatch: pytest.MonkeyPatch
):
    await ingest(core, tree)
    path = tree / "docs" / "ports.md"
    path.write_text("The API listens on port 9000 now.\n")

    def refused(path: str, *, own: bool = True) -> object:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("scrubjay.records.ingest.job.open_regular", refused)
        done = await ingest(core, tree)
    assert [each.path for each in done.failed] == [str(path)] and done.changed == 0
    assert (await stored(core))[str(path)].status == "done"
    assert (await ingest(core, tree)).changed == 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "ports.md").write_text("# Ports\n\nThe API listens on port 8421.\n")
    (folder / "server.py").write_text("def open_socket(port):\n    return bind(port)\n")
    return folder


def test_hidden_files_are_read_on_request_and_binary_files_or_those_of_tools_never(tree: Path):
    own = ["logo.png", "node_modules/a.js", ".git/config", ".venv/lib.py", "own/pyvenv.cfg", "own/lib.py"]
    for name in (*own, ".github/flow.md", ".env", "docs/.notes/old.md"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("x")
    assert names(tree) == ["docs/ports.md", "server.py"]
    passed_over = files_at(str(tree)).passed_over
    assert [os.path.relpath(each, tree) for each in passed_over] == [".github", "docs/.notes"]
    wanted = files_at(str(tree), hidden=True)
    files = " ".join(os.path.relpath(seen.path, tree) for seen in wanted.files)
    assert files == ".env .github/flow.md docs/.notes/old.md docs/ports.md server.py"
    assert wanted.passed_over == []


async def test_a_hidden_folder_indexed_by_name_stays_when_its_parent_is_indexed(core: Core, tree: Path):
    (tree / ".github").mkdir()
    (tree / ".github" / "flow.md").write_text("The pipeline runs at night.")
    await ingest(core, tree / ".github")
    done = await ingest(core, tree)
    assert (done.added, done.removed, done.passed_over) == (2, 0, [str(tree / ".github")])
    assert str(tree / ".github" / "flow.md") in await stored(core)
    (tree / ".github" / "flow.md").unlink()
    assert (await ingest(core, tree)).removed == 1


async def test_a_file_that_vanishes_during_indexing_becomes_no_document(core: Core, tmp_path: Path):
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"The note {name}.")

    async def vanish(done: int, total: int, what: str) -> None:
        (tmp_path / "b.md").unlink(missing_ok=True)

    done = await core.ingest.run([str(tmp_path)], scope=said.SCOPE, source="test", report=vanish)
    assert (done.added, done.failed) == (1, [])
    assert [*await stored(core)] == [str(tmp_path / "a.md")]


def test_the_whole_disk_is_refused():
    with pytest.raises(InputError, match="'/' is the whole disk"):
        files_at("/")


@pytest.mark.parametrize(
    ("rules", "of_tree", "of_docs"),
    [
        ({".gitignore": "docs/\n*.log\n"}, "server.py", "ports.md"),
        (
            {".gitignore": "*.log\n[\n", "docs/.gitignore": "!a.log\n"},
            "docs/a.log docs/ports.md server.py",
            None,
        ),
        (
            {".git/info/exclude": "*.py\r\n*.log\n", ".gitignore": "\ufeff!a.log\n"},
            "docs/a.log docs/ports.md",
            None,
        ),
    ],
    ids=["a folder given by name is read", "an exception in a folder", "git's own list"],
)
def test_gitignore_files_and_their_exceptions_apply(
    tree: Path, rules: dict[str, str], of_tree: str, of_docs: str | None
):
    (tree / ".git" / "info").mkdir(parents=True)
    (tree / "docs" / "a.log").write_text("x")
    for name, text in rules.items():
        (tree / name).write_text(text)
    assert names(tree) == of_tree.split()
    assert of_docs is None or names(tree / "docs") == of_docs.split()


@pytest.fixture
def deep_tree(tree: Path) -> Iterator[Path]:
    """The tree with 2,500 nested folders, whose path exceeds the path limit."""
    at = os.open(tree, os.O_RDONLY)
    for _ in range(2_500):
        os.mkdir("a", dir_fd=at)
        around, at = at, os.open("a", os.O_RDONLY, dir_fd=at)
        os.close(around)
    os.close(at)
    yield tree
    subprocess.run(["rm", "-rf", str(tree / "a")], check=True)  # Python's own way is recursive


@pytest.mark.skipif(os.name == "nt", reason="Windows makes no such folders")
async def test_hostile_rules_and_nested_folders_hide_no_good_file(core: Core, deep_tree: Path):
    tree = deep_tree
    (tree / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*a*a*b\n" + "**/a/" * 6 + "**/b\n")
    (tree / f"{'a' * 200}.md").write_text("The lighthouse is in Kiel.")
    done = await asyncio.wait_for(ingest(core, tree), 60)
    assert done.added == 3
    assert re.fullmatch(f"{tree}(/a)+", done.failed[0].path)


def test_a_gitignore_that_is_too_long_reports_how_much_is_ignored(tree: Path):
    (tree / ".gitignore").write_text("*.log\n" + f"{'x' * 999}\n" * 200)
    (tree / "a.log").write_text("x")
    seen = files_at(str(tree))
    assert len(seen.files) == 2 and "the first 100,000 bytes" in seen.not_read[0].reason


async def test_a_folder_becomes_searchable_and_a_second_run_changes_nothing(core: Core, tree: Path):
    assert await ingest(core, tree) == Ingested(added=2, changed=0, renamed=0, removed=0, unchanged=0)
    assert (await found(core, "which port does the API listen on"))[0] == "ports.md"
    assert await ingest(core, tree) == Ingested(added=0, changed=0, renamed=0, removed=0, unchanged=2)


async def test_an_edit_replaces_a_document_and_a_new_time_alone_does_not(core: Core, tree: Path):
    await ingest(core, tree)
    before = await stored(core)
    os.utime(tree / "server.py", ns=(1, 1))
    (tree / "docs" / "ports.md").write_text("# Ports\n\nThe API listens on port 9000.\n")
    assert await ingest(core, tree) == Ingested(added=0, changed=1, renamed=0, removed=0, unchanged=1)
    after = await stored(core)
    assert {path: row.id for path, row in before.items()} == {path: row.id for path, row in after.items()}
    assert after[str(tree / "server.py")].file_mtime == 1
    assert "9000" in after[str(tree / "docs" / "ports.md")].content


async def test_a_forgotten_document_stays_out_until_its_file_is_named(core: Core, tree: Path):
    await ingest(core, tree)
    path = tree / "docs" / "ports.md"
    await said.forget(core, (await stored(core))[str(path)].id)
    for again in (False, True):
        done = await ingest(core, tree, again=again)
        assert (done.added, done.forgotten) == (0, 1) and await found(core, "API port") == ["server.py"]
    path.write_text("The API listens on port 9000 now.\n")
    assert (await ingest(core, tree)).forgotten == 1
    assert (await ingest(core, path)).added == 1 and await found(core, "API port") == ["ports.md"]
    assert ((done := await ingest(core, tree)).unchanged, done.forgotten) == (2, 0)


async def test_a_purge_says_which_files_the_next_ingest_would_read_again(core: Core, tree: Path):
    await ingest(core, tree)
    documents = {os.path.basename(path): row.id for path, row in (await stored(core)).items()}
    os.unlink(tree / "server.py")
    purges = [parse(Forget, {"id": id, "purge": True}) for id in documents.values()]
    files = [(await core.removal.forget(purge, said.SCOPE, "test")).files for purge in purges]
    assert [path for each in files for path in each] == [str(tree / "docs" / "ports.md")]
    assert (await ingest(core, tree)).added == 1


async def test_a_scrubjay_home_inside_a_folder_is_not_indexed(tree: Path):
    before = names(tree)
    home = open_home(str(tree / "jay"))
    Path(home.config).write_text("min_length = 3\n")
    assert names(tree) == before
    for path in (home.root, home.config, home.log):
        with pytest.raises(InputError, match="Scrubjay's own folder"):
            files_at(path)


async def test_a_deleted_file_disappears_from_searches_and_returns_when_recreated(core: Core, tree: Path):
    await ingest(core, tree)
    text = (tree / "server.py").read_text()
    (tree / "server.py").unlink()
    assert (await ingest(core, tree)).removed == 1
    assert "server.py" not in await found(core, "open_socket")
    (tree / "server.py").write_text(text)
    assert (await ingest(core, tree)).added == 1
    assert (await found(core, "open_socket"))[0] == "server.py"


async def test_a_file_ignored_later_is_removed_unless_it_was_added_by_name(core: Core, tree: Path):
    (tree / ".git").mkdir()
    await ingest(core, tree / "server.py")
    await ingest(core, tree)
    (tree / ".gitignore").write_text("server.py\nports.md\n")
    assert (await ingest(core, tree)).removed == 1
    assert await found(core, "port") == ["server.py"]


async def test_a_renamed_file_keeps_its_id_and_its_old_path_is_free_again(core: Core, tree: Path):
    await ingest(core, tree)
    old = (await stored(core))[str(tree / "server.py")]
    (tree / "server.py").rename(tree / "socket_server.py")
    assert (await ingest(core, tree)).renamed == 1
    assert (await core.store.get(Document, [old.id]))[old.id].path == str(tree / "socket_server.py")
    (tree / "server.py").write_text("def another():\n    return 1\n")
    assert (await ingest(core, tree)).added == 1
    assert sorted(map(os.path.basename, await stored(core))) == ["ports.md", "server.py", "socket_server.py"]
    assert await ingest(core, tree) == Ingested(added=0, changed=0, renamed=0, removed=0, unchanged=3)


async def test_an_unreadable_file_is_listed_with_its_reason_and_stops_nothing(core: Core, tree: Path):
    (tree / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    done = await ingest(core, tree)
    assert done.added == 2 and [os.path.basename(each.path) for each in done.failed] == ["broken.pdf"]
    (failed,) = [each for each in await core.ingest.list_documents(said.SCOPE, 10) if each.status == "failed"]
    assert failed.error == done.failed[0].reason
    assert (await ingest(core, tree)).unchanged == 3


async def test_a_missing_path_is_an_error_but_a_deleted_folder_is_not(core: Core, tree: Path):
    with pytest.raises(InputError, match="There is nothing at"):
        await ingest(core, tree / "missing")
    await ingest(core, tree)
    (tree / "docs" / "ports.md").unlink()
    (tree / "docs").rmdir()
    assert (await ingest(core, tree / "docs")).removed == 1


async def test_an_interrupted_ingest_is_finished_by_the_next_one(core: Core, tree: Path):
    for number in range(5):
        (tree / f"note{number}.md").write_text(f"Note {number} about harbours.\n")
    reached = asyncio.Event()

    async def report(done: int, total: int, what: str) -> None:
        if done == 3:
            reached.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(core.ingest.run([str(tree)], scope=said.SCOPE, source="test", report=report))
    await asyncio.wait_for(reached.wait(), 20)
    assert [each.status for each in await core.ingest.list_documents(said.SCOPE, 10)].count("queued") == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    done = await ingest(core, tree)
    assert (done.added, done.unchanged) == (4, 3)


@pytest.mark.long
async def test_editing_one_line_of_a_large_file_embeds_at_most_three_chunks(core: Core, tree: Path):
    lines = [f"Paragraph {n} tells of harbour {n * 7919 % 1000} and of ship {n}.\n\n" for n in range(2_000)]
    (tree / "large.md").write_text("# Harbours\n\n" + "".join(lines))
    await ingest(core, tree)
    await said.embedded(core)
    lines[1_000] = "Paragraph 1000 was changed.\n\n"
    (tree / "large.md").write_text("# Harbours\n\n" + "".join(lines))
    before = {piece.id for piece in await core.store.passages.select("true", columns=["id"])}
    assert (await ingest(core, tree)).changed == 1
    await core.store.flush()
    after = {piece.id for piece in await core.store.passages.select("true", columns=["id"])}
    assert len(before) > 100 and 1 <= len(after - before) <= 3


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
async def test_an_undecodable_name_is_escaped_and_its_file_stays_known(core: Core, tree: Path):
    folder = os.fsencode(tree / "docs")
    (tree / "docs" / "ports.md").unlink()
    os.mkdir(os.path.join(folder, b"caf\xe9"))
    for name in (b"men\xfc.md", os.path.join(b"caf\xe9", b"list.md")):
        with open(os.path.join(folder, name), "w") as file:
            file.write("# Menu\n\nThe walrus eats at noon.\n")
    first = await ingest(core, tree)
    await said.fact(core, "What is written afterwards is found.")
    assert (first.added, first.failed) == (3, [])
    assert sorted(await found(core, "walrus")) == ["list.md", "men\\xfc.md"]
    assert f"{tree}/docs/caf\\xe9/list.md" in await stored(core)
    again = await ingest(core, tree)
    assert (again.added, again.removed, again.unchanged) == (0, 0, 3)
    os.remove(os.path.join(folder, b"men\xfc.md"))
    assert (await ingest(core, tree)).removed == 1
    assert said.texts(await said.search(core, "written afterwards"))[0].endswith("afterwards is found.")
