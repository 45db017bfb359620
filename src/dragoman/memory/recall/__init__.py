"""Answer questions about a user's facts: what is known now, what was true before, and when it was stated."""
