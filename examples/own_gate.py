"""A gate of one's own in the sample agent: it opens for turns that end in a question mark."""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

import dragoman
from dragoman import Context, Evidence, Verdict
from dragoman.core.registry import gates


@gates.register("question-mark.v1")  # a package would use an entry point: docs/howto/own-gate.md
class QuestionMarkGate:
    """Looks something up where a turn ends in one of `marks`."""

    def __init__(self, *, marks: str = "?？") -> None:
        self._marks = tuple(marks)

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        return [self._one(context.last.rstrip().endswith(self._marks)) for context in turns]

    def _one(self, asks: bool) -> Verdict:
        return Verdict(asks, float(asks), "ends in a question mark" if asks else "is no question")


if __name__ == "__main__":
    settings = {"gate.kind": "question-mark"}
    with TemporaryDirectory() as folder, dragoman.load("harbour", overrides=settings, state=folder) as assistant:
        for text in ("How long is the Cliff Path?", "How long is the Cliff Path"):
            reply = assistant.ask(text)
            print(f"{text}\n  {reply.verdict.reason}: {reply.text}")
