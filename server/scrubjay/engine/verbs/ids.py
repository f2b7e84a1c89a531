"""Finds a record by an id as a search shows it, or by a part of one.

Interfaces for people and models call this before another operation; the HTTP interfaces require full ids.
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
    """Resolves short ids; in all methods `scope` is the caller's, a tuple if it may see no other."""

    async def full(self, given: str, scope: Scope | None) -> str:
        """Return the full id; `given` itself if it matches no record.

        Raises:
            InputError: it matches several records.
        """
        await self._writer.drain()
        return await full_id(self._store, given, scope if isinstance(scope, tuple) else None)

    async def session(self, given: str) -> tuple[str, str]:
        """Return the scope and the full id of the session with this id, or a beginning of it.

        Raises:
            InputError: it matches several sessions.
            NotFound: it matches none.
        """
        await self._writer.caught_up()
        session_id = await full_session_id(self._store, given, None)
        where = conditions.equal("session_id", session_id)
        for turn in await self._store.newest(Turn, where, 1):
            return turn.scope, session_id
        raise NotFound(f"There is no session {given[:80]!r}. `scrubjay sessions` lists them.")

    async def reached(self, given: str, reach: tuple[str, ...] | None) -> AnyRecord | None:
        """Return the matching record in the scopes of `reach` (None: all), or None.

        Raises:
            InputError: it matches several records.
        """
        record = await self._store.find(await self.full(given, reach))
        return None if record is not None and reach is not None and record.scope not in reach else record

    async def spell_out(self, request: R, scope: Scope, reach: tuple[str, ...] | None = None) -> R:
        """Return the request with full ids; the ids of a turn to record stay, because they name sessions.

        Raises:
            InputError: an id matches several records.
            NotFound: the record to forget or update is in none of the scopes in `reach` (None: all).
        """
        whole: dict[str, Any] = {}
        if isinstance(request, Forget) and request.id is not None and reach is not None:
            whole["id"] = await self._within(request.id, reach)
        elif isinstance(request, Forget | Restore) and request.id is not None:
            whole["id"] = await self.full(request.id, scope)
        elif isinstance(request, AddMemory):
            relation, ids = request.link or ("", ())
            if relation:
                whole[relation] = [
                    await (self.full(each, scope) if reach is None else self._within(each, reach, relation))
                    for each in ids
                ]
            if DISTILLED in request.tags:
                whole["metadata"] = {**request.metadata, **await self._turn_of(request, reach)}
        elif isinstance(request, SearchMemories) and request.session_id is not None:
            await self._writer.drain()
            searched = search_scopes(request.scope, scope)
            whole["session_id"] = await full_session_id(self._store, request.session_id, searched)
        elif isinstance(request, SearchDocuments) and request.doc_id is not None:
            await self._writer.drain()
            searched = search_scopes(request.scope, scope)
            whole["doc_id"] = await full_document_id(self._store, request.doc_id, searched)
        return request.model_copy(update=whole) if whole else request

    async def _turn_of(self, request: AddMemory, reach: tuple[str, ...] | None) -> dict[str, Any]:
        """Return the session and the number of the turn that a distilled fact names."""
        named = request.metadata.get("turn")
        turn = await self.reached(named, reach) if isinstance(named, str) else None
        if not isinstance(turn, Turn):
            example = '"metadata": {"turn": "66288832/5"}'
            raise InputError(
                f"A distilled fact names the turn that says it, as in {example}; {named!r} is not a turn."
            )
        return {"session_id": turn.session_id, "turn": turn.turn}

    async def _within(self, given: str, reach: tuple[str, ...], field: str = "") -> str:
        record = await self.reached(given, reach)
        if record is None:
            nothing = f"There is no record with the id {given[:80]!r}. Use the id of a search result."
            nothing = f"{field}: {nothing}" if field else nothing
            raise NotFound(f"{nothing} For another project's record, give its scope too.")
        return record.id
