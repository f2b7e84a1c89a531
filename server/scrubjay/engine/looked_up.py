"""What was looked up for many texts at once, so that a batch costs few queries: the documents that they may mean, and the facts that say
what they say. Knows how a document is named; does not know what is done with a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scrubjay.ids import content_hash, derived_id
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Document, Memory
from scrubjay.paragraphs import SHORT
from scrubjay.store import sql
from scrubjay.store.store import Store


class LookedUp:
    """Lives for one batch, in which nobody else files documents, and learns what each of its writes adds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents: dict[str, Document | None] = {}
        self._facts: dict[str, dict[str, Memory | None]] = {}  # by scope and hash of words; None where nobody says that

    async def document(self, id: str) -> Document | None:
        """The document that has this id."""
        if id not in self._documents:
            self._documents[id] = (await self._documents_of([id])).get(id)
        return self._documents[id]

    def facts_of(self, scope: str) -> Mapping[str, Memory | None]:
        """What was looked up of the facts of a scope."""
        return self._facts.get(scope, {})

    async def look(self, made: Sequence[Envelope]) -> None:
        """Look up the documents that these envelopes may mean, and the facts that say what their short texts say."""
        ids = [id_of(each) for each in made]
        rows = await self._documents_of(ids)
        self._documents |= {id: rows.get(id) for id in ids}
        for each in made:
            if len(content := str(each.args.get("content") or "").strip()) <= SHORT:
                self._facts.setdefault(each.scope, {})[content_hash(content)] = None
        for scope, facts in self._facts.items():
            where = sql.both(sql.one_of("content_hash", sorted(facts)), sql.equal("scope", scope), "forgotten_at IS NULL", "is_latest")
            if known := await self._store.select(Memory, where, columns=["id"]):
                facts_there = await self._store.get(Memory, [row.id for row in known])
                facts.update((row.content_hash, row) for row in facts_there.values())
        self.learn()

    async def _documents_of(self, ids: Sequence[str]) -> dict[str, Document]:
        """Whole rows of those that are there. Most are not, and to look for an id takes 3 ms where every column takes 7."""
        there = await self._store.get(Document, ids, columns=["id"])
        return await self._store.get(Document, there) if there else {}

    def learn(self) -> None:
        """Take in what is staged."""
        self._documents.update((row.id, row) for row in self._store.staged(Document))
        for fact in self._store.staged(Memory):
            if fact.content_hash in (facts := self._facts.get(fact.scope, {})):
                facts[fact.content_hash] = fact


def id_of(made: Envelope) -> str:
    """The id of the document that an envelope names, else of the first one of its custom_id, or of its words."""
    if named := made.args.get("document_id"):
        return str(named)
    if named := made.args.get("custom_id"):
        return derived_id("doc", made.scope, "custom", named)
    return derived_id("doc", made.scope, "content", content_hash(made.args.get("content") or ""))
