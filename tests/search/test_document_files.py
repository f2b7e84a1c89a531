"""Files as documents, from the tool to the search: kind, title, metadata, lines, redaction, and how much an
edit embeds again.
"""

from __future__ import annotations

import json
from pathlib import Path

import files_made as made
import pytest
from asked import call
from mcp import Client
from said import document, embedded

from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.models.records import Document

pytestmark = pytest.mark.long

CODE = '''"""Keeps the zebras."""

LIMIT = 3


class Stable:
    """Where zebras are kept, each in its own box, with hay for the night and water for the day."""

    def zebra_of_box(self, box_number):
        """The zebra that stands in this box; boxes are numbered from the left, and an empty one has none."""
        return self.boxes[box_number]
'''


async def added(client: Client, project: Path, name: str, data: bytes, **args: object) -> dict:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_bytes(data)
    return (await call(client, "add_document", path=name, **args))[0]


async def found(client: Client, query: str, **args: object) -> dict:
    (hit,) = (await call(client, "search_documents", query=query, limit=1, **args))[0]["results"]
    return hit


@pytest.mark.parametrize(
    ("name", "data", "type", "title", "said"),
    [
        (
            "report.pdf",
            made.pdf([["The zebra report"]], title="On zebras"),
            "pdf",
            "On zebras",
            "zebra report",
        ),
        ("deploy.docx", made.word(), "docx", "Deploying", "zebra migration"),
        ("roadmap.pptx", made.slides(), "pptx", "Roadmap", "Shipped in March"),
        ("ports.xlsx", made.workbook(), "xlsx", "Ports", "atlas 0"),
        ("ports.csv", b"name,port\nzebra,8080\n", "csv", "ports.csv", "zebra"),
        ("page.html", b"<title>Zebras</title><h1>All</h1><p>The zebra page", "html", "Zebras", "zebra page"),
        ("analysis.ipynb", made.notebook(), "notebook", "Analysis", "What we count"),
        ("plan.eml", made.mail(), "email", "Über the deploy", "Roll back first"),
        ("data.json", b'{"zebra": {"port": 8080}}', "json", "data.json", "zebra"),
        ("latin.txt", "Größe der Zebras".encode("cp1252"), "text", "latin.txt", "Zebras"),
    ],
)
async def test_a_file_of_each_kind_is_read_and_found(
    client: Client, project: Path, name: str, data: bytes, type: str, title: str, said: str
):
    done = await added(client, project, name, data)
    hit = await found(client, said)
    assert (hit["document_id"], hit["type"], hit["title"]) == (done["id"], type, title)
    assert await added(client, project, name, data) == done


async def test_code_is_found_by_the_name_it_defines_with_its_lines(client: Client, project: Path):
    await added(client, project, "src/stable.py", CODE.encode())
    await added(client, project, "other.py", b"def unrelated():\n    return 1\n")
    for query in ("zebra_of_box", "zebraOfBox", "zebra of box", "src/stable.py"):
        hit = await found(client, query)
        assert (hit["title"], hit["type"], hit["metadata"]) == ("stable.py", "code", {"language": "python"})
    best = max((await found(client, "zebra_of_box"))["chunks"], key=lambda chunk: chunk["score"])
    first, last = best["lines"]
    assert best["content"] == "\n".join(CODE.split("\n")[first - 1 : last]).strip()


async def test_the_callers_metadata_takes_precedence_over_the_files(client: Client, project: Path):
    metadata = {"author": "Bob", "team": "ops"}
    await added(client, project, "deploy.docx", made.word(), title="Mine", metadata=metadata)
    hit = await found(client, "zebra migration")
    assert hit["title"] == "Mine" and hit["metadata"].items() >= {**metadata, "date": "2026-03-01"}.items()


async def test_secrets_in_a_file_are_not_stored(client: Client, project: Path, engine: Engine):
    secret = "sk-ant-api03-" + "A1b2C3d4" * 12
    done = await added(client, project, "report.pdf", made.pdf([["the zebra token is", secret[:60]]]))
    assert done["redacted"] == 1
    assert secret[:60] not in json.dumps(await found(client, "zebra token", include_full_docs=True))


@pytest.mark.long
async def test_adding_one_line_embeds_few_passages(core: Core):
    line = "def function_{0}(value):\n    return value * {0}  # {0} times, and nothing else is done here\n\n"
    lines = [line.format(n) for n in range(1000)]
    args = {"type": "code", "path": "/src/many.py"}
    await document(core, "".join(lines), **args)
    await embedded(core)
    before = {row.id for row in await core.store.passages.select("true", columns=["id"])}
    lines.insert(500, "def one_more(value):\n    return value\n\n")
    again = await document(core, "".join(lines), **args)
    await embedded(core)
    rows = await core.store.passages.select("true", columns=["id", "part"])
    assert len(rows) == again.chunks > 100
    assert sorted(row.part for row in rows) == list(range(again.chunks))
    assert len({row.id for row in rows} - before) <= 3


async def test_pages_and_kind_survive_without_the_file(core: Core):
    """The write-ahead log stores the text: a replay reads no file."""
    await document(core, "one\n\f\ntwo", type="pdf", path="/gone/report.pdf")
    await embedded(core)
    (kept,) = await core.store.select(Document, "true")
    assert (kept.type, kept.title, kept.chunk_count) == ("pdf", "report.pdf", 2)
