"""Follow-ups that repeat the question before: with another day, time or measure ("And on Friday?"), about somebody else
("And Max?"), about another thing ("And the garage?"), or to be answered anew after a correction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from dragoman.core.values import Context
from dragoman.text import lazy_re as re
from dragoman.text.ask_back import Resumed
from dragoman.text.form import asks_for_everything, form
from dragoman.text.language import language
from dragoman.text.second_person import second_person
from dragoman.text.spelling import spelt

_FURTHEST = 6
"""How many of the user's turns before the last may hold the question."""
_LONGEST_TOLD = 30
_AND_WHOM = re.compile(
    r"(?:(?:ok|okay|alright|right|so|oh|well|hm+|cool|great|thanks)\b[,.!]? )?"
    r"(?:(?:and|but|or)\b ?)?(?:(?:what|how) about |(?:the )?same (?:question )?for |for |with "
    r"|can |could |may |must |should |will |would |is |does )?"
    r"(?P<who>(?:my|our|his|her|their) (?:[a-z-]++ )?[a-z-]++(?: (?-i:[A-Z])[\w'’-]++)?|me|us|(?-i:[A-Z])[\w'’-]++)"
    r"(?: too| as well| then| instead)?"
    r"(?P<told>, (?:(?:she|he|they|who|it)(?:['’]s|['’]re| is| are| has| have)|same|also|only|just|aged?|\d)\b"
    r"[^?]{0,60}+)?\s?[?.!]*",
    re.IGNORECASE,
)
_PERSON = (
    r"(?P<who>(?:my|our) (?:[a-z-]++ )??[a-z-]++(?: (?-i:[A-Z])[\w'’-]++)?"
    r"|i|we|he|she|they|me|us|him|her|them|(?-i:[A-Z])[\w'’-]++)"
)
_SUBJECT = re.compile(
    r"(?P<before>(?:^|.*?[,.!] |.*?\b(?:what|how much|which [a-z]+|where|when|how) (?:[a-z]+ ){0,3}?))"
    rf"(?P<verb>can|could|may|might|must|should|will|would|do|does|am|is|are|have|has) {_PERSON}(?P<after> .+)",
    re.IGNORECASE,
)
_WHOM = re.compile(rf"(?:{_PERSON}(?P<after>[ ?.!].*+|)|(?P<name>[a-z]{{3,}}+)\??)", re.IGNORECASE)
_MENTIONED = re.compile(
    r"\b(?:(?P<own>(?:my|our) [a-z-]+(?: (?-i:[A-Z])[\w’-]+)?)|(?-i:[A-Z])[\w’-]+)\b", re.IGNORECASE
)
_PART = r"(?: (?:morning|afternoon|evening|night)s?)?"
_DAY = rf"(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?{_PART}|tomorrow{_PART}|today|tonight"
_MONTH = r"january|february|march|april|may|june|july|august|september|october|november|december"
_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_VALUES = {
    "day": rf"(?:{_DAY}|weekends?)",
    "date": rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{_MONTH})(?: \d{{1,2}}(?:st|nd|rd|th)?)?",
    "time": r"(?:\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d\d|noon|midnight)",
    "length": rf"{_NUMBER} ?(?:cm|mm|km|m|centimetres|centimeters|metres|meters|feet|ft|inches)",
    "mass": rf"{_NUMBER} ?(?:kg|g|kilos?|grams?|lbs?|pounds|tonnes)",
    "age": rf"{_NUMBER}(?:-| )years?(?:-| )olds?",
    "people": rf"(?:{_NUMBER}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r" (?:people|persons|adults|kids|children|friends|guests|of us)",
    "time span": rf"(?:{_NUMBER}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r" (?:minutes|hours?|days?|nights?|weeks?|months?|years?)",
}
_VALUES |= {
    "animal": r"(?:dogs?|cats?|rabbits?|pupp(?:y|ies)|kittens?|birds?|hamsters?|horses?|pon(?:y|ies))",
    "person": r"(?:adults?|child(?:ren)?|kids?|students?|pensioners?|seniors?|members?|residents?|visitors?|guests?)",
}
_EITHER = "|".join(f"(?P<v{place}>{value})" for place, value in enumerate(_VALUES.values()))
_OPENS_VALUE = re.compile(
    r"(?:(?:ok|okay|alright|right|so|oh|well|cool|great|thanks)\b[,.!]? )?(?:(?:and|but|or)\b,? ?)?"
    r"(?:(?:what|how) about )?",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"(?P<before>(?:if (?:it is|it's|it was|we are|there are) )?(?:(?:on|at|in|for|with|from|by|after|before|until) )?"
    r"(?:(?:an?|the|one of|one that is|one with|some) )?)"
    rf"(?:{_EITHER})(?: (?:then|instead|though|too|high|long|tall|wide))?(?: |(?=\s?\?*$))",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?>(?:(?P<lead>(?:ok|okay|alright|right|so|oh|well|hm+|cool|great|thanks|and|but|or)\b)[,.!]? ){0,3})"
    r"(?P<what>(?:what|how) about |what )?(?:(?:next|this) (?:year|month|week|summer|winter|spring|autumn),? )?"
    r"(?P<condition>(?:if|when|once|unless|as long as)"
    r" (?:(?P<pronoun>(?:i|we|he|she|it|they|there)(?:'m|'s|'ve|'re)?)|my|our|the|one|both|(?-i:[A-Z])[\w'’-]++)\b"
    r"(?! (?:can|could|may|must|should|do|does|will|would)\b)[^,?!.;]{0,80}+)[?.]*",
    re.IGNORECASE,
)
"""A turn that only names a condition: "and if she is ill?"."""
_ENDS_WITH_CONDITION = re.compile(r",? (?:if|when|once|unless|as long as) [^,?!.;]{3,80}\??$", re.IGNORECASE)
_OPENS = re.compile(
    r"(?:(?:ok|okay|alright|right|so|oh|well|hm+|cool|great|thanks)\b[,.!]? )?"
    r"(?:(?:and|or|but)\b,? (?:(?:what|how) about )?|(?:what|how) about )",
    re.IGNORECASE,
)
"""Opens a turn that goes on with the question before: "And ...", "What about ...". """
_CLAUSE_WORD = re.compile(
    r"\b(?:is|are|was|were|am|be|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would|who|what|which"
    r"|where|when|why|how|if|that|because|i|we|he|she|it|they|you|me|us|him|her|them|this|these|those|one|ones|there"
    r"|then|more|else|other|others|same|not|no|of)\b|n't\b|['’](?:s|re|ve|ll|d|m)\b",
    re.IGNORECASE,
)
"""Makes a turn more than the name of a thing."""
_DETERMINED = r"(?:an?|the|any|some|my|our|your)"
_PREPOSITION = r"(?:on|at|in|for|with|without|from|to|by|after|before|until|during|under|over|per|of|about)"
_NUMBERED = r"(?:[a-z]|\d{1,3}|i{2,3}|iv|vi{0,3})"
_THING = re.compile(rf"(?:{_DETERMINED} )?(?:[\w'’&-]++ ){{0,4}}[\w'’&-]++", re.IGNORECASE)
_MOST_THING_WORDS = 6
_MOST_VALUES = 3
_NAMED_THING = re.compile(
    rf"(?P<preposition>\b{_PREPOSITION} )?\b{_DETERMINED} (?P<words>(?:(?!{_PREPOSITION}\b|(?:is|are|was|were|do|does"
    r"|did|has|have|can|could|may|might|must|should|will|would|cost|costs|go|goes|run|runs|open|opens|close|closes|start|starts|allowed"
    r"|i|we|he|she|it|they|you|me|us|and|or|if|when|that|here|there)\b)[\w'’&-]++(?: |(?=[?.,!]|$))){1,4})",
    re.IGNORECASE,
)
"""Something that a question names with an article: "a parking space" in "What would a parking space cost me?"."""
_BARE_SUBJECT = re.compile(
    r"\b(?:is|are|does|do|sell|sells|have|offer|about)(?: there| any| you)?"
    r" (?P<words>(?!(?:the|an?|my|our|your|any|there|i|we|he|she|it|they|you|this|that|these|those|have|sell|offer)\b)"
    r"[a-z-]{3,})\b",
    re.IGNORECASE,
)
"""A subject without an article: "breakfast" in "When does breakfast start?"."""
_FOUND = {kind: re.compile(rf"\b{value}\b", re.IGNORECASE) for kind, value in _VALUES.items()}
_OTHER_FORMS = {"do": "does", "am": "is", "are": "is", "have": "has"}


def with_another_value(context: Context) -> str | None:
    """The question before with the days, times or measures that the last turn names; None for every other turn."""
    values = _values(spelt(context.last.strip()))
    if not values or language(context.last) == "zh":
        return None
    turns = [spelt(turn.text) for turn in context.history if turn.speaker == "user"][-_FURTHEST:]
    asked = next((text for text in reversed(turns) if not _values(text.strip())), "")
    if form(asked).act != "question":
        return None
    for kind, value in values:
        named = list(_FOUND[kind].finditer(asked))
        if len(named) != 1:
            return None
        asked = f"{asked[: named[0].start()]}{value}{asked[named[0].end() :]}"
    return " ".join(asked.split())


def _values(turn: str) -> list[tuple[str, str]]:
    """The values of which a turn consists, by their kinds: "And on a Sunday in January?"; none of any other turn."""
    opening = _OPENS_VALUE.match(turn)
    place, found = opening.end() if opening is not None else 0, list[tuple[str, str]]()
    while place < len(turn.rstrip(" ?")) and len(found) < _MOST_VALUES:
        match = _VALUE.match(turn, place)
        if match is None:
            return []
        found.append(next((kind, match[f"v{n}"]) for n, kind in enumerate(_VALUES) if match[f"v{n}"]))
        place = match.end()
    return found if place >= len(turn.rstrip(" ?")) else []


def with_condition(context: Context) -> str | None:
    """The question before under the condition that the last turn names; None for every other turn.

    "And when he is seven months?" after "May Rex run off the lead?" asks whether Rex may then. A condition of the same
    kind that the question before has already is replaced.
    """
    match = _CONDITION.fullmatch(spelt(context.last.strip()))
    if match is None or language(context.last) == "zh":
        return None
    if match["what"] and not match["lead"] and not match["pronoun"]:  # "What if my dog is ill?" may ask anew
        return None
    turns = [spelt(turn.text) for turn in context.history if turn.speaker == "user"][-_FURTHEST:]
    questions = (text for text in reversed(turns) if form(text).act == "question")
    asked = next((text for text in questions if not _CONDITION.fullmatch(text)), "")
    question = _last_question(asked)
    earlier = _ENDS_WITH_CONDITION.search(question)
    bare = question[: earlier.start()] if earlier else question
    bare = bare.rstrip(" ?,.")
    return f"{bare} {match['condition'].rstrip(' ?.!')}?" if len(bare.split()) > 1 else None


def with_same_thing(context: Context) -> str | None:
    """The last turn with the thing for which "it" stands in a question asked again; None for every other turn.

    "I've done the course now. Can I borrow it?" after "Can I borrow the rotavator?" asks for the rotavator.
    """
    turn = " ".join(spelt(context.last.strip()).split())
    asked = _last_question(turn)
    before, word, after = asked.rpartition(" it")
    if not word or language(turn) == "zh" or not re.fullmatch(r"(?:[ ,][^?]{0,40})?\?", after):
        return None
    opening, end = before.lower(), after.rstrip("? ").lower()
    for text in reversed([spelt(each.text) for each in context.history if each.speaker == "user"][-_FURTHEST:]):
        for part in re.split(r"(?<=[.!?]) ", " ".join(text.split())):
            question = part.rstrip("?.! ")
            if question.lower().startswith(f"{opening} ") and question.lower().endswith(end):
                thing = question[len(opening) + 1 : len(question) - len(end)].strip()
                if _THING.fullmatch(thing) and len(thing.split()) <= _MOST_THING_WORDS:
                    return f"{turn[: len(turn) - len(asked)]}{before} {thing}{after}"
    return None


def with_another_thing(context: Context) -> str | None:
    """The question before with the thing that the last turn names; None for every other turn.

    "And the garage?" after "What would a parking space cost me?" asks what the garage would cost. Only where it is
    clear which thing of the question it replaces: the only one, or the only one that shares a word with it.
    """
    turn = " ".join(spelt(context.last.strip()).split())
    opening = _OPENS.match(turn)
    thing = turn[opening.end() :].rstrip(" ?.!") if opening is not None else ""
    if not thing or language(turn) == "zh" or not _THING.fullmatch(thing) or len(thing.split()) > _MOST_THING_WORDS:
        return None
    if _CLAUSE_WORD.search(thing) or (thing[0].isupper() and " " not in thing):  # a name alone is a topic of its own
        return None
    turns = [spelt(turn.text) for turn in context.history if turn.speaker == "user"][-_FURTHEST:]
    asked = next((text for text in reversed(turns) if not _OPENS.match(text) or _CLAUSE_WORD.search(text)), "")
    if form(asked).act != "question":
        return None
    question = " ".join(_last_question(asked).split())
    placed = re.match(rf"(?P<preposition>{_PREPOSITION}) ", thing, re.IGNORECASE)
    if placed is not None:
        return _placed_elsewhere(question, thing, placed["preposition"])
    place = _replaced(question, thing)
    return f"{question[: place[0]]}{thing}{question[place[1] :]}" if place is not None else None


def _placed_elsewhere(question: str, thing: str, preposition: str) -> str | None:
    """A question with another place, time or group: "for children" in place of "for students", else at the end."""
    bare = question.rstrip(" ?.!")
    own = list(re.finditer(rf"\b{preposition} (?:{_DETERMINED} )?[\w'’-]++(?= {_PREPOSITION} |$)", bare, re.IGNORECASE))
    if not own:
        return f"{bare} {thing}?" if len(bare.split()) > 1 else None
    return f"{bare[: own[0].start()]}{thing}{bare[own[0].end() :]}?" if len(own) == 1 else None


def _replaced(question: str, thing: str) -> tuple[int, int] | None:
    """Where a question names what another thing takes the place of; None where that is not clear."""
    numbered = re.search(rf"\b{re.escape(thing.split(maxsplit=1)[0])} {_NUMBERED}\b", question, re.IGNORECASE)
    if numbered is not None and re.fullmatch(rf"\w+ {_NUMBERED}", thing, re.IGNORECASE):  # "form A" for "form C"
        return numbered.span()
    named = list(_NAMED_THING.finditer(question))
    head = thing.lower().split()[-1].removesuffix("s")
    alike = [match for match in named if head in match["words"].lower()]
    free = [match for match in named if not match["preposition"]]
    bare = [match for match in _BARE_SUBJECT.finditer(question) if not free]
    for matches in (alike, free, bare, named if re.match(rf"{_DETERMINED} ", thing, re.IGNORECASE) else []):
        if len(matches) == 1:
            words = matches[0].span("words")
            start = words[0] if matches is bare else matches[0].start() + len(matches[0]["preposition"] or "")
            return start, words[0] + len(matches[0]["words"].rstrip())
        if matches:
            return None
    return None


def about_another(context: Context, facts: Callable[[], Collection[str]]) -> str | None:
    """The question before with another person in it, where the last turn only names one; None for every other turn.

    `facts` gives what is known about the user: a name that neither it nor the user's turns have ("And Lisbon?") is a
    topic of its own.
    """
    match = _AND_WHOM.fullmatch(spelt(context.last.strip()))
    if match is None or language(context.last) == "zh":
        return None
    who = match["who"]
    turns = [spelt(turn.text) for turn in context.history if turn.speaker == "user"][-_FURTHEST:]
    if who[:1].isupper() and not any(re.search(rf"\b{re.escape(who)}\b", text) for text in (*turns, *facts())):
        return None
    asked = next((text for text in reversed(turns) if _AND_WHOM.fullmatch(text.strip()) is None), "")
    if form(asked).act != "question":
        return None
    asked = " ".join(asked.split())
    return _with_subject(asked, who) or _with_other_person(asked, who, [*turns, *facts()])


def after_correction(context: Context, superseded: Collection[str]) -> Resumed | None:
    """The question before the last reply, where that reply rested on a fact that this turn corrected.

    A list of what is known is not given once more: the correction itself is said back.
    """
    turns = context.turns
    if len(turns) < 3 or turns[-2].speaker != "agent" or "?" in turns[-1].text:
        return None
    reply = turns[-2].text.casefold()
    if not any(second_person(old).rstrip(" .").casefold() in reply for old in superseded):
        return None
    for end in range(len(turns) - 2, max(0, len(turns) - 2 - _FURTHEST), -1):
        question = turns[end - 1]
        if question.speaker == "user" and form(question.text).act == "question":
            listed = asks_for_everything(question.text)
            return None if listed else Resumed(question.text, turns[-1].text, turns[:end])
    return None


def told_after(context: Context) -> Resumed | None:
    """The question before the last reply, where this turn only tells something that may change its answer.

    Whether it does is for the caller to find out. The turn is put before the question, as if it had been told first.
    """
    turns = context.turns
    if len(turns) < 3 or turns[-2].speaker != "agent" or turns[-3].speaker != "user":
        return None
    statement, question = turns[-1], turns[-3]
    if (
        form(statement.text).act != "statement"
        or form(question.text).act != "question"
        or language(statement.text) == "zh"
    ):
        return None
    if not 2 <= len(statement.text.split()) <= _LONGEST_TOLD:
        return None
    return Resumed(question.text, statement.text, (*turns[:-3], statement, question))


def _with_other_person(asked: str, who: str, told: Sequence[str]) -> str | None:
    """A question with another person in place of the only one it names: "Which course would suit Tim?" about Ana."""
    last = _last_question(asked)
    named = [match for match in _MENTIONED.finditer(last, 1) if match["own"] or _is_name(match[0], told)]
    if len(named) != 1 or who.lower() in ("me", "us"):
        return None
    return f"{last[: named[0].start()]}{who}{last[named[0].end() :]}"


def _is_name(word: str, told: Sequence[str]) -> bool:
    """Whether the user has used a word as a name beside this question."""
    return sum(re.search(rf"\b{re.escape(word)}\b", text) is not None for text in told) > 1


def _last_question(asked: str) -> str:
    return next((part for part in reversed(re.split(r"(?<=[.!?]) ", asked)) if part.endswith("?")), asked)


def _with_subject(asked: str, who: str) -> str | None:
    """A question about somebody else: "Can Ana use the sauna?" about Max is "Can Max use the sauna?"."""
    last = _last_question(asked)
    before, word, rest = max(
        (last.rpartition(word) for word in (" for ", " with ", " from ")), key=lambda parts: len(parts[0])
    )
    match = _WHOM.fullmatch(rest) if word else None
    if match is not None and (match["who"] or "").lower() not in ("i", "we", "he", "she", "they"):
        return f"{before}{word}{who}{match['after'] or '?'}"
    match = _SUBJECT.fullmatch(last)
    if match is None:
        return None
    if who.lower() in ("me", "us"):
        subject = "I" if who.lower() == "me" else "we"
        back = {form: base for base, form in _OTHER_FORMS.items()} | {"is": "am" if subject == "I" else "are"}
        verb = back.get(match["verb"].lower(), match["verb"].lower())
    else:
        subject = who
        verb = _OTHER_FORMS.get(match["verb"].lower(), match["verb"].lower())
    text = f"{match['before']}{verb} {subject}{match['after']}"
    return text[:1].upper() + text[1:]
