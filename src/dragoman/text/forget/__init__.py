"""Requests to forget: what asks the agent to delete something about the user, in English and Chinese."""
