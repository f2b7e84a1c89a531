"""Removes secrets, and parts that the user marked as private, before a text is stored.

Every write passes through here, including those of hooks: standard library only, Python 3.9 syntax. Rules
(`rules`) recognise tokens by how they begin, and lines by their form. A name such as `password` or `api_key`
reveals the value next to it (`names`), and the head of a table reveals its cells (`tables`). Other words are
judged by their shape and by the nearest name (`words`). A pattern never starts inside a run of its own
characters, or is bounded, so that each is linear in the text.
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

MAX_PASSES = 10  # removing one secret can expose another; two passes suffice for prose, ten cap hostile input
WINDOW = 60_000  # characters of a text that are searched at once, so that other threads run in between
BEYOND = 10_000  # characters after a window that a match in it may reach
_STEPS = (without_values, without_codes, without_cells, without_strong)


def redact(text: str) -> tuple[str, int]:
    """Remove secrets and private parts from a text, and count them.

    A secret becomes `[redacted:<kind>]`, e.g. `[redacted:aws-access-key]`; `<private>...</private>`, closed
    or not, is removed. Redacting twice changes nothing more.
    """
    count = 0
    for _ in range(MAX_PASSES):
        left, more = _once(text)
        if not more:
            break
        text, again = _without_repeated(text, left)
        count += more + again
    return text, count


def _once(text: str) -> tuple[str, int]:
    count = 0
    if "<private" in folded(text):
        text, count = _without_private(text)
    if "private key" in folded(text) or "static key" in folded(text):
        text, more = _without_key_blocks(text)
        count += more
    long = " ".join(word for word in text.split() if len(word) >= 16)  # prose has hardly any
    long = " ".join(shape("long-word").findall(long))
    for rule in TOKENS:
        if any(literal in long for literal in rule.literals) and compiled(rule).search(long):
            text, more = _without(rule, text, text)
            count += more
    small = folded(text)
    for rule in LINES:
        if any(literal in (small if literal.islower() else text) for literal in rule.literals):
            text, more = _without(rule, text, small)
            count, small = count + more, folded(text) if more else small
    for step in _STEPS:
        text, more = step(text)
        count += more
    return text, count


def _without(rule: Rule, text: str, small: str) -> tuple[str, int]:
    """Replace what a rule finds; `small` is the text in small letters."""
    cuts = Cuts(text)
    for match in _matches(rule, text, small):
        group = "secret" if "secret" in match.re.groupindex else 0
        if _is_secret(rule, match, group):
            cuts.replace(*match.span(group), rule.kind)
    return cuts.result()


def _matches(rule: Rule, text: str, small: str) -> Iterator[re.Match[str]]:
    """Find what `finditer` finds, in windows: it lets no other thread run until it has found something.

    A window without any of the literals is passed over.
    """
    found, end = compiled(rule), 0
    where = [(literal, small if literal.islower() else text) for literal in rule.literals]
    while end < len(text):
        start, end = end, end + WINDOW
        edge = end + BEYOND
        if not any(inside.find(literal, max(0, start - 200), edge) >= 0 for literal, inside in where):
            continue
        for match in found.finditer(text, start, edge):
            if match.start() >= end:
                break
            whole = found.match(text, match.start()) if match.end() == edge else match
            if whole:
                yield whole
                end = max(end, whole.end())


def _is_secret(rule: Rule, match: re.Match[str], group: str | int) -> bool:
    text, value, start = match.string, match.group(group), match.start(group)
    if "[redacted:" in text[max(0, start - 10) : match.end(group)] or value[-12:].lower() == "x" * 12:
        return False  # already redacted, or a placeholder such as "xxxxxxxxxxxx"
    before = text[max(0, match.start() - 60) : match.start()]
    if compiled(rule, "without").search(value) or compiled(rule, "not_after").search(before):
        return False
    return "only_if" not in rule.row or CHECKS[rule.row["only_if"]](value)


def _without_repeated(before: str, after: str) -> tuple[str, int]:
    """Replace other copies of a removed secret, which have no name or prefix to detect them by."""
    words = [
        word
        for word in numbered_words(after)
        if len(word.group()) >= 8 and (is_password(word.group()) or is_key(word.group()))
    ]
    if not words:
        return after, 0
    left = Counter(word.group() for word in words)
    if "<private" in before.lower():
        before = _without_private(before)[0]  # private parts may contain ordinary words
    earlier = Counter(word.group() for word in numbered_words(before) if word.group() in left)
    cuts = Cuts(after)
    for word in words:
        if earlier[word.group()] > left[word.group()]:
            cuts.replace(*word.span(), "secret")
    return cuts.result()


def _without_private(text: str) -> tuple[str, int]:
    """Drop the private parts, nested and unclosed ones too.

    A space separates the words on both sides: joined, they could form a tag or a secret.
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
    whole = parts[0] if parts else ""
    for part in parts[1:]:
        apart = not whole or not part or whole[-1].isspace() or part[0].isspace()
        whole += part if apart else " " + part
    return whole, count


def _without_key_blocks(text: str) -> tuple[str, int]:
    """Replace private keys in PEM armour; one that is cut off ends where its base64 does."""
    cuts = Cuts(text)
    heads = list(shape("private-key").finditer(text))
    for place, head in enumerate(heads):
        if head.start() < cuts.end:
            continue
        after = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        body = text.find("-----END ", head.end(), min(after, head.end() + 20_000))  # no key holds another
        if body < 0:
            base64 = pattern(r"[A-Za-z0-9+/=\\\s]*").match(text, head.end())
            body = base64.end() if base64 else head.end()
        if max(map(len, text[head.end() : body].split()), default=0) < 24:
            continue  # only the header, without a key
        foot = shape("private-key-end").match(text, body)
        cuts.replace(head.start(), foot.end() if foot else body, "private-key")
    return cuts.result()
