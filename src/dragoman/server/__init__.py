"""Agents behind HTTP: the service that serves callers, the API and the page that stand on it."""
