"""The OpenAPI document: FastAPI's description of the routes, completed with what all routes share."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from scrubjay import VERSION
from scrubjay.http_api.answers import Answers, of_json
from scrubjay.http_api.refusals import HEBB

ABOUT = """\
The memory of a coding assistant, on your machine: the routes of supermemory's clients (`/v3`, `/v4`, and \
`/ns/{namespace}` of version 5) and of Hebb Mind's (`/api/v1`), over the same records as the MCP tools. MCP \
itself is spoken at `/mcp` (streamable HTTP, by POST).

A container tag and a namespace are the same thing: a scope, which nothing crosses. `user` and `*` are \
reserved and refused with 400; an id of a scope that the caller does not reach is 404. Without a tag a \
write goes to `sm_project_default`, and a read sees every scope but `user`. On the server's own machine any \
key opens as long as no token was made (`scrubjay token add`); a token may be bound to one tag, or to \
reading. What only a hosted service can do (connections, billing, scoped keys, feedback) answers \
404 with a sentence.
"""
SUPERMEMORY = "supermemory 3 and 4"
NAMESPACES = "supermemory 5"
HEBB_MIND = "Hebb Mind"
FAMILIES = {
    SUPERMEMORY: "Documents, memories and search by container tag: Python client 3, npm client 4.",
    NAMESPACES: "Documents, memories and search by namespace: Python client 5.",
    HEBB_MIND: "Turns and facts in partitions, with weights and windows.",
}
_BOUNDS = {"ge": "minimum", "le": "maximum"}  # pydantic's names, if a field has a validator of its own
_METHODS = frozenset({"get", "put", "post", "delete", "patch"})
_COMMON_RESPONSES = {
    "401": "A key is needed, or the one that was sent opens nothing.",
    "403": "The key may not do that or does not reach that tag, or a page of a foreign origin asks.",
    "413": "The request is larger than 55 MB.",
    "421": "The Host header names another server.",
    "429": "Too many requests from one caller; Retry-After says when to come again.",
    "500": "A mistake of the server; trying again is safe.",
    "503": "The engine cannot work at the moment; the sentence says why.",
}
_REFUSALS = Answers(
    "",
    """
Refusal error:str -- What was wrong, and what to do.
Mistake message:str path:[str|int]
Misfit success:false error:[Mistake] -- The request does not fit; one entry a mistake.
HebbRefusal detail:str -- What was wrong, and what to do.
HebbMistake type:str loc:[str|int] msg:str
HebbMisfit detail:[HebbMistake] -- The request does not fit; one entry a mistake.
""",
)


def describe(app: FastAPI, *families: Answers) -> None:
    """Serve the document at `/openapi.json`; it is built at the first request."""

    def document() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _document(app, families)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI, families: Iterable[Answers]) -> dict[str, Any]:
    document = get_openapi(
        title="Scrubjay",
        version=VERSION,
        summary="The memory of a coding assistant",
        description=ABOUT,
        routes=app.routes,
        servers=[{"url": "/", "description": "Where this document was read"}],
        tags=[{"name": name, "description": description} for name, description in FAMILIES.items()],
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)  # FastAPI's own schemas, which no route here uses
    for answers in (_REFUSALS, *families):
        schemas.update(answers.schemas)
    key = {"description": "A key of `scrubjay token add`; any, where none was made."}
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer", **key}}
    for path, item in document["paths"].items():
        for method in _METHODS & item.keys():
            _complete_operation(item[method], path, schemas)
    return _with_bounds(document)  # type: ignore[no-any-return]


def _with_bounds(part: Any) -> Any:
    """Return a part of the document with bounds that JSON Schema knows."""
    if isinstance(part, list):
        return [_with_bounds(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {_BOUNDS.get(key, key): _with_bounds(value) for key, value in part.items()}


def _may_be_empty(body: dict[str, Any], schemas: dict[str, Any]) -> bool:
    """Return True if the body is a form without required fields; FastAPI marks every form as required."""
    form = body["content"].get("multipart/form-data", {}).get("schema", {})
    return "$ref" in form and "required" not in schemas[form["$ref"].rpartition("/")[2]]


def _complete_operation(operation: dict[str, Any], path: str, schemas: dict[str, Any]) -> None:
    """Add the family, the key, and the responses that every operation of the family may have."""
    is_hebb, has_tags = path.startswith(HEBB), path.startswith(("/v3", "/v4"))
    operation["tags"] = [HEBB_MIND if is_hebb else SUPERMEMORY if has_tags else NAMESPACES]
    operation["security"] = [{"bearer": []}, {}]
    if "requestBody" in operation and _may_be_empty(operation["requestBody"], schemas):
        operation["requestBody"]["required"] = False
    responses = operation["responses"]
    family, field = ("Hebb", "detail") if is_hebb else ("", "error")
    fastapi_422 = responses.pop("422", None)
    misfit = {"description": f"The request does not fit; {field} lists each mistake, or is one sentence."}
    refusal = of_json(_REFUSALS.schema(f"{family}Refusal"))
    refusal_or_misfit = of_json(_REFUSALS.schema(f"{family}Refusal|{family}Misfit"))
    if is_hebb and fastapi_422 is not None:
        responses["422"] = misfit | refusal_or_misfit
        unclear = {"description": "The request cannot be understood or is out of range."}
        responses.setdefault("400", unclear | refusal)
    else:
        responses.setdefault("400", misfit | refusal_or_misfit)
    for status, description in _COMMON_RESPONSES.items():
        responses.setdefault(status, {"description": description} | refusal)
    for status in ("404", "409", "422"):
        if status in responses and "content" not in responses[status]:
            responses[status].update(refusal)
    operation["responses"] = dict(sorted(responses.items()))
