"""The Runs panel: tables and figures of stored experiments."""
