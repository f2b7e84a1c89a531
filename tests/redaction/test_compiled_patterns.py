"""Patterns that one process compiles and another loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from claude_code_host import Host
from patterns import patterns as every_pattern

from scrubjay.redaction import patterns

pytestmark = pytest.mark.long

PACKAGE = Path(patterns.__file__).parent.parent.parent
TEXT = "The API token of the gateway is in the vault; its password is Tr0ub4dor&3-harbour, and the key 5f3a."


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def _in_another_process(code: str, given: bytes) -> bytes:
    """The output of a Python process with `patterns`, and with `given` on its standard input."""
    begin = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); from scrubjay.redaction import patterns; import re\n"
    command = [sys.executable, "-I", "-S", "-c", begin + code]
    return subprocess.run(command, input=given, capture_output=True, check=True, timeout=60).stdout


@pytest.fixture(scope="module")
def sources() -> list[str]:
    return sorted(
        {each.compiled.pattern for each in every_pattern() if isinstance(each.compiled.pattern, str)}
    )


@pytest.fixture(scope="module")
def dump(sources: list[str]) -> bytes:
    code = (
        "import json; sources = json.loads(sys.stdin.buffer.read())\n"
        "for each in sources: patterns.pattern(each)\n"
        "sys.stdout.buffer.write(patterns.dump())"
    )
    return _in_another_process(code, json.dumps(sources).encode())


def test_every_loaded_pattern_equals_the_compiled_one(sources: list[str], dump: bytes) -> None:
    code = (
        "data = sys.stdin.buffer.read(); size = int(data[:9]); patterns.load(data[9 : 9 + size])\n"
        "import json; sources = json.loads(data[9 + size :])\n"
        "for each in sources:\n"
        "    assert each in patterns._codes\n"
        "    known, made = patterns.pattern(each), re.compile(each)\n"
        "    assert known == made, each\n"  # compares their numbers and flags
        "    assert (known.groups, known.groupindex) == (made.groups, made.groupindex), each\n"
        "print(len(sources))"
    )
    given = f"{len(dump):9}".encode() + dump + json.dumps(sources).encode()
    assert int(_in_another_process(code, given)) == len(sources) > 300
    assert len(dump) < patterns.MAX_DUMP


def test_a_dump_that_is_damaged_or_of_another_version_is_ignored(dump: bytes) -> None:
    code = (
        "data = sys.stdin.buffer.read()\n"
        "body = data.index(b'\\n') + 1\n"
        "for place in (0, 8, body - 2, body, body + 100, len(data) // 2, len(data) - 1):\n"
        "    patterns.load(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])\n"
        "    patterns.load(data[:place])\n"
        "    assert not patterns.count(), place\n"
        "patterns.load(data); print(patterns.count())"
    )
    assert int(_in_another_process(code, dump)) > 300


def test_a_hook_loads_the_patterns_compiled_by_an_earlier_one(host: Host) -> None:
    kept = Path(host.home.patterns)
    host.prompt(TEXT, prompt_id="p1")
    first = kept.read_bytes()
    assert len(first) > 1_000
    before = kept.stat()
    host.prompt(TEXT, prompt_id="p2")
    assert kept.stat().st_mtime_ns == before.st_mtime_ns, "nothing was compiled, so nothing was written"
    assert b"harbour" not in first, "it holds patterns alone"


@pytest.mark.parametrize("found", ["damaged", "empty", "folder", "fifo"])
def test_a_hook_redacts_whatever_is_in_place_of_its_pattern_file(host: Host, found: str) -> None:
    host.prompt(TEXT, prompt_id="p1")
    kept = Path(host.home.patterns)
    data = kept.read_bytes()
    kept.unlink()
    if found == "folder":
        kept.mkdir()
    elif found == "fifo":
        os.mkfifo(kept)
    else:
        kept.write_bytes(data[: len(data) // 2] if found == "damaged" else b"")
    host.prompt(TEXT, prompt_id="p2")
    host.stop("Noted.", prompt_id="p2")
    (envelope,) = host.envelopes()
    assert "Tr0ub4dor" not in str(envelope.args) and envelope.redacted
    if found != "folder":
        assert patterns.MAX_DUMP > kept.stat().st_size > 1_000, "the next hook has it again"
