# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Find the subject of a fact or a question: the user, a person by name or relation, or a thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.decision.categories import categories
from dragoman.decision.numerals import normalise
from dragoman.text import lazy_re as re

_RELATIONS = {
    "son": "son sons boy boys stepson",
    "daughter": "daughter daughters girl girls stepdaughter",
    "child": "child children kid kids twins toddler",
    "baby": "baby",
    "nephew": "nephew nephews",
    "niece": "niece nieces",
    "brother": "brother brothers",
    "sister": "sister sisters",
    "mother": "mother mum mom mummy mam",
    "father": "father dad daddy",
    "wife": "wife",
    "husband": "husband hubby",
    "partner": "partner girlfriend boyfriend fiance",
    "grandson": "grandson grandsons",
    "granddaughter": "granddaughter granddaughters",
    "grandmother": "grandmother grandma granny nan nana gran",
    "grandfather": "grandfather grandpa granddad grandad",
    "friend": "friend mate",
    "uncle": "uncle",
    "aunt": "aunt",
    "cousin": "cousin",
}
_ZH_SHORT = {"弟": "brother", "哥": "brother", "妹": "sister", "姐": "sister", "娃": "child"}
"""Words that name somebody behind 我 only: "我弟"."""
# Of several words for one relation, replies use the last.
_ZH_RELATIONS = {
    "嫂子": "sister", "姐夫": "brother", "弟媳": "sister", "儿媳": "daughter", "女婿": "son", "姨妈": "aunt", "大伯": "uncle", "老爸": "father", "老妈": "mother",
    "婆婆": "mother", "公公": "father", "老大": "child", "老二": "child", "老三": "child", "外孙女": "granddaughter", "外孙": "grandson", "闺女": "daughter", "丫头": "daughter", "侄女": "niece", "外甥": "nephew",
    "外甥女": "niece", "姥姥": "grandmother", "姥爷": "grandfather", "岳父": "father", "岳母": "mother", "老伴": "partner",
    "爱人": "partner", "男朋友": "partner", "女朋友": "partner", "太太": "wife", "叔叔": "uncle", "舅舅": "uncle", "姑姑": "aunt",
    "阿姨": "aunt", "表弟": "cousin", "表哥": "cousin", "表妹": "cousin", "表姐": "cousin", "爸": "father", "妈": "mother",
    "儿子": "son", "女儿": "daughter", "孩子": "child", "小孩": "child", "宝宝": "baby", "弟弟": "brother", "哥哥": "brother",
    "妹妹": "sister", "姐姐": "sister", "妈妈": "mother", "母亲": "mother", "爸爸": "father", "父亲": "father", "奶奶": "grandmother",
    "爷爷": "grandfather", "外婆": "grandmother", "外公": "grandfather", "孙子": "grandson", "孙女": "granddaughter", "妻子": "wife",
    "老婆": "wife", "丈夫": "husband", "老公": "husband", "朋友": "friend", "侄子": "nephew",
}  # fmt: skip
RELATION = {word: relation for relation, words in _RELATIONS.items() for word in words.split()} | _ZH_RELATIONS
_FEMALE = frozenset({"daughter", "niece", "sister", "mother", "wife", "granddaughter", "grandmother", "aunt"})
_MALE = frozenset({"son", "nephew", "brother", "father", "husband", "grandson", "grandfather", "uncle"})
_HE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE)
_SHE = re.compile(r"\b(?:she|her)\b", re.IGNORECASE)
CHILDREN = frozenset({"son", "daughter", "child", "baby", "grandson", "granddaughter", "nephew", "niece"})
_EN = "|".join(sorted((word for word in RELATION if word.isascii()), key=len, reverse=True))
_ZH = "|".join(sorted(_ZH_RELATIONS, key=len, reverse=True))
_ZH_ALONE = "|".join(sorted((word for word in _ZH_RELATIONS if len(word) > 1 or word in "爸妈"), key=len, reverse=True))
_OWN = re.compile(rf"\b(?:my|our) (?:[a-z0-9-]+ ){{0,2}}?(?P<relation>{_EN})\b", re.IGNORECASE)
_THE_CHILDREN = re.compile(
    rf"\bthe (?P<relation>{'|'.join(word for word, one in RELATION.items() if word.isascii() and one in CHILDREN)})\b",
    re.IGNORECASE,
)
"""As parents speak of their own: "Can the twins swim?"."""
_ASKED_NAME = re.compile(
    r"\b(?:[Cc]an|[Cc]ould|[Mm]ay|[Mm]ust|[Ss]hould|[Ww]ill|[Ww]ould|[Dd]oes|about|for) (?P<name>[A-Z][a-zé]+)\b(?! [A-Z])"
)
_NO_NOUN = r"(?!(?:to|in|on|at|of|for|by|from|with|into|near|over|and|or|the|an?|is|are|was|as|about|via|this|that|it|us|go|called|named)\b)"
_NAMED = re.compile(
    rf"\b(?:(?:[Mm]y|[Oo]ur) (?:[\w-]+ ){{0,2}}?{_NO_NOUN}(?P<what>[a-z]+|[A-Z][a-z]+(?= [A-Z][a-zé]+\b(?! [A-Z])))(?:,? (?:called |named )?| (?:is|was) (?:called |named )|['’]s name is )"
    rf"|(?:[Aa]n?|[Tt]he|[Mm]y|[Oo]ur) (?:[\w-]+ ){{0,2}}?{_NO_NOUN}(?P<thing>[a-z]+),? (?:called|named) )(?P<name>[A-Z][a-zé]+)\b"
)
_NAMES_BESIDE = re.compile(r"(?:, [A-Z][a-zé]+\b(?! (?:is|has|lives)\b))*,? and [A-Z][a-zé]+\b")
_NAME = re.compile("[A-Z][a-zé]+")
"""Further names of several people: "my twins Lea and Ben"."""
_ZH_OWN = re.compile(
    rf"我(?:们)?(?:的|家的?)?[大小二]?(?P<relation>{_ZH})(?:叫)?(?P<name>(?!今年|其实|才|刚|腿|身体|膝盖|血压|心脏|眼睛|耳朵|喜欢|怀孕|戴|特别|去年|前年|明年|也|都|都是|得了|患|行动|视力|听力|吃|喝|住|来|去|上|读|学|用|推|拄|身高|体重|现在|已经|可以|能|要|需要|对|是|有|不)[\u4e00-\u9fff]{{2,3}}?)?(?=今年|其实|才|刚|戴|会|[\d，。]|身高|体重|是|有|对|坐|现在|已经|可以|能|要|需|不|$)"
)
KIN = _ZH
"""Chinese words for people of the user, as alternatives of an expression."""
_ZH_OF_USER = re.compile(
    rf"(?<![带和跟陪])我(?:们)?(?:的|家的?)?[大小二]?(?P<own>{_ZH}|[弟哥妹姐娃])(?!票|卡|班|组|房|节)"
    rf"|(?<![带和跟陪个位我])[大小二]?(?P<relation>{_ZH_ALONE})(?!票|卡|班|组|房|节)"
)
_IN_FULL = {"娃": "孩子"} | {word: word * 2 for word in "弟哥妹姐爸妈"}
_ZH_NAME = re.compile(
    "[小阿老大].{1,2}|(.)\\1|[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕].{1,2}"
)
"""A nickname, a doubled one, or a surname with a given name: "我妈办卡" names nobody."""
_ZH_START = re.compile(rf"我(?:们)?(?:的|家的?)?[大小二]?(?P<relation>{_ZH})")
_THING = re.compile(r"\b(?:my|our|the) (?:[a-z-]+ )??(?P<thing>[a-z-]+)(?= (?:is|are|weighs?|comes|measures|has)\b)")
_ZH_THING = re.compile("我(?:们)?的(?P<thing>[\u4e00-\u9fff]{1,4}?)(?=重|长|宽|高|是|有|可以|能|\\d)")
_USER = re.compile(r"\b(?:i|i'm|i've|i'll|me|we|we're|us)\b|我|咱")
_PRONOUN = re.compile(r"\b(?:he|she|it|they|who|which)\b|他|她|它")
_CALENDAR_NAME = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October"
    r"|November|December|Christmas|Easter|Ramadan"
)
_FIRST_NAME = re.compile(
    r"(?<![Tt]he )\b(?P<name>[A-Z][a-zé]{1,15})\b(?='s|’s| (?:is|was|turned|turns|weighs|has|uses|needs|wears|lives|can't|cannot|and I)\b)"
)
_NOT_NAMES = frozenset(
    "My The There It This That He She We They I Our Who What A An Is His Her Its Today Tomorrow".split()
)

USER = frozenset({"user"})


@dataclass(frozen=True, slots=True)
class People:
    """Names that the facts introduce, each with its role: `leo` is a `son`, `rex` is a `dog`."""

    names: dict[str, str]

    def keys(self, name: str) -> frozenset[str]:
        """A name with its relation."""
        return frozenset({name, self.names[name]} if self.names.get(name) else {name})


def people(texts: Iterable[str], question: str = "") -> People:
    """Everyone whom the texts name, and the question; in a Chinese question only what looks like a name is one."""
    names: dict[str, str] = {}
    for match in _ZH_OWN.finditer(normalise(question)):
        if match["name"] and _ZH_NAME.fullmatch(match["name"]):
            names[match["name"]] = RELATION[match["relation"]]
    for text in (*texts, *([question] if question.isascii() else [])):
        for match in _NAMED.finditer(text):
            what = (match["what"] or match["thing"]).lower()
            if what not in RELATION and (match["what"] or "a")[0].isupper() and not _is_kind(what):
                continue  # "My Labrador Monty" names a kind, "My New York flat" none
            beside = _NAMES_BESIDE.match(text, match.end())
            for name in (match["name"], *(_NAME.findall(beside[0]) if beside else ())):
                names[name.lower()] = RELATION.get(what, what)
        for match in _ZH_OWN.finditer(normalise(text)):
            if match["name"]:
                names[match["name"]] = RELATION[match["relation"]]
        for match in _FIRST_NAME.finditer(text):
            if match["name"] not in _NOT_NAMES:
                names.setdefault(match["name"].lower(), "")
    return People(names)


def _is_kind(word: str) -> bool:
    return categories("en").thing_words.fullmatch(word) is not None


def subject_of_fact(segment: str, known: People, before: frozenset[str]) -> frozenset[str]:  # noqa: PLR0911  # in order of certainty
    """Return the subject of a piece of a fact: keys of a person or thing; `before` is whom the piece before was about."""
    named = _mentioned(segment, known)
    own = _OWN.search(segment)
    if named:
        return named
    if own:
        return frozenset({RELATION[own["relation"].lower()]})
    chinese = _ZH_OWN.search(segment) or _ZH_START.match(segment)
    if chinese:
        return frozenset({RELATION[chinese["relation"]]})
    thing = _THING.search(segment) or _ZH_THING.search(segment)
    if thing:
        return frozenset({singular(thing["thing"])})
    aged = re.search(rf"year-old (?P<relation>{_EN})\b", segment)
    if aged:
        return frozenset({RELATION[aged["relation"]]})
    if _USER.search(segment):
        return USER
    if _PRONOUN.search(segment) or before != USER:
        return before
    return USER


def subject_of_question(question: str, known: People) -> frozenset[str]:
    """Return the subject of a question; a thing (`my dog`) is left to the rule."""
    named = _mentioned(question.lower(), known)
    if named:
        return named
    own = _OWN.search(question) or _THE_CHILDREN.search(question)
    if own:
        return frozenset({RELATION[own["relation"].lower()]})
    chinese = _ZH_OF_USER.search(question)
    if chinese:
        return frozenset({(RELATION | _ZH_SHORT)[chinese["own"] or chinese["relation"]]})
    aged = re.search(rf"year-old(?: (?P<relation>{_EN}))?\b", question)
    if aged:
        return frozenset({RELATION[aged["relation"]] if aged["relation"] else "child"})
    return USER


def own_word(question: str) -> str:
    """The user's own word for whom a Chinese question is about, in full: "我弟" is 弟弟; empty where it names nobody."""
    match = _ZH_OF_USER.search(question)
    if match is None:
        return ""
    word = match["own"] or match["relation"]
    return _IN_FULL.get(word, word)


def _mentioned(text: str, known: People) -> frozenset[str]:
    for name in known.names:
        if re.search(rf"\b{re.escape(name)}\b", text) if name.isascii() else name in text:
            return known.keys(name).union(*(known.keys(other) for other in _named_beside(name, text, known)))
    return frozenset()


def _named_beside(name: str, text: str, known: People) -> list[str]:
    """The known names that a text lists with one: "lea and ben are 6" tells of both."""
    others = [other for other in known.names if other != name and other.isascii()]
    if not others or not name.isascii():
        return []
    listed = "|".join(re.escape(each) for each in (name, *others))
    run = re.search(rf"\b(?:{listed})(?:(?:, | and |, and )(?:{listed})\b)+", text)
    return [other for other in others if run and re.search(rf"\b{re.escape(other)}\b", run[0])]


def same(fact: frozenset[str], asked: frozenset[str]) -> bool:
    """Whether a fact's subject is the one asked about: `my children` covers a son and a daughter."""
    named_asked = {key for key in asked if key not in RELATION.values() and key != "user"}
    if named_asked:
        return bool(named_asked & fact)
    if USER in (asked, fact):
        return asked == fact
    return bool(asked & fact) or ("child" in asked and bool(fact & CHILDREN))


_OWN_STATE = re.compile(
    r"^(?:i am|i'm|i have|i've got|i've had|i suffer|i cannot|i can't|i can not|i do not|i don't|i never|i wear|i weigh|i take)\b",
    re.IGNORECASE,
)
_SHARED = re.compile(
    r"\b(?:we|we're|us|our|ours|both|together|family|member(?:ship)?s?|resident|citizen|student|card|pass|tickets?"
    r"|booked|booking|reserv\w+|bought|coming|come|with|here|from)\b",
    re.IGNORECASE,
)


_STATE = re.compile(
    r"\b(?:(?:is|was)\b(?! (?:in|at|on) )|turned|has|can't|cannot|can not|doesn't|does not|never|wears|weighs|takes|suffers|uses)\b",
    re.IGNORECASE,
)
"""Tells what somebody is, has or cannot do."""


def names_somebody(question: str, known: People) -> bool:
    """Whether a question asks by name about somebody whom no fact introduces: "Could Tom?"."""
    match = _ASKED_NAME.search(question)
    if match is None or match["name"] in _NOT_NAMES:
        return False
    return match["name"].lower() not in known.names and not _CALENDAR_NAME.match(match["name"])


def is_of_user_alone(fact: str, known: People) -> bool:
    """Whether a fact states what the user is, has or cannot do, which concerns nobody else.

    A membership, a booking or a day may count for those who come along.
    """
    return (
        _OWN_STATE.match(fact) is not None
        and _SHARED.search(fact) is None
        and _OWN.search(fact) is None
        and not _mentioned(fact.lower(), known)
    )


def is_of_another(fact: str, asked: frozenset[str], known: People) -> bool:
    """Whether a fact is about the state of somebody not asked about: the age of a brother, the user's illness."""
    if is_of_user_alone(fact, known):
        return True
    subject = subject_of_fact(fact.lower() if fact.isascii() else fact, known, USER)
    return (
        subject != USER
        and is_person(subject, known)
        and not same(subject, asked)
        and _STATE.search(fact) is not None
        and _SHARED.search(fact) is None
    )


def can_be_meant(keys: frozenset[str], question: str, known: People) -> bool:
    """Whether the pronoun of a question can stand for somebody: "he" for a son, and for no daughter."""
    if not is_person(keys, known):
        return _HE.search(question) is None and _SHE.search(question) is None
    return not (_HE.search(question) and keys & _FEMALE) and not (_SHE.search(question) and keys & _MALE)


def is_named(keys: frozenset[str], known: People) -> bool:
    """Whether keys identify a person with a known name."""
    return is_person(keys, known) and any(key in known.names for key in keys)


def is_person(keys: frozenset[str], known: People) -> bool:
    """Whether keys identify the user or a person."""
    return (
        "user" in keys or any(key in RELATION.values() for key in keys) or any(known.names.get(k) == "" for k in keys)
    )


def singular(noun: str) -> str:
    """A noun without its plural ending."""
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") and len(noun) > 3 else noun
