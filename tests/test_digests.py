"""Digests of weights, read again only when they may have changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from scrubjay.encoders.digests import sha256


def test_a_digest_is_read_again_only_when_size_or_time_of_the_file_changed(tmp_path: Path) -> None:
    file, verdicts = tmp_path / "weights", tmp_path / "models.json"
    file.write_bytes(b"one")
    first, facts = sha256(file, verdicts), file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert sha256(file, verdicts) == first
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    assert sha256(file, verdicts) == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize("damaged", ["", "[]", '{"x', '{"x": 3}'])
def test_a_damaged_cache_of_digests_only_costs_another_reading(tmp_path: Path, damaged: str) -> None:
    file, verdicts = tmp_path / "weights", tmp_path / "models.json"
    file.write_bytes(b"one")
    verdicts.write_text(damaged.replace("x", str(file)))
    assert sha256(file, verdicts) == hashlib.sha256(b"one").hexdigest()


def test_digests_that_cannot_be_kept_are_given_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    assert sha256(file, tmp_path / "no-such-folder" / "models.json") == hashlib.sha256(b"one").hexdigest()
