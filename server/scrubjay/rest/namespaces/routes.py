"""Every router of version 5, in the order in which paths are tried: a document may be called `file/...` by its caller."""

from __future__ import annotations

from fastapi import APIRouter

from scrubjay.rest.namespaces import documents, files, lists, memories, namespaces, profiles, search

ROUTERS: tuple[APIRouter, ...] = tuple(module.router for module in (files, documents, search, profiles, lists, memories, namespaces))
