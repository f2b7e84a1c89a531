"""Export and import: any record survives, any other line is refused, and a second home gets everything once."""

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
ODD = 'tab\t, newline\n, CR\r\n, \u2028, \u0085, "quotes", \\u0000, \x1f, é, 火, 🐦, \u200f, \'--\', {"kind": 1}'

storable = st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",))
prose = st.text(storable, max_size=40) | st.just(ODD)
words = st.text("abcXYZ019_.:-", min_size=1, max_size=12)
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))])
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=zones)
numbers = st.integers(0, 2**53)
finite = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = prose | st.booleans() | finite | st.lists(prose, max_size=3)
metadata = st.dictionaries(prose.filter(str.strip), values, max_size=3)
some_prose, some_moment = st.none() | prose, st.none() | moments
lists = st.lists(prose, max_size=3).map(tuple)
common = dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), moments)
common |= {"scope": words, "source": words, "partition_id": st.just("mem_semantic"), "metadata": metadata}
common |= {"tags": lists, "importance_score": st.floats(0, 10), "access_count": numbers}
common |= {"expires_at": some_moment, "forgotten_at": some_moment, "forget_reason": some_prose}
of_turns = {"id": words.map("turn_".__add__), "session_id": prose, "turn": numbers, "files": lists}
of_turns |= {"user": some_prose, "assistant": some_prose, "started_at": moments, "purged_at": some_moment}
of_facts = {"id": words.map("mem_".__add__), "root_id": words, "version": numbers, "is_latest": st.booleans()}
of_facts |= {"replaced_at": some_moment, "parent_ids": st.lists(words, max_size=2).map(tuple)}
of_facts |= {"relation": st.sampled_from([None, "updates", "extends", "derives"]), "is_static": st.booleans()}
of_documents = {"id": words.map("doc_".__add__), "file_mtime": st.none() | st.integers(-(2**62), 2**62)}
contents = {"content": prose, "content_hash": words}
turns = st.builds(Turn, **common, **of_turns)
memories = st.builds(Memory, **common, **contents, **of_facts)
documents = st.builds(Document, **common, **contents, **of_documents)


def exported(*records: AnyRecord, promised: int | None = None) -> bytes:
    counts = RecordCounts(turns=len(records) if promised is None else promised)
    header = Header(scrubjay="0.1.0", exported_at=NOW, counts=counts)
    return b"".join([first_line(header), *map(line_of, records)])


def read(data: bytes) -> list[AnyRecord]:
    file = io.BytesIO(data)
    header = read_header(file)
    return [record for record, _ in read_records(file, header)]


def a_turn(**values: object) -> Turn:
    given = {"id": "turn_1", "scope": "s", "partition_id": "mem_episodic", "source": "test"}
    given |= {"session_id": "one", "turn": 0, "user": "Hello."}
    times = dict.fromkeys(("created_at", "updated_at", "last_accessed_at", "started_at"), NOW)
    return Turn(**given | times | values)


@given(st.lists(turns | memories | documents, max_size=4))
def test_every_record_survives_a_round_trip(records):
    assert read(exported(*records)) == records


def test_odd_texts_and_byte_order_marks_survive_a_round_trip():
    record = a_turn(user=ODD)
    assert read(b"\xef\xbb\xbf" + exported(record)) == [record]
    assert read(exported(record).rstrip(b"\n")) == [record]
    assert read(exported(record) + b"\n\n") == [record]


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
    with pytest.raises(InputError, match="promises 3 records, and line 2 ends it after 1"):
        read(exported(a_turn(), promised=3))
    with pytest.raises(InputError, match="was altered"):
        read(exported(a_turn(), promised=0))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "passage"}, "kind = 'passage': must be turn, memory or document"),
        ({"colour": "red"}, "'colour' is not an argument here"),
        ({"turn": 10**30}, "turn = .*: must be at most"),
        ({"scope": "a b"}, "scope = 'a b': must be 1 to 100 letters"),
        ({"metadata": {"a": {"b": 1}}}, "must be flat"),
        ({"user": "nul\x00"}, "user contains a NUL character"),
        ({"user": 7}, "user = 7: must be text"),
        ({"id": "mem_1"}, "id = 'mem_1': the id of a turn begins with turn_"),
        ({"started_at": "2026-03-05T12:00:00"}, "must have a time zone"),
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
    sides = {"user": f"Which port? {ODD}", "assistant": "8080, as in proxy.toml."}
    said = await turn(core, "one", **sides, files=["proxy.toml"], prompt_id="p-1")
    await turn(core, "one", text="I would rather take 9090.", role="Ann Example", scope="user")
    metadata = {"turn": 0, "n": 5, "f": 5.0, "l": ["a"]}
    old = await fact(core, "The proxy listens on port 8080.", tags=["proxy"], metadata=metadata)
    new = await fact(core, "The proxy listens on port 8081.", updates=old.id)
    await fact(core, "The proxy was moved because of a clash.", derives=[said.id, new.id])
    gone = await fact(core, "The heron queue is RabbitMQ.")
    await forget(core, gone.id, reason="moved")
    ports = f"# Ports\n\nThe wren service has 7070.\n\n## Odd\n\n{ODD}"
    await document(core, ports, title="Ports", custom_id="ports")
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
    hits = await search(other, "proxy listens port", include_turns=False)
    assert texts(hits)[0] == "The proxy listens on port 8081."
    assert not texts(await search(other, "heron queue RabbitMQ", threshold=0.5))
    assert "7070" in str(texts(await search(other, "wren service", search_mode="hybrid")))


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
    cut_inside = [*lines[:4], lines[4][:30] + b"\n", *lines[5:]]
    for damaged in (b"".join(lines)[:-40], b"".join(lines[:-1]), b"".join(cut_inside)):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"^{path}: .*[Ll]ine [578] .*Nothing was imported"):
            await other.exchange.load(str(path), "cli", quietly)
        assert await everything(other) == {} and not spool.pending(other.home)
    assert not other.exchange.is_running


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


TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


async def test_a_secret_written_into_an_export_is_replaced(core: Core, other: Core, tmp_path: Path):
    await fact(core, "The key of the heron is SECRET.")
    assert (await carried(core, other, tmp_path / "all", "SECRET", TOKEN)).redacted == 1
    (kept,) = (await everything(other)).values()
    assert kept.content == "The key of the heron is [redacted:github-token]."
    assert (await other.exchange.load(str(tmp_path / "all"), "cli", quietly)).same == 1


@pytest.mark.parametrize("new", ["7", "7\\ud83d"], ids=["other words", "half of a character"])
async def test_a_fact_under_the_hash_of_other_words_does_not_count_as_those_words(
    core: Core, other: Core, tmp_path: Path, new: str
):
    said = "The key of the heron is SECRET."
    await fact(core, said)
    assert (await carried(core, other, tmp_path / "all", "SECRET", new)).added == 1
    assert [row.content for row in (await everything(other)).values()] == ["The key of the heron is 7."]
    added = await fact(other, said)
    assert (await everything(other))[added.id].content == said


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
