"""Agents behind HTTP: the house that serves callers, the API and the page that stand on it."""
