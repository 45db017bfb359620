"""Sources: their dependency graph, file readers, and ingest. Parsers are imported when a file needs them."""
