"""Coding conversations made up deterministically: the same number gives the same turn, on every machine.
Knows vocabulary and lengths; does not know where turns are stored.

Vocabulary matters: an index over a hundred repeated words is smaller and faster than the one a user gets.
Every turn therefore brings identifiers, a path, a hash and numbers of its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

SESSION = 20  # turns
SHORTEST, LONGEST = 200, 900  # characters of one side
_FIRST = datetime(2025, 9, 1, 8, 0, tzinfo=UTC)

# The words and sentences; in a word of several parts, "_" stands for a space.
_WORDING = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PARTS, _TOOLS, _WORDS, _VERBS, _ASPECTS = (
    [word.replace("_", " ") for word in _WORDING[name].split()]
    for name in ("part", "tool", "word", "verb", "aspect")
)


def turn(number: int) -> dict[str, Any]:
    """The arguments of `record_turn` for the turn of this number; 20 consecutive numbers are one session."""
    random = Random(number)
    session, place = divmod(number, SESSION)
    began = _FIRST + timedelta(hours=3 * session, minutes=4 * place)
    words = _words(number)
    return {
        "session_id": f"bench-{session:05d}",
        "prompt_id": f"prompt-{number:07d}",
        "user": _side(random, _WORDING["asks"], words),
        "assistant": _side(random, _WORDING["answers"], words),
        "files": [words["path"]],
        "tools": random.sample(("Read", "Edit", "Bash", "Grep", "Write"), 2),
        "ts": began.isoformat(),
    }


def turns(start: int, stop: int) -> Iterator[dict[str, Any]]:
    """The turns numbered `start` to `stop` - 1."""
    return (turn(number) for number in range(start, stop))


def query(number: int, among: int) -> str:
    """A question about one of the first `among` turns; no two numbers give the same words."""
    random = Random(f"query {number}")
    words = _words(random.randrange(among))
    return random.choice(_WORDING["queries"]).format_map(words) + f" around {_identifier(Random(number))}?"


def _words(number: int) -> dict[str, str]:
    """The subject of a turn: its session's part of the system, and names of its own."""
    about, own = Random(f"session {number // SESSION}"), Random(f"turn {number}")
    part, (tool, other) = about.choice(_PARTS), about.sample(_TOOLS, 2)
    identifier = _identifier(own)
    return {
        "part": part,
        "tool": tool,
        "other": other,
        "aspect": own.choice(_ASPECTS),
        "ident": identifier,
        "path": f"src/{part.split()[0]}/{identifier}.py",
        "word": own.choice(_WORDS),
        "word2": own.choice(_WORDS),
        "error": f"{own.choice(_WORDS).title()}{own.choice(_WORDS).title()}Error",
        "number": str(own.randrange(20, 9000)),
        "small": str(own.randrange(2, 9)),
        "hash": f"{own.getrandbits(32):08x}",
    }


def _identifier(random: Random) -> str:
    return f"{random.choice(_VERBS)}_{random.choice(_WORDS)}_{random.choice(_WORDS)}_{random.randrange(100)}"


def _side(random: Random, sentences: list[str], words: dict[str, str]) -> str:
    """One side of a turn: sentences up to a length drawn between SHORTEST and LONGEST characters."""
    length = random.randint(SHORTEST, LONGEST)
    text = ""
    while len(text) < length:
        fresh = {
            "word": random.choice(_WORDS),
            "word2": random.choice(_WORDS),
            "number": str(random.randrange(20, 9000)),
        }
        ident = random.choice((words["ident"], _identifier(random)))
        text += random.choice(sentences).format_map(words | fresh | {"ident": ident}) + random.choice(
            (" ", " ", "\n")
        )
    return text[:length].rstrip()
