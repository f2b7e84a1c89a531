"""Shapes: what a word looks like that may be a secret.

Four predicates say that a word looks random. `is_mixed` asks least, for a place where a key is expected;
`is_jumbled` holds for random words alone; `is_password` is for a place where a password is expected, and
`is_made_up` holds for passwords wherever they are.
"""

from __future__ import annotations

from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape

LONGEST_PASSWORD = 500  # characters; what is longer is judged as a key
_USUAL = {pairs[0]: pairs[1:] for pairs in WORDS["usual-pairs"]}  # of letters: nine tenths of those in texts


def is_mixed(value: str) -> bool:
    """Return True if a word has two digits and is not an identifier with a number, or is jumbled."""
    mixed = 2 <= digits(value) < len(value) and not shape("identifier").match(value)
    return mixed or is_jumbled(value)


def is_jumbled(value: str) -> bool:
    """Return True if cases and digits take turns as in no name, or pairs of letters are those of no word."""
    size = len(value)
    if size >= 6 and value.lower() != value != value.upper():
        turns = len(pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(value))
        least = 0.5 if size < 9 else 0.44 if size < 12 else 0.32  # names have 0.2 a character
        if turns >= least * size and (size >= 9 or (value.isalnum() and digits(value) > 0)):
            return True
    return size >= 9 and _is_gibberish(value)


def _is_gibberish(value: str) -> bool:
    """Return True if few pairs of letters are usual; of 100 names of ten letters one is judged wrongly."""
    if not shape("letters").match(value):
        return False
    runs = pattern("[a-z]{2,}").findall(value.lower())
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    if len(pairs) < max(7, 0.6 * len(value)) or len(set(pairs)) < 0.6 * len(pairs):
        return False
    usual = sum(pair[1] in _USUAL.get(pair[0], "") for pair in pairs)
    crowd = pattern(r".*[bcdfghjklmnpqrstvwxz]{5}").match(value.lower())
    return usual < (0.6 if crowd else 0.5 if len(pairs) < 15 else 0.58) * len(pairs)


def is_password(value: str) -> bool:
    """Return True for what may be a password where one is expected: jumbled, or with a number or a sign."""
    if len(value) < 6 or is_placeholder(value):
        return False
    if shape("titled").match(value) or is_jumbled(value):
        return True
    numbered = digits(value) > 0 or bool(shape("signs").match(value))
    named = shape("identifier").match(value) or shape("term").match(value)
    return numbered and not named and value.isascii() and any(map(str.isalpha, value))


def is_made_up(value: str) -> bool:
    """Return True if a word has letters, digits and signs as passwords have them, and no term has."""
    if len(value) > LONGEST_PASSWORD:  # the patterns take quadratic time
        return False
    ending = value[-1] in "!?" and not any(sign in value[:-1] for sign in "!#$%^*?&@")
    return (
        bool(shape("made-up").match(value))
        and not shape("no-password").match(value)
        and (is_jumbled(value) or not _is_sum(value))
        and (not ending or digits(value) >= 3)
        and not stands_in(value)
    )


def _is_sum(value: str) -> bool:
    """Return True for a sum or a pattern of names: no other sign follows its last operator."""
    for last, before in (("*", ".+*-"), (".+-", "*")):
        at = max(map(value.rfind, last))
        behind = any(sign in value[at + 1 :] for sign in "!#$%^?&@")
        if at > 0 and not behind and any(sign in value[:at] for sign in before):
            return True
    return bool(shape("sum").match(value))


def digits(value: str) -> int:
    """Count the digits of a word."""
    return sum(map(str.isdigit, value))


def is_placeholder(value: str) -> bool:
    """Return True if a value is a word for a secret, or names the place where one is kept."""
    refers = shape("reference").match(value) and not (value[0] in "/#!" and is_jumbled(value))
    return bool(refers) or stands_in(value)


def stands_in(value: str) -> bool:
    """Return True if a value is a word for a secret: a template, a mask, a sentence, a type, a public key."""
    folded = value.lower().strip().rstrip("/")
    if "{" in folded:
        folded = pattern(r"\{\w{1,12}\}").sub("", folded, count=1)
    folded = folded or "none"
    return (
        any(mark in folded for mark in ("[redacted:", "://", " ", "your", "example", "{"))
        or max(folded) > "\u2e80"  # a sentence in a script without blanks
        or len(set(folded)) <= 2  # ******, xxxxxx
        or (value[0], value[-1]) in (("<", ">"), ("[", "]"), ("(", ")"))
        or (folded[0] in ",;" and folded[-1] in "([{")
        or folded.endswith(("xxxxxxxx", "...", ":"))
        or folded in WORDS["abroad"]
        or bool(shape("stand-in").match(folded))
        or any(shape(name).match(value) for name in ("public-form", "name-of-secret", "masked"))
    )


def is_digest(value: str, above: str) -> bool:
    """Return True for hex in a column that is headed as one of digests."""
    return "DIGEST" in above and bool(pattern(r"[0-9a-f]+\Z").match(value))


def is_key(value: str) -> bool:
    """Return True for a long run of hex, or of capitals, small letters and digits."""
    return bool(shape("key").match(value))


def _has_key(path: str) -> bool:
    return any(is_key(part) or shape("path-key").match(part) for part in path.split("/"))


def _is_only(value: str) -> bool:
    """Return True if a word may be a secret where only a secret can be: `sshpass -p toor`."""
    return value[0] not in "-/$%<{&*" and not is_placeholder(value)


def _is_of_url(value: str) -> bool:
    """Return True if a word may be a password in a URL, where a percent sign may begin one."""
    refers = value[0] in "$%.\\(" and (value[0] == "(" or shape("reference").match(value))
    return not (refers or stands_in(value))


def _is_said(value: str) -> bool:
    """Return True if a word may be a password that prose speaks of: not `weak`, not `required`."""
    word = value.rstrip("!?.,")
    return bool(word) and not shape("said-of-passwords").match(word) and _is_only(word)


def _is_set(value: str) -> bool:
    """Return True if a word may be a password that is set: not `text`, not `Passwort`."""
    return _is_said(value) and not pattern(r"[A-Z][a-z]+\Z").match(value)


CHECKS = {  # what `only_if` of a rule may ask of its secret
    "mixed": lambda value: is_mixed(value) and not stands_in(value),
    "jumbled": is_jumbled,
    "password": is_password,
    "key": is_key,
    "path": _has_key,
    "only": _is_only,
    "url": _is_of_url,
    "said": _is_said,
    "set": _is_set,
}
