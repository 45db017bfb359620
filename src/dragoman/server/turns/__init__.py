"""Turns on the server: queue, order, fair share, events, and matching of dialogues."""
