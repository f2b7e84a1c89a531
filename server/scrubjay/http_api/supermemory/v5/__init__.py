"""The routes `/ns/{namespace}/...` of supermemory (Python client 5). A namespace is a scope."""

from scrubjay.http_api.supermemory.v5 import documents, memories, namespaces, search

# In the order in which paths are tried: a client may name a document `file/...`.
ROUTES = (*documents.route, *search.route, *memories.route, *namespaces.route)
