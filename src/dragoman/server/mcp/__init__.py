"""The agent as tools of an MCP server."""
