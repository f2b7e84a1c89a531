"""Removes secrets, and parts that the user marked as private, before a text is stored.

Every write passes through here, including writes of hooks: standard library only, Python 3.9 syntax. Rules
(`rules`) recognise tokens by their beginning, and lines by their form. A name such as `password` or `api_key`
reveals the value next to it (`names`), and the head of a table reveals its cells (`tables`). Other words are
judged by their shape and by the nearest name (`words`). Each pattern takes linear time, because it is bounded
or never starts inside a run of its own characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from scrubjay.redaction.cuts import Cuts, folded
from scrubjay.redaction.names import without_values
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import LINES, TOKENS, Rule, compiled, shape
from scrubjay.redaction.shapes import CHECKS, is_key, is_password
from scrubjay.redaction.tables import without_cells, without_codes
from scrubjay.redaction.words import numbered_words, without_strong

# Removing one secret can expose another. Two passes suffice for prose; ten limit the work for hostile input.
MAX_PASSES = 10
WINDOW = 60_000  # characters of a text that are searched at once; other threads run between windows
BEYOND = 10_000  # characters after a window that its matches may reach
_STEPS = (without_values, without_codes, without_cells, without_strong)


def redact(text: str) -> tuple[str, int]:
    """Remove secrets and private parts from a text; return the text and their number.

    A secret becomes `[redacted:<kind>]`, e.g. `[redacted:aws-access-key]`; `<private>...</private>`, closed
    or not, is removed. Redacting a text again changes nothing.
    """
    count = 0
    for _ in range(MAX_PASSES):
        remaining, removed = _redact_once(text)
        if not removed:
            break
        text, repeated = _without_words(remaining, _removed_words(text, remaining))
        count += removed + repeated
    return text, count


class Redactor:
    """Redacts the texts of one turn in order, and counts the secrets.

    A secret that was removed from one text is removed from later texts too. They may repeat it without a name
    or prefix that reveals it, as an answer often repeats what the prompt says.
    """

    def __init__(self) -> None:
        self.count = 0
        self._removed: frozenset[str] = frozenset()

    def redact(self, text: str) -> str:
        """Remove secrets and private parts from the next text."""
        remaining, removed = redact(text)
        if removed:
            self._removed |= _removed_words(text, remaining)
        remaining, repeated = _without_words(remaining, self._removed)
        self.count += removed + repeated
        return remaining


def _redact_once(text: str) -> tuple[str, int]:
    count = 0
    if "<private" in folded(text):
        text, count = _without_private(text)
    if "private key" in folded(text) or "static key" in folded(text):
        text, removed = _without_key_blocks(text)
        count += removed
    long_words = " ".join(word for word in text.split() if len(word) >= 16)  # prose has almost none
    long_words = " ".join(shape("long-word").findall(long_words))
    for rule in TOKENS:
        if any(literal in long_words for literal in rule.literals) and compiled(rule).search(long_words):
            text, removed = _without(rule, text, text)
            count += removed
    lowered = folded(text)
    for rule in LINES:
        if any(literal in (lowered if literal.islower() else text) for literal in rule.literals):
            text, removed = _without(rule, text, lowered)
            count, lowered = count + removed, folded(text) if removed else lowered
    for step in _STEPS:
        text, removed = step(text)
        count += removed
    return text, count


def _without(rule: Rule, text: str, lowered: str) -> tuple[str, int]:
    """Replace the matches of a rule; `lowered` is the text in lower case."""
    cuts = Cuts(text)
    for match in _matches(rule, text, lowered):
        group = "secret" if "secret" in match.re.groupindex else 0
        if _is_secret(rule, match, group):
            cuts.replace(*match.span(group), rule.kind)
    return cuts.result()


def _matches(rule: Rule, text: str, lowered: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `finditer` in windows, because `finditer` blocks other threads until it matches.

    A window without any of the literals is skipped.
    """
    rule_pattern, end = compiled(rule), 0
    searches = [(literal, lowered if literal.islower() else text) for literal in rule.literals]
    while end < len(text):
        start, end = end, end + WINDOW
        search_end = end + BEYOND
        if not any(
            searched_text.find(literal, max(0, start - 200), search_end) >= 0
            for literal, searched_text in searches
        ):
            continue
        for match in rule_pattern.finditer(text, start, search_end):
            if match.start() >= end:
                break
            full_match = rule_pattern.match(text, match.start()) if match.end() == search_end else match
            if full_match:
                yield full_match
                end = max(end, full_match.end())


def _is_secret(rule: Rule, match: re.Match[str], group: str | int) -> bool:
    text, value, start = match.string, match.group(group), match.start(group)
    if "[redacted:" in text[max(0, start - 10) : match.end(group)] or value[-12:].lower() == "x" * 12:
        return False  # already redacted, or a placeholder such as "xxxxxxxxxxxx"
    before = text[max(0, match.start() - 60) : match.start()]
    if compiled(rule, "without").search(value) or compiled(rule, "not_after").search(before):
        return False
    return "only_if" not in rule.row or CHECKS[rule.row["only_if"]](value)


def _removed_words(old_text: str, text: str) -> frozenset[str]:
    """Return the secrets that were removed from a text at least once, if they are recognisable as secrets."""
    if "<private" in old_text.lower():
        old_text = _without_private(old_text)[0]  # private parts may contain ordinary words
    old_counts, counts = (Counter(word for _, word in _bare_words(each)) for each in (old_text, text))
    return frozenset(
        word
        for word, count in old_counts.items()
        if count > counts[word] and len(word) >= 8 and (is_password(word) or is_key(word))
    )


def _without_words(text: str, words: frozenset[str]) -> tuple[str, int]:
    """Replace the copies of removed secrets, which have no name or prefix that reveals them."""
    cuts = Cuts(text)
    for start, word in _bare_words(text) if words else ():
        if word in words:
            cuts.replace(start, start + len(word), "secret")
    return cuts.result()


def _bare_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words with a digit and their positions, without marks of sentences at their ends."""
    for word in numbered_words(text):
        yield word.start(), word.group().rstrip(".,;:!?")


def _without_private(text: str) -> tuple[str, int]:
    """Remove the private parts, including nested and unclosed ones.

    A space separates the words on both sides, because together they could form a tag or a secret.
    """
    parts: list[str] = []
    count = depth = end = 0
    for tag in pattern(r"(?i)<(/?)private\b[^<>]{0,200}>").finditer(text):
        if not tag.group(1):
            if depth == 0:
                parts.append(text[end : tag.start()])
                count += 1
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
    if depth == 0:
        parts.append(text[end:])
    joined = parts[0] if parts else ""
    for part in parts[1:]:
        is_separated = not joined or not part or joined[-1].isspace() or part[0].isspace()
        joined += part if is_separated else " " + part
    return joined, count


def _without_key_blocks(text: str) -> tuple[str, int]:
    """Replace private keys in PEM armour; a key that is cut off ends with its base64."""
    cuts = Cuts(text)
    heads = list(shape("private-key").finditer(text))
    for number, head in enumerate(heads):
        if head.start() < cuts.end:
            continue
        next_head = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        search_end = min(next_head, head.end() + 20_000)  # no key contains another
        body_end = text.find("-----END ", head.end(), search_end)
        if body_end < 0:
            base64 = pattern(r"[A-Za-z0-9+/=\\\s]*").match(text, head.end())
            body_end = base64.end() if base64 else head.end()
        if max(map(len, text[head.end() : body_end].split()), default=0) < 24:
            continue  # only the header, without a key
        foot = shape("private-key-end").match(text, body_end)
        cuts.replace(head.start(), foot.end() if foot else body_end, "private-key")
    return cuts.result()
