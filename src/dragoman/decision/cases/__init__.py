"""Special cases of rules: exceptions, one of two values, waiting times, one place only."""
