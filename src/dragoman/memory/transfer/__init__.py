"""Import memories from other programs (ChatGPT, Claude, mem0, JSON, Markdown), and export them."""
