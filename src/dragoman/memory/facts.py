"""Facts that a turn states about the user, by rules over the surface, English and Chinese.

A fact has a slot, which names what it is about. A slot of one value (where somebody lives) is replaced
by a newer fact; a slot of many (what somebody likes) is joined by it. `ended` marks a fact that says
that an earlier one no longer holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.core.values import Fact
from dragoman.text.form import form
from dragoman.text.sentences import sentences

MANY = frozenset({"avoids", "likes", "dislikes", "allergy", "pet", "language", "hobby", "family", "has", "about"})
"""Slots that hold several values at once; `slot:value` keeps each apart."""

_END = r"(?=\s*(?:[.!;]|,? (?:and|but|so|because|which|who)\b|, |$))"
_X = r"(?P<x>[^.,;!?]+?)"
_NOT_NAMES = frozenset(
    """a an the not so very really just also still from in at on here there going coming looking interested sorry glad
    happy sad tired sure afraid allergic vegetarian vegan married single new old young hungry thirsty ready fine well
    good ok okay back home lost late early planning thinking trying wondering travelling traveling visiting staying
    hoping curious""".split()
)


_NOT_HAD = frozenset(
    "question questions look problem idea request reservation booking minute moment ticket chance go feeling try".split()
)


@dataclass(frozen=True, slots=True)
class _Rule:
    slot: str
    pattern: re.Pattern[str]
    ended: bool = False


def _rule(slot: str, pattern: str, *, ended: bool = False) -> _Rule:
    return _Rule(slot, re.compile(pattern, re.IGNORECASE), ended)


_I_AM = r"\b(?:i am|i'm|im|i’m)"
_NOW = r"(?:now |currently |actually |really |also |still |just |recently )*"
_RULES = (
    _rule("home", rf"\bi (?:no longer|don'?t|do not) live (?:in|at|on|near) {_X}(?: any ?more)?{_END}", ended=True),
    _rule("diet", rf"{_I_AM} (?:no longer|not) (?:a |an )?(?P<x>vegetarian|vegan|pescatarian)(?: any ?more)?{_END}", ended=True),
    _rule("likes", rf"\bi (?:no longer|don'?t|do not) (?:like|love|enjoy) {_X} any ?more{_END}", ended=True),
    _rule("likes", rf"\bi no longer (?:like|love|enjoy) {_X}{_END}", ended=True),
    _rule("allergy", rf"{_I_AM} (?:no longer|not) allergic to {_X}(?: any ?more)?{_END}", ended=True),
    _rule("job", rf"\bi (?:no longer|don'?t|do not) work (?:as|at|for|in) {_X}(?: any ?more)?{_END}", ended=True),
    _rule("name", rf"\bmy (?:first |full )?name(?:'s| is| was) {_X}{_END}"),
    _rule("name", rf"\b(?:i am called|i'm called|call me|people call me|i go by) {_X}{_END}"),
    _rule("name", rf"(?:^|[,!] ?){_I_AM} (?P<x>(?-i:[A-Z][a-z]+(?: [A-Z][a-z]+)?)){_END}"),
    _rule("home", rf"\bi(?:'ve| have)? {_NOW}(?:live|moved|relocated|reside)(?: back| over)? (?:in|to|at|on|near|outside)(?: the)? {_X}{_END}"),
    _rule("home", rf"{_I_AM} {_NOW}(?:living|based|settled) (?:in|at|on|near) {_X}{_END}"),
    _rule("home", rf"\bmy (?:home|new home|home town|address|town|city) (?:is|'s)(?: now)?(?: in)? {_X}{_END}"),
    _rule("origin", rf"\bi(?:'m| am)? (?:{_NOW})(?:originally )?(?:come from|from|was born in|grew up in) {_X}{_END}"),
    _rule("job", rf"\bi {_NOW}work (?:as|at|for|in|with|on) {_X}{_END}"),
    _rule("job", rf"\bmy (?:job|profession|work|occupation) is {_X}{_END}"),
    _rule("job", rf"{_I_AM} {_NOW}(?:a|an) (?P<x>(?:[a-z-]+ ){{0,2}}(?:teacher|nurse|doctor|engineer|student|baker|carpenter|writer|painter|musician|lawyer|farmer|programmer|developer|designer|cook|chef|driver|pilot|sailor|scientist|researcher|librarian|journalist|photographer|architect|electrician|plumber|gardener|accountant|clerk|manager|midwife|dentist|pharmacist|mechanic|postman|translator|historian|biologist|chemist|physicist|professor|retiree|potter|tailor|vet|veterinarian|paramedic|soldier|actor|dancer|singer|cellist|pianist|violinist|freelancer|consultant)){_END}"),
    _rule("job", rf"{_I_AM} (?P<x>retired|unemployed|self-employed){_END}"),
    _rule("age", rf"{_I_AM} (?P<x>\d{{1,3}}|[a-z]+(?:-[a-z]+)?) years old{_END}"),
    _rule("age", rf"{_I_AM} (?P<x>\d{{2}}){_END}"),
    _rule("birthday", rf"\bmy birthday(?:'s| is)(?: on)? {_X}{_END}"),
    _rule("birthday", rf"\bi was born on {_X}{_END}"),
    _rule("diet", rf"{_I_AM} {_NOW}(?:a |an )?(?:strict )?(?P<x>vegetarian|vegan|pescatarian|coeliac|celiac|gluten[- ]free|lactose[- ]intolerant|diabetic)(?: now)?{_END}"),
    _rule("diet", rf"\bi {_NOW}eat (?P<x>meat|fish|everything|only [^.,;!?]+|vegan|vegetarian)(?: again| now)?{_END}"),
    _rule("avoids", rf"\bi (?:don'?t|do not|never) (?:eat|drink) {_X}(?: any ?more)?{_END}"),
    _rule("allergy", rf"{_I_AM} {_NOW}(?:very |badly |severely |slightly )?allergic to {_X}{_END}"),
    _rule("allergy", rf"\bi have (?:a |an )?(?P<x>[^.,;!?]+?) allergy{_END}"),
    _rule("allergy", rf"\bi (?:can'?t|cannot|can not|mustn'?t|must not) (?:eat|have|drink|stand|tolerate) {_X}{_END}"),
    _rule("dislikes", rf"\bi (?:{_NOW})(?:hate|dislike|can'?t stand|detest|don'?t like|do not like|don'?t enjoy){_NOW} {_X}{_END}"),
    _rule("likes", rf"\bi (?:{_NOW})(?:like|love|enjoy|adore|prefer|am fond of|'m fond of) (?!to know\b|to ask\b|it\b|that\b|this\b){_X}{_END}"),
    _rule("likes", rf"{_I_AM} (?:a (?:big |great |huge )?fan of|fond of|keen on|really into|into|crazy about|mad about) {_X}{_END}"),
    _rule("favourite {k}", rf"\bmy favou?rite (?P<k>[a-z ]+?)(?:'s| is| are| has always been| used to be) {_X}{_END}"),
    _rule("pet", rf"\bi (?:{_NOW})(?:have|own|got|'ve got|have got|keep) (?:a|an|two|three|some) (?P<x>(?:[a-z]+ ){{0,2}}(?:dogs?|cats?|parrots?|horses?|rabbits?|hamsters?|goldfish|terriers?|poodles?|ponies|pony|hens?|tortoise|birds?|pupp(?:y|ies)|kittens?)(?: (?:called|named) [^.,;!?]+?)?){_END}"),
    _rule("family", rf"\bi (?:{_NOW})(?:have|'ve got|have got) (?:a|an|one|two|three|four|five|\d) (?P<x>(?:[a-z]+ ){{0,2}}(?:daughters?|sons?|children|kids?|child|brothers?|sisters?|twins|grandchildren|siblings?)(?: (?:called|named) [^.,;!?]+?)?){_END}"),
    _rule("language", rf"\bi (?:{_NOW})speak {_X}{_END}"),
    _rule("hobby", rf"\bi (?:{_NOW})(?:play|collect|practise|practice|study|paint|knit|sail|climb|cycle|run|swim|bake|teach|volunteer|restore|build|keep bees)\b(?P<x>[^.,;!?]*?){_END}"),
    _rule("marital status", rf"{_I_AM} {_NOW}(?P<x>married(?: to [^.,;!?]+?)?|single|divorced|engaged|widowed){_END}"),
    _rule("{k}", rf"\b(?:my|our) (?P<k>(?:[a-z]+(?:['’]s)? ){{0,3}}[a-z]+(?:['’]s name)?) (?:is|are|was|'s|’s)(?: now)?(?: called| named)? {_X}{_END}"),
    _rule("{k}", rf"\b(?:my|our) (?P<k>(?:[a-z]+ ){{0,2}}[a-z]+) (?:lives|works|plays|studies|loves|likes|hates|has|turns|speaks|eats|comes) {_X}{_END}"),
    _rule("has", rf"\bi (?:{_NOW})(?:have|own|drive|ride|'ve got|have got|use) (?:a|an|my own) {_X}{_END}"),
)
_ZH_X = r"(?P<x>[^，。；！？,.!?的了]+)"
_ZH_RULES = (
    _rule("home", rf"我(?:已经)?不(?:再)?住(?:在)?{_ZH_X}了?", ended=True),
    _rule("diet", r"我(?:已经|现在)?不(?:再)?(?:是|吃)(?P<x>素食者|素|素食)(?:者)?了", ended=True),
    _rule("likes", rf"我(?:已经|现在)?不(?:再)?喜欢{_ZH_X}了", ended=True),
    _rule("name", rf"我(?:的名字)?(?:叫|是叫){_ZH_X}"),
    _rule("name", rf"我的名字(?:是|叫){_ZH_X}|(?:你)?(?:可以)?叫我(?P<y>[^，。；！？,.!?吧]+)"),
    _rule("home", r"我(?:现在|目前|最近|已经)?(?:住在|住|搬到|搬去|搬来|搬家到)(?:了)?(?P<x>[^，。；！？,.!?了]+)"),
    _rule("origin", rf"我(?:来自|是从|老家(?:在|是)|出生在){_ZH_X}|我是(?P<y>[^，。；！？,.!?的]+人)"),
    _rule("job", rf"我(?:现在)?(?:在(?P<z>[^，。；！？,.!?]+(?:工作|上班|教书|上学))|的(?:工作|职业)是{_ZH_X})"),
    _rule("job", r"我(?:现在)?是(?:一?[名个位])?(?P<x>[^，。；！？,.!?的]{0,4}(?:老师|医生|护士|工程师|学生|律师|厨师|司机|程序员|作家|画家|记者|会计|设计师|木匠|摄影师|教授|演员|农民|翻译|图书管理员|退休))"),
    _rule("age", r"我(?:今年)?(?P<x>\d{1,3}|[一二三四五六七八九十]+)岁"),
    _rule("birthday", rf"我(?:的)?生日(?:是|在){_ZH_X}"),
    _rule("allergy", r"我对(?P<x>[^，。；！？,.!?]+?)过敏|我不能(?:吃|喝)(?P<y>[^，。；！？,.!?了]+)"),
    _rule("diet", r"我(?:现在|又)?(?:是|吃)(?P<x>素食者|素食|素|清真|纯素)(?:者)?"),
    _rule("avoids", r"我(?:从来|现在)?不(?:吃|喝)(?P<x>[^，。；！？,.!?了]+)"),
    _rule("dislikes", rf"我(?:很|最)?(?:讨厌|不喜欢|受不了|不爱){_ZH_X}"),
    _rule("favourite", r"我最(?:喜欢|爱)(?:的(?P<k>[^，。；！？,.!?是]+)是)?(?:吃|喝|看|听)?(?P<x>[^，。；！？,.!?了]+)"),
    _rule("likes", r"我(?:很|也|特别|非常|比较|一直)?(?:喜欢|爱|热爱)(?P<x>[^，。；！？,.!?了]+)"),
    _rule("pet", r"我(?:家)?(?:养|有)(?:了)?(?:一|两|三)[只条匹](?P<x>[^，。；！？,.!?]+)"),
    _rule("language", rf"我(?:会)?(?:说|讲){_ZH_X}[语话]"),
    _rule("hobby", r"我(?:会|常|经常|每天|平时)(?P<x>[^，。；！？,.!?]{2,12})"),
    _rule("{k}", r"我(?:的)?(?P<k>妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|母亲|父亲|丈夫|妻子|太太|先生|女儿|儿子|孩子|朋友|奶奶|爷爷|狗|猫|电话|手机号|生意|房间号?)(?:的名字)?(?:叫|是|住在|在|喜欢)(?P<x>[^，。；！？,.!?]+)"),
    _rule("family", r"我有(?:一|两|三|几)?个?(?P<x>(?:女儿|儿子|孩子|妹妹|姐姐|哥哥|弟弟)[^，。；！？,.!?]*)"),
)
_LEAD = re.compile(
    r"^(?:(?:by the way|btw|oh|well|hi|hello|hey|ok(?:ay)?|actually|so|and|also|yes|no|sorry|correction|update|fyi|please note(?: that)?|just so you know|for your information|you should know(?: that)?|i should mention(?: that)?|i forgot to (?:say|mention)(?: that)?|good (?:morning|evening|afternoon)|你好|对了|其实|另外|顺便说一下)[\s,，:：!！.]*)+",
    re.IGNORECASE,
)
_AFTERTHOUGHT = re.compile(
    r"(?:\s+(?:now|again|too|instead|any ?more|these days|already|last (?:week|month|year|spring|summer|autumn|winter)|"
    r"(?:a|two|three|few|some) \w+ ago|this year|recently|since .*|with my .*))+$",
    re.IGNORECASE,
)
_SOMEONE_ELSE = re.compile(r"^(?:if|suppose|imagine|when|would|could|should|do|does|did|is|are|can|may|what|how|where|如果|假如)\b", re.IGNORECASE)
_FLEETING = re.compile(
    r"\b(?:today|tonight|right now|at the moment|this (?:morning|evening|afternoon|week|weekend)|tomorrow|yesterday|a minute|an hour ago|soon)\b|今天|明天|昨天|刚才|现在很",
    re.IGNORECASE,
)


def facts(text: str) -> tuple[Fact, ...]:
    """The facts that a text states about its speaker, each as a sentence of its own."""
    found: dict[tuple[str, str], Fact] = {}
    for sentence in sentences(text):
        bare = _LEAD.sub("", sentence).strip()
        if not bare or form(sentence).act == "question" or _SOMEONE_ELSE.match(bare):
            continue
        for clause in _clauses(bare):
            for fact in _match(clause):
                found.setdefault((fact.slot, fact.value.casefold()), fact)
    return tuple(found.values())


def ends(fact: Fact) -> bool:
    """Whether a fact says that an earlier one no longer holds."""
    return fact.slot.endswith("!")


def is_lasting(text: str) -> bool:
    """Whether a statement could hold beyond today."""
    return not _FLEETING.search(text)


def _clauses(sentence: str) -> Iterator[str]:
    """The sentence cut before each new "I ..." or "my ...", so that every fact keeps its own words."""
    cuts = re.split(
        r"(?:,\s*|\s+)(?:and|but)\s+(?=(?:i\b|i'|my\b|our\b))|,\s+(?=(?:i\b|i'|my\b))|[，,、](?=(?:也|还|而且)?我)", sentence, flags=re.IGNORECASE
    )
    for cut in cuts:
        clause = cut.strip(" ,，")
        if clause:
            yield clause


def _match(clause: str) -> Iterator[Fact]:
    chinese = any("\u4e00" <= char <= "\u9fff" for char in clause)
    for rule in _ZH_RULES if chinese else _RULES:
        match = rule.pattern.search(clause)
        if not match:
            continue
        groups = match.groupdict()
        value = next((groups[key] for key in ("x", "y", "z") if groups.get(key)), "")
        value = _AFTERTHOUGHT.sub("", value).strip(" '\"“”")
        key = (groups.get("k") or "").strip().casefold()
        slot = rule.slot.format(k=key) if "{k}" in rule.slot else (f"{rule.slot} {key}" if key else rule.slot)
        if not _plausible(slot, value):
            continue
        yield Fact(_sentence(clause, chinese=chinese), slot + ("!" if rule.ended else ""), value, clause)
        return


def _plausible(slot: str, value: str) -> bool:
    words = value.casefold().split()
    if slot == "name":
        return 0 < len(words) <= 3 and words[0] not in _NOT_NAMES
    if slot == "has":
        return bool(value) and words[-1] not in _NOT_HAD
    if slot in ("question", "turn", "point", "problem", "mistake", "bad", "pleasure"):
        return False
    return bool(value) or slot == "hobby"


def _sentence(clause: str, *, chinese: bool) -> str:
    text = clause[0].upper() + clause[1:]
    text = re.sub(r"^(?:And|But|Also) ", "", text)
    text = re.sub(r"\b(?:i|im)\b(?!')", lambda word: "I'm" if word[0].lower() == "im" else "I", text)
    text = re.sub(r"\bi(?=['’])", "I", text)
    return text.rstrip(" .!。！") + ("。" if chinese else ".")
