"""The opening of a session: what a colleague would say in ten seconds, in at most 300 tokens.

It gives the time, subject, outcome and open points of the last session, then the current facts that matter in
this project, and finally a few facts about the user. It leaves out what the project's own files for
assistants (`home/instructions`) or the host's own memory say, because the host reads these itself.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.records import Memory, Turn
from scrubjay.records.host_memories import SUFFIX, is_of_host
from scrubjay.records.session_summaries import digest, open_points, title_of
from scrubjay.records.turns import is_own_command
from scrubjay.search.injection import block
from scrubjay.search.profile import PREFERENCES, is_lasting
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store
from scrubjay.text.likeness import verdict
from scrubjay.text.sentences import join, shorten
from scrubjay.text.short_ids import short_session
from scrubjay.text.statements import statement
from scrubjay.text.tables import cues
from scrubjay.text.terms import compared_words
from scrubjay.text.titles import TITLE_LIMIT

MOST_CHARACTERS = 1_200  # most characters of the whole block, about 300 tokens
SESSIONS = 3  # most sessions that an opening names
TURNS = 40  # last turns of each session that are read
FACTS = 200  # newest facts, and newest lasting facts, from which an opening chooses
COMPARED = 60  # weightiest facts that are compared with each other and with the project's files
TRAITS = 2  # most facts about the user
# Most characters of the outcome, of the open points, and of each fact.
OUTCOME, LEFT_OPEN, FACT = 200, 120, 140
HALF_LIFE = timedelta(days=30)  # in which a fact loses half of its novelty
_LAST, _EARLIER = "Last session", "Before that"  # beginnings of lines that name a session
MENTIONED = 0.8  # a line of a file that has this share of a fact's words mentions the fact
_RULE, _CHANGED = cues("rule"), cues("changed")  # cues of a convention or a warning, and cues of a change
_HEAD = (
    "Quoted from this user's earlier sessions of this project, for reference; it may be outdated. "
    "More: search_memories."
)


@dataclass(frozen=True)
class Opening:
    """The text for the model, possibly "", and the numbers of sessions and facts that it names.

    The first of its facts expires at `until`. `hints`, if wanted, are for hooks before edits and commands.
    """

    text: str = ""
    until: datetime | None = None
    sessions: int = 0
    facts: int = 0
    hints: Mapping[str, Any] | None = None
    by_host: Mapping[str, "Opening"] = field(default_factory=dict)  # without what the host's memory says


async def opening(
    store: Store,
    scope: str,
    now: datetime,
    *,
    session_id: str | None = None,
    source: str | None = None,
    max_bytes: int = 4 * MOST_CHARACTERS,
    instructions: Sequence[str] = (),
    host: str | None = None,
) -> Opening:
    """Return the opening of a session in a project; it is empty if the project has neither turns nor facts.

    The turns of `session_id`, the session that starts, are left out. `source` is why it starts: a resumed
    session gets only what is newer than its last turn; a forked one gets nothing, because it already had its
    opening. `max_bytes` counts UTF-8. `instructions` are the lines that the project's own files say to an
    assistant. If `host` is None, `by_host` has an opening for each host with a memory. The caller has
    committed everything.
    """
    if source == "fork":
        return Opening()
    sessions = await _sessions(store, scope, session_id, now)
    facts = await _facts(store, scope, now)
    if source == "resume":
        of_session = _is_turn_of(scope, now, conditions.equal("session_id", session_id or ""))
        if newest := await store.newest(Turn, of_session, 1):
            last = newest[0].started_at
            sessions = [turns for turns in sessions if turns[-1].started_at > last]
            facts = [fact for fact in facts if fact.created_at > last]
    if not sessions and not any(fact.scope == scope for fact in facts):
        return Opening()
    first, later = await asyncio.to_thread(_session_lines, sessions)

    def compose(host: str | None) -> Opening:
        chosen = _chosen(*_without_memory_of(host, facts, instructions), now)
        project = [fact for fact in chosen if fact.scope == scope]
        traits = [fact for fact in chosen if fact.scope != scope][:TRAITS]
        by_line = {
            f"- {fact.created_at:%Y-%m-%d}: {shorten(fact.content, FACT)}": fact
            for fact in (*project, *traits)
        }
        text, shown_lines = block(_HEAD, [*first, *by_line, *later], max_bytes, MOST_CHARACTERS)
        shown = [by_line[line] for line in shown_lines if line in by_line]
        until = min((fact.expires_at for fact in shown if fact.expires_at), default=None)
        named = sum(line.startswith((_LAST, _EARLIER)) for line in shown_lines)
        return Opening(text, until, named, len(shown))

    result = await asyncio.to_thread(compose, host)
    hosts = {fact.source.removesuffix(SUFFIX) for fact in facts if is_of_host(fact)} if host is None else ()
    by_host = {name: await asyncio.to_thread(compose, name) for name in hosts}
    return replace(result, by_host=by_host)


def _without_memory_of(
    host: str | None, facts: Sequence[Memory], instructions: Sequence[str]
) -> tuple[list[Memory], list[str]]:
    """Return the facts without those of a host's own memory, and the lines that the host reads itself."""
    host_facts = {fact.id: fact for fact in facts if is_of_host(fact) and fact.source == f"{host}{SUFFIX}"}
    lines = [line for fact in host_facts.values() for line in fact.content.splitlines()]
    return [fact for fact in facts if fact.id not in host_facts], [*instructions, *lines]


def _is_turn_of(scope: str, now: datetime, *parts: Where) -> Where:
    """Return the condition that a turn of a project is current, and not from a chat between people."""
    in_scope = conditions.equal("scope", scope)
    return conditions.both(in_scope, conditions.current(Turn, now), conditions.missing("role"), *parts)


async def _sessions(store: Store, scope: str, session_id: str | None, now: datetime) -> list[list[Turn]]:
    """Return the last turns, oldest first, of the newest sessions except this one, newest session first."""
    sessions: list[list[Turn]] = []
    seen = [session_id] if session_id else []
    while len(sessions) < SESSIONS:
        others = conditions.not_true(conditions.one_of("session_id", seen))
        newest = await store.newest(Turn, _is_turn_of(scope, now, others), 1)
        if not newest:
            break
        seen.append(newest[0].session_id)
        where = _is_turn_of(scope, now, conditions.equal("session_id", seen[-1]))
        turns = [turn for turn in await store.newest(Turn, where, TURNS) if not is_own_command(turn)]
        sessions += [turns[::-1]] if turns else []
    return sessions


async def _facts(store: Store, scope: str, now: datetime) -> list[Memory]:
    """Return the current facts of a project and its user, from which an opening chooses."""
    scopes = conditions.one_of("scope", {scope, USER_SCOPE})
    current = conditions.both(scopes, conditions.current(Memory, now), conditions.NOT_A_SUMMARY)
    lasting = conditions.either(
        conditions.equal("is_static", True), conditions.equal("partition_id", PREFERENCES)
    )
    newest = await store.newest(Memory, current, FACTS)
    newest += await store.newest(Memory, conditions.both(current, lasting), FACTS)
    return list({fact.id: fact for fact in newest}.values())


def _chosen(facts: Sequence[Memory], instructions: Sequence[str], now: datetime) -> list[Memory]:
    """Return the weightiest facts, except those that a newer fact replaces or repeats, or a file mentions."""
    ranked = sorted(facts, key=lambda fact: -_worth(fact, now))[:COMPARED]
    lines = [set(compared_words(line)) for line in instructions]
    return [
        fact
        for fact in ranked
        if not _is_mentioned(fact, lines)
        and not any(
            other.created_at > fact.created_at
            and verdict(other.content, fact.content, None) in ("known", "update", "contradict")
            for other in ranked
        )
    ]


def _is_mentioned(fact: Memory, lines: Sequence[Set[str]]) -> bool:
    """Return True if a line (a set of words) has most words of a fact, and all of its numbers."""
    words = set(compared_words(fact.content))
    numbers = {word for word in words if any(map(str.isdigit, word))}
    return any(numbers <= line and len(words & line) >= MENTIONED * len(words) for line in lines)


def _worth(fact: Memory, now: datetime) -> float:
    """Return the weight of a fact, from its importance, recalls, age, length and kind.

    A bonus for facts about the subjects of the last sessions answered no more first prompts.
    """
    novelty = math.exp2(-(max(now - fact.created_at, timedelta()) / HALF_LIFE))
    is_change = statement(fact.content).is_change or bool(_CHANGED.search(fact.content))
    kind = 0.3 * is_lasting(fact) + 0.15 * bool(_RULE.search(fact.content)) + 0.15 * is_change
    recalled = math.log1p(fact.access_count + len(fact.occasions))
    # Two short facts say more than one long fact.
    length = min(len(fact.content), FACT) / 500
    return fact.importance_score / 10 + kind + 0.6 * novelty + 0.1 * recalled - length


def _session_lines(sessions: Sequence[Sequence[Turn]]) -> tuple[list[str], list[str]]:
    """Return the lines about the last session, and the less important lines about earlier sessions.

    If the last session left nothing open, its lines give what an earlier session left open.
    """
    if not sessions:
        return [], []
    last, summary = sessions[0], digest(sessions[0])
    count = f"{len(last)}{'+' * (len(last) == TURNS)} turn{'s' * (len(last) > 1)}"
    place = f"{_day(last):%Y-%m-%d %H:%M}, {count} ({short_session(summary.session_id)})"
    title_source = f" (title by {summary.title_by})" if summary.title_by else ""
    first = [f"{_LAST}: {place}: {shorten(summary.title, TITLE_LIMIT)}{title_source}"]
    earlier_points = (open_points(sessions[n], chain(*sessions[:n])) for n in range(1, len(sessions)))
    left_open = summary.left_open or next(filter(None, earlier_points), ())
    outcome, open_text = fitting(summary.outcome, OUTCOME), fitting(left_open, LEFT_OPEN)
    for label, text in (("Outcome", outcome), ("Left open", open_text)):
        first += [f"{label}: {text}"] if text else []
    titles = [(session, title_of(session)[0]) for session in sessions[1:]]
    return first, [f"{_EARLIER}, {_day(session):%Y-%m-%d}: {title}" for session, title in titles if title]


def _day(session: Sequence[Turn]) -> datetime:
    """Return the time of a session's last turn, in this machine's time zone."""
    return session[-1].started_at.astimezone()


def fitting(sentences: Sequence[str], room: int) -> str:
    """Join as many of the first sentences as fit into `room` characters; cut the first if it is too long."""
    chosen = [shorten(sentences[0], room)] if sentences else []
    for sentence in sentences[1:]:
        if len(join([*chosen, sentence])) > room:
            break
        chosen.append(sentence)
    return join(chosen)
