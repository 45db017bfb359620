"""The documents on the page: sources, their files and a test search."""
