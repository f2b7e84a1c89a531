"""Redacts the values next to names such as `password` or `api_key`."""

from __future__ import annotations

import re
from types import SimpleNamespace

from scrubjay.redaction.cuts import Cuts, folded, positions
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape
from scrubjay.redaction.shapes import (
    is_digest,
    is_jumbled,
    is_key,
    is_made_up,
    is_mixed,
    is_password,
    is_placeholder,
)

# What may follow a name: (shape, True for an assignment, True if it follows the whole identifier).
_LAYOUTS = (
    ("assigned", True, True),
    ("constructed", False, False),
    ("next-cell", False, True),
    ("next-word", False, False),
)
_ELEMENT, _PAIR, _ARGUMENT = ("element", False, True), ("pair", False, False), ("argument", True, True)
_PASSWORDS = ("pass", "asword", "pwd", "pw", "psk", *WORDS["abroad"])
_JOINTS = (" ", "/", "&", ",", "|", "+", "、")  # between the names of a user and a password
_ENDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.:-"  # first and last characters of plain names


class _Name(SimpleNamespace):
    """A word that names a secret, with the text before it, its end, and the end of its identifier (`tail`).

    `is_vague` is True for words such as `key`, which name other things too. `is_plain` is True if its
    identifier has no long tail.
    """


def without_values(text: str) -> tuple[str, int]:
    """Replace the values of names such as `password` and `api_key`."""
    lowered, cuts, examined_to = folded(text), Cuts(text), 0
    words = WORDS["names-of-secrets"]
    for position in positions(words if lowered.isascii() else words + WORDS["abroad"], lowered):
        name = _name(text, lowered, position) if position >= max(cuts.end, examined_to) else None
        if name is None:
            continue
        start, end, examined_to = _value_after(name, text, text[max(0, position - 160) : position])
        if end:
            cuts.replace(start, end, name.kind)
    return cuts.result()


def _name(text: str, lowered: str, position: int) -> _Name | None:
    match = shape("name").match(lowered, position)
    before = text[max(0, position - 24) : position]
    if match is None or ("[redacted:" in before and pattern(r"\[redacted:[a-z0-9-]*\Z").search(before)):
        return None  # a placeholder names a kind of secret
    if shape("no-secret").search(before + match.group()):
        return None
    word, end = text[position : match.end()], match.end()
    tail = shape("tail").match(text, end)
    is_of_secret = word.lower() != "auth" and shape("of-secrets").search(before)
    is_vague = bool(shape("vague").match(word)) and not is_of_secret
    is_plain = not tail or bool(shape("plain-tail").match(tail.group()))
    return _Name(
        word=word,
        before=before,
        end=end,
        tail=tail.end() if tail else end,
        kind=_kind(word),
        is_vague=is_vague,
        is_plain=is_plain,
    )


def _kind(word: str) -> str:
    word = word.lower().replace("/", "")
    if word.startswith(_PASSWORDS):
        return "password"
    if word in ("secret", "totp seed"):
        return "secret"
    return "token" if word.endswith(("token", "authorization", "auth")) else "api-key"


def _value_after(name: _Name, text: str, text_before: str) -> tuple[int, int, int]:
    """Return start and end of the secret after a name (0 without one), and the end of the examined text."""
    for layout, is_assignment, follows_identifier in _layouts(name, text, text_before):
        match = shape(layout).match(text, name.tail if follows_identifier else name.end)
        if not match:
            continue
        group = _group(match)
        is_cut_off = group == "bare" and bool(shape("cut-off").match(text, match.start("bare")))
        if (_is_assigned_secret if is_assignment and name.is_plain else _is_secret_in_prose)(name, match):
            start, end = match.span(group)
            rest = shape("rest-of-value").match(text, end) if is_cut_off else None
            return start, rest.end() if rest else end, 0
        if is_assignment and group == "bare" and not _is_called(match):
            return 0, 0, match.end() if is_cut_off else 0  # the assigned value is not a secret
    return 0, 0, 0


def _layouts(name: _Name, text: str, text_before: str) -> tuple[tuple[str, bool, bool], ...]:
    first = (_ELEMENT,) if "<" in text_before else ()
    if name.before.endswith(_JOINTS) and name.kind == "password" and shape("user-and").search(name.before):
        return (*first, _PAIR, *_LAYOUTS)
    next_character = text[name.tail : name.tail + 1]
    if "-" in name.before and next_character in (" ", "\t", "\\") and shape("flag").search(name.before):
        return (*first, _ARGUMENT, *_LAYOUTS)
    return (*first, *_LAYOUTS)


def _is_assigned_secret(name: _Name, match: re.Match[str]) -> bool:
    """Return True if the value assigned to a name is a literal secret.

    A password is any quoted word, or an unquoted one with a digit or a sign; a token or a key has at least
    eight characters, with letters and digits. A name in capitals (a line of an .env file) may have any
    unquoted word. After a vague word such as `key`, the value itself must look like a key.
    """
    value, bare, word = _value(match), match["bare"], name.word
    if shape("short-code").match(word) and value.isdigit():
        return 4 <= len(value) <= 8
    if is_placeholder(value) or shape("address").match(value) or (bare and _is_code(name, match)):
        return False
    if name.is_vague:
        is_public = word.lower() == "key" and shape("public-name").search(name.before)
        return _looks_like_key(value) and not is_public
    if name.kind != "password" and shape("kebab").match(value):
        return False  # the value only names a secret
    if bare and word.isupper() and not word.startswith("CREDENTIAL") and _is_variable(name, match["sign"]):
        return len(value) >= 6
    signs = "" if value.isalpha() else value.strip(_ENDS)
    if name.kind in ("password", "secret"):
        if bare:
            return bool(signs) or is_jumbled(value)
        return len(value) >= 6 and (bool(signs) or "." not in value)
    if value.isdigit():
        return len(value) >= (20 if bare else 12)
    return len(value) >= 8 and is_mixed(value)


def _is_variable(name: _Name, sign: str | None) -> bool:
    """Return True for an environment variable, in a shell or in YAML."""
    return sign == "=" or (sign == ":" and name.before.endswith("_") and name.kind == "password")


def _is_code(name: _Name, match: re.Match[str]) -> bool:
    """Return True if a bare value is compared, called, looked up, or a part of a longer name."""
    value, sign = match["bare"], match["sign"] or ""
    last_part = value.rpartition(".")[2]
    return (
        sign.startswith(("==", "!"))
        or (sign == ":" and name.before.endswith(":"))  # arn:aws:...:secret:name
        or (last_part != value and bool(shape("name-of-secret").match(last_part)))
        or "!Ref" in match.group()
        or "!GetAtt" in match.group()
        or _is_called(match)
    )


def _is_secret_in_prose(name: _Name, match: re.Match[str]) -> bool:
    """Return True if a value that follows no equals sign is a secret; prose needs stricter rules."""
    groups, value, start = match.groupdict(), _value(match), match.start(_group(match))
    bare, above = groups.get("bare"), match.string[max(0, start - 400) : start]
    if bare and (_is_called(match) or shape("argument-of-call").match(value)):
        return False
    if is_placeholder(value) or is_digest(value, above) or shape("template").search(above[-100:]):
        return False
    if name.is_vague:
        return _looks_like_key(value) and not shape("public-name").search(name.before)
    if groups.get("element") or groups.get("attribute"):
        return _is_element_secret(name.kind, value)
    if name.kind == "password" or pattern(r" \d ").match(match.group()):
        if groups.get("loose"):
            return is_made_up(value) or is_jumbled(value)
        is_numbered = bare and len(value) >= 8 and shape("numbered").match(value)
        is_passphrase = name.word.lower() == "passphrase" and shape("passphrase").match(value)
        return is_password(value) or bool(is_passphrase or (is_numbered and not shape("term").match(value)))
    if groups.get("secret"):
        return is_password(value)  # passed to a constructor
    if name.kind == "secret" and (is_jumbled(value) or is_made_up(value)):
        return True
    is_prefixed = shape("prefixed").match(value)
    return len(value) >= 16 and (is_jumbled(value) or (is_mixed(value) and not is_prefixed))


def _looks_like_key(value: str) -> bool:
    """Return True if the value itself looks like a key, because its name does not say so."""
    return is_key(value) or bool(shape("scattered").match(value))


def _is_element_secret(kind: str, value: str) -> bool:
    """Return True if the whole content of an element with the name of a secret is a secret."""
    if shape("no-content").match(value):
        return False
    if kind in ("password", "secret"):
        return not shape("kebab-word").match(value) or is_jumbled(value)
    return len(value) >= 8 and is_mixed(value)


def _is_called(match: re.Match[str]) -> bool:
    """Return True if the bare value is called, indexed, or a type before an assignment."""
    return bool(shape("called").match(match.string, match.end()))


def _group(match: re.Match[str]) -> str:
    groups = match.groupdict().items()
    return next(name for name, value in groups if name not in ("sign", "loose") and value is not None)


def _value(match: re.Match[str]) -> str:
    return str(match[_group(match)])
