"""Redacts words that are recognised as secrets only by their shape and a nearby word about secrets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from types import SimpleNamespace

from scrubjay.redaction.cuts import Cuts, folded, positions
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape
from scrubjay.redaction.shapes import (
    digits,
    is_digest,
    is_jumbled,
    is_key,
    is_made_up,
    is_password,
    is_stand_in,
)

REACH = 160  # characters between a word about secrets and the secret
_STOPS = frozenset(" \t\n\r\f\v\u00a0\u3000\"'`()<>[]{},;:=|/“”\u2018\u2019„«»「」『』\uff0c。\uff1a、\\")
_ABROAD = tuple(word for word in WORDS["abroad"] if not word.isascii())
_ALL_CUES = WORDS["cues"] + WORDS["cues-abroad"] + WORDS["accounts-abroad"] + _ABROAD


class _Candidate(SimpleNamespace):
    """A word that may be a secret, the nearest cue on each side, and the line before it.

    `value` is the word without a full stop. `is_called_secret` is True if the cue after it calls it a secret.
    """


def without_strong(text: str) -> tuple[str, int]:
    """Replace words that are almost certainly secrets, if a word about secrets is near.

    A word that the nearest name governs may be less certain: `the signing key, which both share, is 5f3a...`.
    """
    cuts, words = Cuts(text), _candidates(text)
    if not words:
        return cuts.result()
    lowered = folded(text)
    cues = _cues(lowered, words)
    starts = [cue.start() for cue in cues]
    for word in words:
        candidate = _candidate(word, lowered, cues, starts)
        if _is_secret(candidate, text, lowered) and not _is_public(candidate, text):
            kind = "password" if is_made_up(candidate.value) else "token"
            cuts.replace(word.start(), word.start() + len(candidate.value), kind)
    return cuts.result()


def _candidates(text: str) -> list[re.Match[str]]:
    """Return the words that may be secrets, in order."""
    words = [word for word in numbered_words(text) if _is_candidate(word.group())]
    if max(map(len, text.split()), default=0) < 40:
        return words
    runs = [word for word in shape("base64").finditer(text) if "/" in word.group() or "+" in word.group()]
    spans = [word.span() for word in runs]
    others = [word for word in words if not _is_within(word.start(), spans)]
    candidates = [*(word for word in runs if not is_stand_in(word.group())), *others]
    return sorted(candidates, key=lambda word: word.start())


def numbered_words(text: str) -> Iterator[re.Match[str]]:
    """Yield the words with a digit in their first 61 characters, by a search for digits, which are rare."""
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


def _is_within(position: int, spans: list[tuple[int, int]]) -> bool:
    index = bisect_left(spans, (position + 1,)) - 1
    return index >= 0 and position < spans[index][1]


def _is_candidate(value: str) -> bool:
    if len(value) < 6 or shape("common").match(value) or shape("term").match(value.rstrip("?!.")):
        return False
    is_public = shape("public-form").match(value) or shape("name-of-secret").match(value)
    return (
        not is_public
        and "example" not in value.lower()
        and (len(value) >= 30 or is_password(value.rstrip(".")))
    )


def _cues(lowered: str, words: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the cues about secrets near these words, in the folded text."""
    names = WORDS["cues"] if lowered.isascii() else _ALL_CUES
    cue_starts: list[int] = []
    searched_to = 0
    for word in words:
        start, searched_to = max(searched_to, word.start() - REACH), max(searched_to, word.end() + 100)
        cue_starts += positions(names, lowered, start, searched_to)
    if "[redacted:" in lowered:  # a placeholder names a secret that is already removed
        blank = pattern(r"\[redacted:[a-z0-9-]{1,40}\]").sub(lambda match: " " * len(match.group()), lowered)
        cue_starts = [at for at in cue_starts if blank[at] == lowered[at]]
    return [cue for cue in (shape("cue").match(lowered, at) for at in cue_starts) if cue]


def _candidate(word: re.Match[str], lowered: str, cues: list[re.Match[str]], starts: list[int]) -> _Candidate:
    start, end = word.span()
    next_index = bisect_left(starts, start)
    before = cues[next_index - 1] if next_index and starts[next_index - 1] > start - REACH else None
    if before and not before["name"]:  # the name of a secret a few words before says more than `user`
        earlier_cues = reversed(cues[max(0, next_index - 4) : next_index - 1])
        named_cue = next((cue for cue in earlier_cues if cue["name"]), None)
        if named_cue and named_cue.start() > start - 60 and "\n" not in lowered[named_cue.end() : start]:
            before = named_cue
    line = lowered[max(lowered.rfind("\n", 0, start) + 1, start - 100) : start]
    after = cues[bisect_left(starts, end)] if starts and end <= starts[-1] else None
    if after and (after.start() > end + 80 or "\n" in lowered[end : after.start()]):
        after = None
    if after and not after["name"]:
        next_cues = cues[next_index : next_index + 3]
        after = next((cue for cue in next_cues if cue["name"] and cue.start() < after.end() + 2), after)
    between = lowered[end : after.start()] if after else ""
    is_called_secret = bool(after and (shape("said").match(between) or shape("typed").search(line)))
    value = word.group().rstrip(".!?") if word.group()[-1] == "." else word.group()
    return _Candidate(
        word=word, value=value, before=before, after=after, line=line, is_called_secret=is_called_secret
    )


def _is_secret(candidate: _Candidate, text: str, lowered: str) -> bool:
    value, before, after, line = candidate.value, candidate.before, candidate.after, candidate.line
    is_called_secret = candidate.is_called_secret
    start, end = candidate.word.span()
    is_named = after and (after["name"] or lowered.endswith(("api ", "api_", "api-"), 0, after.start()))
    is_quoted = text[start - 1 : start] + text[end : end + 1] in ('""', "''", "``")
    return bool(
        ((before or is_called_secret or (after and line)) and _is_certainly_secret(value, line))
        or (is_called_secret and is_named and is_password(value))
        or (is_quoted and 10 <= len(value) <= 24 and _is_quoted_secret(candidate))
        or _is_introduced(value, text[start - len(line) : start])
        or (before and _is_plausible(candidate, lowered))
    )


def _is_certainly_secret(value: str, line: str) -> bool:
    """Return True if a word is a secret near any word about secrets."""
    if is_made_up(value):
        return len(value) >= 8 and not (line.endswith("/") and "#" in value)
    if shape("two-words").match(value):
        return not line.endswith("/") and bool(shape("titled").match(value))
    is_random = len(value) >= 24 and is_key(value) and is_jumbled(value)
    return is_random and not pattern(r"://\S*/\Z").search(line) and not _is_harmless(line)


def _is_harmless(line: str) -> bool:
    """Return True if the line before a word says that it is a digest, an id or the like."""
    return bool(shape("digested").search(line) or shape("harmless").search(line[-40:]))


def _is_quoted_secret(candidate: _Candidate) -> bool:
    """Return True if a quoted word near the name of a secret is random or like a password made by people."""
    near = [cue for cue in (candidate.before, candidate.after) if cue and cue["name"]]
    if not near or _is_harmless(candidate.line) or pattern(r"[a-z]{2,10}_").match(candidate.value):
        return False
    is_of_password = any(cue.group().startswith(("pass", "pw")) for cue in near)
    return is_jumbled(candidate.value) or (is_of_password and _is_human_password(candidate.value))


def _is_human_password(value: str) -> bool:
    """Return True for words with a number, as in passwords made by people."""
    return bool(shape("titled").match(value) or shape("issue").match(value))


def _is_introduced(value: str, line: str) -> bool:
    """Return True if a key is an environment variable, is passed to a call, or follows a user name."""
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


def _is_plausible(candidate: _Candidate, lowered: str) -> bool:
    """Return True if a word after the name of a secret is the secret."""
    cue, value, start = candidate.before.group(), candidate.value, candidate.word.start()
    between = lowered[candidate.before.end() : start]
    is_of_key = cue.startswith("key") and bool(
        pattern(r"[a-z]{2}[ _-]?\Z").search(_before_cue(candidate, lowered))
    )
    if _governs_other_text(candidate, lowered, between, is_of_key):
        return False
    is_flag = cue.startswith((" -p", " /p:")) and not between.strip(" \"'")
    is_linked = is_flag or _are_linked(cue, between)
    is_prefixed = bool(shape("prefixed-key").match(value))
    if not (candidate.before["name"] or is_of_key or is_flag):
        return _is_secret_after_hint(cue, between, value, is_linked and not is_prefixed)
    is_near = is_linked or between == " "
    if is_near and is_of_key and shape("grouped").match(value):
        return True
    if (candidate.line.endswith("/") and "://" in candidate.line and value.isalnum()) or shape(
        "short-hex"
    ).match(value):
        return False
    if shape("digest-command").search(lowered[max(0, start - 160) : start]):
        return False
    is_long = len(value) >= 16 and is_jumbled(value) and (is_linked or not is_prefixed)
    if is_long or shape("hex-or-base32").match(value):
        return True
    if shape("issue").match(value):
        return is_linked or lowered[start - 1 : start] in ("'", '"', "`")
    if is_near and digits(value) >= 2 and shape("titled").match(value):
        return True
    return is_linked and not is_of_key and _is_likely(value, cue)


def _before_cue(candidate: _Candidate, lowered: str) -> str:
    return lowered[max(0, candidate.before.start() - 24) : candidate.before.start()]


def _is_secret_after_hint(cue: str, between: str, value: str, is_linked: bool) -> bool:
    """Return True if a word is a secret after a word that only hints at secrets, such as `login`."""
    if cue + between in ("login ", "auth ") and pattern(r"[0-9a-f-]{32,64}\Z").match(value):
        return True  # the argument of a command
    is_handed = bool(shape("handed").search(between) and shape("account").match(cue))
    least = 16 if "key" in cue else 10 if is_handed else 12
    is_random = is_linked and len(value) >= least and is_jumbled(value)
    return is_random or (is_handed and len(value) >= 10 and _is_human_password(value))


def _is_likely(value: str, cue: str) -> bool:
    """Return True if a word is more likely a password than a version, a model or an identifier."""
    if shape("versioned").match(value) and not (is_made_up(value) or _is_human_password(value)):
        return False
    is_long = len(value) >= 10 and (is_jumbled(value) or cue.startswith("pass"))
    return is_password(value) and (is_long or digits(value) >= 2)


def _governs_other_text(candidate: _Candidate, lowered: str, between: str, is_of_key: bool) -> bool:
    """Return True if the name of a secret governs other text than this word."""
    cue, line, start = candidate.before, candidate.line, candidate.word.start()
    before = _before_cue(candidate, lowered)
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
        or (not line and shape("digest-of-file").match(lowered, start))
        # the word is in another line, which contains more than the value
        or ("\n" in between and not shape("end-of-line").match(lowered, start + len(candidate.value)))
    )


def _are_linked(cue: str, between: str) -> bool:
    """Return True if the text between a name and a word links them."""
    account = shape("account").match(cue) and shape("account-and").match(between)
    return bool(account or shape("link").search(between[-24:]) or shape("next-flag").match(between))


def _is_public(candidate: _Candidate, text: str) -> bool:
    """Return True if a word is code, or part of something public."""
    value, start, end = candidate.value, candidate.word.start(), candidate.word.end()
    armour = text.rfind("-----BEGIN ", max(0, start - 4000), start)
    if armour >= 0 and "-----END" not in text[armour:start]:
        return True  # a certificate or a public key
    if is_digest(value, text[max(0, start - 400) : start]):
        return True
    is_called = shape("called-word").match(text, end) and shape("called-name").match(value)
    is_compared = value[-1] == "!" and text[end : end + 1] == "="
    is_named = shape("identified").search(text, max(0, start - 30), start)
    return bool(is_called or is_compared or is_named) or value.endswith("...")
