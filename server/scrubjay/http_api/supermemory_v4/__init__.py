"""supermemory's API before namespaces, `/v3` and `/v4`: what its clients send, and what they parse."""
