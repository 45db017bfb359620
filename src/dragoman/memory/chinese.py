# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Facts of a Chinese sentence: cut at its commas, each clause with the subject that it names or shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dragoman.core.values import Fact
from dragoman.memory.patterns import RULES, Rule, around, value_type, words
from dragoman.memory.subjects import USER, Subject
from dragoman.text import lazy_re as re

_AROUND = around({"lead": "^(?:{})", "supposed": "^(?:{})", "instruction": "{}"})
_CUT = re.compile(r"[，,；;：:！!]\s*|、(?=我|他|她|它)|\s{1,9}(?=我|他|她|它)")
_ADVERBS = re.compile(
    r"(?:现在|目前|如今|今年|已经|也|还|都|很|一直|最近|刚刚?|其实|就|又|真的|确实|平时(?=不)|而且|并且|同时|另外|因为|所以|但是?|不过"
    r"|自己|本人|才|只有?|出门)+"
)
_ROLE = "|".join(sorted(words("roles_zh") | words("pets_zh"), key=len, reverse=True))
_MATTER = "|".join(sorted(words("matters_zh"), key=len, reverse=True))
_KIN = "|".join(sorted(words("kin_zh"), key=len, reverse=True))
NUMBER = r"(?:\d+(?:\.\d+)?|[零一二两三四五六七八九十百千半]+)"
_SUBJECT = re.compile(
    rf"(?:我们?|咱们?)(?:的|家的?)?(?:[那这]?[只条个匹位]|[那这])?(?P<role>[大小二]?(?:{_ROLE}))|(?P<kin>[大小二]?(?:{_KIN}))(?!们|票|卡|班|组|房)"
    rf"|(?P<we>我们|咱们)(?!的|家)|(?:我们?)(?:家)?的?(?P<matter>{_MATTER})|(?P<me>我|咱|俺|本人)|(?P<it>他们|她们|他|她|它|小家伙|这孩子|这小子)"
)
_MENTION = re.compile(
    rf"(?:我的?|带着?|陪着?|和|跟)(?:我(?:的|家的?)?)?(?P<role>{_ROLE})(?P<name>[^，。；！？,.!?的来去一是有到出过玩岁]{{0,3}})(?=来|去|一起|到|出|过|玩|$)"
)
_OWNED = re.compile(
    rf"(?:养|有)(?:了)?(?:[一两二三四五六\d几]*[只条匹个位对头])?[^，。叫]{{0,3}}?(?P<role>{_ROLE})(?:[名]?叫(?P<name>[^，。是有]{{1,4}}))?$"
)
_CREATURE = re.compile(
    r"(?:养|带|有)(?:了|着)?(?:[一两二三四五六\d几]{0,3}[只条匹头])(?:[^，。叫]{1,6}的)?(?P<role>[^，。叫的]{1,8}?)(?:[名]?叫(?P<name>[^，。是有]{1,4}))?$"
)
"""An animal of any breed, by its measure word: "养了一只法国斗牛犬"."""
_CHILD = re.compile(rf"(?:我家|家里|家)?有(?:一?个)?(?P<age>{NUMBER}(?:岁半|岁|个月))多?大?的(?P<role>{_ROLE})")
_HOUSEHOLD = re.compile(
    "(?:我们?|咱们?)?(?:和|跟|与|同)(?P<who>[^，。；！？,.!?]{1,40}?)"
    "(?:一起|一块儿?|都){0,2}住在?(?P<where>[^，。；！？,.!?]{1,16})"
)
"""Whom somebody lives with, and where: "我和丈夫、七岁的女儿米米住在杭州"."""
_AGE = r"(?:\d{1,3}(?:\.\d)?|[零一二两三四五六七八九十百半]{1,5})"
_COMPANION = re.compile(
    rf"(?:(?P<age>{_AGE}(?:岁半|岁|个月))大?的)?(?:我的?)?(?P<role>{_ROLE})(?P<name>[^，。、和跟与的]{{1,3}})?(?=、|和|跟|与|以及|还有|$)"
)
_MEASURED = re.compile(
    rf"(?P<k>[^，。\d是点元块钱米]{{2,8}}?)(?:是|有|到|为|满)?(?:了|过)?(?P<x>{NUMBER}(?:个月|公里|平米|平方米|小时|年|天|周|度|级|分|次|层|楼|座|寸|人|个人)?)(?:了|多)?$"
)
"""A number that something of the user's has: "社保交了五个月", "血压是190"."""
_ASKED = re.compile(
    r"什么|啥|咋|多大|多久|多远|谁|哪|吗|呢$|几[个岁点]|多少|怎么|能不能|可不可以|是不是|有没有|好不好|要不要|用不用|行不行|[？?]"
)
_OH = "哎呀|哦|啊|哎|唉|呀|嗯"
_NO = (  # look up the rest of the clause once: each 不 of a long row would read it again
    rf"不(?!好意思)是?(?![^，,。]*[了过吃喝会能])(?>(?:[！!\s]*+(?:(?:{_OH})\s*+)?(?:不是?|更正(?:一下)?|抱歉|对不起))*)"
)
_CORRECTION = re.compile(
    rf"^(?:(?:{_OH})?[，,\s]*(?:{_NO}|不对|错了|更正(?:一下)?|(?:我)?(?:说|记|算|看|写|打|弄|数|听|搞|填|讲|量)(?:错|反)(?:了|啦)|抱歉|对不起|不好意思)[，,。！!\s]*)+"
)
_MISTAKE = re.compile("(?:我)?(?:刚才?)?(?:说|记|算|看|写|打|弄|数|听|搞|填|讲|量)(?:错|反)[了啦]?")
_NEWS = re.compile(
    r"^(?:跟[你您](?:说|讲)一?[下声]?|告诉[你您](?:一声|个好消息)?|好消息|坏消息|计划有变|情况有变|说一下|补充一[下点]|对了|话说|是这样的?|嗨|嘿|哈[喽啰]|哎|您好|你好|早上好|下午好|晚上好)[，,：:！!。\s]*"
)
"""Words before a statement that say nothing of their own."""
_NOT_IN_NAME = frozenset("的是也都今很不会有在对喜叫姓刚已现要住没能坐用最爱怀来了家说就还")
_MATTERS = {
    "预算": "budget",
    "生日": "birthday",
    "身高": "height",
    "体重": "weight",
    "职业": "job",
    "工作": "job",
    "地址": "home",
    "名字": "name",
    "母语": "language",
}
_LONGEST_NAME = 3
_LEAST, _MOST = 2, 24
"""How many characters a description of somebody has."""
_FLEETING = re.compile(
    "累|忙|困|饿|渴|紧张|高兴|开心|着急|哈哈|好烦|马上|等一下|正在|想|希望|问|谢|请|感觉|觉得|知道|不懂|没关系|没问题|还行|挺好|不错|就行|就好"
)
"""A mood, a wish or a remark: nothing to remember."""
_RATHER = re.compile("我?们?还是[^，。]{1,40}吧$")
"""What somebody would rather do: "还是留着吧" states nothing."""
_MOMENT = re.compile(
    "点|(?<!个)月$|[日号]$|今天|明天|后天|昨天|周[一二三四五六日末]|星期|礼拜|来|去|到|第[一二三四五六七八九十]"
)
"""Belongs to one visit, or says when."""
_WHEN = re.compile("^(?:前年|去年|今年|上个月|这个月|上周|前几天|前不久|不久前|刚刚?|正式)+")
_OWN_SLOTS = frozenset("allergy avoids diet condition aid card companion party arrival age wears home".split())
_OWN_ACT = re.compile("刚?(?:办|租|订|报|买)了")
_BODY = "膝盖|腰椎?|颈椎|后背|眼睛|耳朵|腿脚?|脚|手臂?|胳膊|肩膀?|心脏|血压|血糖|血脂|胃|肺|皮肤|牙齿?|视力|听力|鼻子|身体|关节"
_ACTIVITY = re.compile(
    r"(?:是|在[^，。]{1,8}?)?(?:改|换|新)?(?P<verb>租|滑|学(?![校生员费期院位])|办|买|练|用|开(?![始心会门放])|骑|报|订|养|选|玩|教|打|拉|弹|吹|唱)(?:的是|了|着|过|成|到)*"
    r"(?P<x>(?!得|不|起|完|算|一下|车去|车来|车出)[^，。；！？了]{1,12}?)的?了?$"
)
_DESCRIPTIONS = (
    ("condition", re.compile(rf"(?:的)?(?:{_BODY})[^，。]{{1,12}}$|(?:血压|血糖|血脂|视力)[高低差]|高血压|做[过完了][^，。]{{0,8}}手术|受过?[^，。]{{0,4}}伤|生病|住院|发烧|感冒")),
    ("wears", re.compile("(?:戴|装)(?:着|了|有)?[^，。]{1,6}$")),
    ("can", re.compile("(?:从来|从)?没有?[^，。]{0,8}过|(?:这次)?(?:是)?(?:第一次|头一[回次]|初次)|零基础|(?:是)?(?:个)?(?:新手|初学者)|没有?[^，。]{0,4}(?:基础|经验)|有[^，。]{1,6}(?:基础|经验|证书?)$")),
    ("can", re.compile("不会[^，。]{1,8}$|不敢[^，。]{1,8}$|会(?!去|来|员|带|到|有)[^，。]{1,8}$|怕[^，。]{1,6}$")),
    ("avoids", re.compile("[吃喝][^，。]{0,2}不了[^，。]{1,8}$|不沾[^，。]{1,8}$|信[^，。]{1,6}教$")),
    ("level", re.compile("[^，。]{0,6}(?:考过?了?|过了|达到|是)[^，。]{0,4}[一二三四五六七八九十\\d]+级")),
    ("status", re.compile("(?:在)?(?:读|上|念)(?:大学|大[一二三四]|初[一二三]|高[一二三]|[一二三四五六]年级|小学|中学|高中|初中|研究生|博士|幼儿园|研[一二三])[^，。]{0,4}$")),
    ("status", re.compile(rf"是(?!{NUMBER}(?:个|岁|公斤|斤|米|厘米|级|周|天|年|元|人|位|分|度)|想|要|来|去|说|问|不是|不|从|在(?!读))(?:一?[名个位])?[^，。吗呢]{{1,10}}$")),
    ("status", re.compile("(?:已经)?(?:毕业|结婚|离婚|上班|辞职|工作|残疾|退休|离职|失业|退伍|怀孕|出国)了?$")),
    ("status", re.compile("(?:还)?没有?(?:打|接种|注射|绝育|注册|登记|受训)[^，。]{0,8}$|(?:打|接种|注射)[了过][^，。]{1,8}$|(?:已经)?(?:绝育|打[过了]疫苗)了?$")),
    ("about", re.compile("(?:去|来|到|学|上|考|参加|得|用|看)过[^，。]{1,10}$|(?:得|拿)过?[^，。]{1,6}(?:奖|名)$")),
    ("about", re.compile("(?:已经|都)?在[^，。]{2,8}(?:学|上课|读书|上学|住)[^，。]{0,6}$")),
)  # fmt: skip
"""Patterns over what is said of somebody, and the slot of the fact."""


def sentence_facts(  # noqa: PLR0912 - one branch a kind of clause
    text: str, said: str, people: Callable[[], Mapping[str, str]], *, last: Subject | None = None
) -> Iterator[Fact]:
    """The facts that a Chinese sentence states; `last` is whom 他 or 她 means, where a sentence before it told."""
    bare = bare_statement(text)
    if not bare or _AROUND["supposed"].match(bare) or _AROUND["instruction"].search(bare):
        return
    household = _HOUSEHOLD.search(bare)
    if household is not None and _COMPANION.search(household["who"]) and not _ASKED.search(household["where"]):
        yield from _household(household, said)
        bare = f"{bare[: household.start()]}我住在{household['where']}{bare[household.end() :]}"
    current: Subject | None = None
    cuts = _CUT.split(bare.rstrip("。！!.～~ "))
    corrects = _CORRECTION.match(_NEWS.sub("", text.strip())) is not None  # the facts say whose value it is
    asks = text.rstrip().endswith(("？", "?", "吗", "呢", "不", "么"))
    for place, cut in enumerate(cuts):
        clause = _ADVERBS.sub("", cut.strip(), count=1) if _ADVERBS.match(cut.strip()) else cut.strip()
        stated = not (_ASKED.search(clause) or _AROUND["supposed"].match(clause) or _RATHER.match(cut.strip()))
        if not clause or not stated or _MISTAKE.fullmatch(clause):
            continue
        child = _CHILD.match(clause.removeprefix("我"))
        if child:
            current = last = Subject(child["role"], f"我{child['role']}", child["role"])
            yield _fact(current, "age", child["age"], f"{current.phrase}{child['age']}", said)
            continue
        subject, predicate = _subject(clause, current, last, people)
        if subject is None and not asks and not corrects and _is_own(clause):
            subject = Subject(USER, "我")
        if subject is None:
            continue
        if subject.key != USER:
            last = subject
        mentioned = _MENTION.search(clause)
        if mentioned:
            role, name = mentioned["role"], mentioned["name"]
            last = Subject(name or role, f"我{role}{name}", role)
        owned = (_OWNED.search(predicate) or _CREATURE.search(predicate)) if subject.key == USER else None
        if owned and not mentioned:
            name = owned["name"] or ""
            last = Subject(name or owned["role"], f"我的{owned['role']}{name}", owned["role"])
        animal = owned is not None and (owned["role"] in words("pets_zh") or owned.re is _CREATURE)
        current = last if animal and last is not None else subject
        fact = _match(subject, predicate, said)
        if fact is None and not (asks and place == len(cuts) - 1):
            fact = _described(subject, predicate, said)
        if fact is None or (asks and fact.relation == "arrival" and "周" in fact.value):
            continue  # "我周末去，多少钱？" is a part of the question
        if fact.relation in ("name", "名字") and subject.key == subject.role:
            current = last = Subject(fact.value, f"{subject.phrase}{fact.value}", subject.role)
        yield fact


def _household(household: re.Match[str], said: str) -> Iterator[Fact]:
    """Return whom a person lives with, and their names and ages if stated."""
    who, names = household["who"], []
    for one in _COMPANION.finditer(who):
        name = one["name"] or ""
        names.append(f"{one['role']}{name}")
        somebody = Subject(name or one["role"], f"我{one['role']}{name}", one["role"])
        if one["age"]:
            yield _fact(somebody, "age", one["age"], f"{somebody.phrase}{one['age']}", said)
        elif name:
            yield _fact(
                Subject(one["role"], f"我{one['role']}", one["role"]), "name", name, f"我{one['role']}叫{name}", said
            )
    if names:
        company = "、".join(names)
        yield _fact(Subject(USER, "我"), "household", company, f"我和{company}住在一起", said)


def bare_statement(text: str) -> str:
    """A sentence without greeting, announcement and words of correction."""
    bare = text.strip()
    for _ in range(3):
        shorter = _CORRECTION.sub("", _NEWS.sub("", _AROUND["lead"].sub("", bare)).strip())
        if shorter == bare:
            break
        bare = shorter
    return bare


def _subject(  # noqa: PLR0911 - one return a kind of subject
    clause: str, current: Subject | None, last: Subject | None, people: Callable[[], Mapping[str, str]]
) -> tuple[Subject | None, str]:
    """Split a clause into its subject and its predicate."""
    match = _SUBJECT.match(clause)
    if match is None and last is not None and clause.startswith(("叫", "名叫", "名字叫", "名字是")):
        return last, clause
    if match is None:
        for name, role in people().items() if not clause.isascii() else ():
            if name and clause.startswith(name):
                return Subject(name, name, role), clause[len(name) :]
        return current, clause
    rest = clause[match.end() :]
    if match["me"]:
        return Subject(USER, "我"), rest.removeprefix("这边").removeprefix("家里").removeprefix("家")
    if match["we"]:
        return Subject(USER, "我们", plural=True), rest
    if match["it"]:
        return last, rest
    if match["matter"]:
        return Subject(USER, "我的"), f"{match['matter']}{rest}"
    role = match["role"] or match["kin"]
    phrase = match[0] if match["role"] else f"我{role}"
    for length in range(_LONGEST_NAME + 1):
        name = rest[:length]
        if _NOT_IN_NAME.intersection(name):
            break
        if _first(rest[length:], "other") is not None:
            return Subject(name or role, phrase + name, role), rest[length:]
    return Subject(role, phrase, role), rest


def _first(predicate: str, who: str) -> tuple[Rule, re.Match[str]] | None:
    adverbs = _ADVERBS.match(predicate)
    bare = predicate[adverbs.end() :] if adverbs else predicate
    for rule in RULES["zh"]:
        if rule.who and rule.who != who:
            continue
        match = rule.pattern.match(bare)
        if match:
            return rule, match
    return None


def _match(subject: Subject, predicate: str, said: str) -> Fact | None:
    first = _first(predicate, "user" if subject.key == USER else "other")
    if first is None:
        return _matter(subject, predicate, said)
    rule, match = first
    groups = match.groupdict()
    value = next((groups[key] for key in ("x", "y", "z") if groups.get(key)), "").strip()
    value = rule.value.format(x=value) if rule.value else value
    if rule.slot == "avoids" and len(value) > 2:
        value = value.removesuffix("的")
    if not value or _ASKED.search(value) or "不是" in value:
        return None
    if rule.slot == "age" and not re.search("岁|月", value):  # "七十二了" is an age too, and is read as one
        predicate, value = predicate.replace(f"{value}了", value).replace(value, f"{value}岁"), f"{value}岁"
    relation = rule.slot.format(k=groups.get("k") or "").strip() if "{k}" in rule.slot else rule.slot
    return _fact(subject, relation + ("!" if rule.ended else ""), value, f"{subject.phrase}{predicate}", said)


def _is_own(clause: str) -> bool:
    """Whether a clause without a subject can only be about the user: "对花生过敏", "刚办了年卡"."""
    relation = _first(clause, "user")
    return (relation is not None and relation[0].slot in _OWN_SLOTS) or _OWN_ACT.match(clause) is not None


def _described(subject: Subject, predicate: str, said: str) -> Fact | None:
    """Return facts of a clause that no rule covers: an activity with its object, experience, ability or health."""
    adverbs = _ADVERBS.match(predicate)
    bare = _WHEN.sub("", predicate[adverbs.end() :] if adverbs else predicate)
    if _FLEETING.search(predicate) or "不是" in bare or not _LEAST <= len(bare) <= _MOST:
        return None
    text = f"{subject.phrase}{predicate}"
    activity = _ACTIVITY.match(bare)
    if activity:
        verb, value = activity["verb"], activity["x"].removesuffix("的")
        # "还学声乐" adds to what is known; otherwise a newer object of the verb replaces the older.
        beside = adverbs is not None and re.search("也|还|又|同时", adverbs[0]) is not None
        return _fact(subject, f"{verb}{value}" if beside else verb, value, text, said)
    for slot, pattern in _DESCRIPTIONS:
        if pattern.match(bare):
            return _fact(subject, slot, bare.rstrip("了"), text, said)
    measured = _MEASURED.match(bare)
    if measured and not _MOMENT.search(bare):
        return _fact(subject, measured["k"].split("的")[-1], measured["x"], text, said)
    return None


def _matter(subject: Subject, predicate: str, said: str) -> Fact | None:
    """Return the fact of "我的房间号是12", with the noun as its slot; for a person, what they are."""
    match = re.match(r"(?P<k>[^是，,]{0,6}?)是(?P<x>[^，。；！？,.!?]+)", predicate)
    if match is None:
        return None
    matter, value = match["k"], match["x"]
    if subject.key != USER and not matter:
        return _fact(subject, "about", value, f"{subject.phrase}{predicate}", said)
    if subject.phrase == "我的" and matter in words("matters_zh"):
        return _fact(subject, _MATTERS.get(matter, matter), value, f"{subject.phrase}{predicate}", said)
    return None


def _fact(subject: Subject, relation: str, value: str, text: str, said: str) -> Fact:
    if subject.key == USER:
        slot = relation
    else:
        slot = f"{subject.key}的名字" if relation == "name" else f"{subject.key}'s {relation}"
    role = "" if subject.key == USER else subject.role
    return Fact(text.rstrip(" 。！!") + "。", slot, value, said, subject.key, value_type(relation), role)
