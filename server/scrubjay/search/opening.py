"""The opening of a session: what a colleague would say in ten seconds, in at most 300 tokens.

When the last session was and what it was about, what it left open, the sessions before it, and the current
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
from scrubjay.search.profile import PREFERENCES, lasts
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store
from scrubjay.text.short_ids import short_session
from scrubjay.text.summary import shorten

MOST_CHARACTERS = 1_200  # of the whole block: 300 tokens
SESSIONS = 3  # that are named
TURNS = 40  # of a session that are read, its last ones
FACTS = 200  # the newest ones and as many lasting ones, among which some are chosen
# Characters of a part; facts get what the lines before them leave.
OUTCOME, LEFT_OPEN, FACT = 240, 200, 180
HALF_LIFE = timedelta(days=30)  # of a fact's being new
_HEAD = (
    "Quoted from this user's earlier sessions of this project, for reference; it may be outdated. "
    "More: search_memories."
)


@dataclass(frozen=True)
class Opening:
    """The text for the model, "" for none, and when the first fact in it expires."""

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
    """Write the opening of a session in a project; nothing where the project has no turn and no fact.

    The caller has committed everything.

    Args:
        store: where the project's records are.
        scope: of the project.
        now: the moment.
        session_id: of the session that starts; it is told nothing of itself.
        source: why it starts. One that is resumed is told what is newer than its own last turn; a fork has
            had its opening.
        max_bytes: of UTF-8.
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
    # What has no room is decided by what helps most; then sessions stand before facts.
    text, taken = block(_HEAD, sorted(taken, key=by_line.__contains__), max_bytes, MOST_CHARACTERS)
    expiries = (by_line[line].expires_at for line in taken if line in by_line)
    return Opening(text, min((at for at in expiries if at), default=None))


def _turns(scope: str, now: datetime, *parts: Where) -> Where:
    """The current turns of a project's sessions; what people said to each other is no session."""
    here = conditions.equal("scope", scope)
    return conditions.both(here, conditions.current(Turn, now), conditions.missing("role"), *parts)


async def _sessions(store: Store, scope: str, own: str | None, now: datetime) -> list[list[Turn]]:
    """Return the newest sessions, the newest first, each by its last turns, oldest first."""
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
    """Return the current facts of a project and its user among which some are chosen."""
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
    """Weigh a fact: what is important comes first, then what lasts or is new.

    What the last sessions were about does not help: of the made-up projects' first prompts as many are
    answered without it.
    """
    new = math.exp2(-(max(now - fact.created_at, timedelta()) / HALF_LIFE))
    return fact.importance_score / 10 + 0.3 * lasts(fact) + 0.3 * new


def _tell(sessions: Sequence[Sequence[Turn]]) -> tuple[list[str], list[str]]:
    """Write the lines about the sessions: what is said before any fact, and what is said if there is room.

    Of the made-up projects' first prompts more are answered by a fact than by what a session decided.
    """
    first, then = [], []
    for at, told in enumerate(map(digest, sessions)):
        day = told.ended_at.astimezone()  # as a user of this machine says it
        if at == 0:
            count = (
                f"{len(sessions[0])}{'+' * (len(sessions[0]) == TURNS)} turn{'s' * (len(sessions[0]) > 1)}"
            )
            place = f"{day:%Y-%m-%d %H:%M}, {count} ({short_session(told.session_id)})"
            first.append(f"Last session: {place}: {told.title}")
            first += [f"Left open: {said}" for said in [_most(told.left_open, LEFT_OPEN)] if said]
            then += [f"Outcome: {said}" for said in [_most(told.outcome[::-1], OUTCOME)] if said]
        elif told.title:
            (first if at == 1 else then).append(f"Before that, {day:%Y-%m-%d}: {told.title}")
    return first, then


def _most(sentences: Sequence[str], room: int) -> str:
    """Join the first sentences, as many as there is room for; the first one is cut if it is too long."""
    said = shorten(sentences[0], room) if sentences else ""
    for sentence in sentences[1:]:
        if len(said) + len(sentence) + 1 > room:
            break
        said += f" {sentence}"
    return said
