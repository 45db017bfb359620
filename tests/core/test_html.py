"""What notebooks show: everything that was decided, and no text as HTML."""

from html.parser import HTMLParser

from dragoman.core.trace import Note, Reply, Retrieval, Trace
from dragoman.core.values import Draft, Evidence, Learned, Passage, Plan, Verdict

EVIL = "<script>alert('x')</script>"


def made():
    evidence = (
        Evidence(Passage("a", "DOCUMENTS", EVIL, origin="<b>.md"), 0.4),
        Evidence(Passage("b", "DOCUMENTS", "Dogs travel free. " * 40), 0.9),
    )
    plan = Plan((("PERSONA",), ("MEMORY", "DOCUMENTS")), reason="about <you>")
    notes = (
        Note("memory", "memory.rules.v1", 0.1, Learned(added=(evidence[0].passage,))),
        Note("gate", "gate.similarity.v1", 0.1, Verdict(True, 0.9)),
        Note("planner", "planner.similarity.v1", 0.1, plan),
        Note("retriever", "retriever.hybrid.v1", 0.1, Retrieval(("DOCUMENTS",), evidence)),
        Note("reader", "reader.grounded.v1", 0.1, Draft(EVIL, 0.9, "quoted", ("a",))),
    )
    return Reply(f"Yes.\n{EVIL}", Verdict(True, 0.9), plan, evidence, Trace(notes), 0.75)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_reply_shows_text_plan_evidence_and_trace_and_escapes_them():
    page = Tags(made()._repr_html_())
    assert page.open == [] and "script" not in page.seen and "b" not in page.seen
    for words in (
        "Yes.",
        EVIL,
        "0.75",
        "PERSONA",
        "MEMORY + DOCUMENTS",
        "0.90",
        "retriever.hybrid.v1",
        "1 facts learned",
    ):
        assert words in page.text
    assert page.text.index("Dogs travel free") < page.text.index("<b>.md")


def test_plans_and_traces_show_themselves():
    reply = made()
    assert "about <you>" in Tags(reply.plan._repr_html_()).text
    assert "nothing is looked up" in Tags(Plan()._repr_html_()).text
    assert "look something up (0.90)" in Tags(reply.trace._repr_html_()).text
