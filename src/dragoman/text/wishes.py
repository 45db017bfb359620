"""Standing wishes: how the user wants replies to be worded, said once and kept ("keep it short", "call me Sam").

Only the wording of replies can be wished for. A sentence that asks for other sources, another identity or data of other
people matches nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.text import lazy_re as re
from dragoman.text.language import language as language_of
from dragoman.text.patterns import Lazy
from dragoman.text.sentences import sentences
from dragoman.text.spelling import spelt

WishKind: TypeAlias = Literal["length", "language", "address", "style"]
MOST_SENTENCES = 2
"""How many sentences a short answer has where the user names no number."""
_LONGEST = 160
_MOST = 6

LANGUAGES = {
    "英文": "English", "英语": "English", "中文": "Chinese", "汉语": "Chinese", "普通话": "Chinese", "日语": "Japanese",
    "日文": "Japanese", "法语": "French", "德语": "German", "西班牙语": "Spanish", "俄语": "Russian", "韩语": "Korean",
    "意大利语": "Italian", "葡萄牙语": "Portuguese",
} | {name.casefold(): name for name in (
    "English German French Spanish Italian Portuguese Dutch Swedish Norwegian Danish Finnish Icelandic Polish Czech "
    "Slovak Hungarian Romanian Bulgarian Greek Turkish Russian Ukrainian Serbian Croatian Slovenian Arabic Hebrew "
    "Persian Hindi Urdu Bengali Tamil Thai Vietnamese Indonesian Malay Chinese Mandarin Cantonese Japanese Korean "
    "Latin Catalan Basque Welsh Irish Esperanto Swahili"
).split()}  # fmt: skip
_LANGUAGE = "|".join(name for name in LANGUAGES if name.isascii())
_REPLIES = (
    r"(?:(?:all )?(?:of )?(?:your|the|my) )?(?:answers?|replies|reply|responses?|messages?|sentences?|explanations?)"
)
_BRIEF = r"(?:short|brief|concise|succinct|crisp|to the point|compact)(?:er)?"
_SAY = r"(?:answer|reply|respond|write|speak|talk|explain(?: things)?)(?: to me| me| back)?"
_NUMBER = r"one|two|three|four|a single|[1-5]"
_WORDING = (
    r"emojis?|smileys?|bullet points?|bullets|lists?|tables?|headings?|markdown|bold|italics|metric(?: units)?|imperial"
    r"(?: units)?|celsius|fahrenheit|kilometres|kilometers|miles|formal(?: language)?|informal(?: language)?"
    r"|(?:simple|easy|plain) (?:words|language|english|sentences)|jargon|technical (?:terms|words)|abbreviations?"
    r"|examples?|exclamation (?:marks?|points?)|slang|jokes?|greetings?|small talk|(?:full|complete) sentences"
    r"|the 24[- ]hour (?:clock|format)|24[- ]hour times?|british (?:spelling|english)|american (?:spelling|english)"
)
_WISH = Lazy(
    {
        "number": rf"(?:{_SAY}|keep (?:it|{_REPLIES})|use|give me)? ?(?:only |just )?(?:in|to|with|at most|no more than"
        rf"|not more than|a maximum of)? ?(?:at most |no more than )?(?P<n>{_NUMBER}) sentences?(?: at most| per answer"
        r"| max)?",
        "short": rf"(?:keep|make) (?:it|things|this|{_REPLIES}) (?:very |really |as |more )?{_BRIEF}(?: as possible)?"
        rf"|be (?:more |very |really )?{_BRIEF}(?: (?:in|with) {_REPLIES})?"
        rf"|(?:{_SAY}|keep (?:it|{_REPLIES})) (?:as|so) (?:{_BRIEF}|briefly|concisely) as (?:possible|you can|you like)"
        rf"|(?:no|not so|not too) (?:long|lengthy|wordy) (?:answers?|replies|responses?|explanations?)"
        rf"|{_SAY} (?:only |just |more )?(?:briefly|concisely|succinctly|in short|in brief"
        rf"|(?:in|with|using) (?:very |only )?(?:{_BRIEF}|few|a few) (?:sentences?|words|answers|replies|lines?))"
        rf"|(?:give|send|write)(?: me)? (?:only |just )?{_BRIEF} (?:answers?|replies|responses?|messages?)"
        rf"|(?:use |only )?{_BRIEF} (?:answers|replies|responses|sentences)(?: only)?"
        rf"|i (?:like|prefer|want|would like|'d like) (?:your )?{_BRIEF} (?:answers|replies|responses)"
        r"|(?:回答|回复|说话|说)?(?:请|都|要|得){0,2}(?:尽量)?(?:简短|简洁|简单|精简|短)(?:一?点儿?|一?些)?(?:地?(?:回答|回复|说))?",
        "long": rf"(?:keep|make) {_REPLIES} (?:long|longer|detailed|more detailed)"
        rf"|be (?:more )?(?:detailed|thorough)|{_SAY} (?:in (?:more |full )?detail|at length|thoroughly)"
        r"|(?:give|write)(?: me)? (?:long|longer|detailed|more detailed) (?:answers?|replies|responses?)"
        r"|(?:回答|回复|说)?(?:请|都|要){0,2}(?:尽量)?(?:详细)(?:一?点儿?|一?些)?(?:地?(?:回答|回复|说))?",
        "language": rf"{_SAY} (?:only |always )?(?:in|using) (?P<a>{_LANGUAGE})|use (?P<b>{_LANGUAGE})"
        rf"(?: (?:for|in) {_REPLIES})?|(?:i (?:want|prefer|like) )?{_REPLIES} in (?P<c>{_LANGUAGE})"
        r"|(?:都|请){0,2}[用说讲](?P<d>[\u4e00-\u9fff]{1,3}[文语话])(?:来)?(?:回答|回复|跟我说|和我说|说|吧){0,2}我?",
        "style": rf"(?:use|prefer|write (?:in|with)|{_SAY} (?:in|with|using)|add|give me|include|put|end with"
        rf"|begin with) (?:more |fewer |only |an? |the )?(?:{_WORDING})(?: (?:in|for|with) {_REPLIES})?"
        rf"|(?:avoid|skip|leave out|no|drop) (?:the |any |more )?(?:{_WORDING})(?: (?:in|from) {_REPLIES})?"
        r"|be (?:more |very )?(?:formal|informal|polite|friendly|casual|serious)(?: with me)?"
        r"|(?:(?:不要|别)(?:使?用)?|请?使?用)(?:表情符号|表情|列表|表格|敬语|术语|网络用语)",
    }
)
"""What may be wished for; each is compared with a whole sentence without its lead and tail."""
_LEAD = re.compile(
    r"(?:(?:ok|okay|so|and|also|oh|well|hey|hi|hello|by the way|please|pls|kindly|from now on|in (?:the )?future|always"
    r"|generally|in general|by default|every time|when you (?:answer|reply)(?: to)?(?: me)?"
    r"|(?:can|could|would|will) you|i(?:'d| would) (?:like|prefer|want) (?:it if )?you to|i (?:want|need|prefer) you to"
    r"|you (?:should|must|can|may|could)|just|try to|remember to|remember that you should|let's|your)\b[,:]?\s+"
    r"|(?:以后|今后|从现在(?:起|开始)|从今以后|往后|请你?|麻烦你?|你?总是|一直|希望你|我希望你|我想让?你|你要?)[，,]?)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:,? (?:please|pls|from now on|in (?:the )?future|always|every time|when you (?:answer|reply|talk)(?: to)?"
    r"(?: me)?|with me|by default|thanks|thank you|for me|if (?:you can|possible)|all right|ok|okay)"
    r"|(?:吧|就好|就行|就可以了?|谢谢|可以吗|好吗|好不好|，))$",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"(?:(?:call|address|refer to) me(?: as)?|i go by) (?P<x>[\w'’.-]+(?: [\w'’.-]+){0,2})"
    r"|(?:叫|称呼|喊)我(?:为|做)?(?P<z>[\w\u4e00-\u9fff·]{1,8}?)",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:an?|the|back|when|if|at|on|in|later|tomorrow|today|tonight|now|again|crazy|mad|stupid|old|anytime|any|whatever"
    r"|asap|immediately|urgently|soon|please|lazy|paranoid|old-fashioned|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|what|that|this|it|by|after|before|as|soon|up|out|maybe|for|with|names?|to|about|sometime|only|just|some|my|your)\b",
    re.IGNORECASE,
)
_NEVER = re.compile(r"(?:never|don't ever|do not ever|don't|do not|不要再?|别再?)\s*", re.IGNORECASE)
_STOP = re.compile(
    r"(?:stop|quit|no need to|no more|i (?:don't|do not|no longer) (?:want|need|like)(?: you to)?"
    r"|(?:you )?(?:don't|do not|needn't|need not)(?: (?:need to|have to))?|no longer"
    r"|you no longer (?:need to|have to)|不用再?|不必再?|别再?|不要再?|无需再?)\s*",
    re.IGNORECASE,
)
_NORMAL = re.compile(
    rf"(?:{_SAY}|go back to|back to) (?:normally|normal|as usual|as before"
    r"|(?:your |the )?normal (?:length|answers|style))(?: again)?"
    r"|(?:normal|usual) (?:answers|replies|length)(?: again)?|正常(?:回答|回复)",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"(?:,? (?:any ?more|any longer|now|again|really)|了)$", re.IGNORECASE)
_GERUND = re.compile(
    r"(?P<verb>keep|mak|be|answer|reply|respond|writ|speak|talk|explain|giv|send|us|call|address|add|put)ing\b", re.I
)
_SHOW = re.compile(
    r"(?:what|which)(?: are| is|'s)?(?: all)?(?: of)?(?: my| the)? (?:standing )?wish(?:es)?"
    r"(?: (?:do you (?:have|keep)|are there|do i have|have i))?"
    r"|(?:show|list|tell)(?: me)? (?:all )?(?:of )?my (?:standing )?wishes"
    r"|what (?:have|did) i (?:ask|asked|tell|told) you about (?:how (?:to|you should)|your) (?:answers?|reply|replies)"
    r"(?: me)?"
    r"|how (?:should|do) you (?:answer|reply to|address) me|我(?:有|提过|说过)?(?:哪些|什么)(?:长期)?(?:要求|愿望)",
    re.IGNORECASE,
)  # fmt: skip
_ALL = re.compile(
    r"(?:forget|drop|delete|clear|remove|cancel|ignore) (?:all )?(?:of )?my (?:standing )?wishes"
    r"|(?:忘掉|取消|删除)我?的?所有?(?:要求|愿望)",
    re.IGNORECASE,
)
_BASE = {"mak": "make", "writ": "write", "giv": "give", "us": "use"}
_COUNTS = {"one": "1", "a single": "1", "two": "2", "three": "3", "four": "4"}
_TITLES = frozenset("dr mr mrs ms prof sir madam lady lord professor doctor captain".split())


@dataclass(frozen=True, slots=True)
class Wish:
    """One wish: its kind, the value asked for ("short", "Spanish", "Sam"), a sentence that says it, and what was typed.

    There is one wish of a kind at a time, but for `style`, of which there may be several.
    """

    kind: WishKind
    value: str
    text: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class Wishing:
    """Standing wishes that a turn states, and the `rest` of the turn, which is to be answered.

    `ended` are wishes taken back; with `ends_all` all of them, with `shows` the user asks for a list.
    """

    wished: tuple[Wish, ...] = ()
    ended: tuple[Wish, ...] = ()
    ends_all: bool = False
    shows: bool = False
    rest: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.wished or self.ended or self.ends_all or self.shows)


NOTHING_WISHED = Wishing()


def wishing(text: str) -> Wishing:
    """The standing wishes that a turn states or takes back."""
    parts = list(sentences(text))
    if not parts or len(parts) > _MOST:
        return NOTHING_WISHED
    wished: list[Wish] = []
    ended: list[Wish] = []
    rest: list[str] = []
    ends_all = shows = False
    for part in parts:
        whole = " ".join(part.split())
        bare = spelt(whole).strip(" .!?。！？～~\"'“”")
        if len(bare) > _LONGEST:
            rest.append(whole)
        elif _SHOW.fullmatch(bare):
            shows = True
        elif _ALL.fullmatch(_peeled(bare)):
            ends_all = True
        elif taken := _taken_back(bare, whole):
            ended.extend(taken)
        elif wishes := _wishes_in(bare, whole):
            wished.extend(wishes)
        else:
            rest.append(whole)
    if not (wished or ended or ends_all or shows):
        return NOTHING_WISHED
    return Wishing(tuple(wished), tuple(ended), ends_all, shows, " ".join(rest))


def _peeled(bare: str) -> str:
    """A sentence without what only says that it is a wish: "please, from now on ..."."""
    for _ in range(4):
        shorter = _TAIL.sub("", _LEAD.sub("", bare, count=1) if _LEAD.match(bare) else bare).strip(" ,，")
        if shorter == bare:
            break
        bare = shorter
    return bare


def _wishes_in(bare: str, whole: str) -> list[Wish]:
    core = _peeled(bare)
    parts = [core] if _one(core, whole) else re.split(r",? and (?:also )?|, |，", core)
    wishes = [_one(_peeled(part), whole) for part in parts[:3]]
    if any(wish is None for wish in wishes):
        denied = _NEVER.match(core)
        style = _one(f"avoid {_without_use(core[denied.end() :])}", whole) if denied else None
        standing = bool(denied and style and style.kind == "style")
        return [Wish("style", style.value, f"{_capital(core)}.", whole)] if standing and style else []
    return [wish for wish in wishes if wish is not None]


def _without_use(text: str) -> str:
    return re.sub(r"^(?:use|write|add|give me|include|put)\s+", "", text, flags=re.IGNORECASE)


def _one(core: str, whole: str) -> Wish | None:
    """The wish that a clause states, if it is one and nothing else."""
    wish: Wish | None = None
    if not core:
        return wish
    if name := _address(core):
        wish = _wish("address", name, whole)
    elif number := _WISH["number"].fullmatch(core):
        wish = _wish("length", _COUNTS.get(number["n"].lower(), number["n"]), whole)
    elif _WISH["short"].fullmatch(core):
        wish = _wish("length", "short", whole)
    elif _WISH["long"].fullmatch(core):
        wish = _wish("length", "detailed", whole)
    elif match := _WISH["language"].fullmatch(core):
        named = next(group for group in match.groups() if group)
        language = LANGUAGES.get(named.casefold())
        wish = _wish("language", language, whole) if language else None
    elif _WISH["style"].fullmatch(core):
        wish = Wish("style", core.casefold(), f"{_capital(core)}.", whole)
    return wish


def _wish(kind: WishKind, value: str, whole: str) -> Wish:
    """A wish with a sentence that says it, in the language in which it was typed."""
    chinese = language_of(whole) == "zh"
    if kind == "address":
        text = f"叫我{value}。" if chinese else f"Call me {value}."
    elif kind == "language":
        named = next((name for name, english in LANGUAGES.items() if english == value and not name.isascii()), value)
        text = f"用{named}回答。" if chinese else f"Answer in {value}."
    elif value.isdigit():
        text = "Answer in one sentence." if value == "1" else f"Answer in at most {value} sentences."
    elif value == "short":
        text = "回答要简短。" if chinese else "Keep answers short."
    else:
        text = "回答要详细。" if chinese else "Answer in detail."
    return Wish(kind, value, text, whole)


def _address(core: str) -> str:
    """The name by which the user wants to be called; none in "call me a taxi" or "call me back later"."""
    match = _CALL.fullmatch(core)
    if match is None:
        return ""
    name = (match["x"] or match["z"] or "").strip(" .")
    if not name or _NO_NAME.match(name) or any(char.isdigit() for char in name):
        return ""
    words = name.split()
    if len(words) > 1 and not (words[0].rstrip(".").casefold() in _TITLES or all(word[0].isupper() for word in words)):
        return ""
    return " ".join(word if word[0].isupper() else word[0].upper() + word[1:] for word in words)


def _taken_back(bare: str, whole: str) -> list[Wish]:
    """The wishes that a sentence takes back: "you don't have to keep it short any more", "stop calling me Sam"."""
    core = _peeled(bare)
    if _NORMAL.fullmatch(core):
        return [Wish("length", "", "", whole), Wish("style", "", "", whole), Wish("language", "", "", whole)]
    stop = _STOP.match(core)
    if stop is None:
        return []
    inner = _AGAIN.sub("", core[stop.end() :]).strip(" ,")
    inner = _GERUND.sub(lambda verb: _BASE.get(verb["verb"].lower(), verb["verb"]), inner, count=1)
    wish = _one(_peeled(inner), whole)
    return [wish] if wish is not None and (wish.kind != "style" or not _NEVER.match(core)) else []


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
