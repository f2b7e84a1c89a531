"""Finds a record by the short id of a search result, or by a part of its id.

Interfaces for people and models call this before other operations; the HTTP interfaces require full ids.
"""

from typing import Any, TypeVar

from scrubjay.engine.verbs.search import Scope
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError, NotFound
from scrubjay.home.scopes import search_scopes
from scrubjay.models.records import AnyRecord, Turn
from scrubjay.models.requests import AddMemory, Forget, Request, Restore, SearchDocuments, SearchMemories
from scrubjay.records.distilled import DISTILLED
from scrubjay.records.full_ids import full_document_id, full_id, full_session_id
from scrubjay.store import conditions

R = TypeVar("R", bound=Request)


class Ids(Verb):
    """Resolves short ids. In all methods, `scope` is the caller's: a tuple if the caller may see no other."""

    async def full(self, short_id: str, scope: Scope | None) -> str:
        """Return the full id, or `short_id` itself if it matches no record.

        Raises:
            InputError: it matches several records.
        """
        await self._writer.drain()
        return await full_id(self._store, short_id, scope if isinstance(scope, tuple) else None)

    async def session(self, short_id: str) -> tuple[str, str]:
        """Return the scope and the full id of the session whose id is or begins with `short_id`.

        Raises:
            InputError: it matches several sessions.
            NotFound: it matches none.
        """
        await self._writer.catch_up()
        session_id = await full_session_id(self._store, short_id, None)
        where = conditions.equal("session_id", session_id)
        for turn in await self._store.newest(Turn, where, 1):
            return turn.scope, session_id
        raise NotFound(f"There is no session {short_id[:80]!r}. `scrubjay sessions` lists them.")

    async def record_within(self, short_id: str, reach: tuple[str, ...] | None) -> AnyRecord | None:
        """Return the record in the scopes of `reach` (None: all) that `short_id` matches, or None.

        Raises:
            InputError: it matches several records.
        """
        record = await self._store.find(await self.full(short_id, reach))
        return None if record is not None and reach is not None and record.scope not in reach else record

    async def with_full_ids(self, request: R, scope: Scope, reach: tuple[str, ...] | None = None) -> R:
        """Return the request with full ids. The ids of a turn to record stay, because they name sessions.

        Raises:
            InputError: an id matches several records.
            NotFound: the record to forget or update is in none of the scopes in `reach` (None: all).
        """
        full_ids: dict[str, Any] = {}
        if isinstance(request, Forget) and request.id is not None and reach is not None:
            full_ids["id"] = await self._id_in(request.id, reach)
        elif isinstance(request, Forget | Restore) and request.id is not None:
            full_ids["id"] = await self.full(request.id, scope)
        elif isinstance(request, AddMemory):
            relation, ids = request.link or ("", ())
            if relation:
                full_ids[relation] = [
                    await (self.full(each, scope) if reach is None else self._id_in(each, reach, relation))
                    for each in ids
                ]
            if DISTILLED in request.tags:
                full_ids["metadata"] = {**request.metadata, **await self._turn_fields(request, reach)}
        elif isinstance(request, SearchMemories) and request.session_id is not None:
            await self._writer.drain()
            scopes = search_scopes(request.scope, scope)
            full_ids["session_id"] = await full_session_id(self._store, request.session_id, scopes)
        elif isinstance(request, SearchDocuments) and request.doc_id is not None:
            await self._writer.drain()
            scopes = search_scopes(request.scope, scope)
            full_ids["doc_id"] = await full_document_id(self._store, request.doc_id, scopes)
        return request.model_copy(update=full_ids) if full_ids else request

    async def _turn_fields(self, request: AddMemory, reach: tuple[str, ...] | None) -> dict[str, Any]:
        """Return the session and the number of the turn that a distilled fact names."""
        turn_id = request.metadata.get("turn")
        turn = await self.record_within(turn_id, reach) if isinstance(turn_id, str) else None
        if not isinstance(turn, Turn):
            what = 'A distilled fact names the turn that says it, as in "metadata": {"turn": "66288832/5"}'
            raise InputError(f"{what}; {turn_id!r} is not a turn.")
        return {"session_id": turn.session_id, "turn": turn.turn}

    async def _id_in(self, short_id: str, reach: tuple[str, ...], field: str = "") -> str:
        record = await self.record_within(short_id, reach)
        if record is None:
            message = f"There is no record with the id {short_id[:80]!r}. Use the id of a search result."
            message = f"{field}: {message}" if field else message
            raise NotFound(f"{message} For another project's record, give its scope too.")
        return record.id
