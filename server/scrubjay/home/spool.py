"""The write-ahead log: one file per envelope, safe on disk before the write is acknowledged.

Hooks write here too, so: standard library only and Python 3.9 syntax.

A file is written in `spool/tmp`, fsynced, renamed into its folder and the folder fsynced, so that a reader
meets whole files only and a power cut loses nothing that was acknowledged. Names begin with the time, so that
sorting them gives the order of writing.
"""

from __future__ import annotations

import json
import os
import time
from errno import EINVAL

from scrubjay.errors import HomeError, SpoolError
from scrubjay.home.files import (
    is_file,
    move_aside_nonfile,
    parsed,
    read_regular,
    read_whole,
    runs,
    sync_folder,
)
from scrubjay.home.paths import Home

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

STALE_S = 3600.0  # a file this old in spool/tmp belongs to a writer that died
LONGEST = 400 * 1024 * 1024  # bytes of an envelope: a text of 50 MB, every character of it escaped
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
LEAST = 20  # characters of a text that is erased where it is a part of another
_TEXTS = ("content", "user", "assistant", "text", "summary", "title")  # fields of envelopes and prompts


def write(home: Home, envelope: Mapping[str, Any], time_ns: int | None = None) -> str:
    """Put an envelope into the spool and return the path of its file. It survives a power cut from then on.

    `time_ns`, nanoseconds since 1970, is its place in the order; None means now.

    Raises:
        HomeError: the disk is full, or the home cannot be written.
    """
    return _place(home, home.spool_new, envelope["id"], envelope, time_ns)


def time_ns_of(path: str) -> int:
    """Return the place in the order of an envelope, nanoseconds since 1970; 0 for a file of another name."""
    digits = os.path.basename(path).partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def write_request(home: Home, request: Mapping[str, Any], request_id: str, time_ns: int | None = None) -> str:
    """Leave a request to reconcile a session for the engine's next start. Raises as `write` does."""
    return _place(home, home.reconcile, request_id, request, time_ns)


def write_event(home: Home, event: Mapping[str, Any]) -> str:
    """Leave what a hook saw for the engine, in the order of its `time_ns`. Raises as `write` does."""
    kind = event["kind"] if event["records"] else "hidden"
    return _place(home, home.events, f"{kind}-{event['id']}", event, event["time_ns"])


def events(home: Home, kind: str = "") -> list[str]:
    """List the paths of the events that no engine has taken, all or of one kind, in their order.

    What was not to be recorded is of the kind "hidden".
    """
    return [path for path in _json_files(home.events) if f"-{kind}" in os.path.basename(path)]


def session_folder(home: Home, session_id: str) -> str:
    """Return the folder of a session's prompts, which is there from its first prompt on."""
    return os.path.join(home.prompts, file_name(session_id))


def file_name(identifier: str) -> str:
    """Return an identifier as a file name on any disk: itself if plain, as a UUID is, else its hash."""
    if is_plain(identifier):
        return identifier
    from hashlib import sha256  # 2.5 ms, which no identifier of the host costs

    return "h" + sha256(identifier.encode("utf-8")).hexdigest()[:40]


def is_plain(identifier: str | None) -> bool:
    """Tell whether an identifier is a file name as it is, and none of a hash."""
    if identifier is None or len(identifier) > 80 or (len(identifier) == 41 and identifier[0] == "h"):
        return False
    return _PLAIN.issuperset(identifier)


def pending(home: Home) -> list[str]:
    """List the paths of the envelopes that wait, in the order of writing, with one scan of one folder."""
    return _json_files(home.spool_new)


def requests(home: Home) -> list[str]:
    """List the paths of the requests to reconcile that wait, in the order of writing."""
    return _json_files(home.reconcile)


def strangers(home: Home) -> list[str]:
    """List what is no file where envelopes wait, and so is never taken."""
    try:
        with os.scandir(home.spool_new) as entries:
            return sorted(entry.path for entry in entries if not is_file(entry))
    except FileNotFoundError:
        return []


def set_aside_paths(home: Home) -> list[str]:
    """List the paths of the envelopes set aside; the reason of each lies beside it, with `.reason` added."""
    return _json_files(home.spool_broken)


def read(path: str) -> dict[str, Any]:
    """Read the envelope or request in a file.

    Raises:
        SpoolError: it is no file or not a JSON object. Set it aside and go on.
        HomeError: the disk refuses.
    """
    name = os.path.basename(path)
    try:
        envelope = parsed(read_whole(path, LONGEST))
    except OSError as error:
        if error.errno == EINVAL:  # a FIFO would be waited for, by every write that comes after it
            raise SpoolError(f"{name} in the spool is no file; it is set aside in spool/broken.") from None
        sentence = f"The spool file {path} cannot be read: {error.strerror or error}."
        raise HomeError(f"{sentence} Look at the rights and health of the disk.") from error
    except ValueError as error:
        problem = f"is not JSON ({type(error).__name__})"
    else:
        if isinstance(envelope, dict):
            return envelope
        problem = f"holds a {type(envelope).__name__} and not an object"
    raise SpoolError(f"The spool file {name} {problem}; it is set aside in spool/broken.")


def set_aside(home: Home, path: str, reason: str) -> str:
    """Move a broken file out of the way, its reason beside it, and return the new path. Delete nothing."""
    aside = os.path.join(home.spool_broken, os.path.basename(path))
    try:
        move_aside_nonfile(aside + ".reason")
        descriptor = os.open(aside + ".reason", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(reason + "\n")
    except OSError:  # a full disk: the file must leave the way all the same, for every read comes past it
        pass
    os.replace(path, aside)
    return aside


def reasons(paths: Sequence[str]) -> list[str]:
    """Tell why these files were set aside, each after its name."""
    lines = []
    for path in paths:
        try:
            reason = read_regular(f"{path}.reason", 300, own=False).decode("utf-8", "replace").strip()
        except OSError:
            reason = "no reason was noted"
        lines.append(f"{os.path.basename(path)}: {reason}")
    return lines


def remove(paths: Sequence[str]) -> None:
    """Delete the files of what the store has; one that is gone already is no error."""
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:  # contextlib.suppress would cost every hook its import
            continue


def erase(home: Home, texts: Sequence[str]) -> int:
    """Delete the files set aside and the waiting prompts that contain one of these texts; return how many.

    A text of fewer than 20 characters must equal the whole text there: "yes" is part of too much.
    """
    erased = 0
    for folder, _, names in list(os.walk(home.spool_broken)) + list(os.walk(home.prompts)):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".json"):
                continue
            try:
                content = read_whole(path, LONGEST)
            except (OSError, ValueError):
                continue
            if _repeats_one(content, texts):
                remove([path, path + ".reason"])
                erased += 1
    return erased


def sweep(home: Home, now: float, *, own: bool = False) -> int:
    """Delete what dead writers left in `spool/tmp`; return how many.

    A draft is named for the process that writes it. It is left behind if that process is gone, or an hour
    before `now` (Unix seconds). `own` says that this process writes none yet: one of its number is of another
    that had this number before, as each engine in a container may.
    """
    swept = 0
    with os.scandir(home.spool_tmp) as entries:
        for entry in entries:
            pid = entry.name.partition("-")[0]
            gone = pid.isdigit() and (not runs(int(pid)) or (own and int(pid) == os.getpid()))
            try:
                if gone or entry.stat(follow_symlinks=False).st_mtime < now - STALE_S:
                    os.unlink(entry.path)
                    swept += 1
            except OSError:  # its writer was alive after all, another sweep was faster, or it is a folder
                continue
    return swept


def durable_write(home: Home, path: str, content: bytes) -> None:
    """Write a whole file at `path` or none, readable by its owner only, and sync it to the disk.

    Raises:
        OSError: as the disk says; nothing is left behind.
    """
    try:
        _write_whole(home, path, content)
    except FileNotFoundError:  # a sweep that does not see this process, in a container, took the draft
        _write_whole(home, path, content)
    sync_folder(os.path.dirname(path))


def _write_whole(home: Home, path: str, content: bytes) -> None:
    draft = os.path.join(home.spool_tmp, f"{os.getpid()}-{os.urandom(6).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        remove([draft])
        raise


def _place(home: Home, folder: str, name: str, content: Mapping[str, Any], time_ns: int | None) -> str:
    path = os.path.join(folder, f"{time.time_ns() if time_ns is None else time_ns:020d}-{name}.json")
    if not os.path.isdir(home.root):  # which the next line would make anew, and the memory be in two places
        sentence = f"The home {home.root} is gone: it was moved or deleted, so nothing was written."
        raise HomeError(f"{sentence} Move it back, or name its new place in SCRUBJAY_HOME.")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        durable_write(home, path, json.dumps(content, separators=(",", ":")).encode("ascii"))
    except OSError as error:
        sentence = f"The spool in {home.spool} cannot be written: {error.strerror or error}."
        raise HomeError(f"{sentence} Make room or give yourself the right to write there.") from error
    return path


def _repeats_one(content: bytes, texts: Sequence[str]) -> bool:
    """Tell whether a file holds one of these texts; one that was cut off, its beginning."""
    try:
        stored = _texts(json.loads(content))
    except (ValueError, RecursionError):
        raw = content.decode("utf-8", "replace")
        escaped = [json.dumps(text, ensure_ascii=each) for text in texts for each in (True, False)]
        return any((text if len(text) < LEAST else text[:LEAST]) in raw for text in escaped)
    return any(_repeats(one, other) for one in texts for other in stored)


def _texts(content: Any) -> list[str]:
    texts, left = [], [content]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            texts += [each[key] for key in _TEXTS if isinstance(each.get(key), str)]
        if isinstance(each, (dict, list)):
            left += each.values() if isinstance(each, dict) else each
    return texts


def _repeats(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= LEAST and shorter in longer)


def _json_files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            # what is no file (a FIFO would have us wait) is not ours
            return sorted(entry.path for entry in entries if entry.name.endswith(".json") and is_file(entry))
    except FileNotFoundError:
        return []
