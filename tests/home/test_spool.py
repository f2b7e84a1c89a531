"""The spool: complete files in order, owner-only, and nothing lost by an accident."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.errors import HomeError, SpoolError
from scrubjay.home import spool
from scrubjay.home.paths import Home

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def test_an_envelope_survives_a_round_trip_and_is_private(home: Home) -> None:
    path = spool.write(home, {"id": "abcdefgh", "args": {"user": "naïve café \U0001f426"}}, 7)
    assert os.path.basename(path) == "00000000000000000007-abcdefgh.json"
    assert spool.read(path) == {"id": "abcdefgh", "args": {"user": "naïve café \U0001f426"}}
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(home.spool_tmp) == []


@settings(max_examples=30)
@given(args=st.dictionaries(st.text(), JSON))
def test_any_json_survives_a_round_trip(home: Home, args: dict) -> None:
    envelope = {"id": "roundtrip", "args": args}
    assert spool.read(spool.write(home, envelope)) == envelope


def test_envelopes_are_listed_in_the_order_of_writing(home: Home) -> None:
    assert spool.pending(home) == []
    late, early, middle = (spool.write(home, {"id": f"envelope{at}"}, at) for at in (10**19, 9, 10**18))
    assert spool.pending(home) == [early, middle, late]
    spool.remove([early, late])
    spool.remove([early])  # already deleted
    assert spool.pending(home) == [middle]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000])
def test_a_broken_envelope_is_reported_and_moved_away_with_its_reason(home: Home, content: bytes) -> None:
    path = Path(home.spool_new, "00000000000000000001-broken00.json")
    path.write_bytes(content)
    with pytest.raises(SpoolError, match="broken00") as told:
        spool.read(str(path))
    aside = spool.move_to_broken(home, str(path), str(told.value))
    assert spool.pending(home) == []
    assert spool.json_files(home.spool_broken) == [aside]
    assert Path(aside).read_bytes() == content
    assert Path(aside + ".reason").read_text() == f"{told.value}\n"
    assert stat.S_IMODE(os.stat(aside + ".reason").st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_an_envelope_that_is_a_fifo_blocks_nothing(home: Home) -> None:
    path = os.path.join(home.spool_new, "00000000000000000001-fifo0000.json")
    os.mkfifo(path)
    with pytest.raises(SpoolError, match="is not a file"):
        spool.read(path)
    spool.move_to_broken(home, path, "it is no file")
    assert spool.pending(home) == []


def test_an_envelope_that_the_disk_cannot_read_does_not_count_as_broken(home: Home) -> None:
    with pytest.raises(HomeError, match="cannot be read"):
        spool.read(os.path.join(home.spool_new, "gone.json"))


def test_an_unwritable_spool_is_explained_and_left_clean(home: Home) -> None:
    os.rmdir(home.spool_new)
    Path(home.spool_new).write_text("a file where the folder should be")
    with pytest.raises(HomeError, match="cannot be written"):
        spool.write(home, {"id": "abcdefgh"})
    assert os.listdir(home.spool_tmp) == []


def test_a_moved_home_is_named_and_not_started_empty(home: Home) -> None:
    os.rename(home.root, f"{home.root}.moved")
    with pytest.raises(HomeError, match="is gone: it was moved or deleted"):
        spool.write(home, {"id": "e1"})
    assert not os.path.exists(home.root)


def test_only_old_drafts_of_dead_writers_are_swept(home: Home) -> None:
    old, fresh = Path(home.spool_tmp, "old"), Path(home.spool_tmp, "fresh")
    for path, age in ((old, spool.STALE_S + 1), (fresh, 60)):
        path.write_text("half an enve")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert spool.sweep(home, 1_000_000.0) == 1
    assert [entry.name for entry in os.scandir(home.spool_tmp)] == ["fresh"]


def test_the_draft_of_a_dead_process_is_swept_and_that_of_a_running_one_stays(home: Home) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for pid in (gone.pid, os.getppid(), os.getpid()):
        Path(home.spool_tmp, f"{pid}-0a1b").write_text("half an enve")
    assert spool.sweep(home, 0.0) == 1
    assert sorted(os.listdir(home.spool_tmp)) == sorted(f"{pid}-0a1b" for pid in (os.getppid(), os.getpid()))
    assert spool.sweep(home, 0.0, own=True) == 1  # another process had our pid before
    assert os.listdir(home.spool_tmp) == [f"{os.getppid()}-0a1b"]


def test_a_writer_whose_draft_is_swept_writes_it_again(home: Home) -> None:
    def sweep_one() -> None:
        while not (names := os.listdir(home.spool_tmp)):
            pass
        spool.remove([os.path.join(home.spool_tmp, names[0])])

    sweeper = threading.Thread(target=sweep_one)
    sweeper.start()
    path = os.path.join(home.root, "file")
    while sweeper.is_alive():
        spool.durable_write(home, path, b"whole")
        assert Path(path).read_bytes() == b"whole"


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"kind": "import", "args": {"records": [{"content": "The key is four\nseven one one."}]}}),
        json.dumps({"kind": "memory", "args": {"content": "The key is four\nseven one one."}})[:-12],
        '{"kind": "memory", "args": {"content": "The key is four\\nseven o',
    ],
)
def test_rejected_envelopes_are_erased_whatever_their_kind_even_if_truncated(
    home: Home, content: str
) -> None:
    Path(home.spool_broken, "1-x.json").write_text(content)
    Path(home.spool_broken, "2-y.json").write_text('{"args": {"content": "The key is another"')
    assert spool.erase(home, ["The key is four\nseven one one."]) == 1
    assert os.listdir(home.spool_broken) == ["2-y.json"]


def test_requests_to_reconcile_are_separate_from_envelopes(home: Home) -> None:
    assert spool.json_files(home.reconcile) == []
    path = spool.write_request(home, {"event": "session_start"}, "0123456789")
    assert spool.json_files(home.reconcile) == [path]
    assert spool.read(path) == {"event": "session_start"}
    assert spool.pending(home) == []


def test_a_link_to_itself_in_the_spool_is_foreign_and_does_not_hide_the_files(home: Home) -> None:
    path = spool.write(home, {"id": "1"})
    loop = os.path.join(home.spool_new, "1-x.json")
    os.symlink(loop, loop)
    assert spool.pending(home) == [path] and spool.nonfiles(home) == [loop]


def test_a_folder_among_the_drafts_is_left_alone(home: Home) -> None:
    os.mkdir(os.path.join(home.spool_tmp, "999998-y"))
    assert spool.sweep(home, time.time()) == 0


def test_an_oversized_envelope_is_reported_and_not_read(home: Home, monkeypatch) -> None:
    monkeypatch.setattr(spool, "LONGEST", 1_000)
    path = spool.write(home, {"id": "1", "text": "x" * 2_000})
    with pytest.raises(SpoolError, match="it is moved"):
        spool.read(path)
