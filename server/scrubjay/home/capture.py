"""Decides if the user's policy records an exchange, and cuts texts to the size limit.

Standard library only and Python 3.9 syntax, because hooks decide with it before anything touches the disk.
"""

from __future__ import annotations

import os.path
import re
from collections import namedtuple
from functools import cache

from scrubjay.errors import InputError
from scrubjay.home.files import parse_json, read_whole
from scrubjay.home.kept import copy_of

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from scrubjay.home.paths import Home

CAPTURES = ("all", "salient", "summary_only", "off")
# A model sees unasked, in this order: nothing; an opening in each session; the opening and lines next to
# prompts; the opening and lines before edits and commands and at failures.
INJECTIONS = ("off", "session", "prompt", "edit")
MAX_TEXT = 1_000_000  # characters of one side of a turn; a test compares it with models.fields.MAX_TURN_TEXT

Policy = namedtuple("Policy", "capture min_length paused excluded inject effect", defaults=(0,))
"""What hooks may do. `capture` is one of CAPTURES and `inject` one of INJECTIONS; `excluded` are paths.

`min_length` is a number of characters.
"""

DEFAULT = Policy(capture="all", min_length=10, paused=False, excluded=(), inject="session")

# One of these makes a text salient: a file name, a path, an identifier, a call, quoted code, a version, or a
# word of a rule.
_SPECIFIC = (
    r"\w\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|c|h|cc|cpp|cs|php|sql|sh|toml|yaml|yml|json|md|html|css)\b"
    r"|/[\w.-]+/|[a-zA-Z0-9]_[a-zA-Z0-9]|\w\(\)|`[^`\n]+`|[a-z][A-Z][a-z]|#\d|[^\W\d_]\d|\d\.\d"
    r"|\b(?:[Mm]ust|MUST)\b(?! say)|\b(?:[Nn]ever|NEVER)\b(?! mind)"
)
# Announcements of an assistant's next step, which have no content, whatever they name.
_PROGRESS = (
    r"(?:(?:ok|okay|now|first|next|then|so|sure|great|alright|good) )*"
    r"(?:let me|i (?:ll|will|m going to|am going to))(?: (?:now|first|then|also|just|quickly))*"
    r" (?:look|check|run|rerun|read|search|find|see|begin|start by|verify|try|open|inspect|explore|examine"
    r"|take a|dig|think|understand|review|know|proceed|continue)\b"
)
# A file of words without content, in English, German, French, Spanish and Portuguese, in lower case and
# without apostrophes. Every other word counts as content.
_EMPTY = os.path.join(os.path.dirname(__file__), "empty_words.txt")
_LONG_WORD = 4  # letters; one content word of this length is enough, or two shorter ones
# A sentence that begins or ends with one of these needs two content words: "that is gold", "cancel it".
_PRONOUNS = frozenset(["it", "that", "this", "you", "me"])
_MAX_CHECKED = 10_000  # characters; a longer text is recorded without a check
_LONGEST = 4 * 1024 * 1024  # bytes of capture.json


def read(home: Home) -> dict[str, Any]:
    """Return the values of capture.json, or of its copy if the file is missing or unreadable.

    Raises FileNotFoundError if both are missing, and OSError or ValueError if neither can be read.
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
    """Read the policy from the values of capture.json; missing values have their defaults.

    Raises InputError if a value is unknown or of the wrong type. Code that cannot read what the user wants
    must not record.
    """
    values = dict(DEFAULT._asdict(), **{name: data[name] for name in Policy._fields if name in data})
    values["inject"] = injection(values["inject"])
    length = values["min_length"]
    checks = (
        ("capture", values["capture"] in CAPTURES, "one of " + ", ".join(CAPTURES)),
        ("min_length", type(length) is int and length >= 0, "a whole number from 0"),
        ("effect", type(values["effect"]) is int and values["effect"] >= 0, "a whole number from 0"),
        ("paused", type(values["paused"]) is bool, "true or false"),
        ("inject", values["inject"] in INJECTIONS, "one of " + ", ".join(INJECTIONS)),
        ("excluded", _are_absolute_paths(values["excluded"]), "a list of absolute folders"),
    )
    for name, is_valid, expected in checks:
        if not is_valid:
            raise InputError(f"capture.json: {name} must be {expected}; `scrubjay config` rewrites it.")
    values["excluded"] = tuple(os.path.normpath(folder) for folder in values["excluded"])
    return Policy(**values)


def injection(value: Any) -> Any:
    """Return `inject` as a current value; it used to be a switch for lines next to prompts.

    >>> injection(True), injection(False), injection("session")
    ('prompt', 'off', 'session')
    """
    return ("prompt" if value else "off") if isinstance(value, bool) else value


def is_excluded(policy: Policy, *folders: str) -> bool:
    """Return True if one of these folders is in an excluded folder, as written or with links resolved."""
    if not policy.excluded:
        return False
    paths = [os.path.normcase(os.path.normpath(path)) for path in _spellings(folders)]
    for excluded in map(os.path.normcase, _spellings(policy.excluded)):
        prefix = excluded.rstrip(os.sep) + os.sep
        if any(path == excluded or path.startswith(prefix) for path in paths):
            return True
    return False


def may_be_excluded(policy: Policy, folders: Collection[str]) -> bool:
    """Return True if an exchange in these folders may have been in an excluded folder.

    Without folders, it is unknown where it was, so it may have been.
    """
    return bool(policy.excluded) and (not folders or is_excluded(policy, *folders))


def is_salient(text: str) -> bool:
    """Return True if a text has content beyond courtesy, small talk and progress reports.

    >>> is_salient("Lena owns the billing module."), is_salient("thanks, that is nice")
    (True, False)
    """
    if len(text) > _MAX_CHECKED or re.search(_SPECIFIC, text):  # compiled in 2 ms, only for "salient"
        return True
    empty = _words_without_content()
    for sentence in re.findall(r"[^.!?\n]+", text):
        words = re.findall(r"[^\W_]+", sentence)
        lower = [word.lower() for word in words]
        if re.match(_PROGRESS, " ".join(lower)):
            continue
        content = {word for word in lower if word not in empty and (len(word) > 1 or word.isdigit())}
        has_pronoun = not _PRONOUNS.isdisjoint((*lower[:2], *lower[-1:]))
        if len(content) > 1 or (not has_pronoun and any(map(_is_enough, content))):
            return True
        if any(word[0].isupper() and word.lower() in content for word in words[1:]):
            return True  # a name
    return False


@cache
def _words_without_content() -> frozenset[str]:
    with open(_EMPTY, encoding="utf-8") as file:
        return frozenset(file.read().split())


def _is_enough(word: str) -> bool:
    # The list of empty words covers only Latin script, so any other word is enough.
    return len(word) >= _LONG_WORD or word >= "\u0370"


def should_record(messages: Iterable[str | None], policy: Policy) -> bool:
    """Return True if an exchange must be recorded: if one of its messages is long enough and has content."""
    if policy.paused or policy.capture == "off":
        return False
    texts = [message for message in messages if message and message.strip()]
    long_texts = [text for text in texts if len(text.strip()) >= policy.min_length]
    return any(policy.capture != "salient" or is_salient(text) for text in long_texts)


def storable(text: str) -> str:
    """Return the text without NUL characters and lone surrogates, which the store refuses."""
    text = text.replace("\x00", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "ignore").decode()
    return text


def cut(text: str, limit: int = MAX_TEXT, beyond: int = 0) -> str:
    """Cut the text to at most `limit` characters; a last line says how many are missing.

    `beyond` is the number of characters after the text that were already left out.
    """
    if len(text) <= limit and not beyond:
        return text
    missing = max(0, len(text) - limit) + beyond
    note = f"\n[cut: {missing + 60:,} more characters]"
    return text[: limit - len(note)] + note


def unanswered(turns: int) -> str:
    """Return a note that says how many turns were stored without an answer.

    >>> unanswered(1)
    "1 turn stored without the answer: the host's transcript has none (yet)"
    """
    noun = "turn" if turns == 1 else "turns"
    return f"{turns:,} {noun} stored without the answer: the host's transcript has none (yet)"


def _spellings(folders: Iterable[str]) -> Iterator[str]:
    """Yield each folder as written and with links resolved. In WSL, a Windows path becomes its mount."""
    for folder in folders:
        on_drive = os.sep == "/" and re.match(r"[A-Za-z]:[\\/]", folder)
        path = f"/mnt/{folder[0].lower()}/" + folder[3:].replace("\\", "/") if on_drive else folder
        yield path
        yield os.path.realpath(path)


def _values(path: str) -> dict[str, Any]:
    values = parse_json(read_whole(path, _LONGEST, own=True))
    if not isinstance(values, dict):
        raise ValueError("it is not a JSON object")
    return values


def _are_absolute_paths(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, str) and os.path.isabs(item) for item in value
    )
