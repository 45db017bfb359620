"""Delete facts: what a request means, what else tells of it, what can be undone, and everything of a user."""
