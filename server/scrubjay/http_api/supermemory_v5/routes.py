"""Every router of version 5, in the order in which paths are tried: a document may be called `file/...` by its caller."""

from __future__ import annotations

from fastapi import APIRouter

from scrubjay.http_api.supermemory_v5 import documents, lists, memories, namespaces, profiles, search

ROUTERS: tuple[APIRouter, ...] = tuple(
    module.router for module in (documents, search, profiles, lists, memories, namespaces)
)
