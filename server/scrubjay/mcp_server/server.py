"""The MCP server: one for all connections and both protocol eras.

It is the SDK's low-level server, so that the schemas are exactly ours.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from scrubjay import VERSION
from scrubjay.engine.caller import Caller, caller, set_caller
from scrubjay.engine.engine import Engine
from scrubjay.engine.process.connection import Connection
from scrubjay.errors import NotFound, ScrubjayError
from scrubjay.mcp_server import resources
from scrubjay.mcp_server.calls import call
from scrubjay.mcp_server.catalog import INSTRUCTIONS, tools

REPORT_SECONDS = 0.25  # between two progress notifications


def build_server(engine: Engine) -> Server[Any]:
    """Build the server that answers for this engine; `set_caller` tells it who calls."""
    offered = tools()

    async def list_tools(
        ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=offered)

    async def call_tool(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        return await call(engine, params.name, params.arguments, _reporting(ctx))

    async def list_resources(
        ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=resources.resources())

    async def list_templates(
        ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(
        ctx: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        try:
            return ReadResourceResult(contents=[await resources.read(engine, str(params.uri), caller())])
        except NotFound as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": str(params.uri)[:200]}) from error
        except ScrubjayError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        except Exception as error:  # the outermost edge
            raise MCPError(INTERNAL_ERROR, engine.unforeseen("resources/read", error)) from error

    return Server(
        "scrubjay",
        version=VERSION,
        title="Scrubjay",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=300_000),
            "resources/templates/list": CacheHint(ttl_ms=300_000),
        },
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _reporting(ctx: ServerRequestContext[Any, Any]) -> Callable[[int, int, str], Awaitable[None]]:
    """Make the progress reports of one call, a few a second; a client that did not ask gets none."""
    loop, last = asyncio.get_running_loop(), float("-inf")

    async def report(done: int, total: int, what: str) -> None:
        nonlocal last
        if loop.time() - last >= REPORT_SECONDS or done == total:
            last = loop.time()
            await ctx.session.report_progress(done, total, os.path.basename(what) or None)

    return report


async def serve_pipe(engine: Engine, server: Server[Any], connection: Connection) -> None:
    """Talk MCP over one connection until it ends."""
    hello = connection.hello
    set_caller(
        Caller(scope=engine.scope_of(hello), folder=hello.project_dir or hello.cwd or None, source="mcp")
    )
    async with stdio_server(stdin=connection.lines(), stdout=connection.writer()) as (read, write):  # type: ignore[arg-type]
        await server.run(read, write, server.create_initialization_options())
