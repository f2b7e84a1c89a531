"""What a hook may say before an edit or a command, or at a failure: one line of a decision or a warning.

It is chosen in advance and written down (`home/openings`), because a hook asks no engine: what is said of a
file, a symbol or a command, and what made a command pass after an error.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from scrubjay.code.names import paths, symbols
from scrubjay.models.records import Memory, Turn
from scrubjay.models.results import Mark
from scrubjay.search.commands import fixes
from scrubjay.store import conditions
from scrubjay.store.store import Store
from scrubjay.text import tables
from scrubjay.text.foreign import one_line
from scrubjay.text.sentences import shorten
from scrubjay.text.short_ids import short_id
from scrubjay.transcripts.failures import shape

RECORDS = 1_000  # the newest turns, and as many facts, that are looked through
MOST = 300  # hints, and as many errors, of a project
SENTENCE = 290  # characters of a sentence; with the frame around it, a hook says at most 120 tokens
_NAMED = 2  # files that a sentence may name: a longer list is about none of them
_STRONG = 2  # least strength of a turn's sentence; a fact was saved on purpose, which counts 1
# What makes a sentence worth saying before its file is edited, and how much it counts.
_STRENGTHS = {3: tables.cues("reversal"), 2: tables.cues("warning"), 1: tables.cues("reason")}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?![a-z])|\n+")
_FILE = re.compile(
    r"[\w.@+/-]*[\w@+-]\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|php|cs|cc?|cpp|hp?p?|swift|gd|sql|to?ml"
    r"|ya?ml|json|ini|cfg|tf|hcl|sh|md|txt|lock|vue|svelte|s?css|html?|proto|gradle|xml|conf"
    r"|env|vdf|tscn|dart|exs?|scala|nix|service|lnt)"
)
_EVERYWHERE = tables.words("everywhere")
_COMMAND = re.compile(r"`((?:\./)?[a-z][\w./-]*(?: [\w./:=@,<>{}'\"-]+)+)`")
_PLACE = re.compile(r" ?[<{[][\w -]+[>}\]]")  # `<job>`, which stands for something
_SYMBOL = re.compile(r"(?=\w*?[a-z0-9]_\w\w)\w+|[^\W_]+_[^\W_]+_\w+|[a-z]+[A-Z]\w{3,}|[A-Z][a-z]+[A-Z]\w{2,}")
_SHORTEST_SYMBOL = 8


@dataclass(frozen=True)
class Hint:
    """One line for a hook, and what it is about; `until` is when its fact expires, in seconds since 1970."""

    id: str
    text: str
    strength: int = 0
    until: float | None = None
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the text without its date and place."""
        return self.text.partition("): ")[2]

    def marked(self, mark: str) -> "Hint":
        """Return the hint with a mark after its date and place, and so much shorter."""
        place, _, sentence = self.text.partition("): ")
        return replace(self, text=f"{place}) [{mark}]: {shorten(sentence, SENTENCE - len(mark))}")


Marking = Callable[[Sequence[Hint]], Awaitable[Sequence[Mark | None]]]


async def prepared(
    store: Store, scope: str, now: datetime, said: str = "", mark: Marking | None = None
) -> dict[str, Any]:
    """Return what hooks of a project may say, as it is written down, without what its opening says anyway.

    `mark` returns the mark of each hint; one whose code is gone is left out, one that is stale says so.
    """
    here = conditions.equal("scope", scope)
    turns = await store.newest(Turn, conditions.both(here, conditions.current(Turn, now)), RECORDS)
    facts = await store.newest(Memory, conditions.both(here, conditions.current(Memory, now)), RECORDS)
    found = [hint for hint in hints([*facts, *turns]) if hint.sentence not in said][:MOST]
    if mark is not None:
        found = _marked(zip(found, await mark(found), strict=True))
    return {
        "about": list(map(asdict, found)),
        "errors": errors(turns[::-1])[-MOST:],
    }


def _marked(found: Iterable[tuple[Hint, Mark | None]]) -> list[Hint]:
    """Return the hints whose code exists; the ones that still hold come first.

    A mark about what only the rest of a record names says nothing about a sentence.
    """
    own = ((hint, mark if mark and _names(hint, mark) else None) for hint, mark in found)
    there = [(hint, mark) for hint, mark in own if mark is None or mark.kind != "gone"]
    there.sort(key=lambda each: each[1] is not None)
    return [hint if mark is None else hint.marked(mark.text) for hint, mark in there]


def _names(hint: Hint, mark: Mark) -> bool:
    if mark.path is None:  # of a branch
        return bool(hint.files or hint.symbols)
    name = mark.symbol.rpartition(".")[2] if mark.symbol else mark.path.rpartition("/")[2]
    return name in hint.sentence


def hints(records: Iterable[Memory | Turn]) -> list[Hint]:
    """Return the strong sentences of records about a file, symbol or command, the strongest first."""
    found = {hint.text: hint for record in records for hint in _of(record)}
    return sorted(found.values(), key=lambda hint: -hint.strength)


def _of(record: Memory | Turn) -> Iterator[Hint]:
    if isinstance(record, Memory):
        text, day, place = record.content, record.created_at, short_id("memory", record.id)
    else:
        text, day = record.assistant or record.text or "", record.started_at
        place = short_id("turn", record.id, record.session_id, record.turn)
    until = record.expires_at.timestamp() if record.expires_at else None
    for sentence in map(str.strip, _SENTENCE_END.split(text)):
        strength = isinstance(record, Memory) + strength_of(sentence)
        if strength < _STRONG or not 20 <= len(sentence) <= 2 * SENTENCE or "|" in sentence[:2]:
            continue
        named = subjects(sentence)
        if any(named):
            line = f"{day.astimezone():%Y-%m-%d} ({place}): {shorten(one_line(sentence), SENTENCE)}"
            yield Hint(record.id, line, strength, until, *named)


def strength_of(sentence: str) -> int:
    """Return how much a sentence decides, warns or tells of a reversal."""
    return sum(weight for weight, cue in _STRENGTHS.items() if cue.search(sentence))


def subjects(sentence: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the files, symbols and commands that a sentence is about; none if it names many.

    >>> subjects("`docs/sync.md` has the rule; run `make sync` by hand.")
    (('docs/sync.md',), (), ('make sync',))
    """
    files = [path for path in paths(sentence) if _FILE.fullmatch(path) and path.lower() not in _EVERYWHERE]
    commands = [_PLACE.sub("", each).strip() for each in _COMMAND.findall(sentence)]
    commands = [each for each in commands if " " in each and " = " not in each]
    names = [name.rpartition(".")[2] for name in symbols(sentence)]
    names = [name for name in names if _SYMBOL.fullmatch(name) and _is_code(name, sentence)]
    return tuple(
        tuple(dict.fromkeys(each)) if len(each) <= _NAMED else () for each in (files, names, commands)
    )  # type: ignore[return-value]


def _is_code(name: str, sentence: str) -> bool:
    """Return True for a long name that only code has; a product may be called `JetStream`."""
    is_marked = (
        name[0].islower()
        or "_" in name
        or re.search(rf"`[\w.]*{re.escape(name)}|{re.escape(name)}\(", sentence)
    )
    return len(name) >= _SHORTEST_SYMBOL and bool(is_marked)


def errors(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return the known errors whose commands passed later, oldest first, with what made them pass."""
    told = []
    for fix in fixes(turns):
        if (turn := fix.fixed) is not None:
            words = shorten(one_line(turn.assistant or ""), SENTENCE - len(fix.shown))
            text = f"{fix.shown} ({short_id('turn', turn.id, turn.session_id, turn.turn)})"
            shown = f"{text}: {words}" if words else text
            told.append({"id": turn.id, "shape": shape(fix.failure.error).strict, "text": shown})
    return told
