"""The engine's process: its own setup before anything heavy is imported."""

import os
import platform
import subprocess
import sys

import pytest

_ARENAS = """
import ctypes, os, sys, threading
import scrubjay.cli.engine, scrubjay.http_api.options, scrubjay.http_api.tokens
from scrubjay.cli.serve import stay_small
before = {"numpy", "pyarrow", "lancedb"} & set(sys.modules)
stay_small()
import pyarrow
libc, each, all_there = ctypes.CDLL(None), threading.Barrier(9), threading.Barrier(9)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
def take():
    libc.malloc(1000); all_there.wait(); each.wait()
for _ in range(8):
    threading.Thread(target=take).start()
all_there.wait()
libc.fdopen.restype, libc.malloc_info.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]
file = libc.fdopen(os.dup(2), b"w"); libc.malloc_info(0, file); libc.fflush(ctypes.c_void_p(file)); each.wait()
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(16 << 20))  # after which glibc by default takes blocks of so many bytes from its heap
mapped = ctypes.c_size_t.from_address(libc.malloc(8 << 20) - 8).value & 2  # a flag next to a block's size
print("mapped" if mapped else "heap")
print(*before, pyarrow.default_memory_pool().backend_name, os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"])
"""


@pytest.mark.skipif(sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="asks glibc")
def test_an_engine_keeps_its_memory_small_however_it_was_started():
    """Only an engine started by a client did: with the settings of either in a script, 20,000 chunks peaked
    at 836 MB instead of 369.
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "ARROW_", "OPENBLAS_", "OMP_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", _ARENAS], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["mapped", "system", "1", "1"]
    assert done.stderr.count("<heap ") == 2
