"""Planners: which sources, in which order."""

import pytest

from dragoman.core.errors import ConfigError, PlanError
from dragoman.core.values import Context, Draft, Evidence, Learned, Passage, Source
from dragoman.planner import AllPlanner, FixedPlanner, PromptedPlanner, SimilarityPlanner
from dragoman.planner.prompted import parse

PERSONA = Source("PERSONA", "who the guide is", about="bot")
MEMORY = Source("MEMORY", "what the user said", about="user", private=True)
DOCUMENTS = Source("DOCUMENTS", "the town", needs=("PERSONA",))
SOURCES = (DOCUMENTS, PERSONA, MEMORY)


class FixedRetriever:
    """Answers each source with one passage of a given relevance."""

    def __init__(self, **relevance):
        self.relevance = relevance

    def retrieve(self, requests):
        return [
            [
                Evidence(
                    Passage("p", name, "x"), self.relevance.get(name, 0.0), {"cosine": self.relevance.get(name, 0.0)}
                )
            ]
            for name in (request.sources[0].name for request in requests)
        ]


class SayingModel:
    def __init__(self, text):
        self.text = text

    def generate(self, prompts, *, max_tokens, stop=()):
        return [Draft(self.text, 0.8) for _ in prompts]


def plan(text, *before, **relevance):
    planner = SimilarityPlanner(retriever=FixedRetriever(**relevance))
    return planner.plan([Context.of(*before, text)], SOURCES)[0]


def test_all_asks_every_source_after_what_it_needs():
    assert AllPlanner().plan([Context.of("hi")], SOURCES)[0].sources.index("PERSONA") < AllPlanner().plan(
        [Context.of("hi")], SOURCES
    )[0].sources.index("DOCUMENTS")


def test_the_fixed_planner_asks_the_same_on_every_turn():
    plans = FixedPlanner(sources=("PERSONA",)).plan([Context.of("a"), Context.of("b")], SOURCES)
    assert [plan.steps for plan in plans] == [(("PERSONA",),)] * 2


@pytest.mark.parametrize("names", [("PERSON",), ("DOCUMENTS",)])
def test_the_fixed_planner_raises_rather_than_falling_back(names):
    with pytest.raises(PlanError):
        FixedPlanner(sources=names).plan([Context.of("a")], SOURCES)


def test_the_fixed_planner_must_be_told_its_sources():
    with pytest.raises(ConfigError, match="needs the option 'sources'"):
        FixedPlanner(sources=SOURCES)


def test_a_question_about_the_user_reads_the_memory_and_not_the_documents():
    assert plan("Where do I live?", DOCUMENTS=0.4, MEMORY=0.1).steps == (("MEMORY",),)
    assert plan("Where do I live?", DOCUMENTS=0.99, MEMORY=0.9).steps == (("MEMORY",),)


def test_what_the_agent_remembers_is_no_question_for_documents():
    assert plan("What do you know about my bin?", DOCUMENTS=0.99, MEMORY=0.1).steps == (("MEMORY",),)


def test_a_question_about_the_user_reads_documents_too_where_no_fact_answers_it_and_they_may():
    assert set(plan("How much is my bin?", DOCUMENTS=0.99, MEMORY=0.1).sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}


def test_a_question_about_the_world_brings_what_its_source_needs_first():
    assert plan("When does the boat leave?", DOCUMENTS=0.9).steps == (("PERSONA",), ("DOCUMENTS",))


def test_a_question_to_the_bot_goes_to_the_persona():
    assert plan("What do you like to eat?", PERSONA=0.7, DOCUMENTS=0.4).steps == (("PERSONA",),)


def test_a_question_in_the_second_person_goes_to_documents_that_clearly_know_better():
    assert "DOCUMENTS" in plan("When do you open?", PERSONA=0.2, DOCUMENTS=0.9).sources


def test_a_question_about_something_of_the_users_goes_to_the_documents_and_not_the_persona():
    asked = plan("Can you look at my parrot?", PERSONA=0.9, DOCUMENTS=0.2)
    assert asked.sources[-1] == "DOCUMENTS"
    assert plan("Can you look at it?", PERSONA=0.9, DOCUMENTS=0.2).sources[-1] == "PERSONA"


def test_nothing_relevant_still_asks_the_documents_so_that_the_reader_can_say_so():
    assert "DOCUMENTS" in plan("How much is a taxi?", DOCUMENTS=0.02, PERSONA=0.01).sources


def test_a_personal_question_takes_the_memory_along_where_it_is_relevant():
    assert "MEMORY" in plan("What can I eat given my allergy?", DOCUMENTS=0.8, MEMORY=0.9).sources
    assert "MEMORY" not in plan("What can I eat here?", DOCUMENTS=0.8, MEMORY=0.05).sources


def test_a_follow_up_on_the_user_stays_with_the_user():
    assert plan("And my dog?", "What is my name?", "You told me: My name is Ana.", MEMORY=0.4).steps == (("MEMORY",),)


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ("PERSONA, DOCUMENTS", (("PERSONA",), ("DOCUMENTS",))),
        ("memory", (("MEMORY",),)),
        ("NULL", ()),
        ("The sources are: DOCUMENTS.", (("DOCUMENTS",),)),
    ],
)
def test_what_the_model_wrote_becomes_a_plan(said, steps):
    assert parse(said, SOURCES).steps == steps


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("HOUSE RULES", ("HOUSE RULES",)),
        ("PERSONA, HOUSE RULES", ("PERSONA", "HOUSE RULES")),
        ("docs.v2 then docs", ("docs.v2", "docs")),
        ("2024-notes", ("2024-notes",)),
        ("先查PERSONA，再查文档", ("PERSONA", "文档")),
        ("PERSONA和docs", ("PERSONA", "docs")),
        ("personality", ("personality",)),
        ("NULL", ()),
        ("答案：NULL。", ()),
    ],
)
def test_every_name_that_a_source_may_have_is_read(said, found):
    names = ("PERSONA", "HOUSE RULES", "docs", "docs.v2", "2024-notes", "文档")
    assert parse(said, [Source(name) for name in names]).sources == found


def test_an_answer_outside_the_declared_sources_is_kept_for_the_fallback_to_see():
    planner = PromptedPlanner(language_model=SayingModel("WIKIPEDIA"))
    found = planner.plan([Context.of("hi")], SOURCES)[0]
    assert found.steps == (("WIKIPEDIA",),)
    assert "WIKIPEDIA" in found.reason


@pytest.mark.parametrize(
    ("said", "left_out"), [("I'm a student.", {"f1"}), ("I'm a student, how much is a ticket?", set())]
)
def test_what_a_turn_told_counts_only_where_it_also_asks(said, left_out):
    asked = []

    class Watching(FixedRetriever):
        def retrieve(self, requests):
            asked.extend(requests)
            return super().retrieve(requests)

    told = Learned(added=(Passage("f1", "MEMORY", "I'm a student."),))
    context = Context(Context.of(said).turns, learned=told)
    SimilarityPlanner(retriever=Watching(DOCUMENTS=0.9)).plan([context], SOURCES)
    assert all(request.without == left_out for request in asked)


def test_a_personal_question_that_only_memory_can_answer_goes_there():
    assert plan("In which city I live?", MEMORY=0.99, DOCUMENTS=0.05).steps == (("MEMORY",),)


def test_a_question_that_only_the_persona_knows_goes_there():
    assert plan("Is stretching better than running?", PERSONA=0.99, DOCUMENTS=0.02).steps == (("PERSONA",),)
    assert "DOCUMENTS" in plan("Who is the mayor?", PERSONA=0.91, DOCUMENTS=0.07).sources


def test_a_persona_without_a_word_of_the_question_leaves_it_to_the_documents():
    class Near:
        def retrieve(self, requests):
            texts = {"PERSONA": "I tell donors where they can give.", "DOCUMENTS": "Town: Pellow; Place: School gym"}
            return [
                [Evidence(Passage(source.name, source.name, texts[source.name]), 0.5, {"cosine": cosine})]
                if source.name in texts
                else []
                for request in requests
                for source in request.sources
                for cosine in [0.6 if source.name == "PERSONA" else 0.3]
            ]

    planner = SimilarityPlanner(retriever=Near())
    asked = planner.plan([Context.of("Do you collect in the town of Pellow?")], SOURCES)[0]
    assert asked.steps == (("PERSONA",), ("DOCUMENTS",)) or asked.sources == ("DOCUMENTS",)
    assert planner.plan([Context.of("Who do you tell where they can give?")], SOURCES)[0].sources == ("PERSONA",)
