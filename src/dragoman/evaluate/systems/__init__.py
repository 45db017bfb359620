"""The systems of an experiment: built, trained parts, oracles, metered and memoised."""
