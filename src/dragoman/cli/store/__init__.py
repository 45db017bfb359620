"""`dragoman store`: copy, back up, restore, check, purge and index a store."""
