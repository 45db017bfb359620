"""Questions back: when the agent asked for one missing fact, the user's answer resumes the question before it.

"Can I borrow this film?" - "That depends ... How old are you?" - "15": the answer is read as the statement "I am 15
years old.", and the turn answers the first question again, now with that fact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.core.values import Context, Turn
from dragoman.text.claims import numbers
from dragoman.text.form import SOCIAL, form
from dragoman.text.sentences import sentences

DEPENDS = {"en": "That depends", "zh": "这要看情况"}
"""How a reply that asks back begins."""

_MOST_ANSWER = 200
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|of course|i am|i do|i have|correct|right)\b|是的?|对的?|有的?|嗯|可以", re.IGNORECASE
)
_NO = re.compile(
    r"(?:no|nope|not really|not yet|i'?m not|i am not|i don'?t|i do not|i haven'?t)\b|不是|没有|不|没", re.IGNORECASE
)
_OWN_SENTENCE = re.compile(r"(?:i'm|im|i’m|i am|i have|my \w+|we|he|she|they|it) \S+|i \S+ \S", re.IGNORECASE)
_SUBJECT = r"(?P<subject>your \w+|you|he|she|they|[A-Z]\w+)"
_BE = re.compile(rf"(?P<verb>are|is) {_SUBJECT} (?P<rest>.+)", re.IGNORECASE)
_DO = re.compile(rf"(?P<verb>do|does|have|has|can|will) {_SUBJECT} (?P<rest>.+)", re.IGNORECASE)
_HOW = re.compile(rf"how (?P<what>old|tall|heavy) (?:are|is) {_SUBJECT}", re.IGNORECASE)
_WH = re.compile(
    rf"(?:\w+ )?(?:when|where|which|what|how)(?: \w+){{0,3}}? (?:do|does|will|did) {_SUBJECT} (?P<rest>.+)",
    re.IGNORECASE,
)
_PLAIN = frozenset("i you your my a an the is are am do does have has how what which on in at of it to".split())
_MEASURE = {"old": "years old", "tall": "tall", "heavy": "heavy"}


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
    reply, answer = turns[-2].text.strip(), turns[-1].text.strip()
    if not reply.startswith(tuple(DEPENDS.values())) or len(answer) > _MOST_ANSWER:
        return None
    shape = form(answer)
    if "?" in answer or "？" in answer or shape.act in ("forget", "remember", "thanks", "farewell", "greeting"):
        return None
    asked = re.split(r"[)）] ?", sentences(reply)[-1])[-1].strip()
    if not asked.endswith(("?", "？")):
        return None
    if not _addresses(asked, answer):
        return None
    earlier = turns[:-2]
    question = earlier[-1].text
    if form(question).act in SOCIAL:
        return None
    return Resumed(question, statement_of(asked, answer), earlier)


def _addresses(asked: str, answer: str) -> bool:
    """Whether a turn answers what was asked, and does not tell something else: a number, a yes or no, or its words."""
    if re.search(r"\bhow (?:old|tall|heavy|much|many|long)\b|多大|几岁|多高|多重|多少|几", asked, re.IGNORECASE):
        return bool(numbers(answer)) or not _OWN_SENTENCE.match(answer)
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
    how = _HOW.match(question)
    if how and not _OWN_SENTENCE.match(bare):
        measure = _MEASURE[how["what"].lower()]
        return _stated(how["subject"], "is", bare if measure in bare else f"{bare} {measure}")
    no = _NO.match(bare)
    polar = no or _YES.match(bare)
    be, do = _BE.match(question), _DO.match(question)
    if polar and be:
        return _stated(be["subject"], "is", f"not {be['rest']}" if no else be["rest"])
    if polar and do:
        verb = do["verb"].lower()
        if verb in ("do", "does"):
            return _stated(do["subject"], "do not" if no else "", do["rest"])
        return _stated(do["subject"], f"{verb} not" if no else verb, do["rest"])
    asks = _WH.match(question)
    if asks and not _OWN_SENTENCE.match(bare):
        return _stated(asks["subject"], "", f"{asks['rest']} {bare}")
    return f"{bare}."


def _stated(subject: str, verb: str, rest: str) -> str:
    """A statement about the one who was asked about: "you" becomes "I"."""
    third = subject.lower() not in ("you", "they")
    if verb == "is":
        verb = "am" if subject.lower() == "you" else "is" if third else "are"
    elif third and verb == "do not":
        verb = "does not"
    elif third and verb == "":
        first, _, after = rest.partition(" ")
        rest = f"{'has' if first == 'have' else first + 's'} {after}".strip()
    whose = re.sub(r"^your\b", "my", subject, flags=re.IGNORECASE) if third else subject.replace("you", "I")
    text = " ".join(f"{whose} {verb} {rest}".split())
    return text[:1].upper() + text[1:] + "."


def _chinese(asked: str, bare: str) -> str:
    question = asked.strip().rstrip("？?").removeprefix("请问")
    whom = re.match(r"(?:您的|你的)?(?P<who>.+?)(?:今年|有|的)?(?:多大|几岁|多高|多重|身高|体重|过了|是)", question)
    if whom and whom["who"] not in ("您", "你", "它") and re.match("[他她它]", bare):
        return f"我{whom['who']}{bare[1:]}{'岁' if bare[1:].isdigit() and re.search('多大|几岁', question) else ''}。"
    if bare.startswith("我") or len(bare) > 12:
        return f"{bare}。"
    no = _NO.match(bare) is not None
    polar = re.match(r"(你们?|您|你的\S{1,4})(是|有|会|能)(?:不是|没有|不会|不能)?(.+?)吗?$", question)
    if polar and (no or _YES.match(bare)):
        negation = ("没" if polar[2] == "有" else "不") if no else ""
        return f"{polar[1].replace('你', '我').replace('您', '我')}{negation}{polar[2]}{polar[3]}。"
    how = re.match(r"(.+?)(?:今年)?(?:多大|几岁|多高|多重|几个人|多少)", question)
    if how:
        subject = re.sub("^[您你]的", "我", how[1]).replace("你", "我").replace("您", "我")
        unit = "岁" if bare.isdigit() and re.search("多大|几岁", question) else ""
        return f"{subject}{bare}{unit}。"
    return f"{bare}。"
