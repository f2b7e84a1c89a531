"""What hooks have left on disk: envelopes that wait, envelopes that were set aside, prompts without an answer. Read from files, so it is
true whether or not an engine runs; does not know what was stored.
"""

from __future__ import annotations

import json
import os
import time
from typing import NamedTuple

from scrubjay.errors import ScrubjayError
from scrubjay.home import spool
from scrubjay.home.paths import Home

REASONS = 5  # of the envelopes set aside last


class Inbox(NamedTuple):
    """The spool in numbers. `turns_...` count what hooks captured, without what tools and commands wrote."""

    waiting: int
    turns_waiting: int
    oldest_seconds: float  # since the first that waits was written; 0 when none does
    set_aside: int
    turns_set_aside: int
    reasons: list[str]
    unanswered: int  # prompts of a person whose answer has not come: being answered now, or interrupted


def inbox(home: Home) -> Inbox:
    """Look at the spool of a home; nothing is changed."""
    waiting, aside = spool.pending(home), spool.set_aside_paths(home)
    return Inbox(
        waiting=len(waiting),
        turns_waiting=sum(map(_from_hook, waiting)),
        oldest_seconds=max((_age(path) for path in waiting), default=0.0),
        set_aside=len(aside),
        turns_set_aside=sum(map(_from_hook, aside)),
        reasons=[_reason(path) for path in aside[-REASONS:]],
        unanswered=sum(
            _unanswered(session.path)
            for session in os.scandir(home.prompts)
            if session.is_dir(follow_symlinks=False)
        ),
    )


def _from_hook(path: str) -> bool:
    """Whether an envelope is a turn that a hook captured. One that cannot be read is taken for one: better a turn too many is missed."""
    try:
        return str(spool.read(path).get("source", "hook:")).startswith("hook:")
    except ScrubjayError:
        return os.path.exists(path)  # else the engine has just stored it


def _age(path: str) -> float:
    try:
        return max(0.0, time.time() - os.stat(path).st_mtime)
    except FileNotFoundError:
        return 0.0


def _reason(path: str) -> str:
    try:
        with open(f"{path}.reason", encoding="utf-8", errors="replace") as file:
            return f"{os.path.basename(path)}: {file.read(300).strip()}"
    except FileNotFoundError:
        return f"{os.path.basename(path)}: no reason was noted"


def _unanswered(folder: str) -> int:
    """How many prompts of a session wait: `<time>.<prompt>.json` does, `<time>.<prompt>.<answered>.json` does not."""
    count = 0
    try:
        names = os.listdir(folder)
    except FileNotFoundError:  # a session that starts now has swept it
        return 0
    for name in names:
        if name.count(".") == 2 and name.endswith(".json"):
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    count += json.loads(file.read()).get("text") is not None  # None: no person wrote it
            except (OSError, ValueError, AttributeError):
                continue
    return count
