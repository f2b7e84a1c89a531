"""The MCP face: six tools and three resources over the engine. Translates, and does nothing else."""
