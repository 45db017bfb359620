"""Bring memories from other programs, and take them along: ChatGPT, Claude, mem0, JSON and Markdown."""
