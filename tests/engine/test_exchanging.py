"""Export and import through an engine's core: a second home gets everything of the first, once, whatever
interrupts it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder
from said import document, embedded, fact, forget, search, texts, turn

from scrubjay.engine.core import Core, open_core
from scrubjay.engine.verbs.exchange import PAGE_RECORDS
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.home.paths import open_home
from scrubjay.home.settings import Settings
from scrubjay.models.records import AnyRecord, Document, Memory, Turn

ODD = 'quote " and \' and \\, tab\t, \u2028, é, 火, 🐦, {"kind": "turn"}'


def quietly(done: int, total: int, what: str) -> None:
    """Nobody is told."""


@pytest.fixture
async def other(tmp_path: Path, clock: Callable[[], datetime]) -> AsyncIterator[Core]:
    """The engine of a second home."""
    opened = await open_core(
        open_home(str(tmp_path / "other")), Settings(), clock, lambda *_, **__: HashingEncoder()
    )
    yield opened
    await opened.close()


async def everything(core: Core) -> dict[str, AnyRecord]:
    await core.writer.settle()
    return {row.id: row for kind in (Turn, Memory, Document) for row in await core.store.select(kind, "true")}


async def filled(core: Core) -> None:
    """Turns, versions, links, what was forgotten, and a document; one of them was recalled."""
    said = await turn(
        core,
        "one",
        user=f"Which port? {ODD}",
        assistant="8080, as in proxy.toml.",
        files=["proxy.toml"],
        prompt_id="p-1",
    )
    await turn(core, "one", text="I would rather take 9090.", role="Ann Example", scope="user")
    old = await fact(
        core,
        "The proxy listens on port 8080.",
        tags=["proxy"],
        metadata={"turn": 0, "n": 5, "f": 5.0, "l": ["a"]},
    )
    new = await fact(core, "The proxy listens on port 8081.", updates=old.id)
    await fact(core, "The proxy was moved because of a clash.", derives=[said.id, new.id])
    gone = await fact(core, "The heron queue is RabbitMQ.")
    await forget(core, gone.id, reason="moved")
    await document(
        core, f"# Ports\n\nThe wren service has 7070.\n\n## Odd\n\n{ODD}", title="Ports", custom_id="ports"
    )
    await core.writer.settle()
    await search(core, "proxy port")


async def test_another_home_gets_every_record_as_it_is_and_finds_it(core: Core, other: Core, tmp_path: Path):
    await filled(core)
    path = str(tmp_path / "all.jsonl")
    made = await core.exchange.export(path, None, quietly)
    assert (made.turns, made.memories, made.documents) == (2, 4, 1)
    assert made.bytes == Path(path).stat().st_size
    done = await other.exchange.load(path, "cli", quietly)
    assert (done.added, done.same, done.different, done.redacted) == (7, 0, 0, 0)
    assert await everything(other) == await everything(core)
    await embedded(other)
    assert (
        texts(await search(other, "proxy listens port", include_turns=False))[0]
        == "The proxy listens on port 8081."
    )
    assert not texts(await search(other, "heron queue RabbitMQ", threshold=0.5))
    assert any("7070" in text for text in texts(await search(other, "wren service", search_mode="hybrid")))
    assert any(
        "8080" in text
        for text in texts(await search(other, "proxy port", include={"forgotten": True}, top_k=10))
    )


async def test_a_second_export_of_the_same_records_has_the_same_lines(
    core: Core, other: Core, tmp_path: Path
):
    await filled(core)
    for name in ("a", "b"):
        await core.exchange.export(str(tmp_path / name), None, quietly)
    await other.exchange.load(str(tmp_path / "a"), "cli", quietly)
    await other.exchange.export(str(tmp_path / "c"), None, quietly)
    lines = [(tmp_path / name).read_bytes().split(b"\n")[1:] for name in "abc"]
    assert lines[0] == lines[1] == lines[2]


async def test_a_scope_is_exported_alone(core: Core, tmp_path: Path):
    await filled(core)
    assert (await core.exchange.export(str(tmp_path / "user"), "user", quietly)).turns == 1
    head, *lines = [json.loads(line) for line in (tmp_path / "user").read_text("utf-8").splitlines()]
    assert head["scope"] == "user" and head["counts"] == {"turns": 1, "memories": 0, "documents": 0}
    assert [line["role"] for line in lines] == ["Ann Example"]


async def test_importing_again_adds_nothing_and_a_recall_in_between_makes_no_difference(
    core: Core, tmp_path: Path
):
    await filled(core)
    path = str(tmp_path / "all")
    await core.exchange.export(path, None, quietly)
    await search(core, "proxy port")
    await core.access.flush(everything=True)
    done = await core.exchange.load(path, "cli", quietly)
    assert (done.added, done.same, done.different) == (0, 7, 0)


async def test_a_version_that_was_replaced_there_since_is_replaced_here_too(
    core: Core, other: Core, tmp_path: Path
):
    old = await fact(core, "The proxy listens on port 8080.")
    for name in ("before", "after", "again"):
        await core.exchange.export(str(tmp_path / name), None, quietly)
        done = await other.exchange.load(str(tmp_path / name), "cli", quietly)
        assert done.different == 0
        if name == "before":
            await fact(core, "The proxy listens on port 8081.", updates=old.id)
    assert (done.added, done.same) == (0, 2)
    assert await everything(other) == await everything(core)
    assert texts(await search(other, "proxy listens port")) == ["The proxy listens on port 8081."]


async def test_what_is_here_with_other_contents_is_named_and_stays(core: Core, tmp_path: Path):
    kept = await fact(core, "The finch build uses Clang 19.")
    path = str(tmp_path / "all")
    await core.exchange.export(path, None, quietly)
    await forget(core, kept.id)
    before = await everything(core)
    done = await core.exchange.load(path, "cli", quietly)
    assert (done.added, done.same, done.different) == (0, 0, 1)
    assert done.differing[0].id == kept.id and set(done.differing[0].fields) == {"forgotten_at", "updated_at"}
    assert await everything(core) == before


async def test_the_snapshot_stays_while_others_write_and_compact(core: Core, tmp_path: Path):
    for number in range(PAGE_RECORDS + 10):
        await turn(core, "long", user=f"Line {number}.")
    before = await everything(core)
    wrote = asyncio.Event()

    def report(done: int, total: int, what: str) -> None:
        wrote.set()

    async def disturb() -> None:
        await wrote.wait()
        await fact(core, "Written while the export ran.")
        await core.writer.settle()
        await core.upkeep.tidy(core_bounds)

    from scrubjay.engine.background.upkeep import Bounds

    core_bounds = Bounds(0, 0)
    made, _ = await asyncio.gather(core.exchange.export(str(tmp_path / "all"), None, report), disturb())
    lines = (tmp_path / "all").read_bytes().splitlines()
    assert made.turns == len(before) == len(lines) - 1 and made.memories == 0
    assert core.upkeep.failures == 0 and core.store.readers == 0


async def test_a_damaged_line_leaves_everything_as_it_was(core: Core, other: Core, tmp_path: Path):
    await filled(core)
    path = tmp_path / "all"
    await core.exchange.export(str(path), None, quietly)
    lines = path.read_bytes().splitlines(keepends=True)
    for damaged in (
        b"".join(lines)[:-40],
        b"".join(lines[:-1]),
        b"".join([*lines[:4], lines[4][:30] + b"\n", *lines[5:]]),
    ):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"^{path}: .*[Ll]ine [578] .*Nothing was imported"):
            await other.exchange.load(str(path), "cli", quietly)
        assert await everything(other) == {} and not spool.pending(other.home)
    assert not other.exchange.is_running


@pytest.mark.parametrize(
    "instant", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "9998-12-31T23:59:59-12:00"]
)
async def test_a_record_of_a_year_that_no_clock_here_can_tell_is_refused(
    core: Core, other: Core, tmp_path: Path, instant: str
):
    await fact(core, "The finch build uses Clang 19.")
    path = tmp_path / "all"
    await core.exchange.export(str(path), None, quietly)
    header, line = path.read_text().splitlines()
    path.write_text(header + "\n" + json.dumps({**json.loads(line), "created_at": instant}) + "\n")
    with pytest.raises(InputError, match=r"created_at = .*must be between the years 2 and 9998"):
        await other.exchange.load(str(path), "cli", quietly)
    assert await everything(other) == {}


async def test_a_fact_under_the_hash_of_other_words_does_not_make_them_known(
    core: Core, other: Core, tmp_path: Path
):
    await fact(core, "The finch build uses Clang 19.")
    path = tmp_path / "all"
    await core.exchange.export(str(path), None, quietly)
    path.write_text(path.read_text().replace("The finch build uses Clang 19.", "Nothing of interest."))
    await other.exchange.load(str(path), "cli", quietly)
    added = await fact(other, "The finch build uses Clang 19.")
    assert "The finch build uses Clang 19." in [row.content for row in (await everything(other)).values()]
    assert added.id in await everything(other)


@pytest.mark.long
async def test_an_import_that_was_cut_off_is_completed_by_a_repetition(
    core: Core, other: Core, tmp_path: Path
):
    for number in range(2 * PAGE_RECORDS + 5):
        await turn(core, "long", user=f"Line {number}.")
    path = str(tmp_path / "all")
    await core.exchange.export(path, None, quietly)

    class Killed(Exception):
        pass

    def report(done: int, total: int, what: str) -> None:
        if what == "importing" and done >= PAGE_RECORDS:
            raise Killed

    with pytest.raises(Killed):
        await other.exchange.load(path, "cli", report)
    assert len(await everything(other)) == PAGE_RECORDS
    done = await other.exchange.load(path, "cli", quietly)
    assert (done.added, done.same) == (PAGE_RECORDS + 5, PAGE_RECORDS)
    assert await everything(other) == await everything(core)


async def test_what_was_acknowledged_before_a_kill_is_there_after_the_next_start(
    core: Core, tmp_path: Path, clock
):
    await filled(core)
    path = str(tmp_path / "all")
    await core.exchange.export(path, None, quietly)
    home = open_home(str(tmp_path / "third"))
    killed = await open_core(home, Settings(), clock, lambda *_, **__: HashingEncoder())
    before = spool.pending(home)
    await killed.exchange.load(path, "cli", quietly)
    assert before == spool.pending(home) == []
    envelopes = await envelopes_of(core, path)
    await killed.close()
    fresh = open_home(str(tmp_path / "fourth"))
    for each in envelopes:  # as if the engine had died between its acknowledgement and its commit
        spool.write(fresh, each)
    opened = await open_core(fresh, Settings(), clock, lambda *_, **__: HashingEncoder())
    try:
        await opened.writer.drain()
        assert await everything(opened) == await everything(core)
    finally:
        await opened.close()


async def envelopes_of(core: Core, path: str) -> list[dict]:
    """The envelopes that an import of this file journals."""
    lines = [json.loads(line) for line in Path(path).read_text("utf-8").split("\n")[1:] if line]
    common = {"kind": "import", "at": core.clock().isoformat(), "scope": "user", "source": "cli"}
    return [
        {"id": f"import-{number:03}", "args": {"records": [line]}, **common}
        for number, line in enumerate(lines)
    ] * 2


async def test_a_secret_that_somebody_wrote_into_an_export_is_replaced(
    core: Core, other: Core, tmp_path: Path
):
    await fact(core, "The key is SECRET.")
    path = tmp_path / "all"
    await core.exchange.export(str(path), None, quietly)
    path.write_text(path.read_text("utf-8").replace("SECRET", "ghp_" + "a1B2c3D4e5F6" * 3), "utf-8")
    assert (await other.exchange.load(str(path), "cli", quietly)).redacted == 1
    (kept,) = (await everything(other)).values()
    assert "ghp_" not in kept.content
    assert (await other.exchange.load(str(path), "cli", quietly)).same == 1


async def test_an_export_replaces_an_older_one_and_nothing_else(core: Core, tmp_path: Path):
    path = tmp_path / "all"
    for _ in range(2):
        await core.exchange.export(str(path), None, quietly)
    path.write_text("my diary")
    with pytest.raises(InputError, match="is not a Scrubjay export"):
        await core.exchange.export(str(path), None, quietly)
    with pytest.raises(InputError, match="is not a plain file"):
        await core.exchange.export(str(tmp_path), None, quietly)
    assert path.read_text() == "my diary" and not list(tmp_path.glob("*.part"))


async def test_half_a_character_in_an_export_of_others_is_left_out_and_stops_nothing(
    core: Core, other: Core, tmp_path: Path
):
    await filled(core)
    path = tmp_path / "all.jsonl"
    await core.exchange.export(str(path), None, quietly)
    head, *lines = path.read_text().rstrip("\n").split("\n")  # not at the separator in `ODD`
    records = [json.loads(line) for line in lines]
    for record in records:
        prose = {"content", "user", "assistant", "text", "title", "summary", "source", "custom_id"}
        record.update({name: f"{record[name]}\ud83d" for name in prose & record.keys()})
    path.write_text("\n".join([head, *map(json.dumps, records)]) + "\n")
    made = await other.exchange.load(str(path), "test", quietly)
    assert made.added == 7
    await fact(other, "What is written afterwards is found.")
    kept = await everything(other)
    assert len(kept) == 8 and "Which port?" in next(
        row.user for row in kept.values() if isinstance(row, Turn) and row.user
    )
