"""Coding conversations made up deterministically: the same number gives the same turn, on every machine.
Knows vocabulary and lengths; does not know where turns are stored.

Vocabulary matters: an index over a hundred repeated words is smaller and faster than the one a user gets.
Every turn therefore brings identifiers, a path, a hash and numbers of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

SESSION = 20  # turns
SHORTEST, LONGEST = 200, 900  # characters of one side
_FIRST = datetime(2025, 9, 1, 8, 0, tzinfo=UTC)

_VOCABULARY = {
    "part": "billing gateway|search indexer|session store|image resizer|rate limiter|login page|invoice "
    "writer|audit log|cache layer|"
    "job scheduler|webhook relay|price engine|mail sender|schema registry|feature flags|metrics "
    "exporter|backup runner|"
    "release script|tax calculator|address parser|stock ledger|report builder|file uploader|chat "
    "bridge|token issuer|"
    "config loader|queue consumer|map renderer|ticket router|import wizard|retry budget|health probe",
    "tool": "PostgreSQL|Redis|SQLite|Kafka|RabbitMQ|gRPC|GraphQL|REST|Docker|Kubernetes|Terraform|Ansible|pytest|mypy|ruff|webpack|vite|"
    "React|Svelte|Vue|Django|FastAPI|Flask|Rust|Go|TypeScript|protobuf|Avro|Parquet|DuckDB|nginx|Caddy|OpenTelemetry|Grafana",
    "word": "connection|timeout|deadlock|migration|column|constraint|cursor|payload|header|cookie|worker|thread|lock|queue|batch|offset|"
    "replica|shard|latency|throughput|percentile|histogram|allocation|leak|fragment|buffer|stream|socket|handshake|certificate|"
    "fixture|assertion|snapshot|coverage|branch|merge|rebase|commit|tag|release|rollback|canary|secret|rotation|permission|role|"
    "tenant|quota|invoice|refund|currency|rounding|locale|encoding|charset|newline|indentation|parser|grammar|lexer|token|"
    "cache|eviction|invalidation|prefetch|pagination|filter|sort|aggregate|window|join|subquery|index|vacuum|backup|restore",
    "verb": "load|store|parse|merge|split|retry|flush|encode|decode|verify|rotate|resolve|prune|batch|render|schedule|observe",
    "aspect": "timeout|port|owner|retry limit|cache size|batch size|pool size|log level|default region|schema "
    "version",
}
_PARTS, _TOOLS, _WORDS, _VERBS, _ASPECTS = (words.split("|") for words in _VOCABULARY.values())
_ASKS = (
    "The {part} fails with {error} when {ident} runs in {path}. What is going on?",
    "Should the {part} use {tool} or stay on {other}?",
    "Please refactor {ident} in {path} so that the {word} does not depend on the {word2}.",
    "Write a test for {ident}: a {word} of {number} must not break the {word2}.",
    "Why does the {part} need {number} ms for one {word}?",
    "Rename {ident} and update every call in {path}.",
)
_ANSWERS = (
    "We decided to move the {part} from {other} to {tool}, because the {word} grew with every {word2}.",
    "The cause was {ident} in {path}: it held the {word} while the {word2} was still open.",
    "I set the {aspect} of the {part} to {number} and left a note beside {ident}.",
    "Commit {hash} changes {path}; the {word} is now checked before the {word2}.",
    "The failing case was {error}; {ident} now retries {small} times and then gives up.",
    "Next, the {part} should drop its own {word} and read the {word2} through {tool}.",
    "All {number} tests pass, the slowest is test_{ident} with {small}.{small} s.",
    "Note that {other} rounds the {word} down, so {ident} adds one before the {word2}.",
)
_QUERIES = (
    "why did we move the {part} to {tool}",
    "what did we set the {aspect} of the {part} to",
    "{error} in the {part}",
    "how does {ident} handle the {word}",
    "what was wrong with the {word} of the {part}",
    "which commit changed the {word2} in {path}",
    "did we choose {tool} or {other} for the {part}",
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
        "user": _side(random, _ASKS, words),
        "assistant": _side(random, _ANSWERS, words),
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
    return random.choice(_QUERIES).format_map(words) + f" around {_identifier(Random(number))}?"


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


def _side(random: Random, sentences: tuple[str, ...], words: dict[str, str]) -> str:
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
