"""A turn with its candidates, as a unified model is asked about it."""

from __future__ import annotations

from dragoman.core.tokens import Shown, WrittenSequence
from dragoman.core.values import Context
from dragoman.models.unified.model import CandidatePassage, Judging, Writing

CONTEXT = Context.of("Good morning.", "Hello!", "What does the ferry to the island cost?")
OTHER = Context.of("Who are you?")
CANDIDATES = (
    CandidatePassage("PERSONA", "I sell tickets."),
    CandidatePassage("PERSONA", "I drink black tea."),
    CandidatePassage("DOCUMENTS", "The ferry costs 34 francs.", 0),
    CandidatePassage("DOCUMENTS", "Tea grows in the hills.", 1),
    CandidatePassage("DOCUMENTS", "It leaves from pier two.", 0),
)
JUDGING = Judging(CONTEXT, CANDIDATES)
ORDERS = ((), ("PERSONA",), ("DOCUMENTS",), ("PERSONA", "DOCUMENTS"))
WRITING = Writing(CONTEXT, WrittenSequence(("DOCUMENTS",), (Shown("DOCUMENTS", "The ferry costs 34 francs.", 10),)))
