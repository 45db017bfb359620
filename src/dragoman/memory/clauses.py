"""Cuts an English sentence into clauses, each with its subject: "I come with my son Leo, who is five".

A subject is carried on to what shares it ("I live in Graz and work as a midwife"), to relative clauses ("who is
five"), appositions ("Leo, 5,") and pronouns. Clauses that state nothing (questions, conditions, what others say,
what is said of the world) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.memory.patterns import VERBS, fragment, words

USER = "user"


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a clause is about: the user, or somebody or something of theirs.

    `key` is "user", a name or a noun ("Leo", "dog"), `phrase` says it in the user's words ("My son Leo"), `role` is
    what it is to the user ("son").
    """

    key: str
    phrase: str
    role: str = ""
    plural: bool = False

    @property
    def kind(self) -> str:
        """`user`, `we`, `person`, `pet`, `thing`, or `matter` for what has no properties of its own."""
        if self.key == USER:
            return "we" if self.phrase == "We" else "user"
        if self.role in words("pets") or self.role.removesuffix("s") in words("pets"):
            return "pet"
        if self.role in words("roles") or self.role in words("plural_roles") or self.role == "person":
            return "person"
        return "thing" if self.role.split(" ")[-1] in words("things") else "matter"


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject and what is said of it: (Leo, "is five")."""

    subject: Subject
    predicate: str

    @property
    def text(self) -> str:
        return f"{self.subject.phrase} {self.predicate}"


I = Subject(USER, "I")  # noqa: E741 - the pronoun
WE = Subject(USER, "We", plural=True)
_TOKEN = re.compile(r"[,;:()]|[^\s,;:()]+")
_CUTS = frozenset(", ; : ( ) and but so because although though while plus - – —".split())
_RELATIVE = frozenset(("who", "which"))
_ADVERBS = frozenset(
    "also now currently actually really still just recently both then already only usually often always mostly even "
    "myself certainly definitely probably basically sometimes generally normally all there too".split()
)
_STOPS = frozenset(
    "in on at to for with from by of who which that until till about as than or and but so because if when where "
    "near around into onto after before without during since next this today tomorrow instead please too as".split()
)
_ASKING = frozenset(
    "what who whom whose where when which why how can could may might must shall should will would do does did is are "
    "am was were has have any don't doesn't isn't aren't can't".split()
)
_HYPOTHETICAL = frozenset("if unless whether suppose imagine assuming".split())
_SUBORDINATE = frozenset("when whenever where wherever until once before after why how what than".split())
_OPENING = frozenset(
    "since after because due as at in on for from now this last next every during until till with".split()
)
_FIRST_PERSON = frozenset(("am", "have", "do", "are"))
_COMPLEMENT = re.compile(fragment("complement"), re.IGNORECASE)
_AGE = re.compile(rf"(?:aged? )?(?:{fragment('age')})(?:(?:, | and )(?:{fragment('age')}))*$", re.IGNORECASE)
_ELLIPSIS = re.compile(
    r"(?:allergic to|travelling|traveling|coming|arriving|staying|living in|born in|pregnant|vegetarian|vegan)\b",
    re.IGNORECASE,
)
_NAME_HERE = re.compile(r"(?-i:[A-Z][\w'’-]+)(?= here$)")
_LONGEST_ITEM = 8


@dataclass(slots=True)
class _Open:
    """A clause that is being read; `stated` is false where it states nothing."""

    subject: Subject | None
    tokens: list[str]
    stated: bool = True


@dataclass(slots=True)
class Reader:
    """Reads the sentences of one turn in order, and keeps in mind whom they are about.

    `people` gives the people and animals that are known by name, with their role.
    """

    people: Callable[[], Mapping[str, str]] = dict
    _last: Subject | None = None
    _met: dict[str, Subject] = field(default_factory=dict)

    def clauses(self, sentence: str, *, asks: bool = False) -> list[Clause]:
        """The clauses of a sentence that state something; `asks` says that it ends in a question mark."""
        done: list[_Open] = []
        main: Subject | None = None
        pending: Subject | None = None
        doubtful = False
        chunks = _chunks(sentence)
        if asks and not any(_is_question(tokens) for _, tokens in chunks):
            doubtful = True
        for joint, chunk in chunks:
            tokens, hypothetical = _without_condition(chunk)
            if not tokens:
                doubtful = doubtful or hypothetical
                continue
            relative = joint in _RELATIVE
            current = done[-1] if done else None
            if relative:
                if self._last is not None and self._last.key != USER and _verb(tokens, 0):
                    done.append(_Open(self._last, tokens, True))
                else:
                    done.append(_Open(None, tokens, False))
            elif _is_question(tokens):
                done.append(_Open(None, tokens, False))
                pending = None
            elif current is not None and _is_age(tokens) and _is_age(current.tokens[1:]) and joint in ("and", ","):
                current.tokens += [joint, *tokens]  # "8, 11 and 13 years old"
            elif self._apposition(tokens, current, pending) is not None:
                subject = self._apposition(tokens, current, pending)
                done.append(_Open(subject, [_be(subject), *tokens], True))
            else:
                read = self._start(tokens, sentence_start=not done and pending is None)
                if read is not None:
                    subject, rest = read
                    if not rest:  # a bare noun phrase: more of the clause before, or the subject of one to come
                        if current is not None and joint in ("and", ",", "", "plus") and pending is None:
                            current.tokens += [joint, *tokens] if joint else tokens
                        elif pending is None and subject is not None:
                            pending = subject
                        if subject is not None and subject.key != USER:
                            self._last = subject
                    else:
                        stated = subject is not None and not doubtful
                        if subject is not None and pending is not None and joint == "and" and main is None:
                            done += self._together(pending, subject, rest, stated=stated)
                        else:
                            done.append(_Open(subject, rest, stated))
                        main, pending = subject, None
                elif _verb(tokens, 0) and (pending or main or current):
                    subject = pending or self._sharing(tokens, main, current)
                    before = current is None or current.stated or pending is not None
                    done.append(_Open(subject, tokens, subject is not None and before and not doubtful))
                    main, pending = subject or main, None
                elif current is not None and _shares_copula(current, tokens):
                    done.append(_Open(current.subject, [_be(current.subject), *tokens], current.stated))
                elif current is not None and _continues(joint, tokens):
                    current.tokens += [joint, *tokens] if joint else tokens
                else:
                    done.append(_Open(None, tokens, False))
            self._mention(tokens, done[-1] if done else None)
            doubtful = doubtful or hypothetical
        return [
            Clause(clause.subject, _text(clause.tokens))
            for clause in done
            if clause.stated and clause.subject is not None and clause.tokens
        ]

    def _start(self, tokens: Sequence[str], *, sentence_start: bool) -> tuple[Subject | None, list[str]] | None:
        """The subject that a clause begins with, and the words after it; None where none begins here.

        A subject that nothing is kept about (the world, "you") is None.
        """
        start = _opening(tokens)
        first = tokens[start].lower()
        rest = list(tokens[start + 1 :])
        if first == "i":
            return I, rest
        if first == "me":
            return I, rest if rest and _verb(rest, 0) else []
        if first == "we":
            return WE, rest
        if first in ("he", "she", "they", "it") and rest:
            return (self._last if self._fits(first) and _verb(rest, 0) else None), rest
        if first == "there" and rest and _verb(rest, 0) == "be" and _of_us(rest):
            return WE, rest
        if first in ("my", "our"):
            subject, after = noun_phrase(tokens, start)
            rest = list(tokens[after:])
            if not rest:
                return subject, []
            return (subject, rest) if _verb(rest, 0) else None
        return self._named(tokens, start, sentence_start=sentence_start)

    def _fits(self, pronoun: str) -> bool:
        """Whether a pronoun can mean whoever was mentioned last: no person is "it"."""
        if self._last is None:
            return False
        if self._last.kind == "person":
            return pronoun != "it" and (pronoun == "they" or not self._last.plural)
        return pronoun == "they" or not self._last.plural

    def _named(
        self, tokens: Sequence[str], start: int, *, sentence_start: bool
    ) -> tuple[Subject | None, list[str]] | None:
        rest = list(tokens[start + 1 :])
        if not rest:
            return None
        name = tokens[start]
        if _verb(rest, 0):
            known = self._person(name)
            if known is not None:
                return known, rest
        if sentence_start and _NAME_HERE.match(_text(tokens[start:])):
            return I, ["am", name]
        if sentence_start and _ELLIPSIS.match(_text(tokens[start:])):
            return I, ["am", *tokens[start:]]
        if sentence_start or name.lower() in ("you", "the", "this", "that", "these", "those", "it", "your"):
            return None, list(tokens)
        if len(rest) >= 1 and name[:1].isupper() and _verb(rest, 0):
            return None, list(tokens)
        return None

    def _person(self, name: str) -> Subject | None:
        key = name.strip("'’").casefold()
        if key in self._met:
            return self._met[key]
        if not name[:1].isupper() and not name.islower():
            return None
        known = {other.casefold(): (other, role) for other, role in self.people().items()}
        if key not in known:
            return None
        other, role = known[key]
        return Subject(other, other, role or "person")

    def _together(self, one: Subject, other: Subject, rest: list[str], *, stated: bool) -> list[_Open]:
        """Two subjects of one clause: "my partner and I are both coeliac", "me and my girlfriend Zoe are coming"."""
        somebody = next((subject for subject in (one, other) if subject.key != USER), None)
        if somebody is None or USER not in (one.key, other.key):
            both = Subject(f"{one.key} and {other.key}", f"{one.phrase} and {_lower(other.phrase)}", one.role, True)
            return [_Open(both, rest, stated)]
        self._last = somebody
        verb = _verb(rest, 0)
        after = [token for token in rest[1:] if token.lower() != "both"]
        if verb == "be" and not (after and VERBS.get(after[0].lower(), "be") != "be"):
            return [_Open(I, ["am", *after], stated), _Open(somebody, [_be(somebody), *after], stated)]
        companion = ["come", "with", *_lower(somebody.phrase).split()]
        return [_Open(I, companion, stated), _Open(WE, rest, stated)]

    def _sharing(self, tokens: Sequence[str], main: Subject | None, current: _Open | None) -> Subject | None:
        """The subject that a verb without one shares, by agreement: "has asthma" cannot be said of "I"."""
        form = tokens[0].lower()
        third = form in ("is", "has", "does", "was") or (form.endswith("s") and form not in VERBS.values())
        nearest = current.subject if current is not None else None
        if third:
            return next((one for one in (nearest, main) if one is not None and one.key != USER), None)
        if form in _FIRST_PERSON and main is not None:
            return main
        return nearest or main

    def _apposition(self, tokens: Sequence[str], current: _Open | None, pending: Subject | None) -> Subject | None:
        if not _is_age(tokens):
            return None
        if pending is not None:
            return pending
        if current is None:
            return None
        if self._last is not None and _ends_with(current.tokens, self._last):
            return self._last
        return current.subject if current.stated and _verb(current.tokens, 0) == "be" else None

    def _mention(self, tokens: Sequence[str], clause: _Open | None) -> None:
        """Keep in mind who is mentioned: what comes next may be about them."""
        for i, token in enumerate(tokens):
            if token.lower() in ("my", "our"):
                subject, _ = noun_phrase(tokens, i)
                if subject is not None and subject.kind != "matter":
                    self._last = subject
                    self._met[subject.key.casefold()] = subject
                    self._met[subject.key.split(" ")[0].casefold()] = subject
        if clause is None or clause.subject is None or not clause.stated:
            return
        if clause.subject.key != USER:
            if clause.subject.kind != "matter":
                self._last = clause.subject
        elif clause.tokens and VERBS.get(clause.tokens[0].lower()) in ("have", "own", "bring", "get", "buy", "adopt"):
            self._last = _possession(clause.tokens) or self._last


def noun_phrase(tokens: Sequence[str], start: int) -> tuple[Subject | None, int]:
    """The subject that "my ..." at `start` names, and where it ends: "my two kids", "our dog Bruno"."""
    end = start + 1
    while end < len(tokens) and end - start <= 6:
        low = tokens[end].lower()
        if low in _CUTS or low in _STOPS or low in _ADVERBS:
            break
        if end > start + 1 and low in VERBS and low not in ("work", "love", "name", "call", "plan", "book"):
            break
        end += 1
    inner = list(tokens[start + 1 : end])
    if not inner:
        return None, end
    roles = words("roles") | words("plural_roles") | words("pets")
    at = next((i for i, word in enumerate(inner) if word.lower() in roles), None)
    owner = next((i for i, word in enumerate(inner) if word.endswith(("'s", "’s", "s'", "s’"))), None)
    if owner is not None or at is None:
        return Subject(_text(inner).lower(), f"My {_text(inner)}", _text(inner).lower()), end
    role = inner[at].lower()
    if at + 1 < len(inner) and inner[at + 1].lower() in roles:  # "guide dog" is one noun, "my friend's" is none
        at += 1
        role = inner[at].lower()
    names = [word for word in inner[at + 1 :] if word[:1].isalpha()]
    plural = role in words("plural_roles")
    if (names and plural) or (names and end < len(tokens) and tokens[end].lower() == "and"):
        more = _more_names(tokens, end)
        if more:
            names += ["and", *more]
            end += 1 + len(more)
            plural = True
    name = " ".join(word if word == "and" else word[:1].upper() + word[1:] for word in names)
    before = _text(inner[: at + 1])
    phrase = f"My {before} {name}".strip()
    return Subject(name or role, phrase, role, plural), end


def _more_names(tokens: Sequence[str], end: int) -> list[str]:
    """The name after "and": "my kids Ben and Ella"; nothing where another clause or phrase begins."""
    if end + 1 < len(tokens) and tokens[end].lower() == "and":
        name = tokens[end + 1]
        if name[:1].isupper() and name.lower() not in words("not_names"):
            return [name]
    return []


def _chunks(sentence: str) -> list[tuple[str, list[str]]]:
    """Pieces between commas, conjunctions and relative pronouns, each with what joins it to the one before."""
    found: list[tuple[str, list[str]]] = []
    joint, tokens = "", []
    all_tokens = _TOKEN.findall(sentence)
    names_end = -1
    for i, token in enumerate(all_tokens):
        low = token.lower()
        if low in ("my", "our"):
            _, names_end = noun_phrase(all_tokens, i)
        if low in _CUTS and i >= names_end:
            if tokens:
                found.append((joint, tokens))
                joint, tokens = low, []
            elif low not in (",",) or not joint:
                joint = low
        elif low in _RELATIVE and (tokens or joint) and i + 1 < len(all_tokens):
            if tokens:
                found.append((joint, tokens))
            joint, tokens = low, []
        else:
            tokens.append(token)
    if tokens:
        found.append((joint, tokens))
    return found


def _is_age(tokens: Sequence[str]) -> bool:
    return bool(_AGE.match(_text(tokens)))


def _continues(joint: str, tokens: Sequence[str]) -> bool:
    """Whether words are more of the list before: "cheese, peppers and mushroom"; a clause of its own is not."""
    if joint not in ("and", ",", "", "(", ")", "plus") or len(tokens) > _LONGEST_ITEM:
        return False
    return not any(VERBS.get(token.lower()) and not token.lower().endswith("ing") for token in tokens[:3])


def _without_condition(tokens: list[str]) -> tuple[list[str], bool]:
    """The words before a condition or a subordinate clause, and whether a condition was left out."""
    for i, token in enumerate(tokens):
        low = token.lower()
        if low in _HYPOTHETICAL:
            return tokens[:i], True
        if i and low in _SUBORDINATE and i + 1 < len(tokens) and _begins(tokens[i + 1 :]):
            return tokens[:i], False
    return tokens, False


def _begins(tokens: Sequence[str]) -> bool:
    return tokens[0].lower() in ("i", "we", "he", "she", "they", "it", "my", "our", "you", "the", "there")


def _opening(tokens: Sequence[str]) -> int:
    """Where the subject stands behind "since my stroke" or "in May"."""
    start = 0
    while start < len(tokens) - 1 and tokens[start].lower() in _ADVERBS and tokens[start].lower() != "there":
        start += 1
    if tokens[start].lower() in _OPENING:
        for i in range(start + 1, min(len(tokens) - 1, start + 7)):
            if tokens[i].lower() in ("i", "we"):
                return i
    return start


def _is_question(tokens: Sequence[str]) -> bool:
    first = tokens[0].lower()
    if first not in _ASKING:
        return False
    if (
        first in ("am", "is", "are", "was", "were", "have", "has", "do", "does", "did", "can", "could", "will")
        and len(tokens) > 1
    ):
        return (
            tokens[1].lower()
            in (
                "i we you he she they it my our your the there a an this that these those any anyone dogs children students".split()
            )
            or tokens[1][:1].isupper()
        )
    return True


def _of_us(tokens: Sequence[str]) -> bool:
    text = _text(tokens).lower()
    return " of us" in text or " people" in text or " adults" in text


def _verb(tokens: Sequence[str], start: int) -> str:
    """The basic form of the first verb at `start`, adverbs left out; empty where there is none."""
    for token in tokens[start : start + 4]:
        low = token.lower()
        if low in _ADVERBS or low in ("never", "no", "longer", "not"):
            continue
        return VERBS.get(low, "")
    return ""


def _shares_copula(current: _Open, tokens: Sequence[str]) -> bool:
    return current.subject is not None and bool(_COMPLEMENT.match(_text(tokens))) and _verb(current.tokens, 0) == "be"


def _be(subject: Subject | None) -> str:
    if subject is None or (subject.key != USER and not subject.plural):
        return "is"
    return "am" if subject.phrase == "I" else "are"


def _possession(tokens: Sequence[str]) -> Subject | None:
    """What "have a camper van" speaks of, for "it is 7 metres long"."""
    for i, token in enumerate(tokens[:4]):
        if token.lower() in ("a", "an", "two", "three", "twins", "one"):
            rest = list(tokens[i:] if token.lower() == "twins" else tokens[i + 1 :])
            subject, _ = noun_phrase(["my", *rest], 0)
            return subject if subject is not None and subject.kind != "matter" else None
    return None


def _ends_with(tokens: Sequence[str], subject: Subject) -> bool:
    return _text(tokens).casefold().endswith(subject.phrase.casefold().removeprefix("my "))


def _text(tokens: Sequence[str]) -> str:
    text = " ".join(token for token in tokens if token)
    return re.sub(r" (?=[,;:)])|(?<=\() ", "", text)


def _lower(phrase: str) -> str:
    return phrase[:1].lower() + phrase[1:] if phrase.split(" ", maxsplit=1)[0] in ("My", "Our", "We") else phrase
