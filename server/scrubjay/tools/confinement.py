"""What a caller who came with a token of one scope may name in a call. Knows the arguments that lead to another scope, and that what lies
there is answered like an id that names nothing; does not know tokens.
"""

from __future__ import annotations

from typing import TypeVar

from scrubjay.engine.engine import Engine
from scrubjay.errors import InputError, NotFound
from scrubjay.models.requests import AddDocument, AddMemory, Forget, Request
from scrubjay.tools.caller import Caller

R = TypeVar("R", bound=Request)


async def confine(engine: Engine, request: R, by: Caller) -> R:
    """The request of a caller who is confined to its scope, without the scope that it may name; any other as it is.

    Raises:
        InputError: it names another scope, or a file of this machine.
        NotFound: it names an id of another scope, or of none.
    """
    if not by.confined:
        return request
    named = getattr(request, "scope", None)
    if named not in (None, by.scope):
        raise InputError(f"scope = {named!r}: this token reaches the scope {by.scope!r} alone. Leave scope out.")
    if isinstance(request, AddDocument) and request.path is not None:
        raise InputError("path = a file of the server: a token of one scope adds texts. Give the text as content.")
    for id in _ids(request):
        record = await (await engine.core()).find(id)
        if record is None or record.scope != by.scope:
            raise NotFound(f"Nothing here has the id {id[:80]!r}. Take the id of a search result.")
    return request if named is None else request.model_copy(update={"scope": None})


def _ids(request: Request) -> list[str]:
    if isinstance(request, AddMemory):
        return [*request.updates, *request.extends, *request.derives]
    return [request.id] if isinstance(request, Forget) and request.id is not None else []
