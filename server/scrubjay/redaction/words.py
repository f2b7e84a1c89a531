"""Words: secrets that are found only by their shape and a nearby word about secrets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from types import SimpleNamespace

from scrubjay.redaction.cuts import Cuts, folded, places
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape
from scrubjay.redaction.shapes import (
    digits,
    is_digest,
    is_jumbled,
    is_key,
    is_made_up,
    is_password,
    stands_in,
)

REACH = 160  # characters from a word that speaks of secrets to the secret
_STOPS = frozenset(" \t\n\r\f\v\u00a0\u3000\"'`()<>[]{},;:=|/“”\u2018\u2019„«»「」『』\uff0c。\uff1a、\\")
_ABROAD = tuple(word for word in WORDS["abroad"] if not word.isascii())
_ALL_CUES = WORDS["cues"] + WORDS["cues-abroad"] + WORDS["accounts-abroad"] + _ABROAD


class _Place(SimpleNamespace):
    """A word, the nearest cue on each side of it, and the line before it.

    `value` is the word without a full stop; `is_said`: the cue after it calls it a secret.
    """


def without_strong(text: str) -> tuple[str, int]:
    """Replace words that can hardly be anything but a secret, near a word that speaks of one.

    What the nearest name governs need not be as strong: `the signing key, which both share, is 5f3a...`.
    """
    cuts, words = Cuts(text), _candidates(text)
    if not words:
        return cuts.result()
    small = folded(text)
    cues = _cues(small, words)
    starts = [cue.start() for cue in cues]
    for word in words:
        place = _place(word, small, cues, starts)
        if _is_secret(place, text, small) and not _is_public(place, text):
            kind = "password" if is_made_up(place.value) else "token"
            cuts.replace(word.start(), word.start() + len(place.value), kind)
    return cuts.result()


def _candidates(text: str) -> list[re.Match[str]]:
    """Find the words that may be secrets at all, in order."""
    words = [word for word in numbered_words(text) if _is_candidate(word.group())]
    if max(map(len, text.split()), default=0) < 40:
        return words
    whole = [word for word in shape("base64").finditer(text) if "/" in word.group() or "+" in word.group()]
    spans = [word.span() for word in whole]
    parts = [word for word in words if not _is_within(word.start(), spans)]
    found = [*(word for word in whole if not stands_in(word.group())), *parts]
    return sorted(found, key=lambda word: word.start())


def numbered_words(text: str) -> Iterator[re.Match[str]]:
    """Find the words with a digit among their first 61 characters: from the digit, as few words have one."""
    end = 0
    while digit := pattern("[0-9]").search(text, end):
        start = digit.start()
        while start > max(end, digit.start() - 61) and text[start - 1] not in _STOPS:
            start -= 1
        word = shape("word").match(text, start)
        if not word:
            break
        end = word.end()
        if start == 0 or (text[start - 1] in _STOPS and text[start - 1] != "\\"):
            yield word


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    at = bisect_left(spans, (place + 1,)) - 1
    return at >= 0 and place < spans[at][1]


def _is_candidate(value: str) -> bool:
    if len(value) < 6 or shape("common").match(value) or shape("term").match(value.rstrip("?!.")):
        return False
    public = shape("public-form").match(value) or shape("name-of-secret").match(value)
    return (
        not public and "example" not in value.lower() and (len(value) >= 30 or is_password(value.rstrip(".")))
    )


def _cues(small: str, words: list[re.Match[str]]) -> list[re.Match[str]]:
    """Find what speaks of secrets near these words, in the folded text."""
    names = WORDS["cues"] if small.isascii() else _ALL_CUES
    found: list[int] = []
    seen = 0
    for word in words:
        start, seen = max(seen, word.start() - REACH), max(seen, word.end() + 100)
        found += places(names, small, start, seen)
    if "[redacted:" in small:  # a placeholder names a secret that is gone
        hidden = pattern(r"\[redacted:[a-z0-9-]{1,40}\]").sub(lambda match: " " * len(match.group()), small)
        found = [place for place in found if hidden[place] == small[place]]
    return [cue for cue in (shape("cue").match(small, place) for place in found) if cue]


def _place(word: re.Match[str], small: str, cues: list[re.Match[str]], starts: list[int]) -> _Place:
    start, end = word.span()
    at = bisect_left(starts, start)
    before = cues[at - 1] if at and starts[at - 1] > start - REACH else None
    if before and not before["name"]:  # what names a secret, a few words before, says more than `user`
        named = next((cue for cue in reversed(cues[max(0, at - 4) : at - 1]) if cue["name"]), None)
        if named and named.start() > start - 60 and "\n" not in small[named.end() : start]:
            before = named
    line = small[max(small.rfind("\n", 0, start) + 1, start - 100) : start]
    after = cues[bisect_left(starts, end)] if starts and end <= starts[-1] else None
    if after and (after.start() > end + 80 or "\n" in small[end : after.start()]):
        after = None
    if after and not after["name"]:
        close = (cue for cue in cues[at : at + 3] if cue["name"] and cue.start() < after.end() + 2)
        after = next(close, after)
    between = small[end : after.start()] if after else ""
    is_said = bool(after and (shape("said").match(between) or shape("typed").search(line)))
    value = word.group().rstrip(".!?") if word.group()[-1] == "." else word.group()
    return _Place(word=word, value=value, before=before, after=after, line=line, is_said=is_said)


def _is_secret(place: _Place, text: str, small: str) -> bool:
    value, before, after, line, is_said = place.value, place.before, place.after, place.line, place.is_said
    start, end = place.word.span()
    is_quoted = text[start - 1 : start] + text[end : end + 1] in ('""', "''", "``")
    return bool(
        ((before or is_said or (after and line)) and _is_strong(value, line))
        or (is_said and after["name"] and is_password(value))
        or (is_quoted and 10 <= len(value) <= 24 and _is_quoted_secret(place))
        or _is_introduced(value, text[start - len(line) : start])
        or (before and _is_plausible(place, small))
    )


def _is_strong(value: str, line: str) -> bool:
    """Return True if a word is a secret whatever speaks of secrets near it."""
    if is_made_up(value):
        return len(value) >= 8 and not (line.endswith("/") and "#" in value)
    if shape("two-words").match(value):
        return not line.endswith("/") and bool(shape("titled").match(value))
    is_random = len(value) >= 24 and is_key(value) and is_jumbled(value)
    return is_random and not pattern(r"://\S*/\Z").search(line) and not _is_harmless(line)


def _is_harmless(line: str) -> bool:
    """Return True if the line before a word says that it is a digest, an id or the like."""
    return bool(shape("digested").search(line) or shape("harmless").search(line[-40:]))


def _is_quoted_secret(place: _Place) -> bool:
    """Return True if a quoted word near the name of a secret is random, or a password as people make it."""
    near = [cue for cue in (place.before, place.after) if cue and cue["name"]]
    if not near or _is_harmless(place.line) or pattern(r"[a-z]{2,10}_").match(place.value):
        return False
    is_of_password = any(cue.group().startswith(("pass", "pw")) for cue in near)
    return is_jumbled(place.value) or (is_of_password and _is_chosen(place.value))


def _is_chosen(value: str) -> bool:
    """Return True for words and a number, as people make passwords."""
    return bool(shape("titled").match(value) or shape("issue").match(value))


def _is_introduced(value: str, line: str) -> bool:
    """Return True if a key is set as a variable of the environment, handed to a call, or follows a user."""
    role = shape("role").search(line)
    if role:
        is_quoted = role["quote"] is not None or line[role.start() - 1 : role.start()] in ("'", '"', "`")
        is_random = is_made_up(value) or is_jumbled(value) or bool(shape("titled").match(value))
        return is_password(value) if is_quoted else is_random
    if shape("hex-key").match(value) and shape("wallet-call").search(line):
        return True
    if len(value) >= 16 and is_jumbled(value) and shape("keyed-call").search(line):
        return True
    variable = shape("variable").search(line)
    name = variable and (variable["name"] or variable["fish"])
    if (
        not name
        or "PUBLIC" in name
        or shape("harmless-variable").match(name)
        or shape("reference").match(value)
    ):
        return False
    return is_key(value) or bool(shape("grouped").match(value))


def _is_plausible(place: _Place, small: str) -> bool:
    """Return True if a word after a word that names secrets is one."""
    cue, value, start = place.before.group(), place.value, place.word.start()
    between = small[place.before.end() : start]
    is_of_key = cue.startswith("key") and bool(pattern(r"[a-z]{2}[ _-]?\Z").search(_before_cue(place, small)))
    if _is_elsewhere(place, small, between, is_of_key):
        return False
    is_flag = cue.startswith((" -p", " /p:")) and not between.strip(" \"'")
    is_linked = is_flag or _is_linked(cue, between)
    is_prefixed = bool(shape("prefixed-key").match(value))
    if not (place.before["name"] or is_of_key or is_flag):
        return _is_spoken_of(cue, between, value, is_linked and not is_prefixed)
    is_near = is_linked or between == " "
    if is_near and is_of_key and shape("grouped").match(value):
        return True
    if (place.line.endswith("/") and "://" in place.line and value.isalnum()) or shape("short-hex").match(
        value
    ):
        return False
    if shape("digest-command").search(small[max(0, start - 160) : start]):
        return False
    is_long = len(value) >= 16 and is_jumbled(value) and (is_linked or not is_prefixed)
    if is_long or shape("hex-or-base32").match(value):
        return True
    if shape("issue").match(value):
        return is_linked or small[start - 1 : start] in ("'", '"', "`")
    if is_near and digits(value) >= 2 and shape("titled").match(value):
        return True
    return is_linked and not is_of_key and _is_likely(value, cue)


def _before_cue(place: _Place, small: str) -> str:
    return small[max(0, place.before.start() - 24) : place.before.start()]


def _is_spoken_of(cue: str, between: str, value: str, is_linked: bool) -> bool:
    """Return True if a word is a secret after a word that only speaks of secrets, such as `login`."""
    if cue + between in ("login ", "auth ") and pattern(r"[0-9a-f-]{32,64}\Z").match(value):
        return True  # of a command
    is_handed = bool(shape("handed").search(between) and shape("account").match(cue))
    least = 16 if "key" in cue else 10 if is_handed else 12
    is_random = is_linked and len(value) >= least and is_jumbled(value)
    return is_random or (is_handed and len(value) >= 10 and _is_chosen(value))


def _is_likely(value: str, cue: str) -> bool:
    """Return True if a word is rather a password than a version, a model or an identifier."""
    if shape("versioned").match(value) and not (is_made_up(value) or _is_chosen(value)):
        return False
    is_long = len(value) >= 10 and (is_jumbled(value) or cue.startswith("pass"))
    return is_password(value) and (is_long or digits(value) >= 2)


def _is_elsewhere(place: _Place, small: str, between: str, is_of_key: bool) -> bool:
    """Return True if the name of a secret governs something else than this word."""
    cue, line, start = place.before, place.line, place.word.start()
    before = _before_cue(place, small)
    return bool(
        len(between) > 90
        or between.count("\n") > 2
        or (between == ":" and before.endswith(":"))
        or (is_of_key and shape("public-name").search(before))
        or shape("no-secret").search(before + cue.group())
        or (cue["name"] and shape("about").match(between))
        or _is_harmless(line)
        or shape("harmless").search(between[-40:])
        or shape("template").search(line)
        or (not line and shape("digest-of-file").match(small, start))
        # another line, which says more than the value
        or ("\n" in between and not shape("end-of-line").match(small, start + len(place.value)))
    )


def _is_linked(cue: str, between: str) -> bool:
    """Return True if what is between a name and a word leads from the one to the other."""
    account = shape("account").match(cue) and shape("account-and").match(between)
    return bool(account or shape("link").search(between[-24:]) or shape("next-flag").match(between))


def _is_public(place: _Place, text: str) -> bool:
    """Return True if a word is code, or part of something public."""
    value, start, end = place.value, place.word.start(), place.word.end()
    armour = text.rfind("-----BEGIN ", max(0, start - 4000), start)
    if armour >= 0 and "-----END" not in text[armour:start]:
        return True  # a certificate or a public key
    if is_digest(value, text[max(0, start - 400) : start]):
        return True
    is_called = shape("called-word").match(text, end) and shape("called-name").match(value)
    is_compared = value[-1] == "!" and text[end : end + 1] == "="
    is_named = shape("identified").search(text, max(0, start - 30), start)
    return bool(is_called or is_compared or is_named) or value.endswith("...")
