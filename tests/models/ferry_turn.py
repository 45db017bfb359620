"""A turn with its candidates, as a unified model is asked about it."""

from __future__ import annotations

from dragoman.core.tokens import Shown, Written
from dragoman.core.values import Context
from dragoman.models.unified import Candidate, Judging, Writing

CONTEXT = Context.of("Good morning.", "Hello!", "What does the ferry to the island cost?")
OTHER = Context.of("Who are you?")
CANDIDATES = (
    Candidate("PERSONA", "I sell tickets."),
    Candidate("PERSONA", "I drink black tea."),
    Candidate("DOCUMENTS", "The ferry costs 34 francs.", 0),
    Candidate("DOCUMENTS", "Tea grows in the hills.", 1),
    Candidate("DOCUMENTS", "It leaves from pier two.", 0),
)
JUDGING = Judging(CONTEXT, CANDIDATES)
ORDERS = ((), ("PERSONA",), ("DOCUMENTS",), ("PERSONA", "DOCUMENTS"))
WRITING = Writing(CONTEXT, Written(("DOCUMENTS",), (Shown("DOCUMENTS", "The ferry costs 34 francs.", 10),)))
