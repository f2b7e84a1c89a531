"""Stores conversations of chat clients as documents and, if `chat_capture` allows, as session turns."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from scrubjay.engine.verbs.documents import Documents, DocumentState, Status
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError
from scrubjay.home.capture import Policy, cut, is_salient, should_record
from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Document, Turn
from scrubjay.models.requests import DocumentText, RecordTurn, parse
from scrubjay.records.turns import SOURCE
from scrubjay.search.profile import LONGEST
from scrubjay.store import conditions
from scrubjay.text.conversations import Exchange, Message, contains, exchanges, transcript, user_messages
from scrubjay.text.sentences import shorten

_COLUMNS = ["id", "title", "custom_id", "metadata", "updated_at"]
_LATEST = 3  # conversations that a profile reads
_STATEMENTS = 10


class ConversationState(NamedTuple):
    """A conversation after an addition: its document with its status, and how many turns changed."""

    id: str
    status: Status
    turns: int


@dataclass(eq=False)
class Conversations(Verb):
    """Adds to one conversation at a time, because its stored text must not change meanwhile."""

    _documents: Documents
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def add(
        self, name: str, messages: Sequence[Message], *, scope: str, metadata: Mapping[str, Any] | None = None
    ) -> ConversationState:
        """Add redacted messages to a conversation of a scope, except those that it already has.

        The document has every message, whatever the policy is, and no facts are extracted from it. The policy
        `chat_capture` decides which turns are recorded: `off` records none. Searches with `chats` find them.

        Raises:
            InputError: the messages are empty, and the conversation does not exist yet.
        """
        async with self._lock:
            await self._writer.drain()
            document = await self._add_document(name, messages, scope, metadata)
            turns = await self._record_turns(name, messages, scope, metadata or {})
            return ConversationState(document.id, document.status, turns)

    async def statements(self, scopes: Collection[str], filters: Filter | None = None) -> list[str]:
        """Return the user's last statements in the latest conversations of these scopes, newest first.

        Questions and small talk are left out. `filters` apply to the metadata of conversations.
        """
        await self._writer.catch_up()
        where = conditions.both(conditions.one_of("scope", scopes), conditions.NOT_FORGOTTEN)
        rows = await self._store.select(Document, where, columns=_COLUMNS)
        rows = [row for row in rows if row.title == _title(row.custom_id)]
        rows = [row for row in rows if filters is None or matches(filters, row.metadata)]
        latest = sorted(rows, key=lambda row: row.updated_at, reverse=True)[:_LATEST]
        texts = await self._store.get(Document, [row.id for row in latest])
        messages = [text for row in latest for text in reversed(user_messages(texts[row.id].content))]
        messages = [text for text in messages if not text.endswith("?") and is_salient(text)]
        return [shorten(text, LONGEST) for text in dict.fromkeys(messages)][:_STATEMENTS]

    async def _add_document(
        self, name: str, messages: Sequence[Message], scope: str, metadata: Mapping[str, Any] | None
    ) -> DocumentState:
        rows = await self._documents.with_custom_id(name, [scope])
        current = [row.id for row in rows if row.forgotten_at is None]
        stored = await self._store.get(Document, current[:1])
        content = transcript(next((row.content for row in stored.values()), ""), messages)
        if not content:
            raise InputError("messages has no content: each is empty. Give at least one with content.")
        title = next((row.title for row in stored.values()), None) or _title(name)
        fields: dict[str, Any] = dict(content=content, custom_id=name, title=title)
        fields |= {"type": "text", "task_type": "superrag"}
        if metadata is not None:
            fields["metadata"] = dict(metadata)
        return await self._documents.add(DocumentText.model_validate(fields), scope=scope, source=SOURCE)

    async def _record_turns(
        self, name: str, messages: Sequence[Message], scope: str, metadata: Mapping[str, Any]
    ) -> int:
        settings = self._settings()
        policy = Policy(settings.chat_capture, settings.min_length, settings.paused, (), inject="off")
        if policy.capture == "off" or policy.paused:
            return 0
        new = await self._new_exchanges(name, exchanges(messages), scope)
        new = [each for each in new if should_record(each.texts, policy)]
        for exchange in new:
            args: dict[str, Any] = {"session_id": name, "prompt_id": exchange.key, "ts": exchange.at}
            args |= {"user": cut(exchange.user or ""), "assistant": cut(exchange.assistant or "")}
            args |= {"tools": list(exchange.tools), "metadata": dict(metadata)}
            args = {field: value for field, value in args.items() if value}
            request, at = parse(RecordTurn, args), self._clock()
            turn = await self._writer.seal("turn", request, scope=scope, source=SOURCE, at=at)
            await self._writer.write(turn.model_copy(update={"capture": policy.capture}))
        return len(new)

    async def _new_exchanges(self, name: str, sent: Sequence[Exchange], scope: str) -> list[Exchange]:
        """Return the exchanges that the session lacks; an answer sent alone joins the session's last turn."""
        session = (await self._store.sessions.of([(scope, name)]))[(scope, name)]
        rows = await self._store.get(Turn, session.positions)
        turns = [rows[place.id] for place in session.places if place.id in rows]
        by_key = {turn.prompt_id: turn for turn in turns}
        new = []
        for exchange in sent:
            if exchange.key in by_key:
                if not contains((by_key[exchange.key].user, by_key[exchange.key].assistant), exchange):
                    new.append(exchange)
            elif exchange.user or not turns:
                new.append(exchange)
            elif not any(contains((turn.user, turn.assistant), exchange) for turn in turns):
                last = turns[-1].prompt_id
                new.append(exchange if last is None else replace(exchange, key=last, at=None))
        return new


def _title(name: str | None) -> str:
    return f"Conversation {name}"
