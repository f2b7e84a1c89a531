"""SHA-256 of large files, read again only when a file's size or time has changed."""

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

log = logging.getLogger("scrubjay.encoders")


def sha256(file: Path, verdicts: Path) -> str:
    """Return the SHA-256 of `file` in hex; the cache at `verdicts` serves while size and mtime_ns stay.

    Raises:
        OSError: `file` is missing or cannot be read.
    """
    path, stat = str(file.resolve()), file.stat()
    cache = _read_cache(verdicts)
    state = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    entry = cache.get(path)
    if isinstance(entry, dict) and entry.items() >= state.items():
        return str(entry["sha256"])
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    _write_cache(verdicts, {**cache, path: {**state, "sha256": digest}})
    return digest


def _read_cache(verdicts: Path) -> dict[str, Any]:
    """Read the cache; empty if it is missing or damaged, for then the files are read again."""
    try:
        cache = json.loads(verdicts.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cache if isinstance(cache, dict) else {}


def _write_cache(verdicts: Path, cache: dict[str, Any]) -> None:
    draft = verdicts.with_name(f"{verdicts.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(json.dumps(cache, indent=1), "utf-8")
        draft.replace(verdicts)
    except OSError as error:
        # The digest is known all the same; only the next start will have to read the file again.
        log.warning("The digests of model files could not be kept in %s: %s", verdicts, error)
