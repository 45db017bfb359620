"""HTTP server for agents: the service layer, and the API and the page built on it."""
