"""Export and import: every record survives a round trip, any other line is refused with its number, and a
second home gets everything once, despite interruptions.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import document, embedded, fact, forget, opened, search, texts, turn

from scrubjay.engine.background.upkeep import Bounds
from scrubjay.engine.core import Core
from scrubjay.engine.verbs.exchange import PAGE_RECORDS
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.home.paths import open_home
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.records.exchange import (
    Header,
    Imported,
    RecordCounts,
    first_line,
    line_of,
    read_header,
    read_records,
)

pytestmark = pytest.mark.long

NOW = datetime(2026, 3, 5, 12, 0, 0, 123456, tzinfo=UTC)
ODD = (
    'tab\t, newline\n, CR\r\n, \u2028, \u0085, "quotes", \\u0000, \x1f, é, 火, 🐦, \u200f, \'--\', {"kind": '
    '"turn"}'
)

prose = st.text(
    st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), max_size=40
) | st.just(ODD)
words = st.text("abcXYZ019_.:-", min_size=1, max_size=12)
moments = st.datetimes(
    datetime(1900, 1, 1),
    datetime(2200, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)
numbers = st.integers(0, 2**53)
metadata = st.dictionaries(
    prose.filter(str.strip),
    prose
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(prose, max_size=3),
    max_size=3,
)
common = {
    "scope": words,
    "partition_id": st.just("mem_semantic"),
    "tags": st.lists(prose, max_size=3).map(tuple),
    "importance_score": st.floats(0, 10),
    "source": words,
    "metadata": metadata,
    "created_at": moments,
    "updated_at": moments,
    "last_accessed_at": moments,
    "access_count": numbers,
    "expires_at": st.none() | moments,
    "forgotten_at": st.none() | moments,
    "forget_reason": st.none() | prose,
}
turns = st.builds(
    Turn,
    id=words.map("turn_".__add__),
    session_id=prose,
    turn=numbers,
    user=st.none() | prose,
    assistant=st.none() | prose,
    files=st.lists(prose, max_size=3).map(tuple),
    started_at=moments,
    purged_at=st.none() | moments,
    **common,
)
memories = st.builds(
    Memory,
    id=words.map("mem_".__add__),
    root_id=words,
    version=numbers,
    is_latest=st.booleans(),
    replaced_at=st.none() | moments,
    relation=st.sampled_from([None, "updates", "extends", "derives"]),
    parent_ids=st.lists(words, max_size=2).map(tuple),
    content=prose,
    content_hash=words,
    is_static=st.booleans(),
    **common,
)
documents = st.builds(
    Document,
    id=words.map("doc_".__add__),
    content=prose,
    content_hash=words,
    file_mtime=st.none() | st.integers(-(2**62), 2**62),
    **common,
)


def exported(*records: AnyRecord, promised: int | None = None) -> bytes:
    header = Header(
        scrubjay="0.1.0",
        exported_at=NOW,
        counts=RecordCounts(turns=len(records) if promised is None else promised),
    )
    return first_line(header) + b"".join(map(line_of, records))


def read(data: bytes) -> list[AnyRecord]:
    file = io.BytesIO(data)
    header = read_header(file)
    return [record for record, _ in read_records(file, header)]


def a_turn(**values: object) -> Turn:
    given = {
        "id": "turn_1",
        "scope": "s",
        "partition_id": "mem_episodic",
        "source": "test",
        "session_id": "one",
        "turn": 0,
        "user": "Hello.",
    }
    return Turn(
        **given | dict.fromkeys(("created_at", "updated_at", "last_accessed_at", "started_at"), NOW) | values
    )


@given(st.lists(turns | memories | documents, max_size=4))
def test_every_record_survives_a_round_trip(records):
    assert read(exported(*records)) == records


def test_odd_texts_and_byte_order_marks_survive_a_round_trip():
    record = a_turn(user=ODD)
    assert read(b"\xef\xbb\xbf" + exported(record)) == [record]
    assert read(exported(record).rstrip(b"\n")) == [record]
    assert read(exported(record) + b"\n\n") == [record]


def test_a_field_without_a_value_is_left_out_and_the_kind_comes_first():
    line = json.loads(line_of(a_turn()))
    assert (
        next(iter(line)) == "kind"
        and "assistant" not in line
        and line["started_at"] == "2026-03-05T12:00:00.123456Z"
    )


HEADER = b'{"format": "scrubjay-export", "version": %d, "scrubjay": "9.0", "exported_at": "2026-01-01"}\n'
OTHERS = b"", b"{}\n", b"hello\n", b"\x00\xff\n", b"[1]\n", b'{"format": "other"}\n', b"[" * 100_000


@pytest.mark.parametrize(
    ("head", "why"),
    [
        *((other, "not a Scrubjay export") for other in OTHERS),
        (HEADER % 2, r"newer Scrubjay \(9\.0, format 2; this one reads format 1\)"),
        (HEADER % 1, "first line of the export is damaged: counts is missing"),
    ],
)
def test_a_file_that_is_not_an_export_of_this_format_is_refused_with_the_reason(head, why):
    with pytest.raises(InputError, match=why):
        read(head)


@pytest.mark.parametrize("cut", range(1, len(line_of(a_turn())) - 1, 7))
def test_a_line_truncated_anywhere_is_named(cut):
    whole = exported(a_turn(id="turn_0"), a_turn())
    with pytest.raises(InputError, match="Line 3 is cut off or damaged"):
        read(whole[: len(whole) - len(line_of(a_turn())) + cut])


def test_a_file_truncated_between_two_lines_is_detected():
    with pytest.raises(
        InputError, match="was cut off: its first line promises 3 records, and line 2 ends it after 1"
    ):
        read(exported(a_turn(), promised=3))
    with pytest.raises(InputError, match="was altered"):
        read(exported(a_turn(), promised=0))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "passage"}, "kind = 'passage': must be turn, memory or document"),
        ({"kind": ["turn"]}, "must be turn, memory or document"),
        ({"colour": "red"}, "'colour' is not an argument here"),
        ({"turn": 10**30}, "turn = .*: must be at most"),
        ({"turn": -1}, "turn = -1: must be at least 0"),
        ({"importance_score": 11}, "importance_score = 11: must be at most 10"),
        ({"scope": "a b"}, "scope = 'a b': must be 1 to 100 letters"),
        ({"metadata": {"a": {"b": 1}}}, "must be flat"),
        ({"user": "nul\x00"}, "user contains a NUL character"),
        ({"user": 7}, "user = 7: must be text"),
        ({"id": "mem_1"}, "id = 'mem_1': the id of a turn begins with turn_"),
        ({"started_at": "2026-03-05T12:00:00"}, "must have a time zone"),
        ({"created_at": "soon"}, "created_at = 'soon'"),
        ({"created_at": "9999-12-31T23:59:59-12:00"}, "must be between the years 2 and 9998"),
    ],
)
def test_an_invalid_field_is_refused_with_its_line_and_name(change, says):
    line = json.dumps(json.loads(line_of(a_turn())) | change).encode()
    with pytest.raises(InputError, match=f"(?s)Line 2 is not a valid record: .*{says}"):
        read(exported(promised=1) + line + b"\n")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_raise_an_input_error(data):
    with pytest.raises(InputError):
        read(exported(promised=1) + b"x" + data)


def quietly(done: int, total: int, what: str) -> None:
    """Report nothing."""


@pytest.fixture
async def other(tmp_path: Path, clock: Callable[[], datetime]) -> AsyncIterator[Core]:
    """The engine of a second home."""
    core = await opened(open_home(str(tmp_path / "other")), clock)
    yield core
    await core.close()


async def carried(core: Core, other: Core, path: Path, old: str, new: str) -> Imported:
    """Import an export of the core into another home, after a text in it was replaced."""
    await core.exchange.export(str(path), None, quietly)
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    return await other.exchange.load(str(path), "cli", quietly)


async def everything(core: Core) -> dict[str, AnyRecord]:
    await core.writer.settle()
    return {row.id: row for kind in (Turn, Memory, Document) for row in await core.store.select(kind, "true")}


async def filled(core: Core) -> None:
    """Turns, versions, links, forgotten records, and a document; one of them was recalled."""
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


async def test_another_home_gets_every_record_unchanged_and_finds_it(core: Core, other: Core, tmp_path: Path):
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


async def test_importing_again_adds_nothing_even_after_a_recall(core: Core, tmp_path: Path):
    await filled(core)
    path = str(tmp_path / "all")
    await core.exchange.export(path, None, quietly)
    await search(core, "proxy port")
    await core.access.flush()
    done = await core.exchange.load(path, "cli", quietly)
    assert (done.added, done.same, done.different) == (0, 7, 0)


async def test_a_version_replaced_in_the_other_home_is_replaced_here_too(
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


async def test_a_record_with_different_contents_is_named_and_left_unchanged(core: Core, tmp_path: Path):
    kept = await fact(core, "The finch build uses Clang 19.")
    path = str(tmp_path / "all")
    await core.exchange.export(path, None, quietly)
    await forget(core, kept.id)
    before = await everything(core)
    done = await core.exchange.load(path, "cli", quietly)
    assert (done.added, done.same, done.different) == (0, 0, 1)
    assert done.differing == (kept.id,)
    assert await everything(core) == before


async def test_an_export_keeps_its_snapshot_during_writes_and_compaction(core: Core, tmp_path: Path):
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
        await core.upkeep.tidy(Bounds(0, 0))

    made, _ = await asyncio.gather(core.exchange.export(str(tmp_path / "all"), None, report), disturb())
    lines = (tmp_path / "all").read_bytes().splitlines()
    assert made.turns == len(before) == len(lines) - 1 and made.memories == 0
    assert core.upkeep.failures == 0 and core.store.readers == 0


async def test_a_damaged_line_changes_nothing(core: Core, other: Core, tmp_path: Path):
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


async def test_a_fact_under_the_hash_of_other_words_does_not_count_as_those_words(
    core: Core, other: Core, tmp_path: Path
):
    said = "The finch build uses Clang 19."
    await fact(core, said)
    await carried(core, other, tmp_path / "all", said, "Nothing of interest.")
    added = await fact(other, said)
    assert (await everything(other))[added.id].content == said


async def test_an_interrupted_import_is_completed_by_repeating_it(core: Core, other: Core, tmp_path: Path):
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


async def test_a_secret_written_into_an_export_is_replaced(core: Core, other: Core, tmp_path: Path):
    await fact(core, "The key is SECRET.")
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    assert (await carried(core, other, tmp_path / "all", "SECRET", token)).redacted == 1
    (kept,) = (await everything(other)).values()
    assert "ghp_" not in kept.content
    assert (await other.exchange.load(str(tmp_path / "all"), "cli", quietly)).same == 1


async def test_an_export_overwrites_an_older_export_and_no_other_file(core: Core, tmp_path: Path):
    path = tmp_path / "all"
    for _ in range(2):
        await core.exchange.export(str(path), None, quietly)
    path.write_text("my diary")
    with pytest.raises(InputError, match="is not a Scrubjay export"):
        await core.exchange.export(str(path), None, quietly)
    with pytest.raises(InputError, match="it is not a regular file"):
        await core.exchange.export(str(tmp_path), None, quietly)
    assert path.read_text() == "my diary" and not list(tmp_path.glob("*.part"))


async def test_a_lone_surrogate_in_an_export_is_left_out_and_stops_nothing(
    core: Core, other: Core, tmp_path: Path
):
    await fact(core, "The heron fishes.")
    assert (await carried(core, other, tmp_path / "all", "fishes.", "fishes.\\ud83d")).added == 1
    await fact(other, "What is written afterwards is found.")
    assert len(await everything(other)) == 2
