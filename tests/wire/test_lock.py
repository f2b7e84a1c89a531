"""The lock on a home: one holder, released with its process. Real files and real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from scrubjay.errors import EngineError, HomeError
from scrubjay.wire.cores import Cores
from scrubjay.wire.lock import FileLock, check_filesystem, is_held, take


def test_a_lock_excludes_until_it_is_released(home):
    first, second = FileLock(home.engine_lock), FileLock(home.engine_lock)
    assert not is_held(home.engine_lock)
    assert first.acquire() and first.is_held and is_held(home.engine_lock)
    assert not second.acquire()
    first.release()
    assert not first.is_held and second.acquire()
    second.release()


def test_a_lock_is_released_when_its_process_ends(home):
    code = (
        f"from scrubjay.wire.lock import take; import sys; take({home.engine_lock!r}); print('held', "
        "flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(EngineError, match="Another engine already serves this home"):
            take(home.engine_lock, wait_seconds=0)
        holder.kill()
    take(home.engine_lock).release()


def test_a_lock_on_a_deleted_file_is_not_held(home):
    lock = take(home.engine_lock)
    os.unlink(home.engine_lock)
    assert not lock.is_held
    lock.release()


def test_the_probe_of_a_filesystem_leaves_nothing_behind(home):
    before = sorted(os.listdir(home.root))
    check_filesystem(home.root)
    assert sorted(os.listdir(home.root)) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a filesystem that takes no files")
def test_a_filesystem_that_cannot_create_files_is_refused():
    with pytest.raises(HomeError, match="cannot be opened"):
        check_filesystem("/proc/self")


def test_a_core_is_held_by_one_thread_at_a_time(tmp_path):
    cores, order = Cores(str(tmp_path), 1), []

    def work(name: str) -> None:
        with cores.one():
            order.append((name, FileLock(str(tmp_path / "core-0.lock")).acquire()))

    with cores.one():
        waiting = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in waiting:
            thread.start()
        assert order == []
    for thread in waiting:
        thread.join(10)
    assert sorted(order) == [("a", False), ("b", False)]


def test_an_engine_suspended_while_holding_a_core_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("scrubjay.wire.cores.PATIENCE", 0.05)
    with Cores(str(tmp_path), 1).one(), Cores(str(tmp_path), 1).one():
        pass


def test_engines_that_cannot_lock_work_without_a_core(tmp_path):
    with Cores(str(tmp_path / "removed"), 1).one():
        pass
