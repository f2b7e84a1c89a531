"""Runs the ingests of an engine, one at a time, and lists its documents with their status."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.engine.verbs.verb import LongVerb
from scrubjay.errors import InputError
from scrubjay.home.repositories import WorkTree, work_tree
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.models.records import Document
from scrubjay.models.requests import Commits
from scrubjay.models.results import Ingested, ListedDocument, NotRead
from scrubjay.records.ingest import job
from scrubjay.records.ingest.commits import index_commits
from scrubjay.records.ingest.tree import files_at
from scrubjay.store import conditions
from scrubjay.store.conditions import Where

_COLUMNS = ["id", "title", "type", "path", "scope", "status", "error", "chunk_count", "updated_at"]


@dataclass(eq=False)
class Ingest(LongVerb):
    """Runs one ingest at a time: two concurrent ingests of the same tree would write every file twice."""

    _running: job.Ingest | None = None

    async def run(
        self,
        paths: Sequence[str],
        *,
        scope: str,
        source: str,
        report: job.Report,
        again: bool = False,
        hidden: bool = False,
        commits: Commits = "root",
    ) -> Ingested:
        """Update the documents of files and folders, and of the commits of their repositories.

        If this is cancelled, the finished documents stay.

        Raises:
            InputError: a path is missing or cannot be read, or only commits are wanted and a path is not in a
                repository.
        """
        async with self._lock:
            self._running = job.Ingest(self._store, self._writer.write, self._clock, scope, source)
            try:
                files = [] if commits == "only" else paths
                done = await self._running.run(files, report, again=again, hidden=hidden)
            finally:
                self._running = None
            for tree in await asyncio.to_thread(_work_trees, paths, commits):
                writes = self._store, self._writer.write, self._clock
                added, removed = await index_commits(tree, *writes, scope, source, report)
                counts = {"commits": done.commits + added, "removed": done.removed + removed}
                done = done.model_copy(update=counts)
            return done

    async def list_documents(self, scope: str, last: int) -> list[ListedDocument]:
        """List the documents of a scope ("*": of all scopes): those being ingested, then the latest."""
        await self._writer.catch_up()
        rows = await self._store.select(Document, _documents(scope), columns=_COLUMNS)
        rows = sorted(rows, key=lambda row: row.updated_at, reverse=True)[:last]
        waiting = await self._store.records_without_vectors([row.id for row in rows]) if rows else set()
        running: list[ListedDocument] = []
        if (ingest := self._running) is not None and scope in (EVERY_SCOPE, ingest.scope):
            states = sorted(ingest.states.items(), key=lambda item: item[1] == "queued")
            running = [ListedDocument(path=path, scope=ingest.scope, status=state) for path, state in states]
        return [*running[:last], *(_listed(row, row.id in waiting) for row in rows)]

    async def left_out(self, scope: str) -> list[NotRead]:
        """Return which files on the disk in the indexed folders are not documents, and why."""
        await self._writer.catch_up()
        where = conditions.both(_documents(scope), conditions.present("folder"))
        rows = await self._store.select(Document, where, columns=["folder"])
        reasons: list[NotRead] = []
        for folder in sorted({row.folder for row in rows if row.folder}):
            try:
                tree = await asyncio.to_thread(files_at, folder)
            except InputError as error:
                reasons.append(NotRead(path=folder, reason=str(error)))
            else:
                reasons += tree.why_left_out(folder) if tree else ()
        return reasons


def _documents(scope: str) -> Where:
    in_scope = conditions.matching(scope=None if scope == EVERY_SCOPE else scope)
    return conditions.both(conditions.NOT_FORGOTTEN, conditions.NOT_A_COMMIT, in_scope)


def _work_trees(paths: Sequence[str], commits: Commits) -> list[WorkTree]:
    """Return the working trees at these paths whose commits are to be indexed, one for each repository."""
    if commits == "none":
        return []
    trees_by_repository: dict[str, WorkTree] = {}
    for path in paths:
        tree = work_tree(path if os.path.isdir(path) else os.path.dirname(path), os.path.expanduser("~"))
        if tree is None and commits == "only":
            raise InputError(f"{path[:300]!r} is in no git repository, so it has no commits.")
        if tree is not None and (commits == "only" or tree.root == os.path.realpath(path)):
            trees_by_repository.setdefault(tree.common, tree)
    return list(trees_by_repository.values())


def _listed(row: Document, lacks_vectors: bool) -> ListedDocument:
    return ListedDocument(
        **row.model_dump(include={"id", "title", "type", "path", "scope", "error", "updated_at"}),
        status="embedding" if lacks_vectors and row.status == "done" else row.status,
        chunks=row.chunk_count,
    )
