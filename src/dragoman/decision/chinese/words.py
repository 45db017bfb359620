# ruff: noqa: E501  # a list of characters is easier to check in one piece
"""Words of Chinese questions, rules and facts: synonyms brought to one form, matters, and how much two texts share.

The default encoder reads English, so Chinese texts are compared by their telling characters, pairs of characters and
matters ("打八五折" and "有优惠吗" share a matter though no character).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from dragoman.core.caches import text_cache
from dragoman.decision.numerals import normalise
from dragoman.text import lazy_re as re

_FILLER = re.compile(
    "请问|麻烦|几点|1个|告诉|知道|可不可以|能不能|要不要|是不是|有没有|可以|多少|什么|怎么|哪个|哪些|哪条|哪里|哪儿|哪|吗|呢|吧|啊|呀|嘛|哦|啦|么"
    "|这个|那个|这些|那些|我们|你们|您们|他们|一下|一个|得花|看着|这里|那里|一共|还是|已经|现在|如果|的话|自己"
)
_PLAIN = frozenset(
    "的了是我你您他她它咱这那也很就都还又才在有和与个会能要想去到对从把被让给请问说不没几些为以及或但而且则所其之地得着过来上下里中好用可每人时，。？！、：；（）()「」《》“”,.?!;:·-— "
)
_RUN = re.compile(r"[\u3400-\u9fff]+|[a-z]+|\d+(?:[.:]\d+)*")
_CALENDAR = re.compile(
    "星期[一二三四五六日]|周末|平日|平时|春节|国庆节?|元旦|[春夏秋冬]季|旺季|淡季|今天|明天|后天|上午|下午|晚上|\\d{1,2}月份?"
)
_DAYS = {**{f"星期{day}": "平日" for day in "一二三四五"}, "星期六": "周末", "星期日": "周末", "平时": "平日"}
_YES_OR_NO = re.compile("吗|能|可以|行|[不没么][？?]?$")
_OF_AMOUNTS = frozenset("钱费价元块次天点回儿边1")
_LEAST_ASKED = 2
"""How many telling characters a clause has that can be asked by itself."""
_NEGATION = re.compile("不(?!同|错|管|论)|没|未(?!满|成年)|非|无(?!障碍|线)")


@cache
def _table() -> tuple[re.Pattern[str], dict[str, str], tuple[tuple[str, re.Pattern[str]], ...]]:
    source = files("dragoman.decision").joinpath("data", "zh_words.toml").read_text(encoding="utf-8")
    content = tomllib.loads(source)
    first = {other: words.split()[0] for words in content["same"]["words"] for other in words.split()[1:]}
    synonyms = re.compile("|".join(re.escape(word) for word in sorted(first, key=len, reverse=True)))
    matters = tuple((name, re.compile(pattern)) for name, pattern in content["matters"].items())
    return synonyms, first, matters


@text_cache(maxsize=4096)
def canonical(text: str) -> str:
    """A text with numerals as digits and each synonym in its first form."""
    synonyms, first, _ = _table()
    return synonyms.sub(lambda match: first[match[0]], normalise(text))


@text_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """Return the tokens by which texts are compared: characters, pairs of them, numbers, `@` days and seasons, `#` matters."""
    _, _, matters = _table()
    plain = canonical(text)
    matches = {f"#{name}" for name, pattern in matters if pattern.search(normalise(text)) or pattern.search(plain)}
    for match in _CALENDAR.finditer(plain):
        matches.update(f"@{word}" for word in (match[0].removesuffix("份"), _DAYS.get(match[0], "")) if word)
    for run in _RUN.findall(_FILLER.sub(" ", _CALENDAR.sub(" ", plain))):
        if not "\u3400" <= run[0] <= "\u9fff":
            matches.add(run)
            continue
        matches.update(char for char in run if char not in _PLAIN)
        pairs = (run[i : i + 2] for i in range(len(run) - 1))
        matches.update(pair for pair in pairs if pair[0] not in _PLAIN and pair[1] not in _PLAIN)
    return frozenset(matches)


def content(text: str) -> frozenset[str]:
    """The telling characters and numbers of a text, without matters and pairs."""
    return frozenset(
        token for token in tokens(text) if token[0] not in "#@" and (len(token) == 1 or token[0].isdigit())
    )


def shares(question: str, texts: Sequence[str]) -> list[float]:
    """The share of a question's tokens that each text holds, weighted by how rare a token is among the texts."""
    held = [tokens(text) for text in texts]
    asked = sorted(tokens(question))
    count = len(texts)
    having = {token: sum(token in text for text in held) for token in asked}
    weight = {
        token: _size(token) * math.log(1.0 + (count - number + 0.5) / (number + 0.5))
        for token, number in having.items()
    }
    total = sum(weight.values())
    return [sum(weight[token] for token in asked if token in text) / total if total else 0.0 for text in held]


def asking_clause(question: str) -> str:
    """Return the last clause of a yes or no question if it is a complete question; else empty."""
    clauses = [clause for clause in re.split("[，,。；;！!]", question) if clause.strip(" ？?")]
    last = clauses[-1] if len(clauses) > 1 and _YES_OR_NO.search(clauses[-1]) else ""
    return last if len(content(last) - _OF_AMOUNTS) >= _LEAST_ASKED else ""


def is_negated(text: str) -> bool:
    """Whether a text denies something: "不会游泳"; but not "未满12岁", "无障碍"."""
    return _NEGATION.search(text) is not None


def _size(token: str) -> float:
    """A matter says more than a pair, and that more than a character."""
    return 1.2 if token[0] == "#" else 0.6 if len(token) == 1 else 0.8
