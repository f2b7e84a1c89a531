"""The routers of Hebb Mind's API, in the order in which they are asked."""

from __future__ import annotations

from fastapi import APIRouter

from scrubjay.http_api.hebb import absent, admin, fading, graph, ingest, memories, partitions, search

ROUTERS: tuple[APIRouter, ...] = (
    search.router,
    memories.router,
    ingest.router,
    partitions.router,
    graph.router,
    admin.router,
    fading.router,
    admin.health_router,
    absent.router,  # last: what the others have, they answer
)
