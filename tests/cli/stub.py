"""An assistant without models or store, and a `load` that gives it; run as a program it is the command with it."""

from __future__ import annotations

import sys
import time

from dragoman.core.errors import InputError
from dragoman.core.trace import Note, Reply, Retrieval, Trace
from dragoman.core.values import Draft, Erasure, Evidence, Learned, Passage, Plan, Scope, Source, Verdict

FERRY = Passage("ferry-1", "DOCUMENTS", "A return ticket costs 34 francs.", title="Ferry", origin="docs/ferry.md")
SMALL_TALK = ("hello", "thanks")


class StubAssistant:
    """Repeats what is said with a ferry price; remembers what begins with `I am`."""

    name = "Stub"
    greeting = "Ask me about [ferries]."
    examples = ("What does it cost?", "Who are you?")
    reencoding = None
    model = None
    sources = (
        Source("PERSONA", "who I am", about="bot"),
        Source("MEMORY", "what you said", about="user", private=True),
        Source("DOCUMENTS", "the ferry", needs=("PERSONA",)),
    )

    def __init__(self):
        self.calls = []
        self.facts = {}
        self.closed = False

    def ask(self, text, *, user="me", dialogue="main", **control):
        *_, reply = self.stream(text, user=user, dialogue=dialogue, **control)
        return reply

    def stream(self, text, *, user="me", dialogue="main", **control):
        self.calls.append((text, user, dialogue))
        self.control = control
        if not text.strip():
            raise InputError("The turn is empty.", remedy="Say something.")
        if text == "refuse":
            raise InputError("That turn is refused.", remedy="Say something else.")
        if text == "boom":
            raise RuntimeError("wires crossed")
        learned = Note("memory", "memory.rules.v1", 0.001, Learned())
        if text.startswith("I am"):
            passage = Passage(f"fact-{len(self.facts)}", "MEMORY", text)
            self.facts.setdefault(user, []).append(passage)
            learned = Note("memory", "memory.rules.v1", 0.001, Learned(added=(passage,)))
        yield learned
        look = control.get("retrieve", "auto") == "always" or (text not in SMALL_TALK and "retrieve" not in control)
        verdict = Verdict(look, 0.83 if look else 0.1, "a question" if look else "small talk")
        yield Note("gate", "gate.similarity.v1", 0.01, verdict)
        plan = Plan((("PERSONA",), ("DOCUMENTS",)), {"DOCUMENTS": 0.77}) if look else Plan()
        evidence = (Evidence(FERRY, 0.91),) if look else ()
        notes = [learned, Note("gate", "gate.similarity.v1", 0.01, verdict)]
        if look:
            notes.append(Note("planner", "planner.similarity.v1", 0.02, plan))
            notes.append(Note("retriever", "retriever.hybrid.v1", 0.2, Retrieval(("DOCUMENTS",), evidence, text)))
        said = f"You said: {text}\nA return costs 34 francs."
        if control:
            said += f" {sorted(control.items())}"
        if text == "count":
            said = ""
            for number in range(200):
                piece = f"{number} "
                said += piece
                yield piece
                time.sleep(0.05)
        else:
            yield from said.splitlines(keepends=True)
        draft = Draft(said, 0.66, "quoted", ("ferry-1",) if look else ())
        notes.append(Note("reader", "reader.grounded.v1", 0.169, draft))
        yield Reply(said, verdict, plan, evidence, Trace(tuple(notes)), 0.66)

    def dialogues(self, *, user="me"):
        return tuple(dict.fromkeys(dialogue for _, who, dialogue in self.calls if who == user))

    def ingest(
        self,
        paths,
        *,
        source,
        user="me",
        sync=False,
        follow_links=False,
        progress=None,
        workers=None,
        web=None,
        retry=True,
    ):
        from dragoman.sources.files import Failure
        from dragoman.sources.ingest import IngestReport

        self.ingested = (tuple(str(path) for path in paths), source, user)
        self.retried = retry
        self.web = web or getattr(self, "web", None)
        failed = tuple(Failure(str(path), "It is empty.") for path in paths if "empty" in str(path))
        return IngestReport(added=4, changed=3, removed=2, unchanged=1, files=len(paths), failed=failed, seconds=1.26)

    def remember(self, text, *, user="me"):
        passage = Passage(f"fact-{len(self.facts)}", "MEMORY", text)
        self.facts.setdefault(user, []).append(passage)
        return Learned(added=(passage,))

    def receipt(self, *, user="me"):
        return ()

    def wishes(self, *, user="me"):
        return ()

    def recall(self, query=None, *, user="me", at=None):
        self.recalled_at = at
        return tuple(fact for fact in self.facts.get(user, []) if query is None or query in fact.text)

    def forget(self, what=None, *, user="me"):
        kept = [fact for fact in self.facts.get(user, []) if what is not None and what not in fact.text]
        count = len(self.facts.get(user, [])) - len(kept)
        self.deleted = [fact for fact in self.facts.get(user, []) if what is not None and fact not in kept]
        self.facts[user] = kept
        return count

    def erasure(self, *, user="me"):
        return Erasure(len(self.facts.get(user, [])), len(self.dialogues(user=user)))

    def mentions(self, *, user="me"):
        return ()

    def undo_forget(self, *, user="me"):
        restored, self.deleted = tuple(getattr(self, "deleted", ())), ()
        self.facts.setdefault(user, []).extend(restored)
        return restored

    def rate(self, good, *, user="me", dialogue="main"):
        self.rated = [*getattr(self, "rated", []), (good, user, dialogue)]

    def label_search(self, needed, *, user="me", dialogue="main"):
        self.labels = [*getattr(self, "labels", []), (needed, user, dialogue)]

    def end_private(self, *, user="me", dialogue="main"):
        return 0

    def scope(self, user="me"):
        return Scope("stub", user)

    def warm_up(self, *, everything=False):
        """Nothing to load."""

    def close(self):
        self.closed = True


if __name__ == "__main__":
    import dragoman
    from dragoman.cli.main import run
    from dragoman.cli.terminal import agent_options

    dragoman.load = lambda *_, **__: StubAssistant()
    agent_options.fetch_weights = lambda *_: None
    run(sys.argv[1:])
