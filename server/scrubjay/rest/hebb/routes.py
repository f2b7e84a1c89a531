"""The routers of Hebb Mind's API, in the order in which they are asked."""

from __future__ import annotations

from fastapi import APIRouter

from scrubjay.rest.hebb import absent, admin, fading, graph, health, ingest, memories, partitions, search

ROUTERS: tuple[APIRouter, ...] = (
    search.router,
    memories.router,
    ingest.router,
    partitions.router,
    graph.router,
    admin.router,
    fading.router,
    health.router,
    absent.router,  # last: what the others have, they answer
)
