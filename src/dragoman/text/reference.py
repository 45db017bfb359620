"""Does a turn lean on the turns before it? Rules over the surface, English and Chinese.

`refers` where a word of the turn points back ("what do they cost?"), `fragment` where the turn is a
piece of an earlier question ("and on Sundays?"), None where it can be understood alone.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.text import lazy_re as re
from dragoman.text.analyse import STOP_WORDS, ZH_ALONE, ZH_STOP, uncontracted

Leaning: TypeAlias = Literal["refers", "fragment"] | None


def word_set(text: str) -> frozenset[str]:
    """The words of a text, to be looked up."""
    return frozenset(text.split())


RELATIONAL = word_set("""
    cost costs price prices pricing priced fee fees fare fares ticket tickets charge charges expensive cheap
    open opens opening close closes closing closed hour hours time times timetable schedule start starts begin begins
    end ends last lasts long far big large old high deep late early far often leave leaves depart departs departure
    arrive arrives arrival take takes go goes run runs get work works address phone telephone number email contact
    website location located entrance discount discounts free available included include includes book booking
    reserve reservation pay allowed happen happens mean means first next day days week weekend weekends today tomorrow
    tonight morning evening afternoon monday tuesday wednesday thursday friday saturday sunday mondays tuesdays
    wednesdays thursdays fridays saturdays sundays winter summer children kids child adults adult kind type
    deposit surcharge penalty limit minimum maximum extra
    cheaper cheapest earlier earliest later latest nearest bigger better best
    """)
"""Words that ask something of a subject which must be named elsewhere."""
ATTRIBUTES = word_set(
    "cost costs price prices pricing fee fees fare fares hours timetable schedule address phone telephone number email "
    "website location entrance discount discounts booking reservation opening departure arrival"
)
"""Of these, the ones that are the question: "the price?" asks anew, where "on Sundays?" asks the old question again."""
ZH_ATTRIBUTES = re.compile("价格|价钱|票价|门票|费用|收费|时间|地址|电话|位置|优惠|折扣|多少钱|预约|预订")
ZH_RELATIONAL = re.compile(
    "多少钱|价格|价钱|票价|门票|费用|收费|几点|多久|多远|多长|多大|多高|多贵|时间|时候|几天|几个|几月|几号|周[一二三四五六日天末]|"
    "星期[一二三四五六日天]|礼拜[一二三四五六日天]|今天|明天|早上|上午|下午|晚上|开门|关门|开放|营业|开始|结束|出发|到达|"
    "地址|电话|位置|怎么走|怎么去|优惠|折扣|免费|便宜|贵|远|近|需要|预约|预订|订票|买票|钱|票|具体|大概|一般|最早|最晚|"
    "儿童|小孩|孩子|大人|成人|老人|学生"
)
ZH_WORDS = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_ZH_QUESTION = re.compile("什么|怎么|哪|谁|几|多少|为何|如何|吗|是不是|有没有|能不能")
_ZH_POINTER = re.compile(
    "它们?|(?<![其吉])他们?|她们?|[这那](?:[个些家种位本座条部款间项道杯只片儿里边样]|时候)|此外?|其(?![他中实余它次间])|后者|前者"
)
_ZH_NOT_POINTER = re.compile("[这那](?:个|些)?(?:周|星期|礼拜|月|年|季|天|时候|世界|问题)|这里是|那样的话")
_ZH_OPENER = re.compile("^(?:那么?|还有|另外|然后|而且|以及|并且|再|可是|但是|但)[，,、]?")
_ZH_BREAK = re.compile("[，。？！；,.?!;\\s]+")

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d[\d.:]*|[,.;?!]", re.UNICODE)
_BREAKS = word_set(", . ; ? ! and but because if when while since so or")
_DETERMINERS = word_set("the a an my our your his her their some two three four every each all any these those")
_AUXILIARIES = word_set(
    "is are was were am be do does did has have had can could may might must shall should will would "
    "isn't aren't don't doesn't didn't can't couldn't won't wouldn't what's where's who's how's when's"
)
_PRONOUNS = word_set("it its they them their theirs he him his she her hers this these those former latter")
_PERSONS = word_set("i me my mine we us our you your yours i'm i've i'd i'll we're you're")
_SPAN = word_set("week weekend month year morning afternoon evening time summer winter spring autumn season way")
_BEFORE_THAT = _AUXILIARIES | word_set("about of for from with after before at on in than and by to like or but")
_EMPTY_IT = re.compile(
    r"\bit(?:'s| is| was| be)? (?:possible|allowed|true|safe|worth|necessary|okay|ok|best|"
    r"better|easy|hard|difficult|far|common|legal|rude|customary|forbidden)\b[\w ]{0,80} (?:to|that|for|from|if)\b|"
    r"\bit (?:take|takes|cost|costs)\b[\w ]{0,15} (?:to|from)\b|"
    r"\bit (?:is |'s |be |going to )?(?:rain|snow)\w*|is it (?:raining|snowing|cold|hot|warm|sunny|windy|dark)\b"
)
_GENERIC = re.compile(
    r"\b(?:the|both|either|any) (?:(?:two|other|whole|main) )?(?:place|places|location|staff|service|rooms?|hotels?|"
    r"restaurants?|house|guesthouse|shop|building|company|owners?|host|menu|food|views?|bathrooms?|"
    r"breakfast)\b"
    r"(?! (?:of|at|in|on|to|from|near|by|called|named))"
)
_CLOCK = re.compile(r"what time is it|what(?:'s| is) the time\b(?! of| to| for)|what day is (?:it|today)")
_ONE = re.compile(
    r"\b(?:which|the|that|this|last|next|first|second|other|another|cheaper|cheapest|latest|earliest|nearest|best) "
    r"ones?\b(?! of)"
    r"|\bthe same\b|\b(?:any|what|anything|something|nothing|who|where) else\b|\bthe others?\b"
    r"|\b(?:any|some) others?\b|\banother\b$"
    r"|\b(?:have|get|put|bring|take|plant|keep|need|buy|use|make|build|book|hire|rent|order|want|try|park) one\b(?! of)"
)
_ASKING = frozenset("who what where when why which whose".split())
_ABOUT = re.compile(r"^(?:(?:and|but|or|so|ok|okay|then|well|also|now|hmm)[, ]+)*(?:what|how) about\b")
_OPENER = re.compile(r"^(?:and|or|but|also|plus)\b[, ]*")


def is_chinese(text: str) -> bool:
    """Whether Chinese rules fit: at least as many Han characters as Latin words."""
    han = len(ZH_WORDS.findall(text))
    return han > 0 and han >= len(re.findall(r"[A-Za-z]+", text))


def leaning(turn: str) -> Leaning:
    """How a turn leans on the turns before it."""
    return _chinese(turn.strip()) if is_chinese(turn) else _english(turn.strip())


def content_words(text: str) -> list[str]:
    """The words of an English text that are not function words, as written."""
    words = [word for word in _WORD.findall(text) if word[0].isalnum()]
    return [word for word in words if uncontracted(word) not in STOP_WORDS and (len(word) > 1 or word.isdecimal())]


def zh_content(text: str) -> list[str]:
    """The runs of a Chinese text between its function words."""
    runs = [run for part in _ZH_BREAK.split(text) for run in ZH_STOP.split(part)]
    return [run for run in (run.strip("“”《》「」、：:·\"'()（）") for run in runs) if run and run not in ZH_ALONE]


def _english(turn: str) -> Leaning:  # noqa: PLR0911 - one return a rule
    lower = turn.lower().replace("\u2019", "'")
    words = _WORD.findall(lower)
    spoken = [word for word in words if word[0].isalnum()]
    content = content_words(turn)
    if not spoken or _CLOCK.search(lower):
        return None
    persons = sum(word in _PERSONS for word in spoken)
    if _ABOUT.match(lower) and len(content) <= 3 and not _has_clause(spoken[2:]):
        return _piece(content)
    if not content and not persons and not _points_back(turn, lower, words):
        return "fragment"  # "why?", "how much?", "and when?"
    if _points_back(turn, lower, words):
        return "refers"
    if not content:
        return "fragment" if len(spoken) <= 3 and _OPENER.match(lower) else None  # "and you?", but not "who are you?"
    whole = spoken[0] in _ASKING and len(spoken) > 3  # "who designed the breakwater?"
    if len(spoken) <= 4 and len(content) <= 2 and not persons and not _has_clause(spoken) and turn.endswith("?"):
        return None if whole else _piece(content)  # "for children?"
    if _OPENER.match(lower) and len(content) <= 2 and not names_within(turn) and not persons:
        return "refers"  # "and is breakfast included?"
    if _GENERIC.search(lower) and not names_within(turn) and lower.count(" the ") + lower.startswith("the ") <= 1:
        return "refers"  # "does the restaurant serve large portions?"
    if all(uncontracted(word) in RELATIONAL for word in content) and not persons:
        return "refers"  # "how much is a ticket?"
    return None


def _piece(content: list[str]) -> Leaning:
    return "refers" if any(uncontracted(word) in ATTRIBUTES for word in content) else "fragment"


def _has_clause(words: list[str]) -> bool:
    return any(word in _AUXILIARIES for word in words)


def names_within(turn: str) -> list[str]:
    """Words with a capital that is not the first of its sentence."""
    return re.findall(r"(?<=[a-z0-9,] )(?!I\b|I')[A-Z]\w+", turn)


def _points_back(turn: str, lower: str, words: list[str]) -> bool:
    if _ONE.search(lower):
        return True
    empty_it = bool(_EMPTY_IT.search(lower))
    for i, word in enumerate(words):
        after = words[i + 1] if i + 1 < len(words) else ""
        before = words[i - 1] if i else ""
        if word in ("it", "its", "it's"):
            pointing = not (empty_it and word != "its")
        elif word == "this":
            pointing = after not in _SPAN
        elif word == "that":
            pointing = (before in _BEFORE_THAT or not before) and after not in _SPAN
        elif word == "there":
            existential = before in ("is", "are", "was", "were", "be", "if") or after in ("is", "are", "was", "were")
            pointing = not existential and before not in ("hi", "hello") and i > 0
        else:
            pointing = word in _PRONOUNS and not (word in ("these", "those") and after in ("who", "days"))
        if pointing:  # what is named before the first pointer is named before all: one look is enough
            return not _named_before(turn, words[:i])
    return False


def _named_before(turn: str, words: list[str]) -> bool:
    """Whether an earlier clause of the turn names something that a pronoun could mean."""
    clauses: list[list[str]] = [[]]
    for word in words:
        if word in _BREAKS:
            clauses.append([])
        else:
            clauses[-1].append(word)
    capitals = {name.lower() for name in names_within(turn)}
    for clause in clauses[:-1]:
        if clause and clause[0] in _PERSONS:  # "I have a dog. Do they ...": what one says of oneself is rarely meant
            continue
        for before, word in zip(["", *clause], clause, strict=False):
            named = before in _DETERMINERS and word not in STOP_WORDS and word not in RELATIONAL
            if named or word in capitals:
                return True
    return False


def _chinese(turn: str) -> Leaning:
    bare = _ZH_OPENER.sub("", turn)
    content = zh_content(bare)
    rest = [run for run in content if ZH_RELATIONAL.sub("", run).strip("".join(ZH_ALONE))]
    length = sum(len(run) for run in content)
    asks = _ZH_QUESTION.search(turn)
    if re.search("呢[？?。!！]*$", turn) and not asks and length <= 8:
        return "refers" if ZH_ATTRIBUTES.search(turn) else "fragment"  # "那价格呢？", "周日呢？"
    if _zh_points_back(turn):
        return "refers"
    if not content:
        return "fragment" if asks and not re.search("[你您我]", turn) else None  # "为什么？"
    if not rest and not re.search("[你您我]", bare):
        return "refers"  # "门票多少钱？"
    if bare != turn and length <= 3 and not re.search("[你您我]", bare):
        return "refers"  # "还有优惠吗？"
    return None


def _zh_points_back(turn: str) -> bool:
    blanked = _ZH_NOT_POINTER.sub("", turn)
    match = _ZH_POINTER.search(blanked)
    if not match:
        return False
    clauses = _ZH_BREAK.split(blanked[: match.start()])[:-1]
    return not any(zh_content(clause) for clause in clauses if not clause.startswith("我") and len(clause) > 2)
