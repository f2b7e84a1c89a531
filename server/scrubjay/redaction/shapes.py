"""Checks if a word has the shape of a secret.

Four predicates tell if a word looks random. `is_mixed` is the weakest, for places where a key is expected;
`is_jumbled` is True only for random words; `is_password` is for places where a password is expected, and
`is_made_up` recognises passwords anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape

LONGEST_PASSWORD = 500  # characters; a longer word is judged as a key
# Usual pairs of letters, by the first letter: nine tenths of all pairs in texts.
_USUAL = {pairs[0]: pairs[1:] for pairs in WORDS["usual-pairs"]}


def is_mixed(value: str) -> bool:
    """Return True if a word is jumbled, or has two digits and is not an identifier with a number."""
    has_digits = 2 <= digits(value) < len(value) and not shape("identifier").match(value)
    return has_digits or is_jumbled(value)


def is_jumbled(value: str) -> bool:
    """Return True if cases and digits alternate more than in names, or pairs of letters are unusual."""
    size = len(value)
    if size >= 6 and value.lower() != value != value.upper():
        turns = len(pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(value))
        least = 0.5 if size < 9 else 0.44 if size < 12 else 0.32  # names have 0.2 turns per character
        if turns >= least * size and (size >= 9 or (value.isalnum() and digits(value) > 0)):
            return True
    return size >= 9 and _is_gibberish(value)


def _is_gibberish(value: str) -> bool:
    """Return True if few pairs of letters are usual; this is wrong for 1 of 100 names of ten letters."""
    if not shape("letters").match(value):
        return False
    runs = pattern("[a-z]{2,}").findall(value.lower())
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    if len(pairs) < max(7, 0.6 * len(value)) or len(set(pairs)) < 0.6 * len(pairs):
        return False
    usual = sum(pair[1] in _USUAL.get(pair[0], "") for pair in pairs)
    has_consonant_run = pattern(r".*[bcdfghjklmnpqrstvwxz]{5}").match(value.lower())
    return usual < (0.6 if has_consonant_run else 0.5 if len(pairs) < 15 else 0.58) * len(pairs)


def is_password(value: str) -> bool:
    """Return True if a word may be a password where one is expected: jumbled, or with a number or a sign."""
    if len(value) < 6 or is_placeholder(value):
        return False
    if shape("titled").match(value) or is_jumbled(value):
        return True
    has_number_or_sign = digits(value) > 0 or bool(shape("signs").match(value))
    is_name = shape("identifier").match(value) or shape("term").match(value)
    return has_number_or_sign and not is_name and value.isascii() and any(map(str.isalpha, value))


def is_made_up(value: str) -> bool:
    """Return True if a word has letters, digits and signs as in passwords, but in no technical term."""
    if len(value) > LONGEST_PASSWORD:  # the patterns take quadratic time
        return False
    ends_sentence = value[-1] in "!?" and not any(sign in value[:-1] for sign in "!#$%^*?&@")
    return (
        bool(shape("made-up").match(value))
        and not shape("no-password").match(value)
        and (is_jumbled(value) or not _is_expression(value))
        and (not ends_sentence or digits(value) >= 3)
        and not is_stand_in(value)
    )


def _is_expression(value: str) -> bool:
    """Return True for a sum or a pattern of names: no other sign follows its last operator."""
    for operators, earlier_operators in (("*", ".+*-"), (".+-", "*")):
        position = max(map(value.rfind, operators))
        has_later_sign = any(sign in value[position + 1 :] for sign in "!#$%^?&@")
        has_earlier_operator = any(sign in value[:position] for sign in earlier_operators)
        if position > 0 and not has_later_sign and has_earlier_operator:
            return True
    return bool(shape("sum").match(value))


def digits(value: str) -> int:
    """Count the digits of a word."""
    return sum(map(str.isdigit, value))


def is_placeholder(value: str) -> bool:
    """Return True if a value stands in for a secret, or names the place where it is stored."""
    is_reference = shape("reference").match(value) and not (value[0] in "/#!" and is_jumbled(value))
    return bool(is_reference) or is_stand_in(value)


def is_stand_in(value: str) -> bool:
    """Return True if a value stands in for a secret: a template, a mask, a sentence, a type, a public key."""
    folded = value.lower().strip().rstrip("/")
    if "{" in folded:
        folded = pattern(r"\{\w{1,12}\}").sub("", folded, count=1)
    folded = folded or "none"
    return (
        any(mark in folded for mark in ("[redacted:", "://", " ", "your", "example", "{"))
        or max(folded) > "\u2e80"  # a sentence in a script without spaces
        or len(set(folded)) <= 2  # ******, xxxxxx
        or (value[0], value[-1]) in (("<", ">"), ("[", "]"), ("(", ")"))
        or (folded[0] in ",;" and folded[-1] in "([{")
        or folded.endswith(("xxxxxxxx", "...", ":"))
        or folded in WORDS["abroad"]
        or bool(shape("stand-in").match(folded))
        or any(shape(name).match(value) for name in ("public-form", "name-of-secret", "masked"))
    )


def is_digest(value: str, above: str) -> bool:
    """Return True for hex below a head that says DIGEST."""
    return "DIGEST" in above and bool(pattern(r"[0-9a-f]+\Z").match(value))


def is_key(value: str) -> bool:
    """Return True for a long run of hex, or of upper case, lower case and digits."""
    return bool(shape("key").match(value))


def _is_literal(value: str) -> bool:
    """Return True if a word may be a secret where only a secret is possible: `sshpass -p toor`."""
    return value[0] not in "-/$%<{&*" and not is_placeholder(value)


def _is_in_url(value: str) -> bool:
    """Return True if a word may be a password in a URL, where it may begin with a percent sign."""
    is_reference = value[0] in "$%.\\(" and (value[0] == "(" or shape("reference").match(value))
    return not (is_reference or is_stand_in(value))


def _is_in_prose(value: str) -> bool:
    """Return True if a word may be a password in prose: not `weak`, not `required`."""
    word = value.rstrip("!?.,")
    return bool(word) and not shape("said-of-passwords").match(word) and _is_literal(word)


CHECKS: dict[str, Callable[[str], bool]] = {  # the checks of secrets that `only_if` of a rule names
    "mixed": lambda value: is_mixed(value) and not is_stand_in(value),
    "jumbled": is_jumbled,
    "password": is_password,
    "key": is_key,
    "path": lambda path: any(is_key(part) or shape("path-key").match(part) for part in path.split("/")),
    "only": _is_literal,
    "url": _is_in_url,
    "said": _is_in_prose,
    "set": lambda value: _is_in_prose(value) and not pattern(r"[A-Z][a-z]+\Z").match(value),  # not `Passwort`
}
