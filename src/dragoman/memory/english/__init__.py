"""English grammar of facts: from a sentence to clauses, and from a clause to the relations that it states."""
