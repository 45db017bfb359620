"""The bare loop with a scripted model that plans and answers. No weights, no store, no network."""

from dragoman import Agent, Context, Passage, Source
from dragoman.models.scripted import ScriptedModel
from dragoman.planner import PromptedPlanner
from dragoman.reader import PromptedReader
from dragoman.testing import StubGate, StubRetriever

SOURCES = (
    Source("PERSONA", "who the guide is", about="bot"),
    Source("DOCUMENTS", "the ferry and its times", needs=("PERSONA",)),
)
PASSAGES = (
    Passage("desk", "PERSONA", "I keep the ferry desk."),
    Passage("times", "DOCUMENTS", "The ferry leaves at nine and at four.", parent="desk"),
)

# Each prompt is answered in turn: the planner asks first, then the reader.
model = ScriptedModel(answers=["PERSONA, DOCUMENTS", "It leaves at nine and at four."], default="You are welcome.")
agent = Agent(
    gate=StubGate(words=("ferry",)),
    planner=PromptedPlanner(language_model=model),
    retriever=StubRetriever(PASSAGES),
    reader=PromptedReader(language_model=model),
    sources=SOURCES,
    fallback="error",
)

if __name__ == "__main__":
    for reply in agent.run([Context.of("When does the ferry leave?")]) + agent.run([Context.of("Thank you!")]):
        print(reply.text)
        for note in reply.trace:
            print(f"  {note.role}: {note.value}"[:100])
