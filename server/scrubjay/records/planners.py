"""The planner of each kind of write."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from scrubjay.models.envelopes import Envelope
from scrubjay.models.results import Result
from scrubjay.records import (
    documents,
    exchange,
    forgetting,
    host_memories,
    memories,
    sessions,
    turns,
)
from scrubjay.records.ingest import commits
from scrubjay.store.changes import Plan
from scrubjay.store.store import Store

Planner = Callable[[Store, Envelope, datetime], Awaitable[Plan[Result]]]
PLANNERS: dict[str, Planner] = {
    "turn": turns.plan_record,
    "memory": memories.plan_add,
    "document": documents.plan_add,
    "commits": commits.plan_commits,
    "forget": forgetting.plan_forget,
    "restore": forgetting.plan_restore,
    "import": exchange.plan_import,
    "review": memories.plan_review,
    "sessions": sessions.plan_sessions,
    "host_memories": host_memories.plan_memories,
}
