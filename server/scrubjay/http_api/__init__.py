"""The HTTP interface: the routes of supermemory's and of Hebb Mind's clients, and MCP over HTTP."""
