"""Whether an exchange is worth recording, by the user's policy. Knows the policy and a few telling words; does not know where
turns come from or go to. Standard library only and Python 3.9 syntax: hooks decide with it before anything touches disk.
"""

from __future__ import annotations

import os.path
import re
from collections import namedtuple

from scrubjay.errors import InputError

CAPTURES = ("all", "salient", "summary_only", "off")
MAX_TEXT = (
    1_000_000  # characters of one side of a turn (models.fields.MAX_TURN_TEXT; a test compares the two)
)

Policy = namedtuple("Policy", "capture min_length paused excluded inject")
"""What a hook may do: `capture` is one of CAPTURES, `min_length` in characters, `excluded` absolute folders."""

DEFAULT = Policy(capture="all", min_length=10, paused=False, excluded=(), inject=False)

_SALIENT = (  # what later sessions ask for: decisions, wishes, faults and their repair, places in the code
    r"(?i)\b(?:decid\w+|decisions?|agreed?|chose|chosen|choose|instead of|rather than|switch(?:ed|ing)? to|renam\w+|migrat\w+|deprecat\w+"
    r"|remember|note that|important|conventions?|prefer\w*|always|never|must|should(?: not|n't)|don'?t use|avoid|policy|rules?"
    r"|bugs?|fix(?:ed|es)?|errors?|exceptions?|traceback|crash\w*|fail(?:s|ed|ures?|ing)?|broken|regression|root cause|caused by|because"
    r"|work-?around|todo|fixme|next steps?|deadline|releas\w+|deploy\w*|versions?|endpoints?|schemas?|config\w*|dependenc\w+"
    r"|my name|i am|i'm|i like|i want|we use|we need)\b"
    r"|\b\w+\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|c|h|cc|cpp|cs|php|sql|sh|toml|yaml|yml|json|md|html|css)\b|/[\w.-]+/"
    r"|\b[a-z0-9]+_[a-z0-9]|\w\(\)|`[^`\n]+`|\w(?:error|exception)\b|#\d"
)
_compiled = []


def policy(data):
    # type: (dict) -> Policy
    """The policy in the values of capture.json; what is absent has its default.

    Raises:
        InputError: a value is of the wrong type or unknown. Whoever cannot read the user's wish must not record.
    """
    values = dict(DEFAULT._asdict(), **{name: data[name] for name in Policy._fields if name in data})
    checks = (
        ("capture", values["capture"] in CAPTURES, "one of " + ", ".join(CAPTURES)),
        (
            "min_length",
            type(values["min_length"]) is int and values["min_length"] >= 0,
            "a whole number from 0",
        ),
        ("paused", type(values["paused"]) is bool, "true or false"),
        ("inject", type(values["inject"]) is bool, "true or false"),
        ("excluded", _absolute_paths(values["excluded"]), "a list of absolute folders"),
    )
    for name, fine, expected in checks:
        if not fine:
            raise InputError(f"capture.json: {name} must be {expected}; `scrubjay config` writes it anew.")
    values["excluded"] = tuple(os.path.normpath(folder) for folder in values["excluded"])
    return Policy(**values)


def _absolute_paths(value):
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, str) and os.path.isabs(item) for item in value
    )


def is_excluded(policy, folder):
    # type: (Policy, str) -> bool
    """Whether a folder is one of the excluded ones or lies under one of them. Compares words; links are the caller's matter."""
    folder = os.path.normcase(os.path.normpath(folder))
    for excluded in map(os.path.normcase, policy.excluded):
        if folder == excluded or folder.startswith(excluded.rstrip(os.sep) + os.sep):
            return True
    return False


def is_salient(text):
    # type: (str) -> bool
    """Whether a text has a word that tells of a decision, a wish, a fault or a place in the code.

    >>> is_salient("we decided to keep tick()"), is_salient("thanks, that is nice")
    (True, False)
    """
    if not _compiled:
        _compiled.append(re.compile(_SALIENT))  # 2 ms that only this policy pays
    return _compiled[0].search(text) is not None


def should_embed(text, policy):
    # type: (str, Policy) -> bool
    """Whether one side of an exchange is worth keeping by itself (seed 004's shouldEmbed)."""
    if policy.paused or policy.capture == "off" or len(text.strip()) < policy.min_length:
        return False
    return policy.capture != "salient" or is_salient(text)


def should_record(user, assistant, policy):
    # type: (str | None, str | None, Policy) -> bool
    """Whether an exchange is recorded: at least one of its sides is worth keeping. A kept exchange is kept whole."""
    return any(should_embed(side, policy) for side in (user, assistant) if side and side.strip())


def storable(text):
    # type: (str) -> str
    """The text without NUL characters and lone surrogates, which are no text and which the store refuses."""
    text = text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "ignore").decode()
    return text


def cut(text, limit=MAX_TEXT):
    # type: (str, int) -> str
    """At most `limit` characters of the text; what was cut is counted in a last line."""
    if len(text) <= limit:
        return text
    mark = f"\n[cut: {len(text) - limit + 60:,} more characters]"
    return text[: limit - len(mark)] + mark
