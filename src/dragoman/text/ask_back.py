"""Questions back: when the agent asked for one missing fact, the user's answer resumes the question before it.

"Can I borrow this film?" - "That depends ... How old are you?" - "15": the answer is read as the statement "I am 15
years old.", and the turn answers the first question again, now with that fact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.core.values import Context, Turn
from dragoman.text import lazy_re as re
from dragoman.text.claims import numbers
from dragoman.text.form import SOCIAL, form
from dragoman.text.sentences import sentences

DEPENDS = {"en": "That depends", "zh": "这要看情况"}
"""How a reply that asks back begins."""
ASKS = "asks"
"""Note of a draft: the question back with which it ends; a question that is quoted or a model's has no such note."""
APPLIES = {"en": "Does this apply to you?", "zh": "你符合这个条件吗？"}
"""The question back where a rule depends on something about the user that code cannot name."""
SAID_TO_APPLY = _APPLIES, _APPLIES_NOT = "That applies to me.", "That does not apply to me."
"""The answers to it as statements, which memory does not keep."""
ACKNOWLEDGES = ("Got it:", "记下了：")
"""How a reply begins that says back what was learned."""

_MOST_ANSWER = 200
_MOST_SUPPLIED = 6
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|yea|ya|sure|of course|certainly|indeed|i am|i do|i have|he is|she is|it is|he does|she does"
    r"|he has|she has|we are|we do|we have|correct|right|absolutely)\b|是的?|对的?|有的?|嗯|可以",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:no|nope|nah|not really|not yet|not any ?more|neither|never|none|i'?m not|i am not|i don'?t|i do not"
    r"|i haven'?t|he is not|he isn'?t|she is not|she isn'?t|it is not|it isn'?t|he doesn'?t|she doesn'?t|we aren'?t"
    r"|we don'?t|we haven'?t)\b|不是|没有|不|没",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"(?:(?:sorry|well|hm+|um+|uh|honestly|i'?m|i am|i really)[\s,.]*)*(?:i )?(?:do not|don'?t|dont) "
    r"(?:know|remember|want|wish|care|like to|have (?:that|it|a clue|any idea))\b|(?:i'?m |i am )?(?:not sure|unsure)"
    r"|no (?:idea|clue|comment)|(?:i'?d )?rather not|none of your|why\b|what do you mean|guess\b|maybe\b|perhaps\b"
    r"|it depends|不知道|不清楚|不确定|不想说",
    re.IGNORECASE,
)
_OWN_SENTENCE = re.compile(
    r"(?:i'm|im|i’m|i am|i have|i've|my \w+|we're|we|he's|he|she's|she|they're|they|it's|it) \S+|i \S+ \S",
    re.IGNORECASE,
)
_SUBJECT = r"(?P<subject>your \w+(?: (?-i:[A-Z])\w+)?|you|he|she|they|[A-Z]\w+)"
_BE = re.compile(rf"(?P<verb>are|is) {_SUBJECT} (?P<rest>.+)", re.IGNORECASE)
_DO = re.compile(rf"(?P<verb>do|does|have|has|can|will) {_SUBJECT} (?P<rest>.+)", re.IGNORECASE)
_HOW = re.compile(rf"how (?P<what>old|tall|heavy|long|high|wide) (?:are|is) {_SUBJECT}", re.IGNORECASE)
_WHERE = re.compile(r"would that be (?P<joint>in|on|at) (?P<noun>\w+) (?P<name>\w+)", re.IGNORECASE)
_HOW_LONG_AGO = re.compile(r"(?P<event>you .+): how long ago was that", re.IGNORECASE)
_WHEN = re.compile(
    r"(?:(?:about|around|almost|over|just|only|more than|less than|nearly) )?"
    r"(?:(?<!\d)\d++|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|a couple of|half an?)"
    r" (?:minutes?|hours?|days?|weeks?|months?|years?)(?: ago)?"
    r"|yesterday|today|(?:last|this) (?:night|week|weekend|month|year|spring|summer|autumn|winter)"
    r"|(?:last|this) (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:on|in|since) (?-i:[A-Z][a-z]+)"
    r"|on the \w+(?: of [A-Z][a-z]+)?",
    re.IGNORECASE,
)
_EITHER = re.compile(r"is yours (?P<one>an? [\w -]{2,40}?) or (?P<other>an? [\w -]{2,40})", re.IGNORECASE)
_ALONG = re.compile(r"will (?P<who>an? .+?|your .+?) (?:come along|be with (?:you|them)|accompany .+)", re.IGNORECASE)
_MANY = re.compile(r"how many (?P<what>[^?]{1,40}?)(?: are (?:you|there)| do you .+| will .+)?$", re.IGNORECASE)
_DAY = re.compile(r"(?:on )?(?:which|what) (?:day|date)$|(?:at )?(?:what|which) time$|when$", re.IGNORECASE)
_WH = re.compile(
    rf"(?:\w+ )?(?:when|where|which|what|how)(?: \w+){{0,3}}? (?:do|does|will|did) {_SUBJECT} (?P<rest>.+)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:he|she|it|they)(?:'s|’s|'re|’re| is| are| has)\b", re.IGNORECASE)
_PEOPLE = re.compile(
    r"\b(?:people|persons|visitors|guests|adults|children|kids|travellers|participants|pupils|of you)\b"
)
_FINAL = (
    "Yes",
    "No.",
    "No:",
    "I don't know:",
    "Got it",
    "You told me",
    "Hello",
    "Deleted",
    "可以",
    "不行",
    "我不知道：",
)
"""How replies begin that leave nothing open, or found nothing."""
_SUPPLIES = re.compile(r"(?:oh |well |and )?(?:i|i'?m|we|we'?re|he|she|it|they|my \w+|(?-i:[A-Z])\w+)\b", re.IGNORECASE)
_POLAR = re.compile(
    r"(?:.*[,.!] )?(?:can|could|may|might|is|are|am|does|do|will|must|should|has|have)\b", re.IGNORECASE
)
_HEDGES = re.compile(
    r"^(?:(?:oh|well|just|only|already|he|she|it|turned|is|was|will be|almost|about|around|i think|probably|exactly)"
    r"[\s,]+)+(?=\S)",
    re.IGNORECASE,
)
_ECHO = re.compile(
    r"^(?:but )?(?:i am not|i'm not|i am(?= ?$)|i do not(?= ?$)|i don'?t(?= ?$)|i do(?= ?$)|i have(?= ?$)|he is(?= ?$)"
    r"|she is(?= ?$)|he does(?= ?$)|she does(?= ?$))[ ,]*",
    re.IGNORECASE,
)
_PLAIN = frozenset("i you your my a an the is are am do does have has how what which on in at of it to".split())
_MEASURE = {"old": "years old", "tall": "tall", "heavy": "heavy", "long": "long", "high": "high", "wide": "wide"}
_LENGTHS = frozenset(("tall", "long", "high", "wide"))
_ZH_NUMBER = re.compile(
    "(?:今年|刚满|刚|才|已经|快|满)?(?P<number>\\d{1,3}|[零一二两三四五六七八九十百]{1,5})(?:了|啊|呢)?"
)
_METRES = 3
"""The greatest bare number that is read as metres and not as centimetres."""
_ASKED_ABOUT = re.compile(
    r"(?:how (?:old|tall|heavy|long|high|wide) (?:is|are)|how much (?:does|do)|is|does|has|can|will) "
    r"(?P<who>you\b|your [\w-]+|it\b|[A-Z][\w'’-]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """The question that the turn's answer resumes, and the answer as a statement about the user."""

    question: str
    statement: str
    turns: tuple[Turn, ...]
    """The dialogue up to and including that question."""


def resumed(context: Context) -> Resumed | None:  # noqa: PLR0911 - one return a reason
    """The earlier question that this turn answers a question back for, or None."""
    turns = context.turns
    if len(turns) < 3 or turns[-2].speaker != "agent" or turns[-3].speaker != "user":
        return None
    answer = turns[-1].text.strip()
    asked = question_back(turns[-2].text)
    if not asked or not answer or len(answer) > _MOST_ANSWER:
        return None
    shape = form(answer)
    if "?" in answer or "？" in answer or shape.act in ("forget", "remember", "thanks", "farewell", "greeting"):
        return None
    if shape.act == "question" and not (_YES.match(answer) or _NO.match(answer)):
        return None
    if _UNSURE.match(answer) or not _addresses(asked, answer):
        return None
    earlier = turns[:-2]
    question = earlier[-1].text
    if form(question).act in SOCIAL:
        return None
    return Resumed(question, statement_of(asked, answer), earlier)


def supplied(context: Context) -> Resumed | None:
    """The yes-or-no question before the last reply, where this turn supplies a number for it: "he is 6".

    Whether the turn states a fact is for the memory to say; a turn that states none resumes nothing.
    """
    turns = context.turns
    if len(turns) < 3 or turns[-2].speaker != "agent" or turns[-3].speaker != "user":
        return None
    answer, earlier = turns[-1].text.strip(), turns[:-2]
    if turns[-2].text.startswith(_FINAL) or "?" in answer or "？" in answer or not _SUPPLIES.match(answer):
        return None
    if len(answer.split()) > _MOST_SUPPLIED or not numbers(answer) or not _POLAR.match(earlier[-1].text.strip()):
        return None
    return Resumed(earlier[-1].text, answer, earlier)


def said_to_apply(context: Context) -> bool | None:
    """Whether the user has just said that the rule of the last reply applies to them; None where they did not say."""
    before = context.turns[-2].text if len(context.turns) > 1 and context.turns[-2].speaker == "user" else ""
    return True if before.startswith(_APPLIES) else False if before.startswith(_APPLIES_NOT) else None


def question_back(reply: str) -> str:
    """The question that ends a reply which depends on a missing fact; empty where it asks nothing."""
    text = reply.strip()
    if not any(mark in text for mark in DEPENDS.values()) or not text.endswith(("?", "？")):
        return ""
    return re.split(r"[)）] ?", sentences(text)[-1])[-1].strip()


def is_askable(asked: str, *, question: str, people: Iterable[str] = (), documents: str = "") -> bool:
    """Whether a question back asks about the user, or about somebody or something of theirs.

    `people` are the names of the user's people and animals. A name that only the question has is theirs unless the
    documents know it: "Can Mia join?" may ask for Mia's age, "Can I see Bertha?" not for that of the zoo's elephant.
    """
    match = _ASKED_ABOUT.match(asked.strip())
    if match is None:
        return True
    who = match["who"]
    if who.lower() == "you":
        return True
    if who.lower() == "it":
        return bool(re.search(r"\b(?:my|our)\b", question, re.IGNORECASE))
    if who.lower().startswith("your "):
        noun = who.split(" ", 1)[1]
        return noun.lower() in {name.casefold() for name in people} or bool(
            re.search(rf"\b(?:my|our)\b[\w' -]{{0,30}}?\b{re.escape(noun)}", question, re.IGNORECASE)
        )
    if who.casefold() in {name.casefold() for name in people}:
        return True
    named = re.search(rf"(?<!^)\b{re.escape(who)}\b", question)
    introduced = re.search(rf"\b(?:my|our) (?:[\w-]+ ){{1,3}}{re.escape(who)}\b", question, re.IGNORECASE)
    return bool(introduced) or bool(named and not re.search(rf"\b{re.escape(who)}\b", documents, re.IGNORECASE))


def _addresses(asked: str, answer: str) -> bool:
    """Whether a turn answers what was asked, and does not tell something else: a number, a yes or no, or its words."""
    if re.search(r"\bhow (?:old|tall|heavy|much|many|long)\b|多大|几岁|多高|多重|多少|几", asked, re.IGNORECASE):
        return bool(numbers(answer)) or "one" in answer.lower().split() or not _OWN_SENTENCE.match(answer)
    if _YES.match(answer) or _NO.match(answer) or not _OWN_SENTENCE.match(answer):
        return True
    return bool(_content(asked) & _content(answer))


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.lower()) if word not in _PLAIN)


def statement_of(asked: str, answer: str) -> str:  # noqa: PLR0911 - one return a form of question
    """The answer to a question as a statement in the first person; the answer itself where it is one already."""
    bare = answer.strip().rstrip(" .!。！")
    if re.search(r"[\u4e00-\u9fff]", asked):
        return _chinese(asked, bare)
    question = asked.strip().rstrip(" ?")
    if question == APPLIES["en"].rstrip("?") and (polar := _NO.match(bare) or _YES.match(bare)):
        own = bare[polar.end() :].strip(" ,.;:-–")
        template = _APPLIES_NOT if _NO.match(bare) else _APPLIES
        return f"{template} {own[:1].upper()}{own[1:]}." if _OWN_SENTENCE.match(own) else template
    named = _by_name(question, bare) or _place(question, bare) or _one_of_two(question, bare) or _since(question, bare)
    if named:
        return f"{named}."
    how = _HOW.match(question)
    if how and not _OWN_SENTENCE.match(bare):
        return _as_statement(how["subject"], "is", _measured(_number_of(bare), how["what"].lower()))
    no = _NO.match(bare)
    polar = no or _YES.match(bare)
    if polar:
        stated = _polar(question, bare, polar, denied=no is not None)
        if stated:
            return stated
    many = _MANY.match(question)
    if many and not _OWN_SENTENCE.match(bare):
        count = bare if not bare.isdigit() and len(bare.split()) > 1 else f"{bare} {many['what']}"
        return f"We are {count}." if _PEOPLE.search(many["what"]) else f"I have {count}."
    if _DAY.match(question) and not _OWN_SENTENCE.match(bare):
        return f"I come {_with_preposition(question, bare)}."
    asks = _WH.match(question)
    if asks and not _OWN_SENTENCE.match(bare):
        value = f"{bare} kg" if bare.isdigit() and asks["rest"].startswith("weigh") else bare
        return _as_statement(asks["subject"], "", f"{asks['rest']} {value}")
    be = _BE.match(question)
    if be and re.match(r"(?:since|for|until|from) ", bare, re.IGNORECASE):
        return _as_statement(be["subject"], "is", f"{be['rest']} {bare}")
    if be and re.match(r"(?:just |only )?an? \w+", bare, re.IGNORECASE):  # "Are you a member?" - "just a visitor"
        return _as_statement(be["subject"], "is", re.sub(r"^(?:just|only) ", "", bare, flags=re.IGNORECASE))
    return f"{bare}."


def _by_name(question: str, answer: str) -> str:
    """An answer with the name that was asked about for its pronoun: "he's 6" is "Leo is 6"; empty for all others."""
    subject = next((match["subject"] for form in (_HOW, _BE, _DO, _WH) if (match := form.match(question))), "you")
    pronoun = _PRONOUN.match(answer)
    if pronoun is None or subject.lower() in ("you", "he", "she", "they") or pronoun.end() == len(answer):
        return ""
    whose = re.sub(r"^your\b", "My", subject, flags=re.IGNORECASE)
    verb = "has" if pronoun[0].lower().endswith("has") else "is"
    return f"{whose} {verb}{answer[pronoun.end() :]}"


def _one_of_two(question: str, answer: str) -> str:
    """Which of two the user has: "a half one" to "Is yours a full plot or a half plot?"; empty where it is neither."""
    either = _EITHER.fullmatch(question)
    if either is None:
        return ""
    one, other = (_content(either[name]) for name in ("one", "other"))
    words = _content(answer)
    if bool(words & (one - other)) == bool(words & (other - one)):
        return ""
    return f"I have {either['one'] if words & (one - other) else either['other']}"


def _place(question: str, answer: str) -> str:
    """Where the user is: "B", "no, C" or "yes" to "Would that be in Block B?"; empty where nothing says it."""
    asked = _WHERE.fullmatch(question)
    if asked is None:
        return ""
    noun = asked["noun"]
    own = re.fullmatch(rf"(?:.*[ ,])?(?:{re.escape(noun)} )?(?P<name>[A-Z]|\d{{1,3}}[a-z]?)", answer, re.IGNORECASE)
    if own is not None and (own["name"].casefold() not in ("i", "a") or len(answer) == 1):
        return f"I am {asked['joint']} {noun} {own['name'].upper()}"
    if _YES.match(answer):
        return f"I am {asked['joint']} {noun} {asked['name']}"
    return f"I am not {asked['joint']} {noun} {asked['name']}" if _NO.match(answer) else ""


def _since(question: str, answer: str) -> str:
    """When something happened: "I was on antibiotics three weeks ago"; empty where the answer names no time."""
    asked, time = _HOW_LONG_AGO.fullmatch(question), _WHEN.search(answer)
    if asked is None or time is None:
        return ""
    event = re.sub(r"^you were\b", "I was", asked["event"], flags=re.IGNORECASE)
    event = re.sub(r"\byour\b", "my", re.sub(r"^you\b", "I", event, flags=re.IGNORECASE))
    when = time[0]
    is_span = re.search(r"(?:minute|hour|day|week|month|year)s?$", when, re.IGNORECASE)
    is_ago = not re.match(r"(?:last|this|in|since|on|to)\b", when, re.IGNORECASE)
    return f"{event} {when}{' ago' if is_span and is_ago else ''}"


def _number_of(answer: str) -> str:
    """An answer without the words around its number: "just turned 9" is "9"."""
    return _HEDGES.sub("", answer)


def _measured(value: str, what: str) -> str:
    """A measure with its unit: "9" is "9 years old", "120" is "120 cm tall"."""
    if what in _LENGTHS and re.fullmatch(r"\d+(?:[.,]\d+)?", value):
        value = f"{value} {'m' if float(value.replace(',', '.')) < _METRES else 'cm'}"
    if what == "heavy" and value.isdigit():
        value = f"{value} kg"
    if what == "old" and re.search(r"\b(?:years?|months?|weeks?)\b", value):
        return value if value.endswith("old") else f"{value} old"
    measure = _MEASURE[what]
    return value if measure in value else f"{value} {measure}"


def _polar(question: str, bare: str, polar: re.Match[str], *, denied: bool) -> str:
    """The statement of a yes or no, and of what follows it: "no, a visitor" says two things."""
    after = bare[polar.end() :].strip(" ,.;:-–")
    after = re.sub(r"^but ", "", _ECHO.sub("", after), flags=re.IGNORECASE)
    along = _ALONG.match(question)
    if along:
        who = re.sub(r"^your\b", "my", along["who"], flags=re.IGNORECASE)
        return f"I come without {who}." if denied else f"I come with {who}."
    be, do = _BE.match(question), _DO.match(question)
    since = after if re.match(r"(?:since|for|until|from) \S", after, re.IGNORECASE) else ""
    if be:
        ended = re.match(r"not any ?more|no longer|any ?more", after, re.IGNORECASE) or re.match(
            r"not any ?more", bare, re.IGNORECASE
        )
        rest = f"{be['rest']} {since}".strip() if not denied else be["rest"]
        denial = f"no longer {rest}" if ended else f"not {rest}"
        stated = _as_statement(be["subject"], "is", denial if denied else rest)
        kind = re.match(r"(?:i am |i'm |just |only |but |rather )*(?P<what>an? [\w' -]{2,40})$", after, re.IGNORECASE)
        return (
            f"{stated} {_as_statement(be['subject'], 'is', kind['what'])}"
            if denied and kind
            else _joined(stated, after, since)
        )
    if do:
        verb = do["verb"].lower()
        if verb in ("do", "does"):
            return _joined(_as_statement(do["subject"], "do not" if denied else "", do["rest"]), after, since)
        return _joined(_as_statement(do["subject"], f"{verb} not" if denied else verb, do["rest"]), after, since)
    return ""


def _joined(stated: str, after: str, since: str) -> str:
    """A statement and the sentence of the user's own that follows it, if there is one."""
    if after and not since and _OWN_SENTENCE.match(after):
        return f"{stated} {after[:1].upper()}{after[1:]}."
    return stated


def _with_preposition(question: str, value: str) -> str:
    if re.match(r"(?:on|at|in|by|around|after|before|tomorrow|today|tonight|next|this|every)\b", value, re.IGNORECASE):
        return value
    return f"{'at' if 'time' in question.lower() else 'on'} {value}"


def _as_statement(subject: str, verb: str, rest: str) -> str:
    """A statement about the one who was asked about: "you" becomes "I"."""
    third = subject.lower() not in ("you", "they")
    if verb == "is":
        verb = "am" if subject.lower() == "you" else "is" if third else "are"
    elif third and verb == "do not":
        verb = "does not"
    elif third and verb == "":
        first, _, after = rest.partition(" ")
        rest = f"{'has' if first == 'have' else first + 's'} {after}".strip()
    whose = re.sub(r"^your\b", "my", subject, flags=re.IGNORECASE) if third else subject.lower().replace("you", "I")
    text = " ".join(f"{whose} {verb} {rest}".split())
    return text[:1].upper() + text[1:] + "."


def _chinese(asked: str, bare: str) -> str:
    question = asked.strip().rstrip("？?").removeprefix("请问")
    whom = re.match(r"(?:您的|你的)?(?P<who>.+?)(?:今年|有|的)?(?:多大|几岁|多高|多重|身高|体重|过了|是)", question)
    if whom and whom["who"] not in ("您", "你", "它") and re.match("[他她它]", bare):
        years = _ZH_NUMBER.fullmatch(bare[1:]) and re.search("多大|几岁", question)
        return f"我{whom['who']}{bare[1:]}{'岁' if years else ''}。"
    if bare.startswith("我") or len(bare) > 12:
        return f"{bare}。"
    no = _NO.match(bare) is not None
    polar = re.match(r"(你们?|您|你的\S{1,4})(是|有|会|能)(?:不是|没有|不会|不能)?(.+?)吗?$", question)
    if polar and (no or _YES.match(bare)):
        negation = ("没" if polar[2] == "有" else "不") if no else ""
        return f"{polar[1].replace('你', '我').replace('您', '我')}{negation}{polar[2]}{polar[3]}。"
    how = re.match(r"(.+?)(?:今年)?(?:多大|几岁|多高|多重|几个人|多少|几[级次天周年])", question)
    if how:
        subject = re.sub("^[您你]的", "我", how[1]).replace("你", "我").replace("您", "我")
        number = _ZH_NUMBER.fullmatch(bare)
        unit = "岁" if number and re.search("多大|几岁", question) else ""
        return f"{subject}{number['number'] if number else bare}{unit}。"
    return f"{bare}。"
