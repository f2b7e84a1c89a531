"""The served OpenAPI document: FastAPI's description of the routes, and what all routes share."""

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
_METHODS = frozenset({"get", "put", "post", "delete", "patch"})
_EVERYWHERE = {
    "401": "A key is needed, or the one that was sent opens nothing.",
    "403": "The key may not do that or does not reach that tag, or a page of a foreign origin asks.",
    "413": "The request is larger than 55 MB.",
    "421": "The Host header names another server.",
    "429": "Too many requests from one caller; Retry-After says when to come again.",
    "500": "A mistake of the server; trying again is safe.",
    "503": "The engine cannot work at the moment; the sentence says why.",
}
_SENTENCE = {"type": "string", "description": "What was wrong, and what to do."}
_MISFIT = {"description": "The request does not fit; one entry a mistake."}
_PATH = {"type": "array", "items": {"type": ["string", "integer"]}}


def _object(required: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": required, **more}


def _mistakes(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(fields)}


_SCHEMAS: dict[str, Any] = {
    "Refusal": _object({"error": _SENTENCE}),
    "Misfit": _object(
        {"success": {"type": "boolean", "const": False}, "error": _mistakes(message=_SENTENCE, path=_PATH)},
        **_MISFIT,
    ),
    "HebbRefusal": _object({"detail": _SENTENCE}),
    "HebbMisfit": _object(
        {"detail": _mistakes(type={"type": "string"}, loc=_PATH, msg=_SENTENCE)}, **_MISFIT
    ),
}


def describe(app: FastAPI, *families: Answers) -> None:
    """Let the application serve its document at `/openapi.json`; the first request makes it."""

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
        tags=[{"name": name, "description": says} for name, says in FAMILIES.items()],
    )
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)  # FastAPI's own, which no route here answers
    schemas.update({name: {"title": name, **schema} for name, schema in _SCHEMAS.items()})
    for answers in families:
        schemas.update(answers.schemas)
    key = {"description": "A key of `scrubjay token add`; any, where none was made."}
    parts["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer", **key}}
    for path, item in document["paths"].items():
        for method in _METHODS & item.keys():
            _complete(item[method], path, schemas)
    return document


def _may_be_empty(body: dict[str, Any], schemas: dict[str, Any]) -> bool:
    """Return True if a form has no required field; FastAPI calls every form required."""
    form = body["content"].get("multipart/form-data", {}).get("schema", {})
    return "$ref" in form and "required" not in schemas[form["$ref"].rpartition("/")[2]]


def _complete(operation: dict[str, Any], path: str, schemas: dict[str, Any]) -> None:
    """Add its family, its key, and the answers that any operation of that family may give."""
    hebb, with_tags = path.startswith(HEBB), path.startswith(("/v3", "/v4"))
    operation["tags"] = [HEBB_MIND if hebb else SUPERMEMORY if with_tags else NAMESPACES]
    operation["security"] = [{"bearer": []}, {}]
    if "requestBody" in operation and _may_be_empty(operation["requestBody"], schemas):
        operation["requestBody"]["required"] = False
    answers = operation["responses"]
    family, one = ("Hebb", "detail") if hebb else ("", "error")
    of_fastapi = answers.pop("422", None)
    misfit = {"description": f"The request does not fit; {one} lists each mistake, or is one sentence."}
    either = {"oneOf": [_ref(f"{family}Refusal"), _ref(f"{family}Misfit")]}
    if hebb and of_fastapi is not None:
        answers["422"] = {**misfit, **of_json(either)}
        unclear = {"description": "The request cannot be understood or is out of range."}
        answers.setdefault("400", {**unclear, **of_json(_ref("HebbRefusal"))})
    else:
        answers.setdefault("400", {**misfit, **of_json(either)})
    for status, says in _EVERYWHERE.items():
        answers.setdefault(status, {"description": says, **of_json(_ref(f"{family}Refusal"))})
    for status in ("404", "409", "422"):
        if status in answers and "content" not in answers[status]:
            answers[status].update(of_json(_ref(f"{family}Refusal")))
    operation["responses"] = dict(sorted(answers.items()))


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
