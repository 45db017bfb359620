"""Cuts an English sentence into clauses, each with its subject: "I come with my son Leo, who is five".

A subject is carried on to what shares it ("I live in Graz and work as a midwife"), to relative clauses ("who is
five"), appositions ("Leo, 5,") and pronouns. Clauses that state nothing (questions, conditions, what others say,
what is said of the world) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dragoman.memory.english.chunks import (
    RELATIVE,
    chunks,
    continues,
    is_age,
    is_complement,
    is_question,
    opening,
    verb_of,
    without_condition,
)
from dragoman.memory.english.sharing import (
    COPULAS,
    INVERTED,
    THEIRS,
    OpenClause,
    completes,
    ends_with,
    is_interrupted_subject,
    is_unreal,
    sharing_subject,
    with_be,
)
from dragoman.memory.patterns import VERBS, words
from dragoman.memory.roles import canonical, fits, singular
from dragoman.memory.subjects import USER, WE, I, Subject, be, noun_phrase, possession, text_of, within
from dragoman.text import lazy_re as re

_OWNING = frozenset(("have", "own", "bring", "get", "buy", "adopt", "drive", "ride"))
_TRAVELLING = frozenset("come travel arrive visit fly stay go leave".split())
_CHILDREN = {"sister": "daughter", "brother": "son"}
_BEFORE_SUBJECT = frozenset("since next this last on in until till after before during every".split())
_PROPERTIES = frozenset(("name", "names", "age", "birthday", "weight", "height"))
_OTHERS = frozenset("you the this that these those it your".split())
_ELLIPSIS = re.compile(
    r"(?:allergic to|travelling|traveling|coming|arriving|staying|living in|born in|pregnant|vegetarian|vegan)\b",
    re.IGNORECASE,
)
_NAME_HERE = re.compile(r"[A-Z][\w'’-]+ here$")

Start: TypeAlias = tuple[Subject | None, list[str]]
"""The subject that a clause begins with, None where nothing is kept about it, and the words after it."""


@dataclass(frozen=True, slots=True)
class SubjectClause:
    """A subject and what is said of it: (Leo, "is five")."""

    subject: Subject
    predicate: str
    time: str = ""
    """A time or occasion that stood before the subject: "next week", "since my stroke"."""

    @property
    def text(self) -> str:
        return f"{self.subject.phrase} {self.predicate} {self.time}".rstrip()


_WITHOUT_OBJECT = frozenset(("be", "live", "work"))
"""After these another noun belongs to the clause before: "a daughter who lives in Rome and a cat"."""


@dataclass(slots=True)
class _Sentence:
    """What was read of a sentence: its clauses, the subject of the last main clause, and one that waits for a verb."""

    clauses: list[OpenClause] = field(default_factory=list)
    main: Subject | None = None
    pending: Subject | None = None
    doubtful: bool = False
    is_subject: bool = False
    """Whether the piece that is read is a subject whose verb comes after an aside: "my mother, who is 71, ..."."""

    @property
    def current(self) -> OpenClause | None:
        return self.clauses[-1] if self.clauses else None

    @property
    def body(self) -> OpenClause | None:
        """The last clause that is no aside: what another noun phrase belongs to."""
        return next((clause for clause in reversed(self.clauses) if not clause.aside), self.current)

    def add(self, subject: Subject | None, tokens: list[str], *, stated: bool = True, aside: bool = False) -> None:
        self.clauses.append(OpenClause(subject, tokens, stated and subject is not None, aside))


@dataclass(slots=True)
class ClauseReader:
    """Reads the sentences of one turn in order, and keeps in mind whom they are about.

    `people` gives the people and animals that are known by name, with their role.
    """

    people: Callable[[], Mapping[str, str]] = dict
    _last: Subject | None = None
    _several: Subject | None = None
    _is_unknown: bool = False
    """Whether somebody was named whom nothing is known of: a pronoun then means nobody who was mentioned before."""
    _met: dict[str, Subject] = field(default_factory=dict)
    _time: str = ""

    def clauses(self, sentence: str, *, asks: bool = False) -> list[SubjectClause]:
        """The clauses of a sentence that state something; `asks` says that it ends in a question mark."""
        pieces = chunks(sentence)
        asked = any(is_question(tokens) or (joint in RELATIVE and nth) for nth, (joint, tokens) in enumerate(pieces))
        read = _Sentence(doubtful=asks and not asked)
        for nth, (joint, piece) in enumerate(pieces):
            tokens, hypothetical = without_condition(piece)
            read.is_subject = is_interrupted_subject(tokens, pieces[nth + 1 :])
            if tokens:
                self._read(read, joint, tokens)
                self._mention(tokens, read.current)
            read.doubtful = read.doubtful or hypothetical
        return [
            SubjectClause(clause.subject, text_of(clause.tokens), clause.time)
            for clause in read.clauses
            if clause.stated and clause.subject is not None and clause.tokens
        ]

    def _read(self, read: _Sentence, joint: str, tokens: list[str]) -> None:  # noqa: PLR0912 - one branch a kind
        """Take one piece of a sentence: as a clause, as part of the one before, or as a subject that waits."""
        current = read.current
        if read.is_subject and tokens[0].lower() in THEIRS:
            self._begin_theirs(read, tokens)
        elif joint in RELATIVE:
            owner = self._last if self._last is not None and self._last.key != USER and verb_of(tokens) else None
            read.add(owner, tokens, aside=True)
        elif is_question(tokens) and not self._shares(read, joint, tokens):
            read.add(None, tokens)
            read.pending = None
        elif joint == "," and self._renames(read, tokens):
            return
        elif current is not None and is_age(tokens) and is_age(current.tokens[1:]) and joint in ("and", ","):
            current.tokens += [joint, *tokens]  # "8, 11 and 13 years old"
        elif read.pending is not None and tokens[0].lower() in ("his", "her", "their") and not verb_of(tokens, 1):
            read.pending = self._last = None  # "my daughter Ana and her friend Lia, 8": nobody is known who is 8
        elif (somebody := self._apposition(tokens, read)) is not None:
            read.add(somebody, [be(somebody), *tokens], aside=True)
        elif read.pending is not None and joint == "," and not verb_of(tokens) and is_complement(tokens):
            read.add(read.pending, [be(read.pending), *tokens], aside=True)  # "my father, a baker, lives in Basel"
        elif (start := self._start(tokens, first=current is None and read.pending is None)) is not None:
            self._begin(read, joint, tokens, start)
        elif verb_of(tokens) and (read.pending or read.main or current):
            subject = read.pending or sharing_subject(tokens, read.main, current)
            stated = (current is None or current.stated or read.pending is not None) and not read.doubtful
            tokens = with_be(current, tokens)
            stated = stated and not (current is not None and read.pending is None and is_unreal(current.tokens))
            read.add(subject, tokens, stated=stated)
            read.main, read.pending = subject or read.main, None
        elif current is not None and current.subject and completes(current, tokens):
            read.add(current.subject, [be(current.subject), *tokens], stated=current.stated)
        elif current is not None and continues(joint, tokens):
            takes_none = verb_of(current.tokens) in _WITHOUT_OBJECT and tokens[0].lower() in ("a", "an")
            listed = read.body if current.aside and (is_age(current.tokens[1:]) or takes_none) else current
            if listed is not None:
                listed.tokens += [joint, *tokens]
        else:
            read.add(None, tokens)

    def _begin_theirs(self, read: _Sentence, tokens: list[str]) -> None:
        """Take "her husband Joe" as the subject of what follows; of somebody without a name nothing is kept."""
        theirs = self._relative(tokens, 0, alone=True)
        read.main = read.pending = self._last = theirs[0] if theirs is not None else None
        if theirs is None:
            read.add(None, tokens)

    def _shares(self, read: _Sentence, joint: str, tokens: list[str]) -> bool:
        """Whether a piece that begins as a question only lacks its subject: "Tom lives in Leeds and is a teacher"."""
        if tokens[0].lower() not in COPULAS:
            return False
        if read.pending is not None:
            return True
        third = read.current is not None and read.current.stated and read.main is not None and read.main.key != USER
        return third and joint == "and" and tokens[1].lower() not in INVERTED

    def _begin(self, read: _Sentence, joint: str, tokens: list[str], start: Start) -> None:
        subject, rest = start
        if rest:
            if subject is not None and read.pending is not None and joint == "and" and read.main is None:
                read.clauses += self._together(read.pending, subject, rest, stated=not read.doubtful)
            else:
                read.add(subject, rest, stated=not read.doubtful)
                read.clauses[-1].time = self._time
            read.main, read.pending = subject, None
            return
        # A bare noun phrase is more of the clause before, or the subject of one to come.
        if read.is_subject:
            read.pending = subject
        elif read.body is not None and read.pending is None and joint in ("and", ",", "", "plus"):
            if verb_of(read.body.tokens) != "be" or any(token.lower() == "with" for token in read.body.tokens):
                read.body.tokens += [joint, *tokens]
        elif read.pending is None:
            read.pending = subject
        if subject is not None and subject.key != USER:
            self._last = subject

    def _start(self, tokens: Sequence[str], *, first: bool) -> Start | None:
        """The subject that a clause begins with; None where no clause begins here."""
        start = opening(tokens)
        word = tokens[start].lower()
        is_time = start > 1 and tokens[0].lower() in _BEFORE_SUBJECT and tokens[1] != "then" and word in ("i", "we")
        self._time = text_of([tokens[0].lower(), *tokens[1:start]]) if is_time else ""
        now = [token for token in tokens[:start] if token.lower() == "now"]
        rest = [*now, *tokens[start + 1 :]]
        reading: Start | None
        if word in ("i", "we"):
            reading = (I if word == "i" else WE), rest
        elif word == "me":
            reading = I, rest[1:] if rest and rest[0].lower() == "i" else (rest if verb_of(rest) else [])
        elif word in ("my", "our"):
            subject, end = noun_phrase(tokens, start)
            rest = list(tokens[end:])
            reading = (subject, rest) if not rest or verb_of(rest) else None
        elif word == "one" and [token.lower() for token in rest[:2]] in (["of", "my"], ["of", "our"]):
            subject, end = noun_phrase(tokens, start + 2)
            rest = list(tokens[end:])
            one = subject and Subject(subject.key, f"One of {within(subject.phrase)}", subject.role)
            reading = (one, rest) if verb_of(rest) else None
        elif word == "there" and verb_of(rest) == "be" and re.search(r" (?:of us|people|adults)\b", text_of(rest)):
            reading = WE, ["are", *text_of(rest[1:]).replace(" of us", " people").split()]
        elif word in ("his", "her", "its", "their") and len(rest) > 1 and rest[0].lower() in _PROPERTIES:
            reading = self._property(rest)
        elif word in ("his", "her", "their") and (theirs := self._relative(tokens, start)) is not None:
            reading = theirs
        elif word in ("he", "she", "they", "it") and rest:
            if self._last is None:
                is_unknown = self._is_unknown and word in ("he", "she")
                self._last = None if is_unknown else self._only_one(word)
            elif word in ("he", "she") and (
                self._last.plural or (self._last.kind == "person" and not fits(self._last.role, word))
            ):
                others = [one for one in self._met.values() if one.kind == "person" and fits(one.role, word)]
                self._last = others[-1] if others else self._last
            reading = (self._last if self._fits(word) and verb_of(rest) else None), rest
        else:
            reading = self._named(tokens, start, first=first)
        return reading

    def _property(self, rest: list[str]) -> Start:
        """What "his name is Admiral" says of whoever was mentioned last."""
        if self._last is None or not verb_of(rest, 1):
            return None, rest
        if rest[0].lower() in ("name", "names") and verb_of(rest, 1) == "be":
            return self._last, [be(self._last), "called", *rest[2:]]
        noun = f"{self._last.key}'s {rest[0].lower()}"
        return Subject(noun, f"My {noun}" if self._last.key == self._last.role else noun, noun), rest[1:]

    def _relative(self, tokens: Sequence[str], start: int, *, alone: bool = False) -> Start | None:
        """Somebody named by whose they are: "his sister Pia" of the user's son is the user's daughter."""
        owner = self._last or self._only_one("he" if tokens[start].lower() == "his" else "she")
        named, end = noun_phrase(["my", *tokens[start + 1 :]], 0)
        rest = list(tokens[start + end :])
        if owner is None or owner.key == USER or named is None or named.key == named.role:
            return None
        if not (verb_of(rest) or (alone and not rest)):
            return None
        if named.kind not in ("person", "pet"):
            return None
        child = _CHILDREN.get(named.role) if canonical(owner.role) in {*_CHILDREN.values(), "child", "baby"} else None
        if child is None:
            phrase = f"{owner.key if owner.key != owner.role else owner.phrase}'s {named.role} {named.key}"
            somebody = Subject(named.key, phrase, named.role if named.kind == "pet" else "person")
        else:
            somebody = Subject(named.key, f"My {child} {named.key}", child)
        self._meet(somebody)
        return somebody, rest

    def _fits(self, pronoun: str) -> bool:
        """Whether a pronoun can mean whoever was mentioned last: no person is "it"."""
        if self._last is None or (self._last.kind == "person" and pronoun == "it"):
            return False
        return pronoun == "they" or not self._last.plural

    def _named(self, tokens: Sequence[str], start: int, *, first: bool) -> Start | None:  # noqa: PLR0911 - one a case
        """A clause that begins with a name, with other words about the world, or without its "I am"."""
        name, rest = tokens[start], list(tokens[start + 1 :])
        if not rest:
            return None
        person = self._person(name) if verb_of(rest) and name.lower() not in _OTHERS else None
        if person is not None:
            return person, rest
        if not first and self._is_one_of_several(name, rest):
            assert self._several is not None
            self._met[name.casefold()] = Subject(name, name, singular(self._several.role))
            return self._met[name.casefold()], rest
        if first:
            text = text_of(tokens[start:])
            if _NAME_HERE.match(text):
                return I, ["am", name]
            if _ELLIPSIS.match(text):
                return I, ["am", *tokens[start:]]
            return self._introduced(name, rest) or (None, list(tokens))
        other = name.lower() in _OTHERS or (name[:1].isupper() and verb_of(rest))
        return (None, list(tokens)) if other else None

    def _is_one_of_several(self, name: str, rest: list[str]) -> bool:
        """Whether a new name is one of those just mentioned: "I have two dogs, Ben weighs 5 kg"."""
        return (
            self._several is not None
            and name[:1].isupper()
            and name.lower() not in words("not_names")
            and bool(verb_of(rest))
        )

    def _introduced(self, name: str, rest: list[str]) -> Start | None:
        """Who "Leo is my son" introduces."""
        if [token.lower() for token in rest[:2]] not in (["is", "my"], ["is", "our"]) or not name[:1].isupper():
            return None
        if name.lower() in _OTHERS:  # "This is my second time"
            return None
        subject, end = noun_phrase(rest, 1)
        if subject is None or subject.key != subject.role or end != len(rest) or name.lower() in words("not_names"):
            return None
        if subject.kind == "matter" and subject.key.startswith("favo"):  # "Chess is my favourite"
            return None
        self._meet(Subject(name, f"{subject.phrase} {name}", subject.role))
        return subject, ["is", "called", name]

    def _person(self, name: str) -> Subject | None:
        key = name.strip("'’").casefold()
        if key in self._met:
            return self._met[key]
        people = {other.casefold(): (other, role) for other, role in self.people().items()}
        if key not in people:
            return None
        other, role = people[key]
        phrase = f"My {role}" if other == role else f"My {role} {other}" if role else other
        return Subject(other, phrase, role or "person")

    def _only_one(self, pronoun: str) -> Subject | None:
        """Whom a pronoun means that begins a turn: the one person or animal that is known and fits."""
        fitting = [
            (name, role)
            for name, role in self.people().items()
            if role
            and role not in words("plural_roles")
            and (role in words("pets") if pronoun == "it" else pronoun in ("he", "she") and fits(role, pronoun))
        ]
        if len(fitting) != 1:
            return None
        name, role = fitting[0]
        return Subject(name, f"My {role}" if name == role else f"My {role} {name}", role)

    def _together(self, one: Subject, other: Subject, rest: list[str], *, stated: bool) -> list[OpenClause]:
        """Two subjects of one clause: "my partner and I are both coeliac", "me and my girlfriend Zoe are coming"."""
        somebody = next((subject for subject in (one, other) if subject.key != USER), None)
        if somebody is None or USER not in (one.key, other.key):
            both = Subject(f"{one.key} and {other.key}", f"{one.phrase} and {within(other.phrase)}", one.role, True)
            return [OpenClause(both, rest, stated)]
        self._last = somebody
        after = [token for token in rest[1:] if token.lower() != "both"]
        if verb_of(rest) == "be" and not (after and VERBS.get(after[0].lower(), "be") != "be"):
            return [OpenClause(I, ["am", *after], stated), OpenClause(somebody, [be(somebody), *after], stated)]
        verbs = {VERBS.get(token.lower(), "") for token in rest[:3]}
        if not verbs & _TRAVELLING or verbs & {"have"} or rest[0].lower() in ("was", "were"):
            return [OpenClause(WE, rest, stated)]
        companion = ["come", "with", *within(somebody.phrase).split()]
        return [OpenClause(I, companion, stated), OpenClause(WE, rest, stated)]

    def _apposition(self, tokens: Sequence[str], read: _Sentence) -> Subject | None:
        """Whose age stands between commas: "Leo, 5,"."""
        if not is_age(tokens):
            return None
        if read.pending is not None or read.current is None:
            return read.pending
        if self._last is not None and ends_with(read.current.tokens, self._last):
            return self._last
        is_state = verb_of(read.current.tokens) == "be" and not any(
            token.endswith("ing") for token in read.current.tokens
        )
        about = read.current.subject if read.current.stated and is_state else None
        return None if about is WE else about

    def _renames(self, read: _Sentence, tokens: Sequence[str]) -> bool:
        """Whether a name between commas belongs to somebody: "my son, Max, is four"."""
        somebody = read.pending or (self._last if read.current is not None else None)
        if len(tokens) != 1 or somebody is None or somebody.kind not in ("person", "pet") or somebody.plural:
            return False
        name = tokens[0]
        if somebody.key != somebody.role or not name[:1].isupper() or name.lower() in words("not_names"):
            return False
        named = Subject(name, f"{somebody.phrase} {name}", somebody.role)
        mentions = [clause for clause in (read.current, read.body) if clause and ends_with(clause.tokens, somebody)]
        if read.pending is not None:
            read.pending = named
        elif mentions:
            is_owned = mentions[0].tokens[0].lower() in ("have", "has") and not {"my", "our"} & set(mentions[0].tokens)
            mentions[0].tokens += ["called", name] if is_owned else [name]
        else:
            return False
        self._meet(named)
        return True

    def _meet(self, somebody: Subject) -> None:
        self._last = somebody
        self._met[somebody.key.casefold()] = somebody
        self._met[somebody.key.partition(" ")[0].casefold()] = somebody

    def _mention(self, tokens: Sequence[str], clause: OpenClause | None) -> None:
        """Keep in mind who is mentioned: what comes next may be about them."""
        self._notice(tokens, clause)
        if self._last is not None and self._last.plural and self._last.kind in ("person", "pet"):
            self._several = self._last

    def _notice(self, tokens: Sequence[str], clause: OpenClause | None) -> None:
        if len(tokens) == 1 and tokens[0].casefold() in self._met:
            self._last = self._met[tokens[0].casefold()]
            return
        if tokens[0].lower() in THEIRS and not verb_of(tokens, 1):
            self._last = None  # "my wife and her mother, who is 80"
            return
        met = False
        for i, token in enumerate(tokens):
            if token.lower() in ("my", "our"):
                subject, _ = noun_phrase(tokens, i)
                if subject is not None and subject.kind != "matter":
                    self._meet(subject)
                    met = True
                elif subject is not None and re.search(r" [A-ZÀ-Þ]\w+$", subject.phrase):
                    self._last, self._is_unknown = None, True
        if not met and clause is not None and clause.subject is None and is_question(tokens):
            self._notice_asked(tokens)
        if met or clause is None or clause.subject is None or not clause.stated:
            return
        if clause.subject.key != USER:
            if clause.subject.kind != "matter":
                self._last = clause.subject
        elif clause.tokens and VERBS.get(clause.tokens[0].lower()) in _OWNING:
            self._last = possession(clause.tokens) or self._last
        elif "with" in tokens:
            self._last = possession(tokens[tokens.index("with") :]) or self._last

    def _notice_asked(self, tokens: Sequence[str]) -> None:
        """Keep in mind whom a question is about: "Can Milo have chips? He has an allergy"."""
        named = next(
            (t for t in tokens[1:] if t[:1].isupper() and t.lower() not in words("not_names") and t != "I"), ""
        )
        if not named:
            return
        somebody = self._person(named)
        if somebody is not None:
            self._last, self._is_unknown = somebody, False
        elif named == tokens[1]:  # "Does Anna pay?"
            self._last, self._is_unknown = None, True
