"""Pieces of `agent.toml` that many tests write: a private memory, sources, and models without weights."""

from __future__ import annotations

MEMORY = """
[[sources]]
name = "MEMORY"
about = "user"
private = true
"""
NOTES = """
[[sources]]
name = "NOTES"
private = true
"""
DOCUMENTS = """
[[sources]]
name = "DOCUMENTS"
path = "documents"
"""
WITHOUT_WEIGHTS = """
[models.language]
kind = "model.scripted.v1"
default = "I would not know."
[models.encoder]
kind = "encoder.hashing.v1"
"""
RULES_ALONE = """
[memory]
ask_model = false
"""
"""Facts are found by the rules, without the language model."""
REMEMBERING = MEMORY + WITHOUT_WEIGHTS + RULES_ALONE
"""An agent that does nothing but remember its user."""
ROBIN = """
name = "Robin"
greeting = "Good day."
examples = ["What does a day ticket cost?"]
"""
ALL_SOURCES = """
[gate]
kind = "gate.always.v1"
[planner]
kind = "planner.all.v1"
"""
"""Every turn looks something up, everywhere."""
