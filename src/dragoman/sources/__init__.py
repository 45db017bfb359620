"""Sources: their graph, the readers of files into passages, and ingest. Parsers load when a file needs them."""
