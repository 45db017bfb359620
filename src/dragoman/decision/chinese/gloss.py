# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Chinese as a gloss in English words, so that the English encoder and the English judge can read what it means.

"一楼的房间可以带宠物" becomes "first floor room can bring pet". A gloss is no translation: it keeps the order of words
but for the few turns that change who does what (relative clauses about people, bounds behind a number, questions).
Nothing of a gloss is ever said to a user.
"""

from __future__ import annotations

import gzip
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.numerals import normalise
from dragoman.text import lazy_re as re
from dragoman.text.language import cjk_count

Match: TypeAlias = re.Match[str]

_LONGEST = 6
"""Characters of the longest word that is looked up."""
_WRITTEN = 3000
"""How often a word of `zh_glosses.toml` counts at least: the words of services are rarer in books."""
_UNSEEN = 2.0
_UNITS = {
    "岁": "years", "元": "yuan", "块钱": "yuan", "块": "yuan", "米": "m", "厘米": "cm", "公分": "cm", "公斤": "kg",
    "千克": "kg", "斤": "half-kg", "天": "days", "个月": "months", "年": "years", "周": "weeks", "小时": "hours",
    "分钟": "minutes", "人": "people", "件": "items", "次": "times", "节": "lessons", "层": "floors", "级": "grade",
    "公里": "km", "平方米": "square metres", "平米": "square metres",
}  # fmt: skip
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_NUMBER = r"(?<![\d.])(?P<n>\d++(?:\.\d++)?)"
_OF_UNIT = rf"{_NUMBER}(?P<u>{_UNIT})"
_WHO = "人|者|孩子|儿童|老人|老年人|学员|营员|客人|乘客|读者|观众|游客|学生|患者|小朋友|居民|会员|员工|住客|客户|市民|顾客|同学|家长|业主|租户|选手|用户"
_KIN = "爸|妈|爷爷|奶奶|外公|外婆|女儿|儿子|弟|妹|哥|姐|老公|老婆|丈夫|妻子|孩子|侄|外甥|孙|朋友|同事|父亲|母亲|家|宝宝|娃|老[大二三]|小[孩子]"
_DAYS = dict(
    zip("一二三四五六日天", "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Sunday".split(), strict=True)
)
_MARKS = str.maketrans("，。？！；：、（）“”", ',.?!;:,()""')


def _measure(match: Match, of_age: str = "") -> str:
    unit = match["u"]
    return f"{match['n']} years{of_age}" if unit == "岁" else f"{match['n']} {_UNITS[unit]}"


def _bound(words: str, of_age: str = " old") -> Callable[[Match], str]:
    return lambda match: f" {words} {_measure(match, of_age)} "


def _range(match: Match) -> str:
    unit = _UNITS[match["u"]]
    if unit == "years":
        return f" from {match['n']} to {match['to']} years old "
    return f" from {match['n']} {unit} to {match['to']} {unit} "


def _clock(half: str) -> Callable[[Match], str]:
    return lambda match: f" {match['n']}{':30' if match['half'] else '' if half else ':00'}{half} "


def _off(match: Match) -> str:
    tenths = float(match["n"])
    return f" {100 - tenths * (10 if tenths < 10 else 1):g}% off "


_TURNS: tuple[tuple[re.Pattern[str], Callable[[Match], str]], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<![\d.])(?P<m>\d)米(?P<c>\d{1,2})(?!\d)", lambda m: f"{m['m']}.{m['c']}米"),
        (rf"不超过{_OF_UNIT}", _bound("at most", "")),
        (rf"(?:不少于|不低于|不小于|至少|最少)要?{_OF_UNIT}", _bound("at least", "")),
        (rf"(?:未满|不满|不到|不足|低于|小于|少于|未达到|不够){_OF_UNIT}", _bound("under")),
        (rf"(?:超过|大于|高于|高过|多于|超){_OF_UNIT}", _bound("over", "")),
        (rf"(?:最多|至多){_OF_UNIT}", _bound("at most", "")),
        (rf"年?满{_OF_UNIT}", _bound("at least")),
        (rf"{_NUMBER}(?:{_UNIT})?[到至~-](?P<to>\d++(?:\.\d++)?)(?P<u>{_UNIT})", _range),
        (rf"{_OF_UNIT}(?:及|或)?(?:以上|起)", lambda m: f" {m['n']} years or older " if m["u"] == "岁" else f" {_measure(m)} or more "),
        (rf"{_OF_UNIT}(?:及|或)?以下", _bound("under")),
        (rf"{_OF_UNIT}(?:及|或)?以?内", _bound("within")),
        (rf"{_NUMBER}岁", lambda m: f" {m['n']} years old "),
        (rf"(?:早上|上午|凌晨){_NUMBER}点(?P<half>半?)", _clock(" am")),
        (rf"(?:下午|晚上|傍晚|夜里|晚){_NUMBER}点(?P<half>半?)", _clock(" pm")),
        (rf"{_NUMBER}点(?P<half>半?)", _clock("")),
        (rf"{_NUMBER}折", _off),
        (_OF_UNIT, lambda m: f" {_measure(m)} "),
        ("除了?(?P<what>[^，。；]{1,16}?)(?:以外|之外|外)(?!墙|地|面|套)", lambda m: f" except {m['what']} "),
        ("(?<=[，,；;、])(?P<what>[^，。；,;、]{1,16}?)除外", lambda m: f" except {m['what']} "),
        (rf"(?P<lead>^|[，。；、])(?P<what>[^，。；、的]{{2,20}})的(?P<who>{_WHO})", lambda m: f"{m['lead']}{m['who']} who {m['what']} "),
        (
            r"(?P<lead>^|[，。；,;.])(?P<who>[^，。；,;.]{1,24}?)(?:才能|才可以?|方可|方能)",
            lambda m: f"{m['lead']} only {m['who']} can ",
        ),
        ("星期(?P<day>[一二三四五六日天])", lambda m: f" {_DAYS[m['day']]} "),
    )
)  # fmt: skip
"""What stands in another order in English, or would be read as something else word by word."""
_POLAR = re.compile(r"吗|(.)[不没]\1|有没有|可不可以|(?:(?<![什怎多那这])么|[不没])[？?]?$|行不行")
_MODAL = re.compile("能不能|可不可以|可以|能|要不要|需不需要|需要|用不用|必须|要|会不会|是不是|有没有|是|有")
_ASKS = {"能": "Can", "可": "Can", "要": "Must", "需": "Must", "用": "Must", "必": "Must", "会": "Will", "是": "Is", "有": "Is there"}  # fmt: skip
_PRICE = re.compile("要?多少钱|怎么收费|要?几块钱|什么价")
_PAYS = re.compile("(?:要|用|收)(?:不要|不用)?(?:花|收|给|付)?钱(?=[吗么不]|[，。？?]|$)")
_EVERY_WEEK = re.compile("每周(?=[一二三四五六日天](?!次|节|天|小时|回))")
_PIECE = re.compile("[\u3400-\u9fff]+|[^\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class _Words:
    """Words with the logarithm of how often they are used, and their glosses."""

    weight: Mapping[str, float]
    gloss: Mapping[str, str]
    unseen: float


@cache
def _words() -> _Words:
    data = files("dragoman.decision").joinpath("data")
    often: dict[str, float] = {}
    gloss: dict[str, str] = {}
    for line in gzip.decompress(data.joinpath("zh_dictionary.tsv.gz").read_bytes()).decode().splitlines():
        if not line.startswith("#"):
            word, count, english = line.split("\t")
            often[word], gloss[word] = float(count), english
    for english, words in tomllib.loads(data.joinpath("zh_glosses.toml").read_text(encoding="utf-8"))["gloss"].items():
        for word in words.split():
            often[word] = max(often.get(word, 1.0), _WRITTEN if len(word) > 1 else 1.0)
            gloss[word] = "" if english == "-" else english
    total = math.log(sum(often.values()))
    return _Words({word: math.log(count) - total for word, count in often.items()}, gloss, -total - _UNSEEN)


def cut(run: str) -> list[str]:
    """The most probable segmentation of a run of Chinese characters into words."""
    words = _words()
    size = len(run)
    best, start = [0.0] + [-math.inf] * size, [0] * (size + 1)
    for i in range(size):
        for j in range(i + 1, min(size, i + _LONGEST) + 1):
            weight = words.weight.get(run[i:j], words.unseen if j == i + 1 else None)
            if weight is not None and best[i] + weight > best[j]:
                best[j], start[j] = best[i] + weight, i
    pieces: list[str] = []
    while size:
        pieces.append(run[start[size] : size])
        size = start[size]
    return pieces[::-1]


@text_cache(maxsize=4096)
def gloss(text: str) -> str:
    """A Chinese text in English words; what is no Chinese stays."""
    if cjk_count(text) == 0:
        return text
    plain = re.sub(rf"我家?(?=(?:{_KIN}))", "我的", normalise(text))
    plain = _question_order(_PAYS.sub("要付钱", _EVERY_WEEK.sub("每个星期", plain)))
    for pattern, replacement in _TURNS:
        plain = pattern.sub(replacement, plain)
    glosses = _words().gloss
    pieces: list[str] = []
    for piece in _PIECE.findall(plain.translate(_MARKS)):
        chinese = "\u3400" <= piece[0] <= "\u9fff"
        pieces += [glosses.get(word, "") for word in cut(piece)] if chinese else [piece.strip()]
    return re.sub(r" ([,.?!;:])", r"\1", " ".join(" ".join(pieces).split()))


def gloss_lines(text: str) -> str:
    """A passage, a row or a heading, of which every line and every cell is glossed by itself."""
    return "\n".join(_row(line) if ": " in line else gloss(line) for line in text.split("\n"))


def _row(line: str) -> str:
    return "; ".join(": ".join(map(gloss, cell.split(": "))) for cell in line.split("; "))


def _question_order(text: str) -> str:
    """A question with the verb first, as English asks: "Can I bring pet?", "How much does room cost?"."""
    modal = _MODAL.search(text) if _POLAR.search(text) else None
    if modal is None and _POLAR.search(text):
        return f" Is {re.sub('吗|[么不没](?=[？?]?$)', '', text).rstrip('？?')}?"
    if modal is None:
        price = _PRICE.search(text)
        return f" How much does {_PRICE.sub('', text).rstrip('？?')} cost?" if price else text
    begins = max(text.rfind(mark, 0, modal.start()) for mark in "，。！；") + 1
    subject, rest = (
        text[begins : modal.start()],
        re.sub("行不行|可不可以|吗|[么不没](?=[？?]?$)", "", text[modal.end() :]),
    )
    verb = _ASKS[modal[0][0]]
    if not subject and verb in ("Can", "Must"):
        subject = "我"
    return f"{text[:begins]} {verb} {subject} {rest.rstrip('？?')}?"
