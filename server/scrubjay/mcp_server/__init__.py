"""The MCP interface: six tools and three resources over the engine. It only translates."""
