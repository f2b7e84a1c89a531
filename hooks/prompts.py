"""Prompts that wait for their answer, one file each in `<home>/spool/prompts/<session>/`.

Knows which prompts an answer belongs to, also when it is given twice; does not know hosts, policy or secrets
(texts come redacted).

    <time_ns>.<prompt>.json             waiting
    <time_ns>.<prompt>.<answered>.json  answered: `answered` is the key of the turn that holds it

An answered prompt stays for a while, because a host may fire Stop again for the same prompt with a longer
answer, and because two installed copies of a hook fire at the same time.
"""

from __future__ import annotations

import json
import os
import time
from collections import namedtuple
from errno import ENOENT, ENOTEMPTY

from scrubjay.errors import SpoolError
from scrubjay.home.files import read_regular
from scrubjay.home.spool import durable_write
from scrubjay.text.transcripts import PROMPT_KEY

KEPT_ANSWERED = 20  # prompts per session
KEPT_S = 7 * 86_400.0  # a session untouched for that long loses its folder
QUIET_S = 3_600.0  # a prompt in a session untouched for that long waits for no answer
MAX_SAVED = 8 * 1024 * 1024  # bytes of one file: a text of `capture.MAX_TEXT` characters, escaped
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")

_Name = namedtuple("_Name", "file at prompt answered")

Pair = namedtuple("Pair", "key user started_at redacted said hidden files waiting")
"""The prompts of one turn: `key` its prompt_id, `user` their joined texts, `started_at` the first time.

`user` is None if nobody typed them. `said` tells where the first was said, as `save` has it. `hidden` tells
whether the last one waits and was not to be recorded. `waiting` are those that no turn holds yet, in order,
each as a pair.
"""


def save(home, session_id, prompt_id, text, redacted, said, now_ns):
    """Keep a prompt until its answer comes.

    `text` None stands for one that no person wrote, and `said` None for one that is not to be recorded: its
    answer is not recorded either. `said` is else a dict of all that a record of the prompt alone needs:
    session_id, scope, host, capture, folders, transcript_path.
    """
    folder = _folder(home, session_id)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    prompt_id = prompt_id or PROMPT_KEY + os.urandom(8).hex()
    content = {"prompt_id": prompt_id, "text": text, "saved_at": instant(now_ns), "redacted": redacted}
    content["said"] = said
    path = os.path.join(folder, f"{now_ns:020d}.{_file_name(prompt_id)}.json")
    durable_write(home, path, json.dumps(content).encode("ascii"))


def is_new(home, session_id):
    """Whether no prompt of a session was kept yet."""
    return not os.path.isdir(_folder(home, session_id))


def pair(home, session_id, prompt_id):
    """The prompts that an answer is to, or None when none was saved.

    With the answer's `prompt_id`: what was paired with it before, else the prompt of that id, else the latest
    that waits. Without: the session's latest. Whatever still waits before that prompt was queued and belongs
    to the same turn, unless the transcript shows how it ended: the caller looks, and marks it first.
    """
    folder = _folder(home, session_id)
    for _ in range(5):  # a hook that runs beside us may rename a file between the listing and the reading
        names = _names(folder)
        target = _target(names, prompt_id)
        if target is None:
            return None
        key = _file_name(prompt_id) if prompt_id else target.answered or target.prompt
        # A turn that the transcript named has that name, and no longer the one of its prompt.
        named = prompt_id or (target.answered if _is_plain(target.answered) else None)
        group = [
            name for name in names if name.answered == key or (name.answered is None and name.at <= target.at)
        ]
        try:
            return _joined([(name.file, _read(os.path.join(folder, name.file))) for name in group], named)
        except FileNotFoundError:
            continue
    raise SpoolError(
        "The prompts of the session kept moving while they were read; the turn is left to the transcript."
    )


def mark_answered(home, session_id, pair):
    """Note which turn holds the prompts of a pair, and drop the oldest answered ones."""
    folder = _folder(home, session_id)
    for file in pair.files:
        if file.count(".") == 2:
            try:
                os.rename(
                    os.path.join(folder, file),
                    os.path.join(folder, f"{file[:-5]}.{_file_name(pair.key)}.json"),
                )
            except FileNotFoundError:  # the other copy of the hook was faster
                continue
    answered = [name.file for name in _names(folder) if name.answered]
    for file in answered[:-KEPT_ANSWERED]:
        _unlink(os.path.join(folder, file))


def hidden(home, session_id):
    """When prompts of a session were said that are not to be recorded, as far as it is kept; ISO 8601."""
    folder = _folder(home, session_id)
    kept = [_read(os.path.join(folder, name.file)) for name in _names(folder)]
    return [content["saved_at"] for content in kept if content["said"] is None]


def left_behind(home, now):
    """List the prompts that wait in sessions untouched for an hour before `now` (seconds since 1970).

    Of each session its prompts in order, each a pair; none of a version that did not keep where it was said,
    and no session of which a file is damaged.
    """
    found = []
    for session in os.scandir(home.prompts):
        try:
            if not session.is_dir(follow_symlinks=False) or session.stat().st_mtime >= now - QUIET_S:
                continue
            # without `_names`: a week has hundreds of sessions, of which nearly none has a prompt that waits
            files = sorted(file for file in os.listdir(session.path) if file.count(".") == 2)
            waiting = _one_by_one([(file, _read(os.path.join(session.path, file))) for file in files])
        except (OSError, ValueError, SpoolError):  # another session's sweep was faster, or it is damaged
            continue
        pairs = [pair for pair in (_joined(one, None, True) for one in waiting) if pair.said]
        if pairs:
            found.append(pairs)
    return found


def sweep(home, now):
    """Delete the folders of sessions that were not touched for a week before `now` (seconds since 1970)."""
    for session in os.scandir(home.prompts):
        try:
            if session.is_dir(follow_symlinks=False) and session.stat().st_mtime < now - KEPT_S:
                for file in os.listdir(session.path):
                    _unlink(os.path.join(session.path, file))
                os.rmdir(session.path)
        except OSError as error:
            if error.errno not in (
                ENOENT,
                ENOTEMPTY,
            ):  # another session's sweep was faster, or this one has just come back to life
                raise


def instant(time_ns):
    """Nanoseconds since 1970 as ISO 8601 in UTC, to the microsecond."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06d}Z"


def _folder(home, session_id):
    return os.path.join(home.prompts, _file_name(session_id))


def _file_name(identifier):
    """An identifier as part of a file name on any disk: itself if plain, as a UUID is, else its hash."""
    if _is_plain(identifier):
        return identifier
    from hashlib import sha256  # 2.5 ms, which no identifier of the host costs

    return "h" + sha256(identifier.encode("utf-8")).hexdigest()[:40]


def _is_plain(identifier):
    """Whether an identifier is a file name as it is, and none of a hash."""
    if identifier is None or len(identifier) > 80 or (len(identifier) == 41 and identifier[0] == "h"):
        return False
    return _PLAIN.issuperset(identifier)


def _names(folder):
    """What lies in a session's folder, oldest first."""
    try:
        files = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    parts = [(file, file.split(".")) for file in files if file.endswith(".json")]
    return [
        _Name(file, part[0], part[1], part[2] if len(part) == 4 else None)
        for file, part in parts
        if len(part) in (3, 4)
    ]


def _target(names, prompt_id):
    """The last prompt that an answer is to."""
    if prompt_id is None:
        return names[-1] if names else None
    key = _file_name(prompt_id)
    for fits in (
        lambda name: name.answered == key,
        lambda name: name.prompt == key,
        lambda name: name.answered is None,
    ):
        found = [name for name in names if fits(name)]
        if found:
            return found[-1]
    return None


def _read(path):
    saved = json.loads(read_regular(path, MAX_SAVED))
    if not isinstance(saved, dict) or not {"prompt_id", "text", "saved_at", "redacted"} <= saved.keys():
        raise SpoolError(f"The saved prompt {os.path.basename(path)} is damaged; delete it.")
    if "said" not in saved:  # written by a version before 2026-11-26
        saved["said"] = {}
    return saved


def _joined(saved, prompt_id, is_one=False):
    spoken = [content for _, content in saved if content["text"] is not None]
    # two copies of the hook save a prompt twice
    texts = list(dict.fromkeys(content["text"] for content in spoken if content["text"]))
    first = (spoken or [content for _, content in saved])[0]
    return Pair(
        key=prompt_id or saved[-1][1]["prompt_id"],
        user="\n\n".join(texts) if spoken else None,
        started_at=first["saved_at"],
        redacted=sum(content["redacted"] for content in spoken),
        said=first["said"],
        hidden=saved[-1][0].count(".") == 2 and saved[-1][1]["said"] is None,
        files=[file for file, _ in saved],
        waiting=[] if is_one else [_joined(one, None, True) for one in _one_by_one(saved)],
    )


def _one_by_one(saved):
    """The prompts that wait, each with all its files: two copies of the hook save one twice."""
    prompts = []
    for file, content in saved:
        if file.count(".") != 2:
            continue
        last = prompts[-1][-1][1] if prompts else None
        named = content["prompt_id"] if not content["prompt_id"].startswith(PROMPT_KEY) else None
        if last and last["text"] == content["text"] and named in (None, last["prompt_id"]):
            prompts[-1].append((file, content))
        else:
            prompts.append([(file, content)])
    return prompts


def _unlink(path):
    try:
        os.unlink(path)
    except FileNotFoundError:  # the other copy of the hook was faster
        return
