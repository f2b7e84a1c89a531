"""Folders indexed by MCP clients and by people at a terminal: what they are told, and how they stop it."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from asked import call, refusal, shown, text_of
from campaign.hostile_files import FILES
from mcp import Client
from user import PATIENCE, newcomer, user

from scrubjay.hosts.installation import console_command

pytestmark = pytest.mark.long

__all__ = ["newcomer", "user"]  # fixtures


def fill(project: Path, name: str = "docs") -> None:
    (project / name).mkdir(parents=True)
    for number in range(3):
        text = f"# Note {number}\n\nShip {number} lies in harbour {number * 7}.\n"
        (project / name / f"note{number}.md").write_text(text)


async def test_a_folder_is_added_through_the_tool_with_progress(client: Client, project: Path) -> None:
    fill(project)
    told: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total))

    answer = await client.call_tool("add_document", {"path": "docs"}, progress_callback=progress)
    assert text_of(answer) == "Documents: 3 added."
    none = dict.fromkeys(("changed", "renamed", "removed", "unchanged", "forgotten", "commits"), 0)
    assert answer.structured_content["ingested"] == {"added": 3, **none}
    # Nothing is reported in the first second, and a fast machine needs no longer.
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} <= {3, None}
    _, text = await call(client, "add_document", path="docs")
    assert text == "Documents: 3 unchanged."


async def test_a_workbook_that_aborts_its_reader_affects_no_other_file(client: Client, project: Path) -> None:
    fill(project)
    (project / "docs" / "corners.xlsx").write_bytes(FILES["corners.xlsx"]())
    said = await refusal(client, "add_document", path="docs/corners.xlsx")
    assert "is damaged, or needs more than 512 MB of memory: it ended the process that read it" in said
    _, text = await call(client, "add_document", path="docs")
    assert text.startswith("Documents: 3 added") and "corners.xlsx" in text
    os.mkfifo(project / "docs" / "pipe.docx")
    assert "it is not a regular file" in await refusal(client, "add_document", path="docs/pipe.docx")


async def test_a_title_for_a_folder_is_refused(client: Client, project: Path) -> None:
    fill(project)
    said = await refusal(client, "add_document", path="docs", title="Notes")
    assert said.startswith("title applies to a single document")


def test_a_folder_is_indexed_listed_found_and_updated(user) -> None:
    fill(user.project)
    (user.project / "broken.pdf").write_bytes(b"%PDF-1.7")
    done = user.types("index", "docs", "broken.pdf")
    assert done.returncode == 1 and "3 added" in done.stdout and "broken.pdf" in done.stderr
    (user.project / "docs" / ".github").mkdir()
    assert user.gets("index", "docs") == (
        "Nothing new; 3 documents unchanged.\n"
        "Hidden and skipped: .github. --hidden includes them, or give the path of one.\n"
    )
    listed = user.gets("documents")
    assert listed.count("note") == 3 and "1 chunk " in listed and "1 chunks" not in listed
    (failed,) = json.loads(user.gets("documents", "--failed", "--json"))
    assert failed["status"] == "failed" and "broken.pdf" in failed["error"]
    assert "harbour 7" in user.gets("search", "ship 1", "--mode", "documents")
    page = user.gets("documents", "ship", "1", "harbour")
    assert re.search(r"^  1 docs/note1\.md  \d{4}-\d\d-\d\d  doc_\w{8}  ", page) and "lines 1-" in page
    found = json.loads(user.gets("documents", "ship", "--top", "2", "--json"))
    assert len(found["results"]) == 2 and found["tokens"]["budget"] == 4_000
    found = user.types("documents", "zxqv")
    assert found.returncode == 1 and "--all" in found.stdout
    assert found.stdout.startswith("No document answers this. Searched: the documents of ")
    assert user.gets("index", "docs/*1.md") == "Nothing new; 1 document unchanged.\n"


def test_standard_input_is_a_document_and_its_title_names_it(user) -> None:
    for text in ("The quay is 40 m long.", "The quay is 50 m long."):
        done = user.types("index", "-", "--title", "quay", stdin=text)
        assert done.returncode == 0 and "1 chunk" in done.stdout, done.stderr
    assert [each.get("title") for each in json.loads(user.gets("documents", "--json"))].count("quay") == 1


@pytest.mark.long
def test_a_watched_folder_is_updated_until_ctrl_c(user) -> None:
    fill(user.project, "watched")
    command, pipe = [*console_command(), "index", "watched", "--watch"], subprocess.PIPE
    watching = subprocess.Popen(command, env=user.env, cwd=user.project, stdout=pipe, stderr=pipe, text=True)
    try:
        assert "3 added" in line_of(watching)
        assert "Watching" in line_of(watching)
        (user.project / "watched" / "note9.md").write_text("# Note 9\n\nA late ship.\n")
        assert "1 added" in line_of(watching)
        user.gets("stop")
        (user.project / "watched" / "note10.md").write_text("# Note 10\n\nA ship after an engine ended.\n")
        assert "1 added" in line_of(watching)
    finally:
        os.kill(watching.pid, signal.SIGINT)
        watching.communicate(timeout=PATIENCE)
    assert watching.returncode == 130


PRESSED_IN_A_CALLBACK = """
import os, signal, sys
from scrubjay.cli.documents import changes
class Press:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        list(map(str, range(1000)))
try:
    for _ in changes(sys.argv[1:]):
        Press()
except KeyboardInterrupt:
    print("heard")
"""


def test_an_interrupt_that_python_drops_still_takes_effect(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRESSED_IN_A_CALLBACK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "Exception ignored in" in done.stderr and done.stdout == "heard\n"


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that it prints, or "" if none arrives in time."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    return process.stdout.readline() if ready else ""


async def test_a_path_selects_its_folder_and_one_without_documents_is_reported(
    client: Client, project: Path
) -> None:
    fill(project)
    (project / "docs" / "owl.md").write_text("# Owls\n\nAn owl hunts at night.")
    (project / "docs-old.md").write_text("# Old\n\nAn owl hunted at night.")
    for path in ("docs", "docs-old.md"):
        await call(client, "add_document", path=path)
    found, _ = await call(client, "search_documents", query="ship in harbour", path="docs/note1.md")
    assert [hit["path"] for hit in found["results"]] == [str(project / "docs" / "note1.md")]
    for path in ("docs", "docs/", str(project / "docs"), "docs/owl.md"):
        text = await shown(client, "search_documents", query="what does an owl do?", path=path)
        assert "hunts" in text and "hunted" not in text
    assert "hunted" in await shown(client, "search_documents", query="what did an owl do?", path=".")
    for path in ("nowhere", "doc"):
        said = await refusal(client, "search_documents", query="what does an owl do?", path=path)
        assert "No document here is at or below" in said


async def test_an_html_page_given_as_content_is_read_as_html(client: Client) -> None:
    page = "<!DOCTYPE html><html><head><title>Owls</title></head><body><nav>Home</nav><p>They hunt.</p></body></html>"
    await call(client, "add_document", content=page)
    text = await shown(client, "search_documents", query="what do owls hunt?")
    assert "They hunt." in text and "<p>" not in text and "Home" not in text


async def test_indexing_reports_skipped_files_and_why(client: Client, project: Path) -> None:
    fill(project)
    (project / "docs" / "map.png").write_bytes(b"\x89PNG")
    (project / "docs" / "model.pkl").write_bytes(b"\x80\x04\x00\x00")
    (project / "docs" / "plan.pkl").write_text("a plan in words")
    (project / "docs" / "nothing.md").write_text("")
    (project / "docs" / "link.md").symlink_to(project / "docs" / "note1.md")
    _, text = await call(client, "add_document", path="docs")
    for part in ("1 file is an image", "map.png", "model.pkl", "nothing.md", "link.md"):
        assert part in text
    assert "plan.pkl" not in text


def test_failed_documents_are_listed_with_the_skipped_files(user) -> None:
    folder = user.project / "pictures"
    folder.mkdir()
    (folder / "about.md").write_text("# Pictures\n\nOne map.")
    (folder / "map.png").write_bytes(b"\x89PNG")
    assert "map.png" in user.gets("index", "pictures")
    assert "1 file is an image, and only text is read: map.png" in user.gets("documents", "--failed")
