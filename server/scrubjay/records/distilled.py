"""Distilled facts, which an assistant's own model extracted from turns at the user's request.

Each fact has the tag `distilled` and names its turn. It never replaces a fact that a person saved.
"""

from scrubjay.errors import InputError
from scrubjay.models.records import Memory
from scrubjay.models.requests import FactText
from scrubjay.store import conditions
from scrubjay.store.store import Store

DISTILLED = "distilled"
MOST = 12  # distilled facts of one session
# Metadata: the ids of facts saved by a person, which a distilled fact may not replace.
CONTRADICTS = "may_contradict"


def is_distilled(fact: Memory) -> bool:
    """Return True if a model distilled a fact; a person's new version of it does not count."""
    return DISTILLED in fact.tags


async def restrict(store: Store, scope: str, request: FactText) -> tuple[FactText, str | None]:
    """Return a request without updates of facts that a person saved, and a note on them.

    Raises InputError if the session already has `MOST` distilled facts.
    """
    if DISTILLED not in request.tags:
        return request, None
    parents = await store.get(Memory, request.updates)
    persons_facts = [each for each in request.updates if each in parents and not is_distilled(parents[each])]
    updates = [each for each in request.updates if each not in persons_facts]
    session = request.metadata.get("session_id")
    if not updates and await _count(store, scope, session) >= MOST:
        problem = f"The session {session} has {MOST} distilled facts, which is the most."
        raise InputError(f"{problem} Save another only if it replaces one of them: give its id in updates.")
    if not persons_facts:
        return request, None
    ids = ", ".join(persons_facts)
    metadata = {**request.metadata, CONTRADICTS: ids}
    note = f"{ids} was saved by a person and stays; this fact may contradict it. Tell the user."
    return request.model_copy(update={"updates": updates, "metadata": metadata}), note


async def _count(store: Store, scope: str, session: object) -> int:
    where = conditions.both(
        conditions.matching(scope=scope, session_id=str(session)),
        conditions.has_all("tags", [DISTILLED]),
        conditions.NOT_FORGOTTEN,
        conditions.LATEST,
    )

    def is_match(row: Memory) -> bool:
        is_current = row.forgotten_at is None and row.is_latest
        return is_current and is_distilled(row) and (row.scope, row.session_id) == (scope, session)

    return len(await store.select_newest(Memory, where, is_match))
