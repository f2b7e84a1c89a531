"""The write-ahead log: one file per envelope, on disk for good before it is acknowledged. Knows files and their order; does not
know what an envelope means. Hooks write here too, so: standard library only and Python 3.9 syntax.

A file is written in `spool/tmp`, fsynced, renamed into its folder and the folder fsynced, so that a reader meets whole files
only and a power cut loses nothing that was acknowledged. Names begin with the time, hence sorting them is the order of writing.
"""

from __future__ import annotations

import json
import os
import time

from scrubjay.errors import HomeError, SpoolError
from scrubjay.home.paths import Home

STALE_S = 3600.0  # a file this old in spool/tmp belongs to a writer that died


def write(home: Home, envelope: dict, time_ns: int | None = None) -> str:
    """Put an envelope into the spool; when this returns, it survives a power cut. The path of its file.

    Args:
        time_ns: nanoseconds since 1970, its place in the order; left out, now.

    Raises:
        HomeError: the disk is full, or the home cannot be written.
    """
    return _place(home, home.spool_new, envelope["id"], envelope, time_ns)


def write_request(home: Home, request: dict, request_id: str, time_ns: int | None = None) -> str:
    """Leave a request to reconcile a session for the engine's next start. Raises as `write` does."""
    return _place(home, reconcile_folder(home), request_id, request, time_ns)


def pending(home: Home) -> list:
    """The paths of the envelopes that wait, in the order of writing. One scan of one folder."""
    return _listed(home.spool_new)


def requests(home: Home) -> list:
    """The paths of the requests to reconcile that wait, in the order of writing."""
    return _listed(reconcile_folder(home))


def set_aside_paths(home: Home) -> list:
    """The paths of the envelopes that were set aside; the reason of each is in the file of that name with `.reason` added."""
    return _listed(home.spool_broken)


def read(path: str) -> dict:
    """The envelope or request in a file.

    Raises:
        SpoolError: it is not a JSON object. Set it aside and go on.
        HomeError: the disk does not give it.
    """
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            envelope = json.loads(file.read())
    except OSError as error:
        raise HomeError(
            f"The spool file {path} cannot be read: {error.strerror or error}. Look at the rights and health of the disk."
        ) from error
    except (ValueError, RecursionError) as error:
        raise SpoolError(
            f"The spool file {name} is not JSON ({type(error).__name__}); it is set aside in spool/broken."
        ) from None
    if not isinstance(envelope, dict):
        raise SpoolError(
            f"The spool file {name} holds a {type(envelope).__name__} and not an object; it is set aside in spool/broken."
        )
    return envelope


def set_aside(home: Home, path: str, reason: str) -> str:
    """Move a broken file out of the way, with its reason beside it. The new path; nothing is ever deleted here."""
    aside = os.path.join(home.spool_broken, os.path.basename(path))
    descriptor = os.open(aside + ".reason", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(reason + "\n")
    os.replace(path, aside)
    return aside


def remove(paths: list) -> None:
    """Delete the files of what is stored for good; one that is gone already is no error."""
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:  # contextlib.suppress would cost every hook its import
            continue


def erase(home: Home, texts: list) -> int:
    """Delete what was set aside, and the prompts that hooks keep, where one of these texts was said. How many files.

    A text of fewer than 20 characters must be the whole of what was said there: "yes" stands in too much.
    """
    erased = 0
    for folder, _, names in list(os.walk(home.spool_broken)) + list(os.walk(home.prompts)):
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    said = _said(json.loads(file.read())) if name.endswith(".json") else []
            except (OSError, ValueError, RecursionError):
                continue
            if any(
                one == other or _within(one, other) or _within(other, one) for one in texts for other in said
            ):
                remove([path, path + ".reason"])
                erased += 1
    return erased


def sweep(home: Home, now: float) -> int:
    """Delete what writers that died left in `spool/tmp` more than an hour before `now` (seconds since 1970). How many."""
    swept = 0
    with os.scandir(home.spool_tmp) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime < now - STALE_S:
                    os.unlink(entry.path)
                    swept += 1
            except FileNotFoundError:  # its writer was alive after all, or another sweep was faster
                continue
    return swept


def durable_write(home: Home, path: str, content: bytes) -> None:
    """A whole file at `path` or none, readable by its owner only, on disk when this returns.

    Raises:
        OSError: as the disk says; nothing is left behind.
    """
    draft = os.path.join(home.spool_tmp, f"{os.getpid()}-{os.urandom(6).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    if os.name != "nt":  # Windows cannot open a folder, and journals the rename by itself
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def reconcile_folder(home: Home) -> str:
    """Where requests to reconcile wait."""
    return os.path.join(home.spool, "reconcile")


def _place(home, folder, name, content, time_ns):
    path = os.path.join(folder, f"{time.time_ns() if time_ns is None else time_ns:020d}-{name}.json")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        durable_write(home, path, json.dumps(content, separators=(",", ":")).encode("ascii"))
    except OSError as error:
        raise HomeError(
            f"The spool in {home.spool} cannot be written: {error.strerror or error}. Make room or give yourself the right to write there."
        ) from error
    return path


def _said(content):
    """What somebody said in an envelope or a saved prompt, out of its JSON."""
    args = content.get("args", content) if isinstance(content, dict) else {}
    said = (
        [args.get(key) for key in ("content", "user", "assistant", "text", "summary")]
        if isinstance(args, dict)
        else []
    )
    return [text for text in said if isinstance(text, str)]


def _within(one, other):
    return len(one) >= 20 and one in other


def _listed(folder):
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.name.endswith(".json"))
    except FileNotFoundError:
        return []
