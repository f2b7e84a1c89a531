"""Builds the SDK's server, which answers MCP over HTTP, and unusual requests of a pipe's client.

One server handles all connections and both protocol styles (see `pipe.offer`). It is the SDK's low-level
server, which sends the schemas unchanged.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER as SESSION_HEADER
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Tool,
)

from scrubjay import VERSION
from scrubjay.engine.caller import caller
from scrubjay.engine.engine import Engine
from scrubjay.errors import NotFound, ScrubjayError
from scrubjay.mcp_server import prompts, resources
from scrubjay.mcp_server.calls import call, failure
from scrubjay.mcp_server.catalog import BY_NAME, INSTRUCTIONS, tools
from scrubjay.mcp_server.progress import reporting
from scrubjay.pipe.link import CALL_SECONDS
from scrubjay.pipe.offer import VERSION_SUBSTITUTES
from scrubjay.pipe.session import LATE, LONG_TOOLS, UNCONFIRMED, WRITING_TOOLS
from scrubjay.wire.messages import key_of

R = TypeVar("R")
Context = ServerRequestContext[Any, Any]


def build_server(engine: Engine) -> Server[Any]:
    """Build the server that answers for this engine; `set_caller` tells it the caller of each request."""
    offered = ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools()])
    server = Server[Any](
        "scrubjay",
        version=VERSION,
        title="Scrubjay",
        instructions=INSTRUCTIONS,
        cache_hints=dict.fromkeys(
            ("tools/list", "resources/templates/list", "prompts/list"), CacheHint(ttl_ms=300_000)
        ),
        on_list_tools=_one_page(lambda: offered),
        on_call_tool=partial(_call_tool, engine),
        on_list_resources=_one_page(lambda: ListResourcesResult(resources=resources.resources())),
        on_list_resource_templates=_one_page(
            lambda: ListResourceTemplatesResult(resource_templates=resources.templates())
        ),
        on_read_resource=partial(_read_resource, engine),
        on_list_prompts=_one_page(lambda: ListPromptsResult(prompts=prompts.prompts())),
        on_get_prompt=partial(_get_prompt, engine),
    )
    server.middleware += [_without_batches, _cancellable()]
    return server


def _one_page(
    make_result: Callable[[], R],
) -> Callable[[Context, PaginatedRequestParams | None], Awaitable[R]]:
    """Return a handler of requests for a list that has a single page."""

    async def answer(ctx: Context, params: PaginatedRequestParams | None) -> R:
        if params is not None and params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "This list has a single page and no cursors. Leave cursor out.")
        return make_result()

    return answer


async def _call_tool(engine: Engine, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    name = params.name
    if name not in BY_NAME:
        sentence = f"There is no tool {name[:80]!r}. The tools are: {', '.join(BY_NAME)}."
        raise MCPError(INVALID_PARAMS, sentence)
    try:
        async with (
            asyncio.timeout(None if name in LONG_TOOLS else CALL_SECONDS),
            reporting(ctx.session.report_progress) as report,
        ):
            result = await call(engine, name, params.arguments, report)
    except TimeoutError:
        result = failure(UNCONFIRMED if name in WRITING_TOOLS else LATE)
    return CallToolResult.model_validate(result)


async def _read_resource(
    engine: Engine, ctx: Context, params: ReadResourceRequestParams
) -> ReadResourceResult:
    with _as_protocol_errors(engine, "resources/read", {"uri": str(params.uri)[:200]}):
        return ReadResourceResult(contents=[await resources.read(engine, str(params.uri), caller())])


async def _get_prompt(engine: Engine, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
    with _as_protocol_errors(engine, "prompts/get"):
        async with asyncio.timeout(CALL_SECONDS):
            return await prompts.get(engine, params.name, params.arguments, caller())


@contextlib.contextmanager
def _as_protocol_errors(engine: Engine, method: str, about: dict[str, Any] | None = None) -> Iterator[None]:
    """Raise every failure as a protocol error; if something is not found, `about` is the error's data."""
    try:
        yield
    except NotFound as error:
        raise MCPError(INVALID_PARAMS, str(error), about) from error
    except ScrubjayError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    except TimeoutError as error:
        raise MCPError(INTERNAL_ERROR, LATE) from error
    except Exception as error:  # last resort
        raise MCPError(INTERNAL_ERROR, engine.report_bug(method, error)) from error


async def _without_batches(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Replace a requested protocol version that requires batches by one without them, as the pipe does."""
    params = ctx.params or {}
    version = params.get("protocolVersion") if ctx.method == "initialize" else None
    if isinstance(version, str) and version in VERSION_SUBSTITUTES:
        ctx = replace(ctx, params={**params, "protocolVersion": VERSION_SUBSTITUTES[version]})
    return await call_next(ctx)


def _cancellable() -> ServerMiddleware[Any]:
    """Return middleware that lets HTTP sessions, whose messages are separate requests, cancel calls."""
    running: dict[tuple[str, object], anyio.CancelScope] = {}

    async def cancellable(ctx: Context, call_next: CallNext) -> HandlerResult:
        session = ctx.request.headers.get(SESSION_HEADER) if ctx.request else None
        if session is None:
            return await call_next(ctx)
        if ctx.method == "notifications/cancelled":
            cancelled = (ctx.params or {}).get("requestId")
            if isinstance(cancelled, str | int) and (scope := running.get((session, key_of(cancelled)))):
                scope.cancel()
        if ctx.request_id is None:
            return await call_next(ctx)
        key = session, key_of(ctx.request_id)
        with anyio.CancelScope() as running[key]:
            try:
                return await call_next(ctx)
            finally:
                running.pop(key, None)
        raise MCPError(REQUEST_CANCELLED, "The client cancelled this request.")

    return cancellable
