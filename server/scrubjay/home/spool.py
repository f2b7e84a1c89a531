"""The write-ahead log: one file per envelope, on disk before the write is acknowledged.

Hooks write here too: standard library only and Python 3.9 syntax.

A file is written in `spool/tmp`, fsynced and renamed into its folder, and the folder is fsynced. So readers
see only whole files, and a power cut loses nothing that was acknowledged. Names begin with the time, so
sorting them gives the order of writing.
"""

from __future__ import annotations

import json
import os
import time
from errno import EINVAL

from scrubjay.errors import HomeError, SpoolError
from scrubjay.home.files import (
    is_running,
    move_aside_nonfile,
    parse_json,
    read_regular,
    read_whole,
    write_whole,
)
from scrubjay.home.paths import Home

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

STALE_S = 3600.0  # a file of this age in spool/tmp was left by a dead writer
LONGEST = 400 * 1024 * 1024  # bytes of an envelope, enough for a text of 50 MB with every character escaped
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
LEAST = 20  # characters; a shorter text is erased only if it equals a whole stored text
_TEXTS = ("content", "user", "assistant", "text", "summary", "title")  # text fields of envelopes and prompts


def write(home: Home, envelope: Mapping[str, Any], time_ns: int | None = None) -> str:
    """Write an envelope to the spool and return its path. From then on, it survives a power cut.

    `time_ns` (nanoseconds since 1970) is its position in the order; None means now. Raises HomeError if the
    disk is full, or the home cannot be written.
    """
    return _place(home, home.spool_new, envelope["id"], envelope, time_ns)


def time_ns_of(path: str) -> int:
    """Return an envelope's position in the order, in nanoseconds since 1970; 0 if its name has none."""
    digits = os.path.basename(path).partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def write_request(home: Home, request: Mapping[str, Any], request_id: str, time_ns: int | None = None) -> str:
    """Write a request to reconcile a session at the engine's next start. Raises as `write` does."""
    return _place(home, home.reconcile, request_id, request, time_ns)


def write_event(home: Home, event: Mapping[str, Any]) -> str:
    """Write an event that a hook saw, for the engine; `time_ns` orders events. Raises as `write` does."""
    kind = event["kind"] if event["records"] else "hidden"
    return _place(home, home.events, f"{kind}-{event['id']}", event, event["time_ns"])


def events(home: Home, kind: str = "") -> list[str]:
    """List the paths of the waiting events, all or of one kind, in order.

    Events of exchanges that must not be recorded have the kind "hidden".
    """
    return [path for path in json_files(home.events) if f"-{kind}" in os.path.basename(path)]


def session_folder(home: Home, session_id: str) -> str:
    """Return the folder of a session's prompts, which the first prompt creates."""
    return os.path.join(home.prompts, file_name(session_id))


def file_name(identifier: str) -> str:
    """Return a portable file name for an identifier: itself if it is plain, as a UUID is, else its hash."""
    if is_plain(identifier):
        return identifier
    from hashlib import sha256  # takes 2.5 ms, and hosts' identifiers never need it

    return "h" + sha256(identifier.encode("utf-8")).hexdigest()[:40]


def is_plain(identifier: str | None) -> bool:
    """Return True if an identifier can be a file name as it is, without being hashed."""
    if identifier is None or len(identifier) > 80 or (len(identifier) == 41 and identifier[0] == "h"):
        return False
    return _PLAIN.issuperset(identifier)


def pending(home: Home) -> list[str]:
    """List the paths of the waiting envelopes, in the order of writing."""
    return json_files(home.spool_new)


def nonfiles(home: Home) -> list[str]:
    """List the entries among the waiting envelopes that are not files, and so will never be read."""
    try:
        paths = [os.path.join(home.spool_new, name) for name in os.listdir(home.spool_new)]
    except FileNotFoundError:
        return []
    # An envelope that is missing now was processed since the folder was listed.
    return sorted(path for path in paths if os.path.lexists(path) and not os.path.isfile(path))


def read(path: str) -> dict[str, Any]:
    """Read the envelope or request in a file.

    Raises SpoolError if it is not a file or not a JSON object. Move it away and continue. Raises HomeError if
    the disk refused.
    """
    name = os.path.basename(path)
    try:
        envelope = parse_json(read_whole(path, LONGEST))
    except OSError as error:
        if error.errno == EINVAL:  # a FIFO would block this and every later write
            raise SpoolError(f"{name} in the spool is not a file; it is moved to spool/broken.") from None
        sentence = f"The spool file {path} cannot be read: {error.strerror or error}."
        raise HomeError(f"{sentence} Check the permissions and the health of the disk.") from error
    except ValueError as error:
        problem = f"is not JSON ({type(error).__name__})"
    else:
        if isinstance(envelope, dict):
            return envelope
        problem = f"holds a {type(envelope).__name__}, not an object"
    raise SpoolError(f"The spool file {name} {problem}; it is moved to spool/broken.")


def move_to_broken(home: Home, path: str, reason: str) -> str:
    """Move a broken file and its reason to `spool/broken`, and return the new path. Delete nothing."""
    new_path = os.path.join(home.spool_broken, os.path.basename(path))
    try:
        move_aside_nonfile(new_path + ".reason")
        descriptor = os.open(new_path + ".reason", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(reason + "\n")
    except OSError:  # a full disk: move the file anyway, because it would block every later read
        pass
    os.replace(path, new_path)
    return new_path


def reasons(paths: Sequence[str]) -> list[str]:
    """Return a line for each of these files: its name, and the reason why it was moved away."""
    lines = []
    for path in paths:
        try:
            reason = read_regular(f"{path}.reason", 300, own=False).decode("utf-8", "replace").strip()
        except OSError:
            reason = "no reason was recorded"
        lines.append(f"{os.path.basename(path)}: {reason}")
    return lines


def remove(paths: Sequence[str]) -> None:
    """Delete files whose content is now stored; missing files are ignored."""
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:  # contextlib.suppress would cost every hook its import
            continue


def erase(home: Home, texts: Sequence[str]) -> int:
    """Delete the broken files and waiting prompts that contain one of these texts; return their number.

    A text of fewer than 20 characters must equal a whole text in the file, because too many contain "yes".
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
            if _has_any(content, texts):
                remove([path, path + ".reason"])
                erased += 1
    return erased


def sweep(home: Home, now: float, *, own: bool = False) -> int:
    """Delete the drafts that dead writers left in `spool/tmp`; return their number.

    The name of a draft contains the process id of its writer. A draft is stale if that process is gone, or if
    it is more than an hour older than `now` (Unix seconds). With `own`, this process has no draft yet, so a
    draft with its id belongs to an earlier process, as happens in containers.
    """
    swept = 0
    with os.scandir(home.spool_tmp) as entries:
        for entry in entries:
            pid = entry.name.partition("-")[0]
            is_gone = pid.isdigit() and (not is_running(int(pid)) or (own and int(pid) == os.getpid()))
            try:
                if is_gone or entry.stat(follow_symlinks=False).st_mtime < now - STALE_S:
                    os.unlink(entry.path)
                    swept += 1
            except OSError:  # its writer is alive after all, another sweep was faster, or it is a folder
                continue
    return swept


def durable_write(home: Home, path: str, content: bytes) -> None:
    """Write a file that other processes may write too. Raises as `write_whole` does."""
    draft = os.path.join(home.spool_tmp, f"{os.getpid()}-{os.urandom(6).hex()}")
    try:
        write_whole(path, content, draft)
    except FileNotFoundError:  # a sweep in another container, which cannot see this process, removed it
        write_whole(path, content, draft)


def _place(home: Home, folder: str, name: str, content: Mapping[str, Any], time_ns: int | None) -> str:
    path = os.path.join(folder, f"{time.time_ns() if time_ns is None else time_ns:020d}-{name}.json")
    if not os.path.isdir(home.root):  # creating the folder would recreate the home, and split the memory
        sentence = f"The home {home.root} is gone: it was moved or deleted, so nothing was written."
        raise HomeError(f"{sentence} Move it back, or set SCRUBJAY_HOME to its new path.")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        durable_write(home, path, json.dumps(content, separators=(",", ":")).encode("ascii"))
    except OSError as error:
        sentence = f"The spool in {home.spool} cannot be written: {error.strerror or error}."
        raise HomeError(f"{sentence} Free disk space, or give yourself write permission.") from error
    return path


def _has_any(content: bytes, texts: Sequence[str]) -> bool:
    """Return True if a file has one of these texts, or its beginning if the file was cut off."""
    try:
        stored = _texts(json.loads(content))
    except (ValueError, RecursionError):
        raw = content.decode("utf-8", "replace")
        escaped = [
            json.dumps(text, ensure_ascii=ascii_only) for text in texts for ascii_only in (True, False)
        ]
        return any((text if len(text) < LEAST else text[:LEAST]) in raw for text in escaped)
    return any(_has_text(text, other) for text in texts for other in stored)


def _texts(content: Any) -> list[str]:
    texts, remaining = [], [content]
    while remaining:
        value = remaining.pop()
        if isinstance(value, dict):
            texts += [value[key] for key in _TEXTS if isinstance(value.get(key), str)]
            remaining += value.values()
        elif isinstance(value, list):
            remaining += value
    return texts


def _has_text(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= LEAST and shorter in longer)


def json_files(folder: str) -> list[str]:
    """List the paths of the JSON files in a folder, in the order of writing."""
    try:
        paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
    except FileNotFoundError:
        return []
    return sorted(filter(os.path.isfile, paths))  # anything else is not ours, and reading a FIFO would block
