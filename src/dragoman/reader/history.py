"""Word memory's answer to a question about the history of the user's facts, in English and Chinese."""

from __future__ import annotations

from datetime import datetime, tzinfo

from dragoman.core.clock import moment_of, zone_of
from dragoman.core.values import Evidence, Passage, Recollection
from dragoman.reader.compose import attribution
from dragoman.reader.phrases import told_back
from dragoman.text import lazy_re as re
from dragoman.text.second_person import said_back, second_person

_MONTHS = "January February March April May June July August September October November December".split()
_PAST = {
    "are": "were", "am": "were", "is": "was", "live": "lived", "have": "had", "has": "had", "work": "worked",
    "like": "liked", "love": "loved", "stay": "stayed", "use": "used", "prefer": "preferred", "drive": "drove",
    "eat": "ate", "drink": "drank", "speak": "spoke", "study": "studied", "do": "did", "can": "could", "own": "owned",
    "need": "needed", "hate": "hated", "enjoy": "enjoyed", "play": "played", "take": "took", "lives": "lived",
    "works": "worked", "likes": "liked", "goes": "went", "go": "went", "dislike": "disliked", "wear": "wore",
    "avoid": "avoided", "teach": "taught", "run": "ran", "study at": "studied at", "does": "did", "travel": "travelled",
}  # fmt: skip
_VERB = re.compile(rf"\b(?:{'|'.join(sorted(_PAST, key=len, reverse=True))})\b")
_SINCE_PART = re.compile(
    r",? (?:(?:since|until|from) [^,.]{2,40}"
    r"|(?:last|this|next) (?:week|month|year|\w{3,6}day|weekend|summer|winter|spring)"
    r"|(?:on|around|in the week of|on the weekend of) (?:\w+day )?(?:\d{1,2} )?[A-Z]\w+ \d{4}|in (?:\w+ )?\d{4}"
    r"|yesterday|today|(?:an?|\d{1,3}|\w{3,6}) (?:days?|weeks?|months?|years?) ago|in (?:19|20)\d\d)$"
)
"""The time at the end of a statement, which was right on the day on which it was said."""
_LONGEST = 160
_CHINESE_TIME = re.compile("(?<=我)(?:昨天|今天|前天|上周|上个月|这个月|去年|今年|最近|上个?星期|刚刚?)")


def recollection_reply(recollection: Recollection, language: str) -> str:
    """The answer to a question about the history of the user's facts."""
    words = _Chinese(recollection) if language == "zh" else _English(recollection)
    answer: str = getattr(words, recollection.kind)()
    return answer


class _Words:
    """Base of both languages: the moments of a recollection, in the user's time zone."""

    def __init__(self, recollection: Recollection) -> None:
        self.it = recollection
        self.zone: tzinfo = zone_of(recollection.zone)

    def local(self, text: str) -> datetime | None:
        moment = moment_of(text) if text else None
        return None if moment is None else moment.astimezone(self.zone)

    def years_since(self, text: str) -> tuple[int, int, int]:
        """Whole years, months and days from a moment until now."""
        first, now = self.local(text), self.local(self.it.now)
        if first is None or now is None or now < first:
            return 0, 0, 0
        months = (now.year - first.year) * 12 + now.month - first.month - (now.day < first.day)
        return months // 12, months % 12, (now.date() - first.date()).days


class _English(_Words):
    def before(self) -> str:
        if not self.it.facts:
            current = "; ".join(self._since(row) for row in self.it.current[-1:])
            return f"You haven't told me what it was before. I only know: {current}."
        first, *rest = self.it.facts
        answer = f"Before that, {past_tense(first.text)}{self._until(first)}."
        for row in rest:
            answer += f" Earlier, {past_tense(row.text)}{self._until(row)}."
        return answer

    def told(self) -> str:
        if not self.it.facts:
            return "You haven't told me that."
        parts = [f"{second_person(row.text)}: {self.moment(row.meta.get('said_at', ''))}" for row in self.it.facts]
        if len(parts) == 1:
            row = self.it.facts[0]
            return f"You told me on {self.moment(row.meta.get('said_at', ''))} that {second_person(row.text)}."
        return "You told me:\n" + "\n".join(f"- {part}" for part in parts)

    def valid(self) -> str:
        if not self.it.facts:
            current = "; ".join(self._since(row) for row in self.it.current[-1:])
            return "You haven't told me about that time." + (f" I only know: {current}." if current else "")
        parts = [f"{past_tense(row.text)}{self._span(row)}" for row in self.it.facts]
        return f"{_capital(self._then())}: {'; then '.join(parts)}."

    def believed(self) -> str:
        if not self.it.facts:
            return f"{_capital(self._then())} I knew nothing about that."
        return f"{_capital(self._then())} I knew:\n" + "\n".join(f"- {second_person(r.text)}" for r in self.it.facts)

    def said(self) -> str:
        if not self.it.facts:
            return "You told me nothing about yourself then."
        rows = "\n".join(f"- {second_person(r.text)} ({self.day(r.meta.get('said_at', ''))})" for r in self.it.facts)
        return f"You told me:\n{rows}"

    def since(self) -> str:
        row = self.it.facts[0]
        grain = row.meta.get("grain", "")
        day = self.day(row.meta.get("said_at", ""))
        if not grain:
            return f"You told me on {day} that {second_person(row.text)}; since when, you haven't said."
        years, months, days = self.years_since(row.meta.get("valid_from", ""))
        spans = [_count(years, "year"), _count(months, "month") if grain != "year" else ""]
        length = " and ".join(part for part in spans if part) or (_count(days, "day") if grain != "year" else "")
        text = _SINCE_PART.sub("", second_person(row.text))
        about = f", about {length}" if length else ""
        return f"Since {self.day(row.meta.get('valid_from', ''), grain)}{about}: {text}."

    def until(self) -> str:
        row = self.it.facts[0]
        return f"Until {self.day(row.meta.get('valid_until', ''))}: {past_tense(row.text)}."

    def age(self) -> str:
        age = self.it.value
        row = self.it.facts[0]
        day = self.day(row.meta.get("said_at", ""))
        if "-" not in age:
            return f"{age} years old: {' and '.join(second_person(fact.text) for fact in self.it.facts)}."
        least, _, most = age.partition("-")
        statement = f"you told me on {day} that {second_person(row.text)}"
        return f"{least} or {most} years old by now: {statement}. When is the birthday?"

    def spoken(self) -> str:
        if not self.it.facts:
            return "I found nothing about that in your chats."
        speaker = "I" if self.it.value == "agent" else "you"
        if len(self.it.facts) == 1:
            (row,) = self.it.facts
            return f'On {self.moment(row.meta["said_at"])} {speaker} said: "{_short(row.text)}"'
        turns = "\n".join(f'- {self.moment(row.meta["said_at"])}: "{_short(row.text)}"' for row in self.it.facts)
        return f"In your chats {speaker} said:\n{turns}"

    def why(self) -> str:
        statement = f"you told me that {said_back([row.text for row in self.it.facts], 'en')}" if self.it.facts else ""
        if not self.it.current:
            return (
                f"Because {statement}."
                if statement
                else "I found nothing that answers it: not in the documents, not in what you told me."
            )
        place = attribution(Evidence(self.it.current[-1], 1.0), "en")
        rule = f'the documents say: "{self.it.value}"{place}'
        return f"Because {statement}, and {rule}" if statement else f"Because {rule}"

    def wishes(self) -> str:
        if not self.it.facts:
            return 'You have no standing wishes. Say, for instance, "keep it short" or "call me Sam".'
        rows = "\n".join(f"- {row.text} ({self.day(row.meta.get('said_at', ''))})" for row in self.it.facts)
        return f"You asked me to:\n{rows}"

    def known(self) -> str:
        return told_back([row.text for row in self.it.facts], "en")

    def named(self) -> str:
        roles = {role for _, role in self.it.people}
        names = _listed([name for name, _ in self.it.people])
        if len(self.it.people) == 1:
            return f"Your {roles.pop()}'s name is {names}."
        if len(roles) == 1:
            return f"Their names are {names}."
        return f"They are {_listed([f'your {role} {name}' for name, role in self.it.people])}."

    def yes(self) -> str:
        if self.it.people:
            return f"Yes, you told me about {_listed([_somebody(*each) for each in self.it.people])}."
        gone = [row for row in self.it.facts if row.meta.get("replaced_at")]
        if gone:
            return f"Yes, {past_tense(gone[0].text)}{self._until(gone[0])}."
        return f"Yes, you told me that {self._facts()}."

    def no(self) -> str:
        if self.it.people:
            return f"No, you told me about {_listed([_somebody(*each) for each in self.it.people])}."
        return f"No, you told me that {self._facts()}."

    def only(self) -> str:
        return f"Not that you told me. I only know that {self._facts()}."

    def untold(self) -> str:
        other = f" You told me that {self._facts()}." if self.it.facts else ""
        return f"You haven't told me {self.it.value}.{other}"

    def _facts(self) -> str:
        return said_back([row.text for row in self.it.facts], "en")

    def day(self, text: str, grain: str = "") -> str:
        at = self.local(text)
        if at is None:
            return "a day that I did not note"
        if grain == "year":
            return str(at.year)
        if grain == "week":
            return f"the week of {self.day(text)}"
        return (
            f"{_MONTHS[at.month - 1]} {at.year}" if grain == "month" else f"{at.day} {_MONTHS[at.month - 1]} {at.year}"
        )

    def moment(self, text: str) -> str:
        at = self.local(text)
        return self.day(text) if at is None else f"{self.day(text)} at {at:%H:%M}"

    def _then(self) -> str:
        start = self.it.start or self.it.end
        if self.it.grain in ("year", "month"):
            return f"in {self.day(start, self.it.grain)}"
        if self.it.grain == "week":
            return f"in {self.day(start, 'week')}"
        return f"on {self.day(start)}" if self.it.grain in ("day", "minute") else "at that time"

    def _since(self, row: Passage) -> str:
        if row.meta.get("grain"):
            text = _SINCE_PART.sub("", second_person(row.text))
            return f"{text}, since {self.day(row.meta.get('valid_from', ''), row.meta['grain'])}"
        said_at = row.meta.get("said_at")
        return f"{second_person(row.text)}" + (f" (told on {self.day(said_at)})" if said_at else "")

    def _until(self, row: Passage) -> str:
        end = row.meta.get("valid_until", "")
        return f" (until {self.day(end)})" if end else ""

    def _span(self, row: Passage) -> str:
        return self._until(row) if (row.meta.get("valid_until") or "9") <= self.it.now else ""


class _Chinese(_Words):
    def before(self) -> str:
        if not self.it.facts:
            return f"你没有告诉过我以前的情况。我只知道：{'；'.join(_to_user(r.text) for r in self.it.current[-1:])}。"
        first, *rest = self.it.facts
        answer = f"在那之前：{_to_user(first.text)}{self._until(first)}。"
        return answer + "".join(f"更早的时候：{_to_user(row.text)}{self._until(row)}。" for row in rest)

    def told(self) -> str:
        if not self.it.facts:
            return "你没有告诉过我这一点。"
        return "".join(f"{self.moment(r.meta.get('said_at', ''))}你告诉我：{_to_user(r.text)}。" for r in self.it.facts)

    def valid(self) -> str:
        if not self.it.facts:
            current = "；".join(_to_user(row.text) for row in self.it.current[-1:])
            return "你没有告诉过我那时的情况。" + (f"我只知道：{current}。" if current else "")
        return f"{self._then()}：{'；后来'.join(_to_user(r.text) + self._span(r) for r in self.it.facts)}。"

    def believed(self) -> str:
        if not self.it.facts:
            return f"{self._then()}我还不知道这些。"
        return f"{self._then()}我知道：\n" + "\n".join(f"- {_to_user(row.text)}" for row in self.it.facts)

    def said(self) -> str:
        if not self.it.facts:
            return "那段时间你没有告诉过我关于你的事。"
        rows = (f"- {_to_user(r.text)}（{self.day(r.meta.get('said_at', ''))}）" for r in self.it.facts)
        return "你告诉过我：\n" + "\n".join(rows)

    def since(self) -> str:
        row = self.it.facts[0]
        grain = row.meta.get("grain", "")
        if not grain:
            return f"{self.day(row.meta.get('said_at', ''))}你告诉我：{_to_user(row.text)}；从什么时候开始，你没有说。"
        years, months, days = self.years_since(row.meta.get("valid_from", ""))
        length = (f"{years}年" if years else "") + (f"{months}个月" if months and grain != "year" else "")
        length = length or (f"{days}天" if grain != "year" and days else "")
        about = f"，大约{length}了" if length else ""
        return f"从{self.day(row.meta.get('valid_from', ''), grain)}开始{about}：{_to_user(row.text)}。"

    def until(self) -> str:
        row = self.it.facts[0]
        return f"到{self.day(row.meta.get('valid_until', ''))}为止：{_to_user(row.text)}。"

    def age(self) -> str:
        age, row = self.it.value, self.it.facts[0]
        statement = f"{self.day(row.meta.get('said_at', ''))}你告诉我：{_to_user(row.text)}"
        if "-" not in age:
            return f"{age}岁：{'，'.join(_to_user(fact.text) for fact in self.it.facts)}。"
        least, _, most = age.partition("-")
        return f"现在是{least}岁或{most}岁。{statement}。生日是哪一天？"

    def spoken(self) -> str:
        if not self.it.facts:
            return "你的对话里没有找到相关内容。"
        turns = "\n".join(f"- {self.moment(row.meta['said_at'])}：“{_short(row.text)}”" for row in self.it.facts)
        return f"{'我' if self.it.value == 'agent' else '你'}在对话里说过：\n{turns}"

    def why(self) -> str:
        statement = f"你告诉过我：{said_back([row.text for row in self.it.facts], 'zh')}" if self.it.facts else ""
        if not self.it.current:
            return f"因为{statement}。" if statement else "我没有找到答案：资料里没有，你也没有告诉过我。"
        place = attribution(Evidence(self.it.current[-1], 1.0), "zh")
        rule = f"资料里说：“{self.it.value}”{place}"
        return f"因为{statement}；{rule}" if statement else f"因为{rule}"

    def wishes(self) -> str:
        if not self.it.facts:
            return "你没有长期要求。比如可以说：“回答简短一点”或“叫我小王”。"
        rows = "\n".join(f"- {row.text}（{self.day(row.meta.get('said_at', ''))}）" for row in self.it.facts)
        return f"你的长期要求：\n{rows}"

    def known(self) -> str:
        return told_back([row.text for row in self.it.facts], "zh")

    def named(self) -> str:
        return f"{'、'.join(name for name, _ in self.it.people)}。"

    def yes(self) -> str:
        return f"是的。{self._facts()}"

    def no(self) -> str:
        return f"不是。{self._facts()}"

    def only(self) -> str:
        return f"你没有告诉过我。我只知道：{said_back([row.text for row in self.it.facts], 'zh')}。"

    def untold(self) -> str:
        other = f"我只知道：{said_back([row.text for row in self.it.facts], 'zh')}。" if self.it.facts else ""
        return f"你没有告诉过我这一点。{other}"

    def _facts(self) -> str:
        people = "、".join(name for name, _ in self.it.people)
        return f"你告诉过我：{people or said_back([row.text for row in self.it.facts], 'zh')}。"

    def day(self, text: str, grain: str = "") -> str:
        at = self.local(text)
        if at is None:
            return "某一天"
        if grain == "week":
            return f"{self.day(text)}那一周"
        return f"{at.year}年" + (
            "" if grain == "year" else f"{at.month}月" + ("" if grain == "month" else f"{at.day}日")
        )

    def moment(self, text: str) -> str:
        at = self.local(text)
        return self.day(text) if at is None else f"{self.day(text)}{at:%H:%M}"

    def _then(self) -> str:
        start = self.it.start or self.it.end
        return self.day(start, self.it.grain) if self.it.grain else "那时"

    def _until(self, row: Passage) -> str:
        end = row.meta.get("valid_until", "")
        return f"（到{self.day(end)}为止）" if end else ""

    def _span(self, row: Passage) -> str:
        return self._until(row) if (row.meta.get("valid_until") or "9") <= self.it.now else ""


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _somebody(name: str, role: str) -> str:
    return f"your {role}" if name.casefold() == role.casefold() else f"your {role} {name}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _to_user(text: str) -> str:
    return second_person(_CHINESE_TIME.sub("", text))


def past_tense(text: str) -> str:
    """Put a user's statement into second person and past tense: "I live in Bern." becomes "you lived in Bern"."""
    turned = _SINCE_PART.sub("", second_person(text))
    turned = re.sub(r"\byou have (lived|worked|been|had)\b", r"you \1", turned).replace("you been", "you were")
    if turned != second_person(text) and re.search(r"\byou (?:lived|worked|were|had)\b", turned):
        return turned
    return _VERB.sub(lambda verb: _PAST[verb[0]], turned, count=1)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
