"""The lines of an export: every record survives them, and everything that is no record is refused in a
sentence with its line.
"""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import InputError
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.records.exchange import Header, RecordCounts, first_line, line_of, read_header, read_records

NOW = datetime(2026, 3, 5, 12, 0, 0, 123456, tzinfo=UTC)
ODD = (
    'tab\t, newline\n, CR\r\n, \u2028, \u0085, "quotes", \\u0000, \x1f, é, 火, 🐦, \u200f, \'--\', {"kind": '
    '"turn"}'
)

texts = st.text(
    st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), max_size=40
) | st.just(ODD)
words = st.text("abcXYZ019_.:-", min_size=1, max_size=12)
moments = st.datetimes(
    datetime(1900, 1, 1),
    datetime(2200, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)
maybe = {name: st.none() | texts for name in ("forget_reason",)}
numbers = st.integers(0, 2**53)
metadata = st.dictionaries(
    texts.filter(str.strip),
    texts
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(texts, max_size=3),
    max_size=3,
)
common = {
    "scope": words,
    "partition_id": st.just("mem_semantic"),
    "tags": st.lists(texts, max_size=3).map(tuple),
    "importance_score": st.floats(0, 10),
    "source": words,
    "metadata": metadata,
    "created_at": moments,
    "updated_at": moments,
    "last_accessed_at": moments,
    "access_count": numbers,
    "expires_at": st.none() | moments,
    "forgotten_at": st.none() | moments,
    "forget_reason": st.none() | texts,
}
turns = st.builds(
    Turn,
    id=words.map("turn_".__add__),
    session_id=texts,
    turn=numbers,
    user=st.none() | texts,
    assistant=st.none() | texts,
    files=st.lists(texts, max_size=3).map(tuple),
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
    content=texts,
    content_hash=words,
    is_static=st.booleans(),
    **common,
)
documents = st.builds(
    Document,
    id=words.map("doc_".__add__),
    content=texts,
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
    return [line.record for line in read_records(file, header)]


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
def test_every_record_survives_its_line(records):
    assert read(exported(*records)) == records


@given(turns | memories | documents)
def test_a_record_is_one_line(record):
    assert line_of(record).count(b"\n") == 1


def test_odd_texts_and_byte_order_marks_survive():
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


@pytest.mark.parametrize(
    "head", [b"", b"{}\n", b"hello\n", b"\x00\xff\n", b"[1]\n", b'{"format": "other"}\n', b"[" * 100_000]
)
def test_what_is_no_export_is_refused(head):
    with pytest.raises(InputError, match="no export of Scrubjay"):
        read(head)


def test_an_export_of_a_newer_format_is_refused_with_the_version_that_wrote_it():
    with pytest.raises(InputError, match=r"newer Scrubjay \(9\.0, format 2; this one reads format 1\)"):
        read(b'{"format": "scrubjay-export", "version": 2, "scrubjay": "9.0"}\n')


def test_a_damaged_header_names_its_field():
    with pytest.raises(InputError, match="first line of the export is damaged: counts is missing"):
        read(b'{"format": "scrubjay-export", "version": 1, "scrubjay": "1", "exported_at": "2026-01-01"}\n')


@pytest.mark.parametrize("cut", range(1, len(line_of(a_turn())) - 1, 7))
def test_a_line_that_was_cut_off_anywhere_is_named(cut):
    whole = exported(a_turn(id="turn_0"), a_turn())
    with pytest.raises(InputError, match="Line 3 is cut off or damaged"):
        read(whole[: len(whole) - len(line_of(a_turn())) + cut])


def test_a_file_that_was_cut_off_between_two_lines_is_noticed():
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
        ({"id": "mem_1"}, "id = 'mem_1': that of a turn begins with turn_"),
        ({"started_at": "2026-03-05T12:00:00"}, "must say its time zone"),
        ({"created_at": "soon"}, "created_at = 'soon'"),
    ],
)
def test_what_no_record_may_hold_is_refused_with_its_line_and_field(change, says):
    line = json.dumps(json.loads(line_of(a_turn())) | change).encode()
    with pytest.raises(InputError, match=f"(?s)Line 2 holds no record that can be kept: .*{says}"):
        read(exported(promised=1) + line + b"\n")


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_sentence(data):
    with pytest.raises(InputError):
        read(exported(promised=1) + b"x" + data)
