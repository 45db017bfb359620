"""What users see and change: their data, sources, uploads."""
