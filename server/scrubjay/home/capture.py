"""Decides by the user's policy whether an exchange is recorded, and cuts its texts to what can be stored.

Standard library only and Python 3.9 syntax: hooks decide with it before anything touches the disk.
"""

from __future__ import annotations

import os.path
import re
from collections import namedtuple

from scrubjay.errors import InputError
from scrubjay.home.files import parsed, read_whole
from scrubjay.home.kept import copy_of

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from scrubjay.home.paths import Home

CAPTURES = ("all", "salient", "summary_only", "off")
# What a model is shown without asking: nothing; an opening of each session; that, and lines beside prompts.
INJECTIONS = ("off", "session", "prompt")
MAX_TEXT = 1_000_000  # characters of one side of a turn, as models.fields.MAX_TURN_TEXT (a test compares)

Policy = namedtuple("Policy", "capture min_length paused excluded inject")
"""What a hook may do: `capture` is one of CAPTURES, `min_length` counts characters, `excluded` are paths.

`inject` is one of INJECTIONS.
"""

DEFAULT = Policy(capture="all", min_length=10, paused=False, excluded=(), inject="session")

_SALIENT = (  # what later sessions ask for: decisions, wishes, faults and their repair, places in the code
    r"(?i)\b(?:decid\w+|decisions?|agreed?|chose|chosen|choose|instead of|rather than|switch(?:ed|ing)? to"
    r"|renam\w+|migrat\w+|deprecat\w+|remember|note that|important|conventions?|prefer\w*|always|never|must"
    r"|should(?: not|n't)|don'?t use|avoid|policy|rules?|bugs?|fix(?:ed|es)?|errors?|exceptions?"
    r"|traceback|crash\w*|fail(?:s|ed|ures?|ing)?|broken|regression|root cause|caused by|because"
    r"|work-?around|todo|fixme|next steps?|deadline|releas\w+|deploy\w*|versions?|endpoints?|schemas?"
    r"|config\w*|dependenc\w+|my name|i am|i'm|i like|i want|we use|we need)\b"
    r"|\b\w+\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|c|h|cc|cpp|cs|php|sql|sh|toml|yaml|yml|json|md|html|css)\b"
    r"|/[\w.-]+/"
    r"|\b[a-z0-9]+_[a-z0-9]|\w\(\)|`[^`\n]+`|\w(?:error|exception)\b|#\d"
)
_compiled: list[re.Pattern[str]] = []
_LONGEST = 4 * 1024 * 1024  # bytes of capture.json


def read(home: Home) -> dict[str, Any]:
    """Return the values of capture.json, or of its copy where the file is gone or cannot be read.

    Raises:
        FileNotFoundError: there is neither.
        OSError, ValueError: neither can be read.
    """
    try:
        return _values(home.capture)
    except (OSError, ValueError) as error:
        damage = error
    try:
        return _values(copy_of(home.capture))
    except FileNotFoundError:
        raise damage from None


def policy(data: Mapping[str, Any]) -> Policy:
    """Read the policy from the values of capture.json; what is absent has its default.

    Raises:
        InputError: a value is unknown or of the wrong type. Code that cannot read the user's wish must not
            record.
    """
    values = dict(DEFAULT._asdict(), **{name: data[name] for name in Policy._fields if name in data})
    values["inject"] = injection(values["inject"])
    length = values["min_length"]
    checks = (
        ("capture", values["capture"] in CAPTURES, "one of " + ", ".join(CAPTURES)),
        ("min_length", type(length) is int and length >= 0, "a whole number from 0"),
        ("paused", type(values["paused"]) is bool, "true or false"),
        ("inject", values["inject"] in INJECTIONS, "one of " + ", ".join(INJECTIONS)),
        ("excluded", _absolute_paths(values["excluded"]), "a list of absolute folders"),
    )
    for name, valid, expected in checks:
        if not valid:
            raise InputError(f"capture.json: {name} must be {expected}; `scrubjay config` writes it anew.")
    values["excluded"] = tuple(os.path.normpath(folder) for folder in values["excluded"])
    return Policy(**values)


def injection(value: Any) -> Any:
    """Return a value of `inject` in today's words: it was a switch for lines beside prompts once.

    >>> injection(True), injection(False), injection("session")
    ('prompt', 'off', 'session')
    """
    return ("prompt" if value else "off") if isinstance(value, bool) else value


def is_excluded(policy: Policy, *folders: str) -> bool:
    """Tell whether one of these folders is an excluded one or lies under one, as spelled or by its links."""
    if not policy.excluded:
        return False
    spelled = [os.path.normcase(os.path.normpath(place)) for place in _spellings(folders)]
    for excluded in map(os.path.normcase, _spellings(policy.excluded)):
        under = excluded.rstrip(os.sep) + os.sep
        if any(place == excluded or place.startswith(under) for place in spelled):
            return True
    return False


def is_salient(text: str) -> bool:
    """Tell whether a text has a word for a decision, a wish, a fault or a place in the code.

    >>> is_salient("we decided to keep tick()"), is_salient("thanks, that is nice")
    (True, False)
    """
    if not _compiled:
        _compiled.append(re.compile(_SALIENT))  # 2 ms that only this policy pays
    return _compiled[0].search(text) is not None


def should_embed(text: str, policy: Policy) -> bool:
    """Tell whether one side of an exchange is worth recording by itself.

    After `shouldEmbed` of a proposal for supermemory.
    """
    if policy.paused or policy.capture == "off" or len(text.strip()) < policy.min_length:
        return False
    return policy.capture != "salient" or is_salient(text)


def should_record(user: str | None, assistant: str | None, policy: Policy) -> bool:
    """Tell whether to record an exchange: whole, if at least one side is worth recording."""
    return any(should_embed(side, policy) for side in (user, assistant) if side and side.strip())


def storable(text: str) -> str:
    """Remove NUL characters and lone surrogates, which are no text and which the store refuses."""
    text = text.replace("\x00", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "ignore").decode()
    return text


def cut(text: str, limit: int = MAX_TEXT, beyond: int = 0) -> str:
    """Cut the text to at most `limit` characters; a last line tells how many are missing.

    `beyond` characters after it were left out before.
    """
    if len(text) <= limit and not beyond:
        return text
    missing = max(0, len(text) - limit) + beyond
    mark = f"\n[cut: {missing + 60:,} more characters]"
    return text[: limit - len(mark)] + mark


def unanswered(turns: int) -> str:
    """Say that so many turns are stored of which the host told no answer.

    >>> unanswered(1)
    "1 turn stored without the answer: the host's transcript has none (yet)"
    """
    noun = "turn" if turns == 1 else "turns"
    return f"{turns:,} {noun} stored without the answer: the host's transcript has none (yet)"


def _spellings(folders: Iterable[str]) -> Iterator[str]:
    """Each folder as it is written and with its links followed."""
    for folder in folders:
        yield folder
        yield os.path.realpath(folder)


def _values(path: str) -> dict[str, Any]:
    values = parsed(read_whole(path, _LONGEST, own=True))
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")
    return values


def _absolute_paths(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, str) and os.path.isabs(item) for item in value
    )
