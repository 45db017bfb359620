"""Turns on the server: queue, order, fair share, events and dialogue matching."""
