"""Generated houses with rules, users with facts, and questions whose answers follow by construction."""
