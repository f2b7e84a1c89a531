"""Files named by others: only regular ones are read, and only up to a limit."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.home.files import (
    last_lines,
    move_aside_nonfile,
    open_log,
    open_regular,
    read_regular,
    read_whole,
)


def test_anything_but_a_regular_file_of_this_user_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "good").write_text("good")
    (tmp_path / "link").symlink_to(tmp_path / "good")
    (tmp_path / "bad_link").symlink_to(tmp_path / "fifo")
    started = time.monotonic()
    refused = ("/dev/zero", "/dev/tty", *(tmp_path / name for name in ("fifo", "bad_link", ".", "gone")))
    for path in refused:
        with pytest.raises(OSError):
            open_regular(str(path))
    assert time.monotonic() - started < 1
    assert read_regular(str(tmp_path / "link"), 3) == b"goo"


def test_a_log_is_opened_whatever_is_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    os.mkfifo(path)
    os.write(open_log(str(path)), b"one\n")
    os.write(open_log(str(path)), b"two\n")
    assert path.read_text() == "one\ntwo\n"
    assert sorted(os.listdir(tmp_path)) == ["engine.log", "engine.log.aside1"]
    elsewhere = tmp_path / "link"
    elsewhere.symlink_to("/dev/full")
    os.write(open_log(str(elsewhere)), b"three\n")
    assert elsewhere.read_text() == "three\n" and not elsewhere.is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file another user's")
def test_another_users_file_is_refused_unless_sharing_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_text("theirs")
    os.chown(path, 12345, -1)
    with pytest.raises(PermissionError, match="another user"):
        read_regular(str(path), 10)
    assert read_regular(str(path), 10, own=False) == b"theirs"


@given(
    st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=9),
    st.booleans(),
    st.integers(1, 60),
    st.integers(1, 12),
)
def test_the_last_whole_lines_are_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool, limit: int, longest: int
) -> None:
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(content)
    tail = content[-limit:]
    *whole, rest = (tail if len(content) <= limit else tail.partition(b"\n")[2]).split(b"\n")
    wanted = [line + b"\n" for line in whole] + [rest] * bool(rest)
    assert list(last_lines(str(path), limit, longest)) == [
        line if len(line) <= longest else line[:longest] + b"\n" for line in wanted
    ]


def test_a_file_without_lines_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "hole"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert list(last_lines(str(path), 4_000_000, 1_000_000)) == []


def test_an_oversized_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "scopes.json"
    path.touch()
    os.truncate(path, 30 << 30)  # which takes no disk space
    with pytest.raises(ValueError, match="more than 67,108,864 bytes"):
        read_whole(str(path))


def test_a_link_that_leads_to_itself_is_removed(tmp_path: Path) -> None:
    loop = tmp_path / "partitions.json"
    loop.symlink_to(loop)
    assert move_aside_nonfile(str(loop)) and not os.listdir(tmp_path)


def test_moving_a_damaged_table_away_keeps_earlier_ones(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "place").mkdir()
        assert move_aside_nonfile(str(tmp_path / "place"))
    assert sorted(os.listdir(tmp_path)) == ["place.aside1", "place.aside2"]
