"""The routes `/v3` and `/v4` of supermemory (Python client 3, npm client 4). A container tag is a scope."""

from scrubjay.http_api.supermemory.v4 import container_tags, conversations, documents, memories, search

# Paths are tried in this order, so paths that end in a word come before paths that end in any id.
ROUTES = (*documents.route, *search.route, *container_tags.route, *memories.route, *conversations.route)
