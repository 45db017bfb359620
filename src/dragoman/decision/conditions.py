# ruff: noqa: E501  # a pattern is easier to check in one piece
"""A rule as clauses: what each permits, forbids, demands or costs, under which conditions and with which exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.categories import categories
from dragoman.decision.comparisons import Condition, comparisons
from dragoman.decision.moments import Span, spread
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities
from dragoman.decision.subjects import CHILDREN, RELATION, singular
from dragoman.text import lazy_re as re
from dragoman.text.language import Language, language
from dragoman.text.sentences import sentences

Effect: TypeAlias = Literal["permit", "forbid", "require", "waive", "free", "discount", "price", "none"]
"""`waive`: something is not required; `price`: an amount; `none`: the clause rules nothing."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement of a rule. `conditions` must all hold, except that those of one `status` group are alternatives."""

    text: str
    effect: Effect
    conditions: tuple[Condition, ...] = ()
    exceptions: tuple[Condition, ...] = ()
    exclusive: bool = False
    """Whether the wording shuts everyone else out: `members only`, `仅限`, `must be at least`."""
    opaque: bool = False
    """Whether it has a condition that code cannot read."""
    amount: str = ""
    things: tuple[str, ...] = ()
    demand: str = ""
    """What a `require` clause demands, as text."""
    company: bool = False
    """Whether it demands that an adult comes along."""
    residue: tuple[str, ...] = ()
    """Words that narrow the clause and that no condition covers."""
    label: str = ""
    """The name of a price: `reduced price`, `adults`."""
    language: Language = "en"
    masked: str = field(default="", compare=False)


_EXCEPT = re.compile(
    r",? ?\b(?:except(?:ing)?|apart from|other than|with the exception of|excluding|but not|save for|unless)(?: for| on| in| at| if)?\b ?"
)
_ZH_EXCEPT = re.compile(
    "除(?P<what>[^，。；]{1,30}?)(?:之外|以外|外)[，,]?|除非(?P<unless>[^，。；]{1,30})[，,]?|[，,](?P<last>[^，。；,]{1,20})除外"
)
_OPAQUE = re.compile(
    r"\b(?:if|when|whenever|while|because|so that|as soon as|provided|as long as|subject to|depending|depends|where|once|in case|usually|normally|often|sometimes"
    r"|unless|except|some|certain|most|may contain|km/h|mph|per hour|°|may be (?:closed|cancelled)|weather|other than)\b|如果|若|视情况|通常|部分|有时"
    r"|不(?![得可能准许允宜超足满到少低多高大小需必用办]|开放|接待|适合|营业|上班|受理)|没有"
)
_MASK = "◇"
_READ_IF = re.compile(
    r"\b(?:if|when|provided|as long as|once)(?: that)? (?:you|they|he|she|it|anyone|someone|your child|the child)"
    r"(?>(?: (?:are|is|have|has|been|lived|live|here|aged|stay|stays|weigh|weighs|reached|turned|at|an?|for|already|in|town))*) ?(?=◇)"
)
"""An if-clause whose whole content is a condition that was read."""
_RESIDUE = re.compile(
    r"\b(?:with|without|outside|during|evenings?|mornings?|afternoons?|nights?|leads?|leash|large|small|big|heavy|young(?! (?:people|persons|visitors|guests|children|adults) (?:aged |of )?◇)|first|second|whose"
    r"|who(?! (?:is|are|have|stay|earn|weigh|live)[a-z ]{0,20}◇)|clubs?|schools?|holidays?|advance|per|before|after|winds?|peak|rush"
    r"|(?:visitors|guests|people|persons|those|anyone|citizens|passengers|readers|everyone) (?:from|of|in|living|coming)"
    r"|only (?:on|in|at|by|to)(?! ◇)|contains?|depending|near|inside|only on request|women|ladies|girls|boys|men|gentlemen|families|couples|private|guided|special|selected)\b|上午|下午|晚上|晚间|早上|期间|节假日|部分"
)
"""Words that narrow a clause in a way that no condition covers; the question must say them too."""
_NOT_REQUIRED = re.compile(
    r"\b(?:do|does|did|need)(?: not|n't) (?:have to|need(?: to)?|require)|\bneed not\b|\bno need\b|\bneeds? no\b|\bno [a-z ]{2,20} (?:is|are) (?:needed|required|necessary)|\bnot (?:required|necessary|obligatory"
    r"|compulsory)\b|\boptional\b|无需|不需要|不必|不用|免(?:预约|登记)"
)
_FREE = re.compile(
    r"(?<!-)\bfree\b(?! (?:time|wi-?fi|seats?|space|place|range|from))|\bno charge\b|\bpay nothing\b|\bwithout charge\b|免费|免票|免运费|免收"
)
_DISCOUNT = re.compile(
    r"\bpays? half\b|\bhalf the (?:price|fare)|\bhalf fare|\bhalf[- ]price|\breduced (?:price|rate|fare|fee|admission|ticket)|\bdiscount|\b\d+ ?(?:%|per ?cent) (?:off|less|cheaper|discount|reduction)"
    r"|\bconcession|\breduction\b|\bcheaper\b|\d (?:[€£$]|[a-z]{3,8}) (?:off|less)\b(?! than)|[€£$] ?\d[\d.]* (?:off|less)\b|\d ?[€£$] (?:off|less)\b|半价|半票|优惠|打?\d(?:\.\d)?折|折扣"
)
_FORBID = re.compile(
    r"\b(?:must|may|can|should|shall|will|could|do|does|is|are) ?(?:not|never)\b|\b[a-z]+n't\b|\bcannot\b|\bnever\b|\bnot (?:allowed|permitted|admitted"
    r"|suitable|accessible|accepted|available|recommended|for)\b|\bforbidden\b|\bprohibited\b|\bbanned\b|\bbarred\b|\brefused\b"
    r"|\bclosed\b(?! (?:shoes|circuit))|\bdark\b|\bunsuitable\b|\bimpossible\b|(?:^|[:;,.] )no (?!(?:later|earlier|more|less|fewer) than)[a-z]+"
    r"|\bnobody\b|\bno ?(?:one|1)\b|\b(?:takes?|admits?|accepts?|carr(?:y|ies)|allows?|serves?) no\b|\bneither\b|不得|不可(?!或缺)|不能|禁止|严禁|谢绝|不准|不许|不允许|不宜|停止|关闭|闭馆|休息|不开放|不接待|不营业|不上班|不办理|不受理|不适合|拒绝"
)
_REQUIRE = re.compile(
    r"\b(?:must|have to|has to|needs?(?: to)?|required?|requires|requirement|obligatory|mandatory|compulsory|are obliged)\b"
    r"|必须|须|需要|需(?!求)|应当|应(?=由|在|提前|出示|佩戴|购)"
)
_ONLY = re.compile(
    r"\bonly\b|\breserved for\b|\bexclusively\b|\brestricted to\b|\blimited to\b|仅限|只限|仅|只有|方可|才能|才可|只能|限(?=会员|本)"
)
_PERMIT = re.compile(
    r"\b(?:may|can|could|allowed|permitted|welcomes?|admitted|open|opens|available|accepted|accepts?|eligible|entitled|for|takes?"
    r"|carr(?:y|ies|ied)|runs?|held|sails?|covers?|holds?|let to|lent|travels?|staffed|free to|get|gets|offered|qualify)\b"
    r"|可以|可|能|开放|欢迎|招收|面向|举行|允许|营业|开门|受理|适合|凭"
)
_AMOUNT = re.compile(
    r"[€£$¥] ?(?P<a>\d+(?:\.\d+)?)|(?<!\d)(?P<b>\d++(?>(?:\.\d++)?)) ?(?:€|£|\$|euros?\b|eur\b|pounds?\b|dollars?\b|yuan\b|元|块)"
    r"|\b(?:pays?|costs?|price|prices|fee|is|are|adults?|children|students?|seniors?|members?|residents?|pensioners?|rate"
    r"|tickets?|fare|charge|concessions?):? (?P<c>\d+(?:\.\d+)?)\b(?! ?(?:%|years?|-year|months?|days?|weeks?|hours?|minutes?|km\b|m\b|cm\b"
    r"|kg\b|people|steps|to \d|and over|or older|and older|or over|:|-))"
)
_TAKEN_OFF = re.compile(
    r" ?(?:(?:€|£|\$|[a-z]{3,8}) )?(?:less|off|cheaper|lower)\b(?! than)|[0-9.]*(?:€|£|\$| [a-z]{3,8})? ?(?:less|off|cheaper)\b(?! than)"
)
"""Behind an amount that is no price but taken off one: "costs one euro less", "£2 off"."""
_PRICE_WORDS = re.compile(
    r"\b(?:pays?|costs?|prices?|fees?|fares?|charges?|rates?|tickets?|admission|entry|adults?|children|concessions?)\b|票|价|元|费|€|£|\$|\b(?:euros?|pounds|dollars)\b"
)
_SEGMENT = re.compile(
    r"[,;，；、](?! ?\d{3}\b) ?(?:and |but |while )?|\band (?=for |[€£$]? ?\d+(?:\.\d+)? ?(?:€|£|\$|euros?|pounds?|dollars?))"
)
_WITH_ITEM = re.compile(
    r"\b(?:with|without|have|has|hold|holding|need|needs|show|present|bring|require|requires|own)(?: (?:a|an|the|their|your|valid|proof of|current|booked))*"
    r"(?: [a-z]+(?:'s)?){0,2}? (?P<item>[a-z]+)\b"
)
_NON = re.compile(r"\bnon[- ]?$|\bnot (?:a |an )?$|非$|不是$")
_HOLDERS = re.compile(r"\b(?P<item>[a-z]+)[ -]?holders?\b")
_ACCOMPANIED = re.compile(r"\b(?:accompanied|supervised)\b|\bwith an? (?:adult|parent|guardian)\b(?!')|陪同|监护")
_UNACCOMPANIED = re.compile(r"\bwithout an? (?:adult|parent|guardian|grown-up)\b(?!')")
_ZH_ITEM = re.compile("凭|持|出示|须带|带好")
_BOOKED = re.compile(r"\b(?:have|has|are|is)? ?(?:booked|reserved(?! for)|a (?:booking|reservation))\b|预约|预订")
_CHILD = re.compile(r"\b(?:children|kids|child)\b|儿童|小孩|孩子")
_PEOPLE = re.compile(r"people|persons|visitors|guests|adults|children|kids|others|those|this|is|was|pays|costs")
_ADULT = re.compile(r"\badults?\b|成人")
_HEADING = re.compile(r"^(?P<heading>[^.:;!?]{1,50}): (?=[A-Z])")

_UNREAD_BOUND = re.compile(
    r"\b(?:under|over|below|above|less than|more than|fewer than|at least|at most|up to|between|exceed\w*|minimum|maximum|within)"
    r"[ a-z]{0,12}[€£$]? ?\d|\d[a-z%]* (?:or|and) (?:more|over|above|under|less)\b|(?:超过|不足|低于|高于|至少|最多)\d|\d[^\d，。]{0,4}(?:以上|以下)"
)
_INSTEAD = re.compile(r",? instead of (?:[€£$] ?)?(?P<full>\d+(?:\.\d+)?)(?: ?(?:€|euros?|pounds?|dollars?))?")
_BRACKET = re.compile(r"\([^()]*\)")
_PRICE_IN_BRACKETS = re.compile(r" ?\((?P<price>[€£$]? ?\d++(?>(?:\.\d++)?) for\b[^()]{0,80})\)")
"""A second price behind the first: "12 euros (8 for students)"."""
_SHARED_UNIT = re.compile(
    r"(?P<low>\b(?:over|above|from|more than|at least) \d+(?:\.\d+)?)(?P<join> (?:and|but|to) (?:up to |under |less than |below |at most )?)"
    r"(?P<high>\d+(?:\.\d+)?) ?(?P<unit>metres?|meters?|m|cm|kg|kilos?|years?|months?|weeks?|days?|hours?|minutes?|people|persons)\b"
)
"""Two bounds that share a unit: "over 5 and up to 7 metres"."""
_PRICE_BEFORE = re.compile(r"\d(?: ?(?:€|£|\$|[a-z]+))? for\b")
_BULLET = re.compile(r"[*•·-] |\d{1,2}[.)] ")


@text_cache(maxsize=1024)
def clauses(rule: str) -> tuple[Clause, ...]:
    """The clauses of a rule, in order. A rule may be several sentences, where an exception follows its rule."""
    tongue = language(rule)
    found: list[Clause] = []
    lines = [line.strip() for line in rule.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) > 1 and any(_BULLET.match(line) or line.endswith((":", "：")) for line in lines):
        return ()  # what joins the points of a list is said outside of them
    rule = "\n".join(lines)
    heading = _HEADING.match(rule)
    if heading and not re.search(r"\d|\bage\b", heading["heading"]):
        rule = rule[heading.end() :]
    for sentence in sentences(rule) or (rule,):
        if sentence.endswith(("?", "？")):
            continue
        text = _SHARED_UNIT.sub(
            r"\g<low> \g<unit>\g<join>\g<high> \g<unit>", spread(normalise(sentence)).rstrip(" .!。！")
        )
        if text:
            found.extend(_price_list(text, tongue) or _clauses(text, tongue))
    return tuple(found)


def _clauses(text: str, tongue: Language) -> list[Clause]:
    parts = re.split(r"; |；|, but (?!not\b)|，但", text)
    found = []
    for piece in parts:
        part, instead = piece, _INSTEAD.search(piece)
        if instead:  # "30 instead of 48" gives the full price too
            part = piece[: instead.start()] + piece[instead.end() :]
            found.append(Clause(instead[0].strip(), "price", amount=instead["full"], label="full", language=tongue))
        if part.strip():
            found.append(_clause(part.strip(), tongue))
    return found


def _clause(text: str, tongue: Language) -> Clause:
    main, exception_text = _without_exception(text)
    conditions, spans, unreadable = comparisons(main)
    conditions = _with_schedule(conditions)
    masked = _READ_IF.sub("", _mask(main, spans))
    unreadable = unreadable or _has_rest(main, spans)
    exceptions: list[Condition] = []
    opaque = unreadable or _OPAQUE.search(masked) is not None
    if exception_text:
        exceptions, exception_spans, unreadable = comparisons(exception_text)
        exceptions += _named(_mask(exception_text, exception_spans), tongue, things=True)
        exceptions += _relatives(exception_text) if tongue == "en" else []
        opaque = opaque or unreadable or not exceptions
    if re.search(r"\b(?:reserved|only|exclusively|limited) (?:for|to)\b", masked):
        known = [*conditions, *_named(masked, tongue), *_child(masked, tongue)]
        opaque = opaque or all(condition.attribute in ("date", "weekday", "time") for condition in known)
    limit = any(condition.limit for condition in conditions)
    effect = _effect(masked, limit, bool(conditions))
    exclusive = limit or _ONLY.search(masked) is not None
    demand = ""
    if effect == "require":
        effect, exclusive, demand = _demand(masked, conditions, exclusive)
    named = _named(masked, tongue, demanded=effect == "require")
    items = [condition for condition in named if condition.attribute == "item"]
    alone = effect == "forbid" and _UNACCOMPANIED.search(masked) is not None  # "do not travel without an adult"
    if items and effect == "forbid" and re.search(r"\bwithout\b", masked):
        effect, exclusive = "permit", True  # "no entry without a ticket"
    company = alone or (_ACCOMPANIED.search(masked) is not None and effect in ("permit", "require"))
    if company:
        # Someone who needs company is not refused: the clause demands it of those whom it names.
        effect, demand = "require", masked
        named = [condition for condition in named if condition.attribute != "item"]
    if not any(condition.attribute == "age" for condition in conditions):
        conditions += _child(masked, tongue)
    if effect == "none" and (conditions or (exclusive and named)):
        effect = "permit"
    amount = _amount(main, spans)
    opaque = opaque or (effect in ("permit", "none", "discount") and _has_two_amounts(main, spans))
    if effect in ("permit", "none") and amount and _PRICE_WORDS.search(masked):
        effect = "price"
    label = ""
    if effect == "discount" and amount and not conditions and not named:
        effect, label = "price", "reduced"  # "the reduced price is 30"
    return Clause(
        main,
        effect,
        (*conditions, *named),
        tuple(exceptions),
        exclusive,
        opaque,
        amount,
        _things(main, tongue),
        demand,
        company,
        _residue(masked, items, company),
        label=label,
        language=tongue,
        masked=masked,
    )


_FAMILIES = {"sibling": ("brother", "sister"), "parent": ("father", "mother"), "spouse": ("husband", "wife", "partner")}
"""Words for several relations."""


def _without_exception(text: str) -> tuple[str, str]:
    chinese = _ZH_EXCEPT.search(text)
    if chinese:
        rest = re.sub("其他人|其余人员", "", text[: chinese.start()] + text[chinese.end() :])
        return rest, chinese["what"] or chinese["unless"] or chinese["last"]
    match = _EXCEPT.search(text)
    if match and match.start() > 0:
        return text[: match.start()], text[match.end() :]
    return text, ""


def _relatives(text: str) -> list[Condition]:
    """The people of the user for whom an exception is made: "except your own brothers and sisters"."""
    words = {singular(word) for word in re.findall(r"[a-z]+", text)}
    relations = {RELATION[word] for word in words if word in RELATION and RELATION[word] not in CHILDREN}
    relations |= {relation for word in words for relation in _FAMILIES.get(word, ())}
    return [Condition("relation", text.strip(), name=" ".join(sorted(relations)))] if relations else []


def _mask(text: str, spans: list[Span]) -> str:
    for span in sorted(spans, key=lambda span: span.start, reverse=True):
        text = f"{text[: span.start]}{_MASK}{text[span.end :]}"
    return text


def _with_schedule(conditions: list[Condition]) -> list[Condition]:
    """Without a time that is no bound, which says that the days beside it are a timetable, where someone is admitted."""
    rest = [c for c in conditions if c.attribute != "time" or c.low is not None or c.high is not None]
    if len(rest) == len(conditions) or all(c.attribute in ("date", "weekday", "time") for c in rest):
        return conditions
    return [replace(c, schedule=True) if c.attribute in ("date", "weekday") else c for c in rest]


def _residue(masked: str, items: list[Condition], company: bool) -> tuple[str, ...]:
    words = [match[0] for match in _RESIDUE.finditer(masked)]
    return tuple(word for word in words if not (word in ("with", "without") and (items or company)))


def _has_rest(text: str, spans: list[Span]) -> bool:
    """Whether a measure is left that no condition took: the clause depends on it in a way that code cannot read."""
    if _UNREAD_BOUND.search(_mask(text, spans)):
        return True
    return any(
        quantity.kind in ("age", "length", "mass", "volume", "duration")
        and not any(span.start <= quantity.start < span.end for span in spans)
        for quantity in quantities(text)
    )


def _effect(masked: str, limit: bool, conditional: bool) -> Effect:  # noqa: PLR0911  # the order of the checks is the point
    if _NOT_REQUIRED.search(masked):
        return "waive"
    if _FREE.search(masked) and not _FORBID.search(masked):
        return "free"
    if _DISCOUNT.search(masked):
        return "discount"
    if _FORBID.search(masked):
        return "forbid"
    if limit:
        return "permit"
    if _REQUIRE.search(masked):
        return "require"
    if _ONLY.search(masked) or _PERMIT.search(masked):
        return "permit"
    return "permit" if conditional else "none"


def _demand(masked: str, conditions: list[Condition], exclusive: bool) -> tuple[Effect, bool, str]:
    """`must be at least 18` admits or refuses; `must wear a helmet` demands."""
    match = _REQUIRE.search(masked)
    rest = masked[match.end() :] if match else ""
    if conditions and re.match(rf" ?(?:be|weigh|measure|stand|have reached|been)?(?: aged)? ?{_MASK}", rest):
        return "permit", True, ""
    if re.match(r" ?(?:to )?be (?:an? )?[a-z]+", rest) and any(c.attribute == "status" for c in _named(rest, "en")):
        return "permit", True, ""  # "must be a member"
    if conditions and all(c.attribute == "time" and c.low is None and c.high is not None for c in conditions):
        return "permit", True, ""  # "must check out by 11 am"
    return "require", exclusive, masked


def _named(text: str, tongue: Language, *, things: bool = False, demanded: bool = False) -> list[Condition]:
    """Conditions by name: a status, something to show, and in exceptions a thing."""
    taxonomy = categories(tongue)
    found = []
    for status, pattern in taxonomy.statuses.items():
        match = pattern.search(text)
        if match and _is_status(text, match, tongue):
            negated = _NON.search(text[: match.start()]) is not None
            found.append(Condition("status", match[0], name=status, negated=negated))
    item = _item(text, tongue)
    if item and not (demanded and not re.search(r"\bwith\b|凭", text)):
        found.append(Condition("item", item, name=item))
    if things:
        found.extend(Condition("thing", thing, name=thing) for thing in _things(text, tongue))
        if not found:
            found.extend(
                Condition("thing", word, name=word)
                for word in re.findall(r"^(?:the )?([a-z]+(?: [a-z]+)?)$", text.strip())
                if not re.search(r"\b(?:is|are|it|you|they|by|with|in)\b", word)
            )
        found.extend(_child(text, tongue) if _MASK not in text else [])
    return found


def _is_status(text: str, match: re.Match[str], tongue: Language) -> bool:
    """Whether a word names whom the rule is about, and not a part of a compound such as `student library`."""
    if tongue == "zh":
        return not re.match("证|卡|会|宿舍|食堂", text[match.end() :])
    if match[0].endswith("s") or match[0] in ("unemployed", "pregnant", "disabled", "staff"):
        return match[0] != "staff" or re.match(r" (?:only|may|can|pay)|$", text[match.end() :]) is not None
    return re.search(r"\b(?:a|an|are|as) (?:[a-z]+ )?$", text[: match.start()]) is not None


def _item(text: str, tongue: Language) -> str:
    taxonomy = categories(tongue)
    if _ACCOMPANIED.search(text):
        return "adult" if tongue == "en" else "陪同"
    if _BOOKED.search(text) and not re.search(r"\bmust be booked\b", text):
        return "reservation" if tongue == "en" else "预约"
    if tongue == "zh":
        match = taxonomy.item_words.search(text)
        return match["word"] if match and _ZH_ITEM.search(text) else ""
    for match in _WITH_ITEM.finditer(text):
        for word in taxonomy.item_words.finditer(text, match.start(), min(len(text), match.end() + 24)):
            if (
                text[match.end("item") : word.start()].count(" ") <= 2
                and ", " not in text[match.start() : word.start()]
            ):
                return word["word"]
    holders = _HOLDERS.search(text)
    return holders["item"] if holders and holders["item"] in taxonomy.items else ""


def _child(text: str, tongue: Language) -> list[Condition]:
    child, adult = _CHILD.search(text), _ADULT.search(text)
    if child and adult:
        return []
    if child:
        return [Condition("child", child[0])]
    return [Condition("adult", adult[0])] if adult and not re.search(r"\ban adult\b", text) else []


def _things(text: str, tongue: Language) -> tuple[str, ...]:
    found = []
    taxonomy = categories(tongue)
    for match in taxonomy.thing_words.finditer(text):
        word = taxonomy.thing_of(match)
        if tongue == "en" and re.match(r" (?:park|food|pool|show|tour|ticket|deck)\b", text[match.end() :]):
            continue
        found.append({"犬": "狗"}.get(word, word))
    return tuple(dict.fromkeys(found))


def _amount(text: str, spans: list[Span]) -> str:
    for match in _AMOUNT.finditer(text):
        place = match.start(match.lastgroup or 0)
        if not any(span.start <= place < span.end for span in spans) and not _TAKEN_OFF.match(text, match.end()):
            return match[match.lastgroup or 0]
    return ""


def _has_two_amounts(text: str, spans: list[Span]) -> bool:
    """Whether a sentence that is no list names two prices, so that it is open which one is whose."""
    places = [match.start(match.lastgroup or 0) for match in _AMOUNT.finditer(text)]
    return sum(not any(span.start <= place < span.end for span in spans) for place in places) > 1


def _price_list(text: str, tongue: Language) -> list[Clause]:
    """The prices of a list such as `adults 14, children 7, under 4 free`; empty where a sentence is none."""
    text = _BRACKET.sub(lambda match: match[0].replace(",", " and").replace("，", "和"), text)
    text = _PRICE_IN_BRACKETS.sub(r", \g<price>", text)
    parts = [piece for part in _SEGMENT.split(text) if part and part.strip() for piece in _priced(part.strip())]
    if len(parts) < 2:
        return []
    found = []
    for part in parts:
        conditions, spans, unreadable = comparisons(part)
        amount = _amount(part, spans) or _bare_amount(part, spans)
        free = _FREE.search(part) is not None
        reduced = _DISCOUNT.search(part) is not None and not amount
        if (not amount and not free and not reduced) or unreadable or _EXCEPT.search(part) or _ZH_EXCEPT.search(part):
            return []
        masked = _mask(part, spans)
        named = _named(masked, tongue)
        if not any(condition.attribute == "age" for condition in conditions):
            conditions += _child(masked, tongue)
        elif not free:
            masked = _CHILD.sub("", masked)
        label = (
            "reduced"
            if _DISCOUNT.search(part)
            else "full"
            if re.search(r"\b(?:full|normal|regular|standard) ", part)
            else ""
        )
        opaque = _OPAQUE.search(masked) is not None or _has_unknown_group(masked, named)
        effect: Effect = "discount" if reduced else "price"
        found.append(
            Clause(part, effect, (*conditions, *named), opaque=opaque, amount="0" if free and not amount else amount,
                   label=label, language=tongue, masked=masked)
        )  # fmt: skip
    if not any(_PRICE_WORDS.search(part) for part in parts):
        return []
    if not any(clause.amount not in ("", "0") for clause in found):
        found = [replace(clause, effect="free", amount="") if clause.amount == "0" else clause for clause in found]
    return [replace(clause, text=text) if len(found) == 1 else clause for clause in found]


def _has_unknown_group(masked: str, named: list[Condition]) -> bool:
    """Whether a status stands beside a group that is none known here: "students and florists"."""
    for status in named:
        for match in re.finditer(
            rf"(?:\b(?P<before>[a-z]+) (?:and|or) )?{re.escape(status.text)}(?:,? (?:and|or) (?P<after>[a-z]+))?",
            masked,
        ):
            beside = [match["before"], match["after"]]
            if any(
                word and word.endswith("s") and not _PEOPLE.fullmatch(word) and not _named(word, "en")
                for word in beside
            ):
                return True
    return False


def _priced(part: str) -> list[str]:
    """A part of a list with one price a piece: "adults pay 14 and children pay 6" is two."""
    pieces: list[str] = []
    prefix = ""
    for piece in part.split(" and "):
        if _amount(piece, comparisons(piece)[1]):
            pieces.append(f"{prefix}{piece}")
            prefix = ""
        elif pieces and _PRICE_BEFORE.search(pieces[-1]):  # "9 euros for students and trainees"
            pieces[-1] += f" and {piece}"
        else:  # "students and trainees pay 9 euros"
            prefix += f"{piece} and "
    return [part] if prefix or len(pieces) < 2 else [piece.strip() for piece in pieces]


def _bare_amount(part: str, spans: list[Span]) -> str:
    match = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)$", part) or re.match(r"(\d+(?:\.\d+)?) for\b", part)
    return match[1] if match and not any(span.start <= match.start() < span.end for span in spans) else ""
