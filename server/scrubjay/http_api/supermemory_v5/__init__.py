"""The routes of supermemory's version 5 (`/ns/{namespace}/...`, Python client 5.0.1), one module a noun. A namespace is a scope."""
