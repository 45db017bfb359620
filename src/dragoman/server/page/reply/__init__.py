"""A reply on the page: its text with citations, and the buttons under it."""
