"""The opening of a session: what a colleague would say in ten seconds, in at most 300 tokens.

It says when the last session was, its subject and what it left open, the sessions before it, and the current
facts that matter most in this project.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.records import Memory, Turn
from scrubjay.records.session_summaries import digest
from scrubjay.search.injection import block
from scrubjay.search.profile import PREFERENCES, is_lasting
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store
from scrubjay.text.short_ids import short_session
from scrubjay.text.summary import shorten

MOST_CHARACTERS = 1_200  # in the whole block: 300 tokens
SESSIONS = 3  # sessions that are named
TURNS = 40  # last turns of a session that are read
FACTS = 200  # the newest facts, and as many lasting ones, to choose from
# Characters of each part; facts get what the lines before them leave.
OUTCOME, LEFT_OPEN, FACT = 240, 200, 180
HALF_LIFE = timedelta(days=30)  # of a fact's novelty
_HEAD = (
    "Quoted from this user's earlier sessions of this project, for reference; it may be outdated. "
    "More: search_memories."
)


@dataclass(frozen=True)
class Opening:
    """The text for the model, possibly "", and when the first fact in it expires."""

    text: str = ""
    until: datetime | None = None


async def opening(
    store: Store,
    scope: str,
    now: datetime,
    *,
    session_id: str | None = None,
    source: str | None = None,
    max_bytes: int = 4 * MOST_CHARACTERS,
) -> Opening:
    """Return the opening of a session in a project; empty if the project has no turn and no fact.

    The caller has committed everything.

    Args:
        store: the store of the project's records.
        scope: the project's scope.
        now: the current time.
        session_id: the session that starts; its own turns are left out.
        source: why it starts. A resumed session gets what is newer than its own last turn; a fork has had
            its opening already.
        max_bytes: limit in bytes of UTF-8.
    """
    if source == "fork":
        return Opening()
    sessions = await _sessions(store, scope, session_id, now)
    facts = await _facts(store, scope, now)
    if source == "resume" and (own := await _last_turn(store, scope, session_id, now)):
        sessions = [turns for turns in sessions if turns[-1].started_at > own.started_at]
        facts = [fact for fact in facts if fact.created_at > own.started_at]
    if not sessions and not any(fact.scope == scope for fact in facts):
        return Opening()
    first, then = await asyncio.to_thread(_tell, sessions)
    facts = sorted(facts, key=lambda fact: -_worth(fact, now))
    by_line = {f"- {fact.created_at:%Y-%m-%d}: {shorten(fact.content, FACT)}": fact for fact in facts}
    _, taken = block(_HEAD, [*first, *by_line, *then], max_bytes, MOST_CHARACTERS)
    # What is most helpful gets its room first; in the text, sessions come before facts.
    text, taken = block(_HEAD, sorted(taken, key=by_line.__contains__), max_bytes, MOST_CHARACTERS)
    expiries = (by_line[line].expires_at for line in taken if line in by_line)
    return Opening(text, min((at for at in expiries if at), default=None))


def _turns(scope: str, now: datetime, *parts: Where) -> Where:
    """Return the condition for the current turns of a project's sessions, without chats between people."""
    here = conditions.equal("scope", scope)
    return conditions.both(here, conditions.current(Turn, now), conditions.missing("role"), *parts)


async def _sessions(store: Store, scope: str, own: str | None, now: datetime) -> list[list[Turn]]:
    """Return the newest sessions, the newest first, each as its last turns, oldest first."""
    sessions: list[list[Turn]] = []
    known = [own] if own else []
    while len(sessions) < SESSIONS:
        others = conditions.not_true(conditions.one_of("session_id", known))
        newest = await store.newest(Turn, _turns(scope, now, others), 1)
        if not newest:
            break
        known.append(newest[0].session_id)
        where = _turns(scope, now, conditions.equal("session_id", known[-1]))
        sessions.append((await store.newest(Turn, where, TURNS))[::-1])
    return sessions


async def _last_turn(store: Store, scope: str, session_id: str | None, now: datetime) -> Turn | None:
    where = _turns(scope, now, conditions.equal("session_id", session_id or ""))
    return next(iter(await store.newest(Turn, where, 1)), None)


async def _facts(store: Store, scope: str, now: datetime) -> list[Memory]:
    """Return the current facts of a project and its user to choose from."""
    scopes = conditions.one_of("scope", {scope, USER_SCOPE})
    here = conditions.both(scopes, conditions.current(Memory, now), conditions.NOT_A_SUMMARY)
    lasting = conditions.either(
        conditions.equal("is_static", True), conditions.equal("partition_id", PREFERENCES)
    )
    rows = [
        *await store.newest(Memory, here, FACTS),
        *await store.newest(Memory, conditions.both(here, lasting), FACTS),
    ]
    return list({row.id: row for row in rows}.values())


def _worth(fact: Memory, now: datetime) -> float:
    """Return the weight of a fact: importance first, then whether it lasts or is new.

    Preferring the subjects of the last sessions does not help: it answers no more of the made-up projects'
    first prompts.
    """
    new = math.exp2(-(max(now - fact.created_at, timedelta()) / HALF_LIFE))
    return fact.importance_score / 10 + 0.3 * is_lasting(fact) + 0.3 * new


def _tell(sessions: Sequence[Sequence[Turn]]) -> tuple[list[str], list[str]]:
    """Return the lines about the sessions: those that precede the facts, and those added if there is room.

    A fact answers more of the made-up projects' first prompts than a session's decision.
    """
    first, then = [], []
    for at, told in enumerate(map(digest, sessions)):
        day = told.ended_at.astimezone()  # in this machine's time zone
        if at == 0:
            count = (
                f"{len(sessions[0])}{'+' * (len(sessions[0]) == TURNS)} turn{'s' * (len(sessions[0]) > 1)}"
            )
            place = f"{day:%Y-%m-%d %H:%M}, {count} ({short_session(told.session_id)})"
            first.append(f"Last session: {place}: {told.title}")
            first += [f"Left open: {said}" for said in [fitting(told.left_open, LEFT_OPEN)] if said]
            then += [f"Outcome: {said}" for said in [fitting(told.outcome[::-1], OUTCOME)] if said]
        elif told.title:
            (first if at == 1 else then).append(f"Before that, {day:%Y-%m-%d}: {told.title}")
    return first, then


def fitting(sentences: Sequence[str], room: int) -> str:
    """Join as many of the first sentences as fit; the first one is cut if it is too long."""
    said = shorten(sentences[0], room) if sentences else ""
    for sentence in sentences[1:]:
        if len(said) + len(sentence) + 1 > room:
            break
        said += f" {sentence}"
    return said
