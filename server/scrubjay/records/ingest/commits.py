"""The commits of a repository as documents: new ones are added, and lost ones forgotten."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime

from scrubjay.code import git
from scrubjay.code.git import Commit
from scrubjay.home.repositories import WorkTree
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import COMMIT, Document
from scrubjay.models.requests import CommitText, CommitTexts, ForgetRecords
from scrubjay.models.results import Result
from scrubjay.records.commits import custom_id
from scrubjay.store import conditions
from scrubjay.store.store import Store

MOST = 20_000  # commits of a repository, the newest
BATCH = 500  # commits in one write
LONGEST_MESSAGE, MOST_FILES = 20_000, 40  # characters; files of a commit that are named
GONE = "The repository no longer has this commit."
_COLUMNS = "id custom_id folder dated_at forgotten_at forget_reason".split()
# Lines of a message that name people or tools and say nothing about the change.
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
    there = await asyncio.to_thread(git.history, work, MOST)
    if not there:
        return 0, 0
    await store.flush()
    where = conditions.both(conditions.matching(scope=scope), conditions.equal("type", COMMIT))
    known = {row.custom_id: row for row in await store.select(Document, where, columns=_COLUMNS)}
    new = [each.id for each in there if _is_wanted(known.get(custom_id(each.id)))]
    gone = _gone(known.values(), work, there)
    for at in range(0, len(new), BATCH):
        await report(at, len(new), "commits")
        commits = await asyncio.to_thread(git.read_commits, work, new[at : at + BATCH]) or []
        if commits:
            made = await asyncio.to_thread(_envelope, commits, work, scope, source, clock())
            await write(made)
    if gone:
        forget = ForgetRecords(ids=gone, reason=GONE)
        await write(envelope("forget", forget, scope=scope, source=source, at=clock()))
    return len(new), len(gone)


def _is_wanted(known: Document | None) -> bool:
    """Return True for a commit without a document; one that a user forgot stays forgotten."""
    return known is None or (known.forgotten_at is not None and known.forget_reason == GONE)


def _gone(known: Iterable[Document], work: WorkTree, there: Sequence[Commit]) -> list[str]:
    """Return the ids of documents whose commits the repository no longer has, as after a rebase.

    Commits older than the listed ones and those of other clones are left alone.
    """
    names = {custom_id(each.id) for each in there}
    oldest = min(each.at for each in there) if len(there) >= MOST else 0
    return [
        row.id
        for row in known
        if row.forgotten_at is None and row.folder == work.common and row.custom_id not in names
        if row.dated_at is None or row.dated_at.timestamp() >= oldest
    ]


def _envelope(commits: Sequence[Commit], work: WorkTree, scope: str, source: str, at: datetime) -> Envelope:
    texts = [
        CommitText(id=each.id, date=datetime.fromtimestamp(each.at, UTC), content=text_of(each))
        for each in commits
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
