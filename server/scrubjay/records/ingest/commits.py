"""The commits of a repository as documents: new commits are added, and vanished ones are forgotten."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime

from scrubjay.code import git
from scrubjay.code.git import Commit
from scrubjay.home.repositories import WorkTree
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import COMMIT, Document, derived_id
from scrubjay.models.requests import CommitText, CommitTexts, DocumentText, FileState, ForgetRecords, parse
from scrubjay.models.results import Result, Written
from scrubjay.records.documents import LONGEST_TITLE, new_document
from scrubjay.store import conditions
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store

MOST = 20_000  # commits of a repository that are indexed, the newest ones
BATCH = 500  # commits in one write
LONGEST_MESSAGE, MOST_FILES = 20_000, 40  # characters of a message; file names of a commit
SHORT = 12  # hex digits of a commit's id that are shown
GONE = "The repository no longer has this commit."
_COLUMNS = "id custom_id folder dated_at forgotten_at forget_reason".split()
# Lines of a message that name people or tools but do not describe the change.
_TRAILER = re.compile(
    r"^(?:[A-Z][a-z]+(?:-[a-z]+)*-by|Cc|Change-Id|git-svn-id|GitOrigin-RevId):.*\n?", re.MULTILINE
)
Write = Callable[[Envelope], Awaitable[Result]]
Report = Callable[[int, int, str], Awaitable[None]]


async def index_commits(
    work: WorkTree,
    store: Store,
    write: Write,
    clock: Callable[[], datetime],
    scope: str,
    source: str,
    report: Report,
) -> tuple[int, int]:
    """Bring the commits of a repository up to date; return how many were added, and how many forgotten."""
    history = await asyncio.to_thread(git.history, work, MOST)
    if not history:
        return 0, 0
    await store.flush()
    where = conditions.both(conditions.matching(scope=scope), conditions.equal("type", COMMIT))
    documents = {row.custom_id: row for row in await store.select(Document, where, columns=_COLUMNS)}
    # A commit that a user forgot stays forgotten; one that was gone from the repository may come back.
    settled = {key for key, row in documents.items() if not row.forgotten_at or row.forget_reason != GONE}
    new = [commit.id for commit in history if custom_id(commit.id) not in settled]
    gone_ids = _gone_ids(documents.values(), work, history)
    for start in range(0, len(new), BATCH):
        await report(start, len(new), "commits")
        commits = await asyncio.to_thread(git.read_commits, work, new[start : start + BATCH]) or []
        if commits:
            request = await asyncio.to_thread(_envelope, commits, work, scope, source, clock())
            await write(request)
    if gone_ids:
        forget = ForgetRecords(ids=gone_ids, reason=GONE)
        await write(envelope("forget", forget, scope=scope, source=source, at=clock()))
    return len(new), len(gone_ids)


def _gone_ids(documents: Iterable[Document], work: WorkTree, history: Sequence[Commit]) -> list[str]:
    """Return the ids of documents whose commits the repository no longer has, as after a rebase.

    Documents of commits that are older than the listed ones, or from other clones, stay.
    """
    custom_ids = {custom_id(each.id) for each in history}
    oldest_listed = min(each.at for each in history) if len(history) >= MOST else 0
    return [
        row.id
        for row in documents
        if row.forgotten_at is None and row.folder == work.common and row.custom_id not in custom_ids
        if row.dated_at is None or row.dated_at.timestamp() >= oldest_listed
    ]


def _envelope(commits: Sequence[Commit], work: WorkTree, scope: str, source: str, at: datetime) -> Envelope:
    texts = [
        CommitText(id=commit.id, date=datetime.fromtimestamp(commit.at, UTC), content=text_of(commit))
        for commit in commits
    ]
    request = CommitTexts(folder=work.common, commits=texts)
    return envelope("commits", request, scope=scope, source=source, at=at)


def text_of(commit: Commit) -> str:
    r"""Return the message of a commit without trailers, and its files.

    >>> text_of(Commit("1f", 0, "Stop\n\nIt hung.\nSigned-off-by: Jay", ("a.py",)))
    'Stop\n\nIt hung.\n\nFiles: a.py'
    """
    message = _TRAILER.sub("", commit.message[:LONGEST_MESSAGE]).strip()
    more = f" and {len(commit.files) - MOST_FILES:,} more" if len(commit.files) > MOST_FILES else ""
    files = f"Files: {', '.join(commit.files[:MOST_FILES])}{more}" if commit.files else ""
    return "\n\n".join(filter(None, (message, files))) or "No message."


def custom_id(commit: str) -> str:
    """Return the custom_id of a commit's document."""
    return f"commit:{commit}"


async def plan_commits(store: Store, envelope: Envelope, now: datetime) -> Plan[Written]:
    """Plan the addition of new commits as documents; stored ones stay, because commits never change."""
    request = parse(CommitTexts, envelope.args)
    ids = [derived_id("doc", envelope.scope, "custom", custom_id(each.id)) for each in request.commits]
    stored = await store.get(Document, ids)
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
