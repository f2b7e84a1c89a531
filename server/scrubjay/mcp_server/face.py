"""Speaks MCP with the client of one pipe.

Common requests are answered without the SDK, whose import would take a third of an engine's start. The SDK's
server answers all others.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from scrubjay import VERSION
from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.engine import Engine
from scrubjay.engine.process.connection import Connection
from scrubjay.mcp_server.calls import call
from scrubjay.mcp_server.catalog import BY_NAME
from scrubjay.mcp_server.progress import reporting
from scrubjay.pipe.offer import Offer, PlainRequest, read_offer
from scrubjay.pipe.session import AT_ONCE, Message
from scrubjay.wire.hello import line_of
from scrubjay.wire.messages import LARGE, answered_key, glance, key_of, well_formed

if TYPE_CHECKING:
    from mcp.server import Server

# Most calls of one client that are read; more calls wait in the connection, and then in the client. Only
# AT_ONCE of the read calls run at once, because 600 calls would delay the calls of another client by 40 s.
WAITING = 256

log = logging.getLogger("scrubjay.mcp_server")

_SERVER = {"name": "scrubjay", "title": "Scrubjay", "version": VERSION}
# Fields that each result has since protocol version 2026-07-28.
_COMPLETE = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": _SERVER}}


async def serve_pipe(engine: Engine, sdk_server: Callable[[], "Server[Any]"], connection: Connection) -> None:
    """Answer the lines of a connection until it ends; `sdk_server` returns the SDK's server."""
    hello = connection.hello
    folder = hello.project_dir or hello.cwd or None
    turn = asyncio.Semaphore(AT_ONCE)
    by = Caller(scope=engine.scope_of(hello), folder=folder, source="mcp", turn=turn, waited=hello.waited)
    set_caller(by)
    await _Client(engine, connection, _Sdk(connection, sdk_server)).serve()


class _Client:
    """The client of one connection, with its calls in progress."""

    def __init__(self, engine: Engine, connection: Connection, sdk: "_Sdk") -> None:
        self._engine, self._connection, self._sdk = engine, connection, sdk
        self._offer = read_offer()
        self._calls: dict[tuple[str, object], asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Answer the client's lines until the connection ends."""
        try:
            async for line in self._connection:
                await (self._hear_large(line) if len(line) > LARGE else self._hear(line))
                del line  # free it: it may be large, and the next line may take long to come
                if len(self._calls) >= WAITING:
                    await asyncio.wait(self._calls.values(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            tasks = *self._calls.values(), *self._sdk.tasks
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _hear(self, line: bytes) -> asyncio.Task[None] | None:
        """Answer a line, or pass it to the SDK; return the task of its tool call, or None."""
        message = Message(well_formed(line))
        parts, key = message.parts, message.parts.key
        answer = self._offer.answer(message)
        if answer is not None:
            await self._connection.write_line(answer)
        if parts.method == "initialize":
            self._sdk.hear_handshake(message, wanted=answer is None)
        elif parts.method == "notifications/cancelled" and key_of(parts.request_id) in self._calls:
            self._calls[key_of(parts.request_id)].cancel()
        elif answer is None and (tool_call := _tool_call(message, self._offer)) and key:
            task = asyncio.create_task(_answer(self._engine, self._connection, parts.id, tool_call))
            self._calls[key] = task
            task.add_done_callback(partial(self._call_ended, key, parts.id))
            return task
        elif answer is None:
            self._sdk.hear(message)
        return None

    async def _hear_large(self, line: bytes) -> None:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._engine.large)
            if task := await self._hear(line):
                stack.pop_all()
                task.add_done_callback(lambda _: self._engine.large.release())

    def _call_ended(self, key: tuple[str, object], request_id: object, task: asyncio.Task[None]) -> None:
        self._calls.pop(key, None)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            sentence = self._engine.report_bug("The answer to this request", error)
            answer = {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32603, "message": sentence}}
            self._connection.say(answer)
            self._connection.end(key)


def _tool_call(message: Message, offer: Offer) -> PlainRequest | None:
    """Return the request if it calls one of our tools in the usual form, else None."""
    request = offer.parse(message) if message.is_call else None
    if request is None or not request.params.keys() <= {"name", "arguments"}:
        return None
    name, arguments = request.params.get("name"), request.params.get("arguments")
    is_usual = isinstance(name, str) and name in BY_NAME and isinstance(arguments, dict | None)
    return request if is_usual else None


async def _answer(
    engine: Engine, connection: Connection, request_id: object, tool_call: PlainRequest
) -> None:
    async def say(fields: dict[str, Any]) -> None:
        await connection.write_line(line_of({"jsonrpc": "2.0", **fields}))

    async def progress(done: float, total: float | None, what: str | None) -> None:
        values = {"progressToken": tool_call.token, "progress": done, "total": total, "message": what}
        params = {name: value for name, value in values.items() if value is not None}
        await say({"method": "notifications/progress", "params": params})

    name, arguments = tool_call.params["name"], tool_call.params.get("arguments")
    async with contextlib.nullcontext() if tool_call.token is None else reporting(progress) as report:
        result = await call(engine, name, arguments, report)
    await say({"id": request_id, "result": {**result, **_COMPLETE} if tool_call.modern else result})


class _Sdk:
    """The SDK's server over the same connection; it starts with the first line that needs it."""

    def __init__(self, connection: Connection, server: Callable[[], "Server[Any]"]) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self._connection = connection
        self._server = server
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._handshake: Message | None = None
        # Keys of requests that are already answered, so `write` drops the server's answers to them.
        self._unwanted: set[object] = set()

    def hear_handshake(self, message: Message, *, wanted: bool) -> None:
        """Pass the client's `initialize` to the server; `wanted` is False if it is already answered."""
        self._handshake = message
        if not wanted:
            self._unwanted.add(message.parts.key)
        if wanted or self.tasks:
            self.hear(message)

    def hear(self, message: Message) -> None:
        """Pass a line to the server; a notification does not start it, because it would have no effect."""
        if not self.tasks:
            if not message.is_request:
                return
            if self._handshake is not None and self._handshake is not message:
                self._lines.put_nowait(self._handshake.line)
            self.tasks.append(asyncio.create_task(self._run()))
            self.tasks[0].add_done_callback(self._server_ended)
        self._lines.put_nowait(message.line)

    async def write(self, line: str) -> None:
        """Send a line of the server to the client, unless that request is already answered."""
        key = answered_key(line.encode())
        if key in self._unwanted:
            self._unwanted.discard(key)
        else:
            await self._connection.write_line(line)

    async def flush(self) -> None:
        """Do nothing: `write` has sent every line when it returns."""

    async def _run(self) -> None:
        server = await asyncio.to_thread(self._server)
        from mcp.server.stdio import stdio_server

        options = server.create_initialization_options()
        async with stdio_server(stdin=self._readable_lines(), stdout=self) as (read, write):  # type: ignore[arg-type]
            await server.run(read, write, options)

    def _server_ended(self, task: asyncio.Task[None]) -> None:
        """Close the connection if the server failed; the pipe then answers or asks another engine."""
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the SDK's server failed", exc_info=error)
            self._connection.close()

    async def _readable_lines(self) -> AsyncIterator[str]:
        """Yield the lines that the SDK can read; answer the lines that it would drop silently."""
        from mcp.types import JSONRPCRequest, jsonrpc_message_adapter

        while True:
            line = await self._lines.get()
            parts, text = glance(line), line.decode("utf-8", "replace")
            try:
                message = jsonrpc_message_adapter.validate_json(text, by_name=False)
            except ValueError:
                message = None
            if isinstance(message, JSONRPCRequest) or parts.method is None or parts.key is None:
                yield text
            else:
                reason = "This line is not a JSON-RPC 2.0 request. Send it in another form."
                error = {"code": -32600, "message": reason}
                await self._connection.write_line(line_of({"jsonrpc": "2.0", "id": parts.id, "error": error}))
