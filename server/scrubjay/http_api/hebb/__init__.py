"""Hebb Mind's API, `/api/v1`: facts and turns as memories in partitions, with weights and windows."""

from scrubjay.http_api.hebb import admin, ingest, memories, partitions, search

ROUTES = (*search.route, *memories.route, *ingest.route, *partitions.route, *admin.route)
