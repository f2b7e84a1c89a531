"""Hints for hooks: a line with a decision or a warning before an edit or a command, or after a failure.

They are chosen in advance and written to a file (`home/openings`), because a hook asks no engine. They say
what is known about a file, a symbol or a command, and what made a command pass after an error.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from scrubjay.code.names import BARE_FILE, paths, symbols
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

RECORDS = 1_000  # newest turns, and newest facts, from which hints are chosen
MOST = 300  # most hints of a project, and most errors
SENTENCE = 290  # most characters of a sentence; with the frame around it, a hook says at most 120 tokens
_MOST_NAMED = 2  # a sentence that lists more files, symbols or commands is not about each of them
_LEAST_STRENGTH = 2  # of a sentence; a sentence of a fact gets 1 because the fact was saved on purpose
# Cues that make a sentence worth saying before its file is edited, by how much they count.
_STRENGTHS = {3: tables.cues("reversal"), 2: tables.cues("warning"), 1: tables.cues("reason")}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?![a-z])|\n+")
_FILE = re.compile(
    rf"(?:.*/)?(?:{BARE_FILE})"
    r"|[\w.@+$()\[\]/-]*[\w@+)\]-]\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|php|cs|cc?|cpp|hp?p?|swift|gd|sql|to?ml"
    r"|ya?ml|json|ini|cfg|tf|hcl|sh|md|txt|lock|vue|svelte|s?css|html?|proto|gradle|xml|conf"
    r"|env|vdf|tscn|dart|exs?|scala|nix|service|lnt"
    r"|astro|bicep|cmake|csproj|gql|graphql|ipynb|less|lua|mdx|mk|prisma|properties|ps1|rst|svg|zig)"
)
_EVERYWHERE = tables.words("everywhere")
_COMMAND = re.compile(r"`((?:\./)?[a-z][\w./-]*(?: [\w./:=@,<>{}'\"-]+)+)`")
_PLACEHOLDER = re.compile(r" ?[<{[][\w -]+[>}\]]")  # such as `<job>`
_SYMBOL = re.compile(r"(?=\w*?[a-z0-9]_\w\w)\w+|[^\W_]+_[^\W_]+_\w+|[a-z]+[A-Z]\w{3,}|[A-Z][a-z]+[A-Z]\w{2,}")
_SHORTEST_SYMBOL = 8


@dataclass(frozen=True)
class Hint:
    """A line for a hook, and its subjects. Its record expires at `until`, in seconds since 1970."""

    id: str
    text: str
    strength: int = 0
    until: float | None = None
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the text without its date and source."""
        return self.text.partition("): ")[2]

    def marked(self, mark: str) -> "Hint":
        """Return the hint with a mark after its date and source, shortened by the length of the mark."""
        source, _, sentence = self.text.partition("): ")
        return replace(self, text=f"{source}) [{mark}]: {shorten(sentence, SENTENCE - len(mark))}")


Marking = Callable[[Sequence[Hint]], Awaitable[Sequence[Mark | None]]]


async def prepared(
    store: Store, scope: str, now: datetime, opening: str = "", mark: Marking | None = None
) -> dict[str, Any]:
    """Return a project's hints and known errors in the form in which they are written to a file.

    Hints whose sentence is in `opening` are left out, and so are those whose code is gone. `mark` returns the
    mark of each hint; any other mark is added to the hint's text.
    """
    in_scope = conditions.equal("scope", scope)
    turns = await store.newest(Turn, conditions.both(in_scope, conditions.current(Turn, now)), RECORDS)
    facts = await store.newest(Memory, conditions.both(in_scope, conditions.current(Memory, now)), RECORDS)
    chosen = [hint for hint in hints([*facts, *turns]) if hint.sentence.rstrip(".") not in opening][:MOST]
    if mark is not None:
        chosen = _marked(zip(chosen, await mark(chosen), strict=True))
    return {"about": list(map(asdict, chosen)), "errors": errors(turns[::-1])[-MOST:]}


def _marked(pairs: Iterable[tuple[Hint, Mark | None]]) -> list[Hint]:
    """Return the hints whose code exists, with their marks; hints without a mark come first.

    If not the sentence but only the rest of its record names the marked code, the mark does not apply.
    """
    marked = ((hint, mark if mark and _names_marked_code(hint, mark) else None) for hint, mark in pairs)
    remaining = [(hint, mark) for hint, mark in marked if mark is None or mark.kind != "gone"]
    remaining.sort(key=lambda pair: pair[1] is not None)
    return [hint if mark is None else hint.marked(mark.text) for hint, mark in remaining]


def _names_marked_code(hint: Hint, mark: Mark) -> bool:
    if mark.path is None:  # the mark is about a branch
        return bool(hint.files or hint.symbols)
    name = mark.symbol.rpartition(".")[2] if mark.symbol else mark.path.rpartition("/")[2]
    return name in hint.sentence


def hints(records: Iterable[Memory | Turn]) -> list[Hint]:
    """Return the strong sentences of records about a file, symbol or command, the strongest first."""
    by_text = {hint.text: hint for record in records for hint in _hints_of(record)}
    return sorted(by_text.values(), key=lambda hint: -hint.strength)


def _hints_of(record: Memory | Turn) -> Iterator[Hint]:
    if isinstance(record, Memory):
        text, day, source = record.content, record.created_at, short_id("memory", record.id)
    else:
        text, day = record.assistant or record.text or "", record.started_at
        source = short_id("turn", record.id, record.session_id, record.turn)
    until = record.expires_at.timestamp() if record.expires_at else None
    for sentence in map(str.strip, _SENTENCE_END.split(text)):
        strength = isinstance(record, Memory) + strength_of(sentence)
        if strength < _LEAST_STRENGTH or not 20 <= len(sentence) <= 2 * SENTENCE or "|" in sentence[:2]:
            continue
        named = subjects(sentence)
        if any(named):
            line = f"{day.astimezone():%Y-%m-%d} ({source}): {shorten(one_line(sentence), SENTENCE)}"
            yield Hint(record.id, line, strength, until, *named)


def strength_of(sentence: str) -> int:
    """Return how strongly a sentence states a decision, a warning or a reversal."""
    return sum(weight for weight, cue in _STRENGTHS.items() if cue.search(sentence))


def subjects(sentence: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the files, symbols and commands that a sentence is about.

    If it names more than two files, no file is returned; the same goes for symbols and commands.

    >>> subjects("`docs/sync.md` has the rule; run `make sync` by hand.")
    (('docs/sync.md',), (), ('make sync',))
    """
    files = [path for path in paths(sentence) if _FILE.fullmatch(path) and path.lower() not in _EVERYWHERE]
    commands = [_PLACEHOLDER.sub("", command).strip() for command in _COMMAND.findall(sentence)]
    commands = [command for command in commands if " " in command and " = " not in command]
    names = [name.rpartition(".")[2] for name in symbols(sentence)]
    names = [name for name in names if _SYMBOL.fullmatch(name) and _is_code(name, sentence)]
    return tuple(
        tuple(dict.fromkeys(named)) if len(named) <= _MOST_NAMED else () for named in (files, names, commands)
    )  # type: ignore[return-value]


def _is_code(name: str, sentence: str) -> bool:
    """Return True if a name is long and is written as code; a bare `JetStream` may be a product's name."""
    if len(name) < _SHORTEST_SYMBOL:
        return False
    escaped = re.escape(name)
    is_in_code = re.search(rf"`[\w.]*{escaped}|{escaped}\(", sentence) is not None
    return name[0].islower() or "_" in name or is_in_code


def errors(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return the errors after which the command passed, oldest first, each with what made it pass."""
    known_errors = []
    for fix in fixes(turns):
        if (turn := fix.fixed) is not None:
            answer = shorten(one_line(turn.assistant or ""), SENTENCE - len(fix.sentence))
            text = f"{fix.sentence} ({short_id('turn', turn.id, turn.session_id, turn.turn)})"
            shown = f"{text}: {answer}" if answer else text
            known_errors.append({"id": turn.id, "shape": shape(fix.failure.error).strict, "text": shown})
    return known_errors
