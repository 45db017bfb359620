# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Chinese rules as clauses, and whom they are about: "16岁以下的孩子、孕妇和有心脏病的人不能进桑拿房".

A clause has an effect (permits, forbids, demands, waives, is free, is reduced) and groups of people, of which one is
enough. A group is a bound on a number ("16岁以下"), which is compared, or a description ("有心脏病的人"), which is
found in the user's own words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.categories import categories
from dragoman.decision.chinese.words import canonical, content, is_negated
from dragoman.decision.comparisons import Condition, comparisons
from dragoman.decision.moments import spread
from dragoman.decision.numerals import normalise
from dragoman.text import lazy_re as re

Effect: TypeAlias = Literal["permit", "forbid", "require", "waive", "free", "discount", "price", "none"]

PERSON = "职工|住户|业主|租户|人员|人|者|客人|学员|会员|儿童|孩子|老人|选手|学生|乘客|读者|游客|住客|旅客|顾客|患者|病人|居民|市民|女士|男士|男生|女生|同学|朋友|家长|员工|老师|教师|宝宝|婴儿|用户|车主|考生|参赛者|观众|宾客|成员|客户|新生"
_NAMED = re.compile(
    rf"(?:{PERSON}|孕妇|军人|消防员|警察|医生|护士|残疾人|研究生|大学生|中学生|小学生|博士|子女|家属|校友|志愿者|[^的]{{1,3}}病人|[^的]{{2,6}}患者|[^的]{{1,4}}[员生兵]|司机|[^的]{1, 3}[户主])$"
)
_OPENS = "会员|客人|学员|学生|居民|读者|业主|租户|住户|乘客|旅客|老人|家长|选手|游客"
_WHO = re.compile(rf"的(?:{PERSON})|的$|{_NAMED.pattern}|^[^的]{{0,6}}?(?:{_OPENS})")
"""Names people: at the end, or before what they do ("金卡会员改签")."""
_GENERIC = re.compile(
    rf"^(?:所有|全部|每位|每个|每名|各位|一位|1位)?(?:的)?(?:未成年人|小|大)?(?:{PERSON})?(?:们|凭证?件?)?$|^[大家都]+$"
)
_EFFECTS: tuple[tuple[Effect, str], ...] = (
    ("free", "免费|免票|免门票|免收|免[^，。免]{0,4}[费金租]|不收(?:钱|费|取|押金|学费|门票)?(?![^，。]{0,4}(?:孩子|人))|不要钱|不花钱|不用付"),
    ("waive", "不用|不必|不需要?|无需|不要求|免预约"),
    ("forbid", "不能|不可以?(?!少)|不得|不准|不许|不让|禁止|严禁|谢绝|不建议|不要|请勿|不接待|不进场?|不开放|不出租|不补|不退|不参加|拒绝|不适合|不宜|不算|不行|不打折|不破格|不外借|停航|停运|停课|封闭|不办|不收|不卖|不送|不借|不接|不上"),
    ("discount", r"半价|半票|(?:打|(?<!\d))\d++(?:\.\d)?折|打折|优惠(?!不|只)|减\d+元|减半|买.{1,4}送"),
    ("require", "必须|须(?!知)|需要|需(?!求)|要求?(?=有|带|戴|先|提前|出示|穿|由|会|买|交|登记|家长|重新|另|抱|换|看|凭|打|满)|应当|请(?=先|带|提前|换|出示|在|停|到|坐)"),
    ("permit", r"可以|能(?!力)|可(?=进|用|带|借|退|换|选|住|参)|欢迎|允许|对[^，。]{1,12}开放|适合|招收|面向|照常|有效|才开|开放|例外|算(?=请假|出勤|有效)|(?:接?收|招)(?=[^，。]{0,6}\d++[^，。]{0,10}的|\d++[^，。元块钱]{0,12}$)"),
    ("price", r"(?<!\d)\d++(?:元|%)|(?<![一-龥])百分之|(?:报销|收|扣|退|付)[一二三四五六七八九]成|按[^，。]{1,8}[票价]|[买购](?!票)[^，。买购不]{1,6}票"),
)  # fmt: skip
_EFFECT = tuple((name, re.compile(pattern)) for name, pattern in _EFFECTS)
_DENIAL = re.compile(
    "不(?=[一-龥])(?!满|到|足|少于|低于|高于|超过?|大于|小于|同|错|管|论|限|仅|但|是|含|包括|一定|会|太|过|另|加|收|在|再|够|了)"
)
"""Denies any other act ("不单独办证"), which forbids it to the people whom the clause names."""
_RECRUITS = re.compile(r"(?:招收|面向|接?收|招)(?=[^，。]{0,6}\d)")
"""Names all whom something is for: nobody else may."""
_MUST_BE = re.compile(r"(?:必须|须|需要?|应当?|要求?)(?:是|在|达到|有)?(?=年?满?\d)")
"""Demands a number of everybody: "租车人要年满21岁"."""
_STATUS = re.compile("(?:在校|本校|全日制)?(?P<status>学生|会员|居民|教师|老师|业主|租户|军人)")
_OF_MONEY = ("discount", "free", "price")
_ONLY_FOR = re.compile(
    r"(?:只|仅|限)(?:对|给|限|向|招收|接待|面向|收)+(?P<who>[^，。；]{2,24}?)(?:开放|使用|用|参加|报名|进入|进|入场|购买|提供|$)"
)
_ONLY_WHO = re.compile(r"(?:只有|仅限?|限)(?P<who>[^，。；]{2,20}?)(?:才?可以?|才?能|使用|方可|参加|进)")
_ONLY_DO = re.compile(r"只能|只可以|只可|只准|只许")
_MIN_ONLY = re.compile(r"才能|才可以?|方可|起才|以上才")
_EXCEPTION = re.compile(
    r"^(?P<last>[^，。；]{1,20})除外$|^(?:但是?|不过|只是)?除了?(?P<what>[^，。；]{1,20}?)(?:之外|以外|外)"
    r"|^(?:但是?|不过|只有)?(?P<may>[^，。；]{2,24}?)(?:可以)?(?:例外|不受此限|不在此限)$"
)
_UNITS = "周(?!岁)|级|次|天|个月|年(?!满)|平方米|公里|件|辆|只|分钟|分|小时|层|楼|寸"
_COUNTED = re.compile(
    rf"(?<!\d)(?P<low>\d++)到(?P<high>\d++)(?P<unit>{_UNITS})|(?:满|年满|超过|至少|连续)(?P<from>\d++)(?P<unit2>{_UNITS})"
    rf"|(?<!\d)(?P<from2>\d++)(?P<unit3>{_UNITS})(?:及?以上|起)|(?<!\d)(?P<to>\d++)(?P<unit4>{_UNITS})(?:及?以下|以内)"
    rf"|(?:未满|不到|不足|不满|少于)(?P<to2>\d++)(?P<unit5>{_UNITS})"
    r"|(?P<noun>[一-龥]{1,4}(?:分|压|糖|率|数))(?:在|要|达到|低于|高于|高过|超过|超|过)?(?P<score>\d++(?:\.\d++)?)(?P<side>以上|以下|以内|的|$)"
)
_JOIN = re.compile(r"、|和|或者?|以及|及|与|还有")
_LEAD = re.compile("凡是?|如果|若|对于?|但是?|不过|另外|其中|而|即使|凭[^，。]{1,6}|由")
_TAIL = re.compile(
    "才|方可|方能|凭(?=[^，。])|本人|一律|都|也|请|还|只|均|暂时|期间|全部|最好|或者|要|每[月年周天次]|每人|可以"
)
"""A word that a group may end with; 凭 takes up to `_LONGEST_PAPER` characters with it: "凭学生证"."""
_LONGEST_PAPER = 8


@dataclass(frozen=True, slots=True)
class Counted:
    """A bound in a unit that only the user's own words have: "满36周" and "怀孕34周"."""

    unit: str
    low: float | None = None
    high: float | None = None
    open_high: bool = False
    scored: bool = False
    """Whether `unit` is what the number measures ("芝麻分650以上"), not its unit."""


@dataclass(frozen=True, slots=True)
class Group:
    """People whom a clause is about: `bounds` must all hold; `description` is found in the user's words, or empty."""

    text: str
    bounds: tuple[Condition, ...] = ()
    description: str = ""
    counted: Counted | None = None
    all_of: bool = False
    """Whether the next group must hold too: "年满16岁、有经验的人"."""


@dataclass(frozen=True, slots=True)
class RuleClause:
    """One statement of a rule. `groups` are alternatives; none means everyone."""

    text: str
    effect: Effect
    groups: tuple[Group, ...] = ()
    exceptions: tuple[Group, ...] = ()
    only: Literal["", "who", "what"] = ""
    """`who`: only these people may ("只对会员开放"); `what`: these people may only do this ("只能在绿道上滑")."""
    allowed: str = ""
    """What `only="what"` leaves: "在绿道上滑"."""
    subject: str = ""
    """What stands before the verb: "单板" in "单板不能上小松鼠道"."""


@text_cache(maxsize=2048)
def rule_clauses(sentence: str, verb: str = "") -> tuple[RuleClause, ...]:
    """The clauses of a Chinese sentence, in its own words.

    A clause that says of `verb`, the verb of the question, that it is done permits it: "凭拒签信退全部学费".
    """
    label, sentence = split_label(sentence.strip("。！!- "))
    parts = [part.strip() for part in re.split(r"[，,；;。]|(?<=[！!])", sentence) if part.strip()]
    clauses: list[RuleClause] = []
    waiting = ""
    for part in parts:
        exception = _EXCEPTION.match(part)
        if exception and clauses:
            who = exception["last"] or exception["what"] or exception["may"]
            clauses[-1] = replace(
                clauses[-1],
                text=f"{clauses[-1].text}，{part}",
                exceptions=(*clauses[-1].exceptions, *groups_of(who, described=True)),
            )
            rest = part[exception.end() :]
            if not rest:
                continue
        elif exception and exception["what"]:
            waiting = f"{waiting}{part}，"
            continue
        if part.endswith("的") and part is not parts[-1]:  # "因病不能乘机的，免手续费"
            waiting = f"{waiting}{part}，"
            continue
        bare = _bare_bound(part) if not waiting else ()
        if bare:  # "手捏课：4岁起" is for those of four and older
            clauses.append(RuleClause(f"{label}：{part}" if label else part, "permit", bare, (), "who", subject=label))
            continue
        clause = _clause(f"{waiting}{part}", verb)
        if clause.effect == "none" and clauses and not clause.groups and not waiting:
            clauses[-1] = replace(clauses[-1], text=f"{clauses[-1].text}，{part}")
            continue
        if clause.effect == "none":
            waiting = f"{waiting}{part}，"
            continue
        before = clauses[-1] if clauses else None
        if before and not clause.groups and (not content(clause.subject) or re.search("他们|她们|对其", part)):
            clause = replace(clause, groups=before.groups, subject=before.subject, text=f"{before.text}，{clause.text}")
        waiting = ""
        clauses.append(clause)
    if waiting and clauses:
        clauses[-1] = replace(clauses[-1], text=f"{clauses[-1].text}，{waiting.rstrip('，')}")
    return tuple(clauses)


def split_label(sentence: str) -> tuple[str, str]:
    """Split a short label before a colon from the rest: "退休：可全额提取"; the label may be empty."""
    match = re.match("[*]{0,2}+(?P<label>[^：:，。；？?*]{1,10}+)[*]{0,2}+(?<![0-9])[：:]", sentence)
    return (match["label"].strip("* "), sentence[match.end() :].strip("* ")) if match else ("", sentence)


def _bare_bound(part: str) -> tuple[Group, ...]:
    """The group of a part that is nothing but a bound: "4岁起", "10人以上"."""
    plain = spread(normalise(part))
    conditions, spans, _ = comparisons(plain)
    bounds = tuple(c for c in conditions if c.attribute in ("age", "height", "weight", "count"))
    rest = plain
    for span in sorted(spans, key=lambda span: -span.start):
        rest = rest[: span.start] + rest[span.end :]
    return (Group(part, bounds),) if bounds and not content(rest) else ()


def _clause(text: str, verb: str = "") -> RuleClause:
    plain = normalise(text)
    exceptions: tuple[Group, ...] = ()
    before = re.match(r"除了?(?P<what>[^，。；]{1,20}?)(?:之外|以外|外)[，,]?", plain)
    if before:
        exceptions = groups_of(before["what"], described=True)
        plain = plain[before.end() :]
    must = _MUST_BE.search(plain)
    if must and (groups := tuple(g for g in groups_of(plain[must.end() :], described=True) if g.bounds or g.counted)):
        return RuleClause(text, "permit", groups, exceptions, "who", subject=_subject(plain[: must.start()]))
    only_for = _ONLY_FOR.search(plain) or _ONLY_WHO.search(plain)
    if only_for and not _ONLY_DO.search(plain):
        groups = groups_of(only_for["who"], described=True)
        if groups:
            return RuleClause(text, "permit", groups, exceptions, "who")
    effect, place = _effect(plain)
    if effect == "none" and verb:
        effect, place = _effect_without_modal(plain, verb)
    only_do = _ONLY_DO.search(plain)
    if only_do and (effect in ("none", "permit") or only_do.start() < place):
        groups = groups_of(plain[: only_do.start()])
        allowed = plain[only_do.end() :]
        subject = _subject(plain[: only_do.start()])
        return RuleClause(text, "permit", groups, exceptions, "what" if groups or subject else "", allowed, subject)
    denial = _DENIAL.search(plain) if effect in ("none", "price") else None
    groups = groups_of(plain[: denial.start()]) if denial else ()
    if denial and any(group.description or any(b.attribute != "count" for b in group.bounds) for group in groups):
        return RuleClause(text, "forbid", groups, exceptions, subject=_subject(plain[: denial.start()]))
    if effect == "none":
        return RuleClause(text, "none", groups_of(plain), exceptions)
    groups = groups_of(plain[:place]) or _after(plain[place:])
    status = _STATUS.match(_subject(plain[:place])) if effect in _OF_MONEY and not groups else None
    if status:
        groups = (Group(status[0], (), status["status"]),)
    only: Literal["", "who"] = "who" if groups and (_MIN_ONLY.search(plain) or _RECRUITS.match(plain, place)) else ""
    return RuleClause(text, effect, groups, exceptions, only, subject=_subject(plain[:place]))


def _effect_without_modal(plain: str, verb: str) -> tuple[Effect, int]:
    """Whether a clause without a modal verb says that something is done, or that it is not."""
    place = plain.find(verb)
    if place < 0:
        return "none", len(plain)
    return ("forbid", place - 1) if plain[:place].endswith(("不", "未", "没")) else ("permit", place)


def _subject(region: str) -> str:
    """Return the subject of a clause if it precedes the verb."""
    return _trimmed(re.split(r"[,，;；]", region)[-1].strip())


def _trimmed(text: str) -> str:
    """A text without up to two conjunctions before it, and without the adverbs behind it."""
    for _ in range(2):
        lead = _LEAD.match(text)
        text = text[lead.end() if lead else 0 :]
        text = text[: _tail(text)]
    return text


def _tail(text: str) -> int:
    """Return the start of the words of `_TAIL` at the end of a text; its length if there are none.

    Read from the end: one expression over a row of words that may be cut in many ways takes exponential time.
    """
    reaches = {len(text)}
    for start in range(len(text) - 1, -1, -1):
        word = _TAIL.match(text, start)
        if word is None:
            continue
        if word[0] != "凭":
            fits = word.end() in reaches
        else:
            paper = re.match(f"[^，。]{{1,{_LONGEST_PAPER}}}", text[word.end() : word.end() + _LONGEST_PAPER])
            fits = paper is not None and any(word.end() + size in reaches for size in range(1, paper.end() + 1))
        if fits:
            reaches.add(start)
    return min(reaches)


def _effect(plain: str) -> tuple[Effect, int]:
    """The first effect of a clause; a denial or a price before a mere "可以"."""
    places = [(match.start(), name) for name, pattern in _EFFECT if (match := pattern.search(plain))]
    if not places:
        return "none", len(plain)
    first = min(place for place, _ in places)
    names = {name: place for place, name in reversed(places)}
    for name in ("free", "waive", "forbid", "discount"):
        if name in names:
            return name, names[name]
    if "require" in names and names["require"] <= names.get("permit", len(plain)):
        return "require", names["require"]
    name = next(name for place, name in places if place == first)
    return name, first


def _after(rest: str) -> tuple[Group, ...]:
    """Groups behind the verb: "不适合孕妇", "招收8到12岁的孩子"."""
    match = re.match(r"(?:不适合|不宜|谢绝|不接待|适合|招收|面向|欢迎|不收|接?收|招)(?P<who>[^,，。；]{2,24})", rest)
    return groups_of(match["who"], described=True) if match else ()


def groups_of(text: str, *, described: bool = False) -> tuple[Group, ...]:
    """The people that a text names, by its last part that names some; with `described` any noun counts."""
    for part in reversed(re.split(r"[,，;；]", text)):
        groups = _groups(part, described=described)
        if groups:
            return groups
    return ()


def _groups(text: str, *, described: bool) -> tuple[Group, ...]:
    cuts = list(_JOIN.finditer(text))
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(text)]
    last = _trimmed(text[starts[-1] :].strip())
    people = described or _WHO.search(normalise(last)) is not None
    groups: list[Group] = []
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        piece = _trimmed(text[start:end].strip())
        plain = spread(normalise(piece))
        conditions, spans, _ = comparisons(plain)
        bounds = tuple(c for c in conditions if c.attribute in ("age", "height", "weight", "count"))
        for span in sorted(spans, key=lambda span: -span.start):
            plain = f"{plain[: span.start]}◇{plain[span.end :]}"
        description = _description(plain)
        counted = _counted(normalise(piece))
        if counted is not None and not any(bound.attribute in ("age", "height", "weight") for bound in bounds):
            rest = _COUNTED.sub("", normalise(piece))
            groups.append(Group(piece, (), _description(rest), counted))
        elif bounds:
            joined = i < len(cuts) and cuts[i][0] == "、" and not re.search(PERSON, plain)
            groups.append(Group(piece, bounds, all_of=joined))
        elif description and (people or _WHO.search(plain)):
            groups.append(Group(piece, (), description))
    return tuple(groups)


def _counted(piece: str) -> Counted | None:
    match = _COUNTED.search(piece)
    if match is None:
        return None
    if match["noun"]:
        score = float(match["score"])
        under = match["side"] in ("以下", "以内") or "低于" in match[0]
        noun = re.split("[人者的]", match["noun"])[-1]
        return Counted(noun, None if under else score, score if under else None, scored=True)
    unit = next(match[name] for name in ("unit", "unit2", "unit3", "unit4", "unit5") if match[name])
    if match["low"]:
        return Counted(unit, float(match["low"]), float(match["high"]))
    start, end = match["from"] or match["from2"], match["to"] or match["to2"]
    if start:
        return Counted(unit, float(start), None)
    return Counted(unit, None, float(end), open_high=bool(match["to2"]))


def _description(plain: str) -> str:
    """Return the description of a group without the noun for people and without compared quantities."""
    text = plain.replace("◇", "")
    relative = re.match(rf"(?P<what>.{{1,20}}?)的(?:{PERSON}|子女|家属|$)", text)
    if relative and not _GENERIC.match(relative["what"]):
        return relative["what"]
    inner = re.match(rf"(?P<who>.{{0,6}}?(?:{_OPENS}))", text)
    text = inner["who"] if inner else text
    shorter = re.sub(
        r"(?<=..)(?:职工|会员|客人|学员|用户|患者|人|乘客|旅客|读者|游客|顾客|住户|老人|儿童|孩子)$", "", text
    )
    text = shorter if shorter != text and not re.search("军$|残疾$|盲$", shorter) else text
    return "" if _GENERIC.match(text) else text


def matches(description: str, fact: str, question: str = "") -> bool | None:
    """Whether a fact says what describes a group; False where it denies it, None where it does not speak of it.

    What the question names already ("鹰岩步道") need not stand in the fact.
    """
    wanted = content(description)
    rest = wanted - content(question)
    wanted = rest if len(rest) > 1 else wanted
    if not wanted:
        return None
    if description.startswith("非") and len(description) > _SHORTEST:
        other = matches(description[1:], fact, question)
        return None if other is None else not other
    clauses = [clause for clause in re.split("[，,；;。！!]", fact) if clause.strip()]
    if len(clauses) > 1:  # a denial holds for its own clause: "念大二，牙不齐"
        each = [truth for clause in clauses if (truth := matches(description, clause, question)) is not None]
        if each:
            return each[-1]
    plain = f"{canonical(fact)} {' '.join(_kinds(fact))}"
    if "学生" in canonical(description) and "毕业" in plain:
        return False
    shared = sum(1 for token in wanted if token in plain)
    if shared < _LEAST_HELD * len(wanted) or (len(wanted) == 1 and canonical(description) not in plain):
        return _sibling(description, plain)
    denied = is_negated(plain[: max(plain.rfind(token) for token in wanted if token in plain) + 1])
    return is_negated(canonical(description)) == denied  # "伤口还没好" denies what comes after


def _kinds(fact: str) -> list[str]:
    """Return the kinds of the things that a fact names: a cat is a pet."""
    return [kind for kind, members in categories("zh").things.items() if any(word in fact for word in members)]


def _sibling(description: str, plain: str) -> bool | None:
    """False where a fact names another card or ticket of the same kind: a 季卡 is no 月卡."""
    own = re.search(r"(?P<which>[^的有买办持]{1,2})(?P<kind>[卡票证板])", canonical(description))
    if own is None:
        return None
    other = re.search(rf"(?P<which>[一-龥]){own['kind']}(?!车)", plain)
    return False if other and other["which"] != own["which"][-1] else None


_LEAST_HELD = 0.75
_SHORTEST = 2
