"""Words: secrets that only their own shape and a word that speaks of secrets, somewhere near, give away."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import namedtuple
from collections.abc import Iterator

from scrubjay.redaction.cuts import Cuts, folded, places
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape
from scrubjay.redaction.shapes import is_digest, is_jumbled, is_made_up, is_password, stands_in

REACH = 160  # characters from a word that speaks of secrets to the secret
_STOPS = frozenset(
    " \t\n\r\f\v\u00a0\u3000\"'`()<>[]{},;:=|/“”\u2018\u2019„«»「」『』\uff0c。\uff1a、\\"
)  # between words
_CUES = WORDS["cues"]
_ALL_CUES = (
    *_CUES,
    *WORDS["cues-abroad"],
    *WORDS["accounts-abroad"],
    *(word for word in WORDS["abroad"] if not word.isascii()),
)

# A word with the nearest cue on each side, and the line before it; `said`: the cue after it calls it a secret.
_Place = namedtuple("_Place", "word value before after line said")


def without_strong(text: str) -> tuple[str, int]:
    """Replace words that can hardly be anything but a secret, near a word that speaks of one.

    What the nearest name governs need not be as strong: `the signing key, which both share, is 5f3a...`.
    """
    cuts = Cuts(text)
    words = _candidates(text)
    if not words:
        return cuts.result()
    small = folded(text)
    cues = _cues(text, small, words)
    starts = [cue.start() for cue in cues]
    for word in words:
        place = _place(word, small, cues, starts)
        if _is_secret(place, text, small) and not _is_known(place, text):
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
    return (
        (len(value) >= 30 or is_password(value.rstrip(".")))
        and not shape("public-form").match(value)
        and not shape("name-of-secret").match(value)
        and "example" not in value.lower()
    )


def _cues(text: str, small: str, words: list[re.Match[str]]) -> list[re.Match[str]]:
    """Find what speaks of secrets near these words."""
    names = _CUES if small.isascii() else _ALL_CUES
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
    said = bool(after and (shape("said").match(between) or shape("typed").search(line)))
    value = word.group().rstrip(".!?") if word.group()[-1] == "." else word.group()
    return _Place(word, value, before, after, line, said)


def _is_secret(place: _Place, text: str, small: str) -> bool:
    word, value, before, after, line, said = place
    start, end = word.span()
    quoted = text[start - 1 : start] + text[end : end + 1] in ('""', "''", "``")
    return (
        ((before or said or (after and line)) and _is_strong(value, line))
        or (said and after["name"] and is_password(value))
        or (quoted and 10 <= len(value) <= 24 and _is_quoted_secret(place))
        or _is_introduced(value, text[start - len(line) : start])
        or (before and _is_plausible(place, small))
    )


def _is_strong(value: str, line: str) -> bool:
    """Return True if a word is a secret whatever speaks of secrets near it."""
    if is_made_up(value):
        return len(value) >= 8 and not (line.endswith("/") and "#" in value)
    if shape("two-words").match(value):
        return not line.endswith("/") and bool(shape("titled").match(value))
    return (
        len(value) >= 24
        and bool(shape("key").match(value))
        and is_jumbled(value)
        and not pattern(r"://\S*/\Z").search(line)
        and not _is_harmless(line)
    )


def _is_harmless(line: str) -> bool:
    """Return True if the line before a word says that it is a digest, an id or the like."""
    return bool(shape("digested").search(line) or shape("harmless").search(line[-40:]))


def _is_quoted_secret(place: _Place) -> bool:
    """Return True if a quoted word near the name of a secret is random, or a password as people make it."""
    near = [cue for cue in (place.before, place.after) if cue and cue["name"]]
    if not near or _is_harmless(place.line) or pattern(r"[a-z]{2,10}_").match(place.value):
        return False
    of_password = any(cue.group().startswith(("pass", "pw")) for cue in near)
    return is_jumbled(place.value) or (of_password and _is_chosen(place.value))


def _is_chosen(value: str) -> bool:
    """Return True for words and a number, as people make passwords."""
    return bool(shape("titled").match(value) or shape("issue").match(value))


def _is_introduced(value: str, line: str) -> bool:
    """Return True if a key is set as a variable of the environment, handed to a call, or follows a user."""
    role = shape("role").search(line)
    if role:
        quoted = role["quote"] is not None or line[role.start() - 1 : role.start()] in ("'", '"', "`")
        return is_password(value) if quoted else is_made_up(value) or is_jumbled(value) or _is_chosen(value)
    if pattern(r"(?:0x)?[0-9a-f]{64}\Z").match(value) and shape("wallet-call").search(line):
        return True
    if len(value) >= 16 and is_jumbled(value) and shape("keyed-call").search(line):
        return True
    variable = shape("variable").search(line)
    if not variable:
        return False
    name = variable["name"] or variable["fish"]
    if shape("harmless-variable").match(name) or "PUBLIC" in name or shape("reference").match(value):
        return False
    return bool(shape("grouped").match(value) or shape("key").match(value))


def _is_plausible(place: _Place, small: str) -> bool:
    """Return True if a word after a word that names secrets is one."""
    cue, value, line = place.before, place.value, place.line
    start = place.word.start()
    before, between = small[max(0, cue.start() - 24) : cue.start()], small[cue.end() : start]
    of_key = cue.group().startswith("key") and bool(pattern(r"[a-z]{2}[ _-]?\Z").search(before))
    if _is_elsewhere(place, small, before, between) or (of_key and shape("public-name").search(before)):
        return False
    flag = cue.group().startswith((" -p", " /p:")) and not between.strip(" \"'")
    linked = flag or _is_linked(cue.group(), between)
    prefixed = shape("prefixed-key").match(value)
    if not (cue["name"] or of_key or flag):
        if cue.group() + between in ("login ", "auth ") and pattern(r"[0-9a-f-]{32,64}\Z").match(value):
            return True  # of a command
        handed = shape("handed").search(between) and shape("account").match(cue.group())
        least = 16 if "key" in cue.group() else 10 if handed else 12
        random = linked and len(value) >= least and is_jumbled(value) and not prefixed
        return bool(random or (handed and len(value) >= 10 and _is_chosen(value)))
    if linked or between == " ":
        if (of_key and shape("grouped").match(value)) or (
            shape("titled").match(value) and _digits(value) >= 2
        ):
            return True
    if (line.endswith("/") and "://" in line and value.isalnum()) or (
        value.startswith("0x") and len(value) != 66
    ):
        return False
    if shape("digest-command").search(small[max(0, start - 160) : start]):
        return False
    if shape("hex-or-base32").match(value):
        return True
    if len(value) >= 16 and is_jumbled(value) and (not prefixed or linked):
        return True
    quoted = small[start - 1 : start] in ("'", '"', "`")
    if (linked or quoted) and shape("issue").match(value):
        return True
    return linked and not of_key and _is_likely(value, cue.group())


def _is_likely(value: str, cue: str) -> bool:
    """Return True if a word that is said to be a secret is a password rather than a version or an identifier."""
    if not is_password(value) or not (
        is_made_up(value) or _is_chosen(value) or not shape("versioned").match(value)
    ):
        return False
    return _digits(value) >= 2 or (len(value) >= 10 and (is_jumbled(value) or cue.startswith("pass")))


def _is_elsewhere(place: _Place, small: str, before: str, between: str) -> bool:
    """Return True if the name of a secret governs something else than this word."""
    cue, value, line = place.before, place.value, place.line
    start = place.word.start()
    return bool(
        len(between) > 90
        or between.count("\n") > 2
        or shape("no-secret").search(before + cue.group())
        or shape("digested").search(line)
        or shape("template").search(line)
        or shape("harmless").search(between[-40:])
        or shape("harmless").search(line[-40:])
        or (not line and pattern(r"[0-9a-f]{32,64} [ *]?[a-z./]").match(small, start))  # a digest of a file
        # another line, which says more than the value
        or ("\n" in between and not shape("end-of-line").match(small, start + len(value)))
        or (cue["name"] and shape("about").match(between))
        or (between == ":" and before.endswith(":"))
    )


def _is_linked(cue: str, between: str) -> bool:
    """Return True if what is between a name and a word leads from the one to the other."""
    account = shape("account").match(cue)
    return bool(
        shape("link").search(between[-24:])
        or pattern(r"[^\n]{0,40} --?[a-z-]{1,20}[ =][\"']?\Z").match(between)
        or (account and pattern(r"[^\n]*[:=][^\n]*[,;/] \Z|[ :]{1,2}[\w.@-]{1,40} ?/ ?\Z").match(between))
    )


def _is_known(place: _Place, text: str) -> bool:
    """Return True if a word is code or belongs to something public."""
    word, value = place.word, place.value
    start, follows = word.start(), text[word.end() : word.end() + 3]
    armour = text.rfind("-----BEGIN ", max(0, start - 4000), start)
    if armour >= 0 and "-----END" not in text[armour:start]:
        return True  # a certificate or a public key
    called = pattern(r"[(\[]| \*\w").match(follows) and pattern(r"[*&]{0,2}[A-Za-z_][\w.]*\Z").match(value)
    compared = value[-1] == "!" and follows[:1] == "="
    named = shape("identified").search(text, max(0, start - 30), start)
    if is_digest(value, text[max(0, start - 400) : start]):
        return True
    return bool(called or compared or named) or value.endswith("...")


def _digits(value: str) -> int:
    return sum(map(str.isdigit, value))
