"""The routes `/v3` and `/v4` of supermemory (Python client 3, npm client 4). A container tag is a scope."""

from scrubjay.http_api.supermemory.v4 import container_tags, conversations, documents, memories, search

ROUTES = (*documents.route, *search.route, *container_tags.route, *memories.route, *conversations.route)
