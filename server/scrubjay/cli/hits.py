"""What a search found, as lines for a terminal: sessions by their best hit, turns in time order, then facts. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from scrubjay.cli.display import first_line, local, plural, project
from scrubjay.cli.reasons import reasons

INDENT = "      "
AFTER_ALL_HITS = 1_000  # the rank of a session of which only neighbours are there


def lines_of(found: dict[str, Any], width: int | None) -> Iterator[str]:
    """The answer of `search` line by line; texts are folded to `width` characters, None leaves them as they are."""
    hits, beside = found["results"], found.get("related", [])
    if found.get("degraded"):
        yield f"Note: {found['degraded']}"
    if not hits:
        yield "Nothing relevant is remembered for these words. `--all` looks in every project."
        return
    ranks = {hit["id"]: rank for rank, hit in enumerate(hits, 1)}
    for turns in _sessions([*hits, *beside], ranks):
        first = turns[0]
        yield f"{local(first['date']):%Y-%m-%d}  {project(first['scope'])}, session {first['session_id']}"
        for hit in turns:
            yield from _entry(hit, ranks, f"turn {hit['turn']}, {local(hit['date']):%H:%M}", width)
        yield ""
    facts = [hit for hit in hits if hit["src"] != "turn"]
    if facts:
        yield "Facts and documents"
        for hit in facts:
            yield from _entry(hit, ranks, f"{local(hit['date']):%Y-%m-%d}  {_origin(hit)}", width)
        yield ""
    cut = f"; {found['left_out']} more did not fit" if found.get("left_out") else ""
    yield f"{plural(found['total'], 'hit')}, about {plural(found['tokens']['spent'], 'token')}, {found['timing']:.0f} ms{cut}."


def _sessions(hits: list[dict[str, Any]], ranks: dict[str, int]) -> list[list[dict[str, Any]]]:
    """The turns of each session in time order; the session of the best hit first."""

    def session(hit: dict[str, Any]) -> tuple[str, str]:
        return hit["scope"], hit["session_id"]

    turns = sorted((hit for hit in hits if hit["src"] == "turn"), key=lambda hit: (*session(hit), hit["date"], hit["turn"]))
    groups = [list(members) for _, members in groupby(turns, key=session)]
    return sorted(groups, key=lambda members: min(ranks.get(hit["id"], AFTER_ALL_HITS) for hit in members))


def _entry(hit: dict[str, Any], ranks: dict[str, int], what: str, width: int | None) -> Iterator[str]:
    rank = ranks.get(hit["id"])
    mark, score = (f"{rank:>3} ", f"score {hit['score']:.2f}, ") if rank else ("    ", "beside a hit, ")
    yield f"{mark} {what}  ({score}{'part of ' if hit.get('truncated') else ''}{hit['id']}{_standing(hit)})"
    for line in (hit.get("memory") or hit.get("chunk") or "").splitlines():
        folded = textwrap.wrap(line, width - len(INDENT), break_on_hyphens=False) if width else [line]
        yield from (f"{INDENT}{part}".rstrip() for part in folded or [""])
    context = hit.get("context", {})
    for link in [*context.get("parents", []), *context.get("children", [])]:
        what = f"{link['version']:+d} {link['relation']} {local(link['updated_at']):%Y-%m-%d} {link['id']}"
        yield f"{INDENT}{what}: {first_line(link['memory'], 80)}"
    if "explain" in hit:
        yield from (f"{INDENT}{reason}" for reason in reasons(hit["explain"], hit["score"]))


def _standing(hit: dict[str, Any]) -> str:
    """What has become of it, where it is more than an old text."""
    replaced = f", version {hit['version']}, replaced since" if hit.get("is_latest") is False else ""
    reason = f" ({hit['forget_reason']})" if "forget_reason" in hit else ""
    return replaced + (f", forgotten {local(hit['forgotten_at']):%Y-%m-%d}{reason}" if "forgotten_at" in hit else "")


def _origin(hit: dict[str, Any]) -> str:
    words = [project(hit["scope"])]
    if hit.get("title"):
        words.append(hit["title"])
    if hit.get("session_id"):
        words.append(f"from session {hit['session_id']}" + (f" turn {hit['turn']}" if hit.get("turn") is not None else ""))
    return "  ".join([*words, *(f"#{tag}" for tag in hit.get("tags", ()))])
