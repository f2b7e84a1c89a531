"""Plans how the messages of commits, already read from git, become documents."""

import asyncio
from datetime import datetime

from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import COMMIT, Document, derived_id
from scrubjay.models.requests import CommitText, CommitTexts, DocumentText, FileState, parse
from scrubjay.models.results import Written
from scrubjay.records.documents import LONGEST_TITLE, new_document
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store

SHORT = 12  # hex digits of a commit's id that are shown


def custom_id(commit: str) -> str:
    """Return the custom_id of a commit's document."""
    return f"commit:{commit}"


async def plan_commits(store: Store, envelope: Envelope, now: datetime) -> Plan[Written]:
    """Plan the addition of new commits as documents; stored ones stay, because commits never change."""
    request = parse(CommitTexts, envelope.args)
    ids = [derived_id("doc", envelope.scope, "custom", custom_id(each.id)) for each in request.commits]
    stored = await store.get(Document, await store.possible_keys(Document, ids))
    new = [
        (_as_document(commit, request.folder), document_id, stored.get(document_id))
        for commit, document_id in zip(request.commits, ids, strict=True)
        if document_id not in stored or stored[document_id].forgotten_at is not None
    ]

    def build_changes() -> list[Change]:
        return [
            Change(*new_document(text, envelope, document_id, known, now), rewritten=known is not None)
            for text, document_id, known in new
        ]

    changes = await asyncio.to_thread(build_changes)
    return Plan(Written(count=len(changes)), changes)


def _as_document(commit: CommitText, folder: str) -> DocumentText:
    """Return a commit as a document, titled with the beginning of the commit's id and its subject."""
    short, subject = commit.id[:SHORT], commit.content.partition("\n")[0]
    return DocumentText(
        content=commit.content,
        type=COMMIT,
        title=f"{short} {subject}"[:LONGEST_TITLE],
        custom_id=custom_id(commit.id),
        metadata={COMMIT: short},
        date=commit.date,
        file=FileState(size=0, mtime=0, digest="", folder=folder),
    )
