"""Facts that a turn states about the user, and about people, animals and things of theirs.

A fact has a subject and a slot, which names what it is about. A newer fact replaces the value of a single-valued slot
(a home) and adds to a slot of many values (likes). A slot that ends in `!` marks a fact that ends an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dragoman.core.values import Fact
from dragoman.memory.english.chunks import is_question
from dragoman.memory.english.clauses import ClauseReader
from dragoman.memory.english.discourse import sentences_of, uncleft, without_asides, without_contrast, without_order
from dragoman.memory.english.fragments import completed, embedded, named_with_ages
from dragoman.memory.english.relations import clause_facts
from dragoman.memory.english.wording import written_out
from dragoman.memory.patterns import around, like, words
from dragoman.text import lazy_re as re
from dragoman.text.inferences import without_conclusions
from dragoman.text.language import language
from dragoman.text.quotations import own_words
from dragoman.text.sentences import sentences
from dragoman.text.spelling import spelt

MANY = frozenset(
    "avoids likes dislikes allergy pet language hobby family has about diet condition aid fear status card brings can "
    "companion habit skill studies wears booking".split()
)
"""Relations that hold several values at once."""
MOST_FACTS = 20
"""How many facts are learned from one turn."""
_MOST_SENTENCES = 40
LONGEST_SENTENCE = 600
"""A sentence of more characters states no fact that a rule could tell."""
_AROUND = around({"lead": "^(?:{})", "supposed": "^(?:{})", "fleeting": "{}", "instruction": "{}"})
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|「[^」]*」|『[^』]*』")
_REPORTED = re.compile(
    r"(?<!not )(?!(?:write|writing|ask|asking) (?:on behalf|for|about)\b)"
    rf"\b(?:{'|'.join(sorted(word for word in words('reporting') if word.isascii()))})\b(?! goodbye)",
    re.IGNORECASE,
)
_OWN = re.compile(r"(?:I|my|we|our)\b(?!.*\byou\b)|我(?!要你)", re.IGNORECASE)
_TAG = re.compile(
    r"(?:[,.]\s*+(?:ok|okay|no|see|yes)|"
    r"(?:[,.]|(?<!\s))\s*+\b(?:remember|right|you know|you see|isn't it))\s*+\?++\s*+$",
    re.IGNORECASE,
)
_SHORT_QUESTION = re.compile(
    r"(?P<told>(?:I|we|my|our)\b(?:(?!\b(?:if|whether|or)\b).){4,120}?)(?:,| -| –)\s++"
    r"(?!(?:I|we|my|our|he|she|they|it|who|which|and|or|but|right|so I|so we|that|because|since|what|when|where|how)\b)"
    r"(?:[\w'’-]+ ){0,5}[\w'’-]+",
    re.IGNORECASE,
)
_LOWER_CASE = re.compile(
    r"(?<=\w\w[.!?])\s(?=(?:i|im|i'm|i've|my|we|we're|our|he|he's|she|she's|they|it|it's|also"
    r"|what|can|could|is|are|where|when|how|do|does)\b)"
)
"""Where a sentence begins without a capital, as people type."""
_FAREWELL = re.compile(r",?(?<!\s)\s++(?:hi|hello|thanks|thank you|cheers|bye|please)[\s.!]*+$", re.IGNORECASE)
_DENIAL = re.compile(r"no(?: longer)? \w", re.IGNORECASE)
"""Where "no" is part of what is said, and not an answer before it."""
_CALL_ME = re.compile(
    r"(?i:(?:you (?:can|may) |please |just )?call me|i go by|(?:people|friends) call me|the name is|the name's)"
    r" (?P<x>[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)?)"
    r"|(?i:this is) (?P<y>[A-ZÀ-Þ][\w'’-]+ [A-ZÀ-Þ][\w'’-]+)(?i:,? (?:here|speaking))?[.!,]*$"
)


def facts(text: str, *, people: Callable[[], Mapping[str, str]] = dict) -> tuple[Fact, ...]:
    """Extract the facts of a text, each as a separate sentence; at most `MOST_FACTS`.

    `people` gives the people and animals known by name, with what they are to the user: a sentence such as "Leo is
    seven" is a fact only about them.
    """
    facts_by_key: dict[tuple[str, str], Fact] = {}
    reader = ClauseReader(people)
    # Quoted text is not a statement by the user.
    spoken = [
        part
        for whole in sentences(without_conclusions(own_words(text)))
        for line in _LOWER_CASE.split(whole)
        for part in sentences_of(line)
    ]
    for sentence in spoken[:_MOST_SENTENCES]:
        if len(sentence) > LONGEST_SENTENCE:
            continue
        for fact in _sentence_facts(sentence, reader):
            facts_by_key.setdefault((fact.slot, fact.value.casefold()), fact)
        if len(facts_by_key) >= MOST_FACTS:
            break
    return tuple(facts_by_key.values())[:MOST_FACTS]


def ends(fact: Fact) -> bool:
    """Whether a fact says that an earlier one no longer holds."""
    return fact.slot.endswith("!")


def holds_many(fact: Fact) -> bool:
    """Whether a slot can have several values at once, such as likes, or descriptions of a sister or a dog."""
    slot = fact.slot.rstrip("!")
    if slot.startswith("favourite ") and slot.endswith("s"):
        return True  # "One of my favourite films is Up"
    if fact.relation.rstrip("!") in MANY:
        return True
    return "'s " not in slot and "的" not in slot and like(slot) in ("family", "pet")


def is_lasting(text: str) -> bool:
    """Whether a statement could hold beyond today."""
    return not _AROUND["fleeting"].search(text)


def is_instruction(text: str) -> bool:
    """Whether a text tells the agent what to do, and nothing about the user."""
    opening = text[:LONGEST_SENTENCE]
    return bool(_AROUND["instruction"].search(opening)) and not _OWN.match(opening) and not facts(opening)


def is_supposed(text: str) -> bool:
    """Whether a text only supposes something, or asks the agent to suppose it: "if I were a student"."""
    return bool(_AROUND["supposed"].match(text))


def without_lead(text: str) -> str:
    """A sentence without the words before what it says: "oh, by the way, I am vegan"."""
    return _AROUND["lead"].sub("", text).strip()


def _without_short_question(text: str) -> tuple[str, bool]:
    """A statement without the question of a few words after it, and whether it still asks: "I am 15, alone ok?"."""
    match = _SHORT_QUESTION.fullmatch(text)
    return (match["told"], False) if match else (text, True)


def _sentence_facts(sentence: str, reader: ClauseReader) -> Iterator[Fact]:
    bare = _QUOTED.sub(" ", sentence)
    if language(sentence) == "zh":
        from dragoman.memory import chinese  # its patterns take a while to compile

        yield from chinese.sentence_facts(bare, sentence, reader.people)
        return
    bare = _TAG.sub("", bare)
    asks = bare.rstrip(" )\"'”’").endswith("?")
    whole = without_order(without_asides(spelt(bare).strip()))
    bare = without_lead(without_lead(whole))
    called = _CALL_ME.match(bare)
    if called:
        name = called["x"] or called["y"]
        yield Fact(f"My name is {name}.", "name", name, sentence, "user", "name")
        return
    text = without_contrast(uncleft(_FAREWELL.sub("", written_out(bare)).strip(" .!?")))
    denial = completed(_FAREWELL.sub("", written_out(whole)).strip(" .!?"), asks=asks) if _DENIAL.match(whole) else None
    if not text or _AROUND["supposed"].match(text) or text != text.strip(",;"):
        return
    if asks:
        text, asks = _without_short_question(text)
    reported = _REPORTED.search(text)
    if reported:
        end = max(text.rfind(mark, 0, reported.start()) for mark in (",", ";", " and ", " but "))
        if end < 0:
            return
        rest = text[end:].strip(" ,;").split()
        asks = asks and not (rest and is_question(rest))  # "my mum takes pills, does she have to tell you?"
        text = text[:end]
    listed, text = named_with_ages(text)
    for statement in filter(None, (denial, *listed, *embedded(text), completed(text, asks=asks))):
        for clause in reader.clauses(statement.text):
            yield from (fact for fact in clause_facts(clause, sentence) if statement.allows(fact.relation))
    for clause in reader.clauses(text, asks=asks):
        yield from clause_facts(clause, sentence)
