"""`dragoman remember`, `recall` and `forget`: the facts about a user."""
