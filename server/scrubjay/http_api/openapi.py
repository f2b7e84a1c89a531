"""The OpenAPI document: FastAPI's description of the routes, completed with what all routes share."""

from typing import Any

from fastapi import FastAPI

from scrubjay import VERSION
from scrubjay.http_api.answers import FAMILIES, of_json
from scrubjay.http_api.refusals import HEBB

SUPERMEMORY, NAMESPACES, HEBB_MIND = "supermemory 3 and 4", "supermemory 5", "Hebb Mind"
_TAGS = {
    SUPERMEMORY: "Documents, memories and search by container tag: Python client 3, npm client 4.",
    NAMESPACES: "Documents, memories and search by namespace: Python client 5.",
    HEBB_MIND: "Turns and facts in partitions, with weights and windows.",
}
INFO: dict[str, Any] = {
    "title": "Scrubjay",
    "version": VERSION,
    "summary": "The memory of a coding assistant",
    "description": "The routes of supermemory's clients (`/v3`, `/v4`, and `/ns/{namespace}` of version 5) "
    "and of Hebb Mind's (`/api/v1`), over the same records. MCP itself is spoken at `/mcp` (streamable HTTP, "
    "by POST). A container tag and a namespace are the same thing: a scope, which nothing crosses. `user` "
    "and `*` are reserved. Without a tag a write goes to `sm_project_default`, and a read sees every scope "
    "but `user`.",
    "servers": [{"url": "/", "description": "Where this document was read"}],
    "openapi_tags": [{"name": name, "description": description} for name, description in _TAGS.items()],
}
_KEY = "A key of `scrubjay token add`; any, where none was made."
_BOUNDS = {"ge": "minimum", "le": "maximum"}  # pydantic's names, if a field has a validator of its own
_METHODS = frozenset({"get", "put", "post", "delete", "patch"})
_COMMON_RESPONSES = {
    "400": "The request cannot be understood or is out of range.",
    "401": "A key is needed, or the one that was sent opens nothing.",
    "403": "The key may not do that or does not reach that tag, or a page of a foreign origin asks.",
    "404": "What the request names does not exist, or the caller does not reach it.",
    "413": "The request is larger than 55 MB.",
    "421": "The Host header names another server.",
    "429": "Too many requests from one caller; Retry-After says when to come again.",
    "500": "A mistake of the server; trying again is safe.",
    "503": "The engine cannot work at the moment; the sentence says why.",
}


def complete(app: FastAPI) -> None:
    """Complete the document that the application serves; it is built at the first request."""
    describe = app.openapi

    def document() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _completed(describe())
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)  # FastAPI's own schemas, which no route here uses
    for answers in FAMILIES.values():
        schemas |= answers.schemas
    key = {"type": "http", "scheme": "bearer", "description": _KEY}
    document["components"]["securitySchemes"] = {"bearer": key}
    for path, item in document["paths"].items():
        for method in _METHODS & item.keys():
            _complete_operation(item[method], path)
    return _with_bounds(document)  # type: ignore[no-any-return]


def _with_bounds(part: Any) -> Any:
    """Return a part of the document with bounds that JSON Schema knows."""
    if isinstance(part, list):
        return [_with_bounds(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {_BOUNDS.get(key, key): _with_bounds(value) for key, value in part.items()}


def _complete_operation(operation: dict[str, Any], path: str) -> None:
    """Add the family, the key, and the responses that every operation of the family may have."""
    is_hebb, has_tags = path.startswith(HEBB), path.startswith(("/v3", "/v4"))
    operation["tags"] = [HEBB_MIND if is_hebb else SUPERMEMORY if has_tags else NAMESPACES]
    operation["security"] = [{"bearer": []}, {}]
    errors = FAMILIES["Hebb" if is_hebb else "Supermemory"]
    refusal, misfit = (of_json(errors.schema(name)) for name in ("Refusal", "Refusal|Misfit"))
    responses = {status: {"description": text} | refusal for status, text in _COMMON_RESPONSES.items()}
    if operation["responses"].pop("422", None) is not None:  # FastAPI's, if there is anything to validate
        responses["422" if is_hebb else "400"] = {"description": "The request does not fit."} | misfit
    operation["responses"] = dict(sorted((responses | operation["responses"]).items()))
