"""MCP over streamable HTTP: the same server as over the pipe, behind the same `Gateway` as every route.

Requests are stateless in both generations of the protocol: the tools never ask the client anything, so a
session would be empty, and any of several engines can answer the next request. A client of the older
generation still gets a session id, with which it can cancel a call.
"""

import secrets
from http import HTTPStatus
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from scrubjay.engine.caller import Caller, set_caller
from scrubjay.errors import InputError
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.http_api.limits import LONGEST_BODY
from scrubjay.http_api.permissions import DEFAULT_TAG, Permissions
from scrubjay.http_api.refusals import refusal, status_of
from scrubjay.wire.messages import glance

PATH = "/mcp"
SCOPE_HEADER = "X-Scrubjay-Scope"


class McpOverHttp:
    """The ASGI application at `/mcp`; it answers inside the block of `sessions.run()`."""

    def __init__(self, server: Server[Any]) -> None:
        # The gateway checks Host, Origin and size; the SDK's own limit must not be smaller.
        self.sessions = StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=LONGEST_BODY
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message."""
        request = Request(scope)
        if request.method != "POST":
            # GET would open a stream that stays empty, and DELETE end a session that does not exist.
            sentence = "MCP is spoken here by POST, one message a request."
            await refusal(request, 405, sentence, {"Allow": "POST"})(scope, receive, send)
            return
        try:
            set_caller(_caller(request))
        except InputError as error:
            await refusal(request, status_of(error), str(error))(scope, receive, send)
            return
        first: Message | None = await receive()
        is_initialize = first is not None and glance(first.get("body", b"")).method == "initialize"

        async def receive_again() -> Message:
            nonlocal first
            message, first = first, None
            return message or await receive()

        async def send_with_session_id(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
                MutableHeaders(scope=message)[MCP_SESSION_ID_HEADER] = secrets.token_hex(16)
            await send(message)

        await self.sessions.handle_request(
            scope, receive_again, send_with_session_id if is_initialize else send
        )


def _caller(request: Request) -> Caller:
    """Return the caller; its scope is from the header, the query, the token or the default, in this order."""
    permissions: Permissions = request.state.permissions
    name = request.headers.get(SCOPE_HEADER) or request.query_params.get("scope") or None
    if name == USER_SCOPE and permissions.tag is None:
        scope = USER_SCOPE
    else:
        scope = permissions.scope_of(name, "scope") or DEFAULT_TAG
    return Caller(scope=scope, confined=permissions.tag is not None, read_only=permissions.read_only)
