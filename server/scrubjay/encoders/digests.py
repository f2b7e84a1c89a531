"""SHA-256 of large files, remembered by size and modification time so that a start does not read 90 MB again.
Knows files and one small cache; does not know which digest is the right one."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path

log = logging.getLogger("scrubjay.encoders")


def sha256(file: Path, verdicts: Path) -> str:
    """The SHA-256 of `file` in hex, from the cache at `verdicts` while size and mtime_ns are those of the last reading.

    Raises:
        OSError: `file` is missing or cannot be read.
    """
    path, facts = str(file.resolve()), file.stat()
    known = _read(verdicts)
    seen = {"size": facts.st_size, "mtime_ns": facts.st_mtime_ns}
    entry = known.get(path)
    if isinstance(entry, dict) and entry.items() >= seen.items():
        return entry["sha256"]
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    _write(verdicts, {**known, path: {**seen, "sha256": digest}})
    return digest


def combined(parts: dict[str, str]) -> str:
    """One SHA-256 over named digests, independent of their order."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _read(verdicts: Path) -> dict[str, dict]:
    """What the cache holds; nothing when it is missing or damaged, for then the files are read again."""
    try:
        known = json.loads(verdicts.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(verdicts: Path, known: dict[str, dict]) -> None:
    draft = verdicts.with_name(f"{verdicts.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(json.dumps(known, indent=1), "utf-8")
        draft.replace(verdicts)
    except OSError as error:
        # The digest is known all the same; only the next start will have to read the file again.
        log.warning("The digests of model files could not be kept in %s: %s", verdicts, error)
