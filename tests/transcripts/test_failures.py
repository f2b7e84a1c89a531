"""What the output of a failed command says, and when two errors are the same one."""

from __future__ import annotations

import time

import pytest

from scrubjay.transcripts.failures import error_line, failure_of, names_error, shape


@pytest.mark.parametrize(
    ("output", "is_error", "failure"),
    [
        ("Exit code 2\nno rule", True, "exit 2: no rule"),
        ("all good", False, None),
        ('{"output": "boom: not found", "metadata": {"exit_code": 127}}', None, "exit 127: boom: not found"),
        ('{"output": "fine", "metadata": {"exit_code": 0}}', None, None),
        ("Chunk ID: 7f\nProcess exited with code 1\nOutput:\nfatal: not a repository", None, "exit 1: fatal: not a repository"),
        ("Command: make\nOutput: gcc: error: a.c\nError: (none)\nExit Code: 2", None, "exit 2: gcc: error: a.c"),
        ("Exit Code: 0\nno error", None, None),
        ("", True, ""),
    ],
)  # fmt: skip
def test_each_hosts_results_tell_the_failure(output: str, is_error: bool | None, failure: str | None) -> None:
    assert failure_of(output, is_error) == failure


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Traceback (most recent call last):\n  File 'a'\nKeyError: 'a'\n\nTraceback (most recent call last):\nOSError: b", "OSError: b"),
        ("compiling\nerror[E0382]: borrow of moved value: `x`\nerror: aborting", "error[E0382]: borrow of moved value: `x`"),
        ("FAIL a\nE   AssertionError: assert 3 == 4\n1 failed", "AssertionError: assert 3 == 4"),
        ("npm ERR! code ERESOLVE\nnpm ERR! could not resolve", "code ERESOLVE"),
        ("working\ncannot stat 'x'", "cannot stat 'x'"),
        ("only this", "only this"),
    ],
)  # fmt: skip
def test_the_line_of_an_error_is_found(output: str, line: str) -> None:
    assert error_line(output) == line


def test_an_error_has_one_shape_wherever_and_whenever_it_happens() -> None:
    for one, other in [
        ("open /srv/a.txt: no such file", "open /home/u/b.txt: no such file."),
        ("src/a.ts(12,3): error TS2304: Cannot find name 'foo'.", "src/lib/b.ts(1,1): error TS2304: Cannot find name 'foo'"),
        ("connect 10.0.0.7:5432 failed after 31 ms", "connect 10.1.0.9:5433 failed after 1200 ms"),
        ("panicked at 0x7ffe12 in 9f8e7d6c5b", "panicked at 0x10 in 0a1b2c3d4e"),
    ]:  # fmt: skip
        assert shape(one).strict == shape(other).strict
    named, other = shape("No module named 'redis'"), shape("No module named 'yaml'")
    assert named.strict != other.strict and named.loose == other.loose and named.details == {"redis"}


@pytest.mark.parametrize("piece", ["a/", "a.", "'", "[1] ", "Aa", "E  ", "1:", "error"])
def test_reading_an_output_takes_linear_time(piece: str) -> None:
    began = time.perf_counter()
    text = piece * 200_000
    for each in (text, f"Exit code 1\n{text}", "\n".join([piece * 50] * 10_000)):
        shape(error_line(each))
        failure_of(each, True)
    names_error(text[:2_000])
    assert time.perf_counter() - began < 5
