"""MCP prompts: what a user may pick from a client's menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer


def add_prompts(server: MCPServer[Any]) -> None:
    """Add the prompts to a server."""

    @server.prompt(name="ask_with_sources", title="Ask, with sources")
    def ask_with_sources(question: str) -> str:
        """Answer a question from the agent's documents, naming the passages."""
        return (
            f"Use the tool `ask` for this question, and answer from its result alone: {question}\n"
            "Name the sources that it rests on. Where it found no answer, say so."
        )

    @server.prompt(name="about_me", title="What do you know about me?")
    def about_me() -> str:
        """List what the agent remembers about the user."""
        return (
            "Use the tool `recall` without a query, and list what it returns, grouped by whom it is about.\n"
            "Add nothing of your own. Say that each fact can be corrected with `remember` and deleted with `forget`."
        )

    @server.prompt(name="forget_about", title="Forget about something")
    def forget_about(subject: str) -> str:
        """Find what the agent remembers about a subject, and delete what the user agrees to."""
        return (
            f"Use the tool `recall` with the query: {subject}\n"
            "Show me the facts that are about it. After I agree, delete each of them by its id with the tool `forget`."
        )
