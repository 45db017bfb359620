"""Parts of rules that hold in a case of their own: exceptions, one of two values, one place only."""
