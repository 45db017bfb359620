"""Follow-ups that repeat the question before: with another day, time or measure ("And on Friday?"), about somebody else
("And Max?"), or to be answered anew after a correction.
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
_FRAGMENT = re.compile(
    r"(?:(?:ok|okay|alright|right|so|oh|well|cool|great|thanks)\b[,.!]? )?(?:(?:and|but|or)\b ?)?"
    r"(?:(?:what|how) about )?"
    r"(?:if (?:it is|it's|it was|we are|there are) )?(?:(?:on|at|in|for|with|from|by|after|before|until) )?"
    r"(?:(?:an?|the|one of|one that is|one with|some) )?"
    rf"(?:{_EITHER})(?: (?:then|instead|though|too|high|long|tall|wide))?\s?\?*",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?>(?:(?P<lead>(?:ok|okay|alright|right|so|oh|well|hm+|cool|great|thanks|and|but|or)\b)[,.!]? ){0,3})"
    r"(?P<what>(?:what|how) about |what )?"
    r"(?P<condition>(?:if|when|once|unless|as long as)"
    r" (?:(?P<pronoun>(?:i|we|he|she|it|they|there)(?:'m|'s|'ve|'re)?)|my|our|the|one|both|(?-i:[A-Z])[\w'’-]++)\b"
    r"(?! (?:can|could|may|must|should|do|does|will|would)\b)[^,?!.;]{0,80}+)[?.]*",
    re.IGNORECASE,
)
"""A turn that only names a condition: "and if she is ill?"."""
_ENDS_WITH_CONDITION = re.compile(r",? (?:if|when|once|unless|as long as) [^,?!.;]{3,80}\??$", re.IGNORECASE)
_FOUND = {kind: re.compile(rf"\b{value}\b", re.IGNORECASE) for kind, value in _VALUES.items()}
_OTHER_FORMS = {"do": "does", "am": "is", "are": "is", "have": "has"}


def with_another_value(context: Context) -> str | None:
    """The question before with the day, time or measure that the last turn names; None for every other turn."""
    match = _FRAGMENT.fullmatch(spelt(context.last.strip()))
    if match is None or language(context.last) == "zh":
        return None
    kind, value = next((kind, match[f"v{n}"]) for n, kind in enumerate(_VALUES) if match[f"v{n}"])
    turns = [spelt(turn.text) for turn in context.history if turn.speaker == "user"][-_FURTHEST:]
    asked = next((text for text in reversed(turns) if _FRAGMENT.fullmatch(text.strip()) is None), "")
    named = list(_FOUND[kind].finditer(asked))
    if len(named) != 1 or form(asked).act != "question":
        return None
    return " ".join(f"{asked[: named[0].start()]}{value}{asked[named[0].end() :]}".split())


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
