"""Prompts that wait for their answers, one file each in `<home>/spool/prompts/<session>/`.

    <time_ns>.<prompt>.json             waiting
    <time_ns>.<prompt>.<answered>.json  answered; `answered` is the key of the turn with this prompt

An answered prompt stays for a while, because a host may fire Stop again with a longer answer, and two
installed copies of a hook fire at the same time. Only the engine writes here; texts are redacted already.
"""

import json
import os
import shutil
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple

from scrubjay.errors import ScrubjayError, SpoolError
from scrubjay.home import spool
from scrubjay.home.files import read_regular
from scrubjay.home.paths import Home
from scrubjay.transcripts.turn import PROMPT_KEY

KEPT_ANSWERED = 20  # prompts per session
KEPT_S = 7 * 86_400.0  # a session's folder is deleted after this time without a change
QUIET_S = 3_600.0  # after this time without events, a session's prompts will get no answer
MAX_SAVED = 8 * 1024 * 1024  # bytes of one file: a text of `capture.MAX_TEXT` characters, escaped

_FIELDS = {"prompt_id", "text", "saved_at", "redacted", "said"}  # of a file; `said` is a pair's origin
_renaming = threading.Lock()  # held while a session's files are listed and read, or renamed
_Saved = tuple[str, dict[str, Any]]  # a file and its content


class _Name(NamedTuple):
    file: str
    time_ns: str
    prompt: str
    answered: str | None


class Pair(NamedTuple):
    """The prompts of one turn."""

    key: str  # its prompt_id
    user: str | None  # the joined texts; None if no person typed them
    started_at: str
    redacted: int
    origin: dict[str, Any] | None  # of the first prompt; see `save`
    hidden: bool  # True if the last prompt waits and must not be recorded
    files: list[str]
    waiting: list["Pair"]  # the prompts without a turn, in order


def save(
    home: Home,
    session_id: str,
    prompt_id: str | None,
    text: str | None,
    redacted: int,
    origin: dict[str, Any] | None,
    now_ns: int,
) -> None:
    """Save a prompt until its answer arrives.

    `text` is None if no person wrote the prompt. `origin` is None if the prompt must not be recorded: its
    answer is not recorded either. Otherwise `origin` has what a record of the prompt alone needs: session_id,
    scope, host, capture, folders, transcript_path.
    """
    folder = spool.session_folder(home, session_id)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    prompt_id = prompt_id or PROMPT_KEY + os.urandom(8).hex()
    content = {"prompt_id": prompt_id, "text": text, "redacted": redacted, "said": origin}
    content["saved_at"] = instant(now_ns)
    prefix = f"{now_ns:020d}.{spool.file_name(prompt_id)}."
    if any(file.startswith(prefix) for file in os.listdir(folder)):
        return  # the event is processed again after a power cut
    spool.durable_write(home, os.path.join(folder, prefix + "json"), json.dumps(content).encode("ascii"))


def pair(home: Home, session_id: str, prompt_id: str | None, until_ns: int | None = None) -> Pair | None:
    """Return the prompts of an answer, from those saved before it; None if no prompt was saved.

    With `prompt_id`, the answer belongs to the prompt that was paired with this id before, or else to the
    prompt with this id, or else to the latest waiting prompt; without it, to the latest prompt of the
    session. Earlier prompts that still wait were queued and belong to the same turn, unless the transcript
    shows how they ended: the caller checks this first, and marks such prompts.
    """
    folder = spool.session_folder(home, session_id)
    with _renaming:
        names = [name for name in _names(folder) if until_ns is None or name.time_ns <= f"{until_ns:020d}"]
        target = _target(names, prompt_id)
        if target is None:
            return None
        key = spool.file_name(prompt_id) if prompt_id else target.answered or target.prompt
        group = [
            name
            for name in names
            if name.answered == key or (name.answered is None and name.time_ns <= target.time_ns)
        ]
        saved = [(name.file, _read(os.path.join(folder, name.file))) for name in group]
    # A turn with a key from the transcript keeps it, instead of the key of its prompt.
    return _joined(saved, prompt_id or (target.answered if spool.is_plain(target.answered) else None))


def mark_answered(home: Home, session_id: str, pair: Pair) -> None:
    """Mark the prompts of a pair with their turn, and delete the oldest answered prompts."""
    folder, key = spool.session_folder(home, session_id), spool.file_name(pair.key)
    with _renaming:
        for file in pair.files:
            if file.count(".") == 2:
                os.rename(os.path.join(folder, file), os.path.join(folder, f"{file[:-5]}.{key}.json"))
        answered = [name.file for name in _names(folder) if name.answered]
        for file in answered[:-KEPT_ANSWERED]:
            os.unlink(os.path.join(folder, file))


def hidden(home: Home, session_id: str) -> list[str]:
    """Return the times (ISO 8601) of a session's prompts that must not be recorded."""
    folder, times = spool.session_folder(home, session_id), []
    for path in spool.events(home, "hidden"):
        with suppress(ScrubjayError):  # the event was processed meanwhile, so its prompt is read below
            event = spool.read(path)
            if event["kind"] == "prompt" and event["session_id"] == session_id:
                times.append(instant(event["time_ns"]))
    with _renaming:
        saved = [_read(os.path.join(folder, name.file)) for name in _names(folder)]
    return times + [content["saved_at"] for content in saved if content["said"] is None]


def unnamed(home: Home, session_id: str) -> set[str]:
    """Return the texts of a session's waiting prompts that have no id from the host.

    Their Stop will record them under another key than the transcript's. If files are damaged or disappear,
    the result is empty.
    """
    try:
        waiting = latest.waiting if (latest := pair(home, session_id, None)) else []
    except (ScrubjayError, OSError, ValueError):
        return set()
    return {each.user for each in waiting if each.user and each.key.startswith(PROMPT_KEY)}


def abandoned(home: Home, now: float) -> list[list[Pair]]:
    """List the prompts that wait in sessions untouched for an hour before `now` (seconds since 1970).

    Each session has a list of its prompts in order. Prompts that must not be recorded are left out, and so
    are sessions with a damaged file.
    """
    sessions = []
    for session in os.scandir(home.prompts):
        try:
            if not session.is_dir(follow_symlinks=False) or session.stat().st_mtime >= now - QUIET_S:
                continue
            # not `_names`: a week has hundreds of sessions, and almost none has a waiting prompt
            files = sorted(file for file in os.listdir(session.path) if file.count(".") == 2)
            waiting = _waiting_prompts([(file, _read(os.path.join(session.path, file))) for file in files])
        except (OSError, ValueError, SpoolError):  # a file is damaged
            continue
        pairs = [pair for pair in (_joined(prompt, None, True) for prompt in waiting) if pair.origin]
        if pairs:
            sessions.append(pairs)
    return sessions


def sweep(home: Home, now: float) -> None:
    """Delete the folders of sessions untouched for a week before `now` (seconds since 1970)."""
    for session in os.scandir(home.prompts):
        if session.is_dir(follow_symlinks=False) and session.stat().st_mtime < now - KEPT_S:
            shutil.rmtree(session.path, ignore_errors=True)


def instant(time_ns: int) -> str:
    """Return nanoseconds since 1970 as ISO 8601 in UTC, to the microsecond."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06d}Z"


def _names(folder: str) -> list[_Name]:
    """Return the files in a session's folder, oldest first."""
    try:
        files = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    names = []
    for file in files:
        match file.split("."):
            case [time_ns, prompt, "json"]:
                names.append(_Name(file, time_ns, prompt, None))
            case [time_ns, prompt, answered, "json"]:
                names.append(_Name(file, time_ns, prompt, answered))
    return names


def _target(names: list[_Name], prompt_id: str | None) -> _Name | None:
    """Return the last prompt that an answer belongs to."""
    if prompt_id is None:
        return names[-1] if names else None
    key = spool.file_name(prompt_id)
    for fits in (
        lambda name: name.answered == key,
        lambda name: name.prompt == key,
        lambda name: name.answered is None,
    ):
        matches = [name for name in names if fits(name)]
        if matches:
            return matches[-1]
    return None


def _read(path: str) -> dict[str, Any]:
    saved = json.loads(read_regular(path, MAX_SAVED))
    if not isinstance(saved, dict) or not saved.keys() >= _FIELDS:
        raise SpoolError(f"The saved prompt {os.path.basename(path)} is damaged; delete it.")
    return saved


def _joined(saved: list[_Saved], prompt_id: str | None, is_single: bool = False) -> Pair:
    """Return the saved prompts of one turn as a pair; `is_single` leaves `waiting` empty."""
    typed = [content for _, content in saved if content["text"] is not None]
    # two copies of the hook save a prompt twice
    texts = list(dict.fromkeys(content["text"] for content in typed if content["text"]))
    first = (typed or [content for _, content in saved])[0]
    return Pair(
        key=prompt_id or saved[-1][1]["prompt_id"],
        user="\n\n".join(texts) if typed else None,
        started_at=first["saved_at"],
        redacted=sum(content["redacted"] for content in typed),
        origin=first["said"],
        hidden=saved[-1][0].count(".") == 2 and saved[-1][1]["said"] is None,
        files=[file for file, _ in saved],
        waiting=[] if is_single else [_joined(prompt, None, True) for prompt in _waiting_prompts(saved)],
    )


def _waiting_prompts(saved: list[_Saved]) -> list[list[_Saved]]:
    """Return the waiting prompts, each with all of its files, because two copies of a hook save it twice."""
    prompts: list[list[_Saved]] = []
    for file, content in saved:
        if file.count(".") != 2:
            continue
        last = prompts[-1][-1][1] if prompts else None
        host_id = content["prompt_id"] if not content["prompt_id"].startswith(PROMPT_KEY) else None
        if last and last["text"] == content["text"] and host_id in (None, last["prompt_id"]):
            prompts[-1].append((file, content))
        else:
            prompts.append([(file, content)])
    return prompts
