"""Answer questions about what a user has told: what is known now, what was true before, and when it was said."""
