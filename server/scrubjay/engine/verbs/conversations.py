"""Keeps conversations that a chat client sends: each is a document, and by the policy `chat_capture` also turns of a session.

Knows what is new of one; does not know what a turn is found by (`turns`), or how the messages came here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from scrubjay.engine.verbs.documents import Documents, DocumentState, Status
from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError
from scrubjay.home.capture import Policy, cut, should_record
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Document, Turn
from scrubjay.models.requests import DocumentText, RecordTurn, parse
from scrubjay.records.turns import SOURCE
from scrubjay.store.store import Store
from scrubjay.text.conversations import Exchange, Message, contains, exchanges, transcript


class ConversationState(NamedTuple):
    """What became of a conversation: its document, how far that is, and how many turns are new or longer now."""

    id: str
    status: Status
    turns: int


class Conversations:
    """Takes one conversation after another: what it goes on from must not change meanwhile.

    `settings` are those of the moment.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        documents: Documents,
        clock: Callable[[], datetime],
        settings: Callable[[], Settings],
    ) -> None:
        self._store, self._writer, self._documents, self._clock, self._settings = (
            store,
            writer,
            documents,
            clock,
            settings,
        )
        self._order = asyncio.Lock()

    async def add(
        self, id: str, messages: Sequence[Message], *, scope: str, metadata: Mapping[str, Any] | None = None
    ) -> ConversationState:
        """Keep what these messages, their secrets replaced, add to the conversation `id` of a scope.

        The document holds every message, whatever the policy is, and nothing is learned of it. What turns are
        recorded for, chats are found by; under `off` there are none.

        Raises:
            InputError: the messages say nothing, and there is no such conversation yet.
        """
        async with self._order:
            await self._writer.drain()
            document = await self._filed(id, messages, scope, metadata)
            turns = await self._recorded(id, messages, scope, metadata or {})
            return ConversationState(document.id, document.status, turns)

    async def _filed(
        self, id: str, messages: Sequence[Message], scope: str, metadata: Mapping[str, Any] | None
    ) -> DocumentState:
        named = [row for row in await self._documents.named(id, [scope]) if row.forgotten_at is None]
        rows = await self._store.get(Document, [row.id for row in named[:1]])
        content = transcript(next((row.content for row in rows.values()), ""), messages)
        if not content:
            raise InputError("messages say nothing: each is empty. Give at least one with content.")
        given: dict[str, Any] = {"content": content, "custom_id": id, "type": "text", "task_type": "superrag"}
        if not rows:
            given["title"] = f"Conversation {id}"
        if metadata is not None:
            given["metadata"] = dict(metadata)
        return await self._documents.add(DocumentText.model_validate(given), scope=scope, source=SOURCE)

    async def _recorded(
        self, id: str, messages: Sequence[Message], scope: str, metadata: Mapping[str, Any]
    ) -> int:
        policy = self._policy()
        if policy.capture == "off" or policy.paused:
            return 0
        count = 0
        for exchange in await self._new(id, exchanges(messages), scope):
            if should_record(exchange.user, exchange.assistant, policy):
                await self._record(id, exchange, scope, metadata, policy)
                count += 1
        return count

    async def _new(self, id: str, found: Sequence[Exchange], scope: str) -> list[Exchange]:
        """The exchanges that the session does not hold yet; an answer to its last turn, sent by itself, goes with that turn."""
        session = (await self._store.sessions.of([(scope, id)]))[(scope, id)]
        rows = await self._store.get(Turn, session.positions)
        turns = [rows[place.id] for place in session.places if place.id in rows]
        known = {turn.prompt_id: turn for turn in turns}
        new = []
        for exchange in found:
            if exchange.key in known:
                if not contains((known[exchange.key].user, known[exchange.key].assistant), exchange):
                    new.append(exchange)
            elif exchange.user or not turns:
                new.append(exchange)
            elif not any(contains((turn.user, turn.assistant), exchange) for turn in turns):
                last = turns[-1].prompt_id
                new.append(
                    exchange if last is None else Exchange(last, "", exchange.assistant, exchange.tools, None)
                )
        return new

    async def _record(
        self, id: str, exchange: Exchange, scope: str, metadata: Mapping[str, Any], policy: Policy
    ) -> None:
        request = parse(
            RecordTurn,
            {
                "session_id": id,
                "prompt_id": exchange.key,
                **{side: cut(text) for side in ("user", "assistant") if (text := getattr(exchange, side))},
                **({"tools": list(exchange.tools)} if exchange.tools else {}),
                **({"ts": exchange.at} if exchange.at else {}),
                **({"metadata": dict(metadata)} if metadata else {}),
            },
        )
        made = envelope("turn", request, scope=scope, source=SOURCE, at=self._clock())
        await self._writer.write(made.model_copy(update={"capture": policy.capture}))

    def _policy(self) -> Policy:
        settings = self._settings()
        return Policy(settings.chat_capture, settings.min_length, settings.paused, (), inject=False)
