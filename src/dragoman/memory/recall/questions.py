"""Answer English questions from the user's facts: what is known about somebody, names, ages, yes or no.

A question for yes or no is read as the statement that it asks for ("Am I vegan?" as "I am vegan"), by the same rules
that learn facts, and compared with the facts of the same subject and relation. Where those rules find nothing, and
where documents may decide ("Do I need a ticket?"), nothing is answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.core.values import Fact, HistoryKind, Passage, Recollection
from dragoman.memory.facts import facts
from dragoman.memory.patterns import words
from dragoman.memory.people import people_of
from dragoman.memory.recall.matters import facts_asked_for, whether_so
from dragoman.memory.recall.question_forms import (
    MARRIED,
    USER_WORDS,
    name_asked_for,
    person_asked_about,
    plain_question,
    role_asked_for,
    roles_listed,
    slot_asked_for,
    statement_asked_for,
    what_was_told,
)
from dragoman.memory.reconcile import fact_of
from dragoman.memory.roles import canonical, singular
from dragoman.memory.subjects import USER
from dragoman.text import lazy_re as re

_MOST_SHOWN = 3
_AND = re.compile(r",? and |, ")
_ANY = frozenset("any anything something anyone somebody".split())
_SPOUSES = frozenset(("husband", "wife"))
_GROUPS: Mapping[str, frozenset[str]] = {
    "child": frozenset(("child", "son", "daughter", "baby", "twin", "stepson", "stepdaughter", "eldest", "youngest")),
    "sibling": frozenset(("sibling", "brother", "sister")),
    "parent": frozenset(("parent", "mother", "father")),
    "grandchild": frozenset(("grandchild", "grandson", "granddaughter")),
    "partner": frozenset(("partner", "husband", "wife", "boyfriend", "girlfriend")),
    "pet": words("pets"),
    "animal": words("pets"),
    "dog": frozenset("dog labrador terrier poodle beagle collie greyhound dachshund retriever spaniel".split()),
}
_OWN_MATTERS = frozenset(
    "allergy diet likes dislikes hobby language pet name age home job birthday smokes drives swims fear condition"
    " studies origin".split()
) | {"marital status"}
"""Relations that only the user's facts can answer, never a document."""
_SINGLE = frozenset(("name", "age", "smokes", "drives", "swims", "birthday", "marital status"))
"""Relations with one value: another value than the asked one means no."""
_DIETS = frozenset("vegetarian vegan pescatarian pescetarian".split())
_GONE = re.compile(
    r"\b(?:died|dead|passed (?:away|on)|put (?:down|to sleep)|ran away|(?:gave|given)\b[^.!?]{0,60}\baway|sold|rehomed"
    r"|no longer have)\b",
    re.IGNORECASE,
)
"""Says that somebody or an animal is the user's no longer."""
_MEATLESS = frozenset("meat pork beef lamb chicken steak bacon sausage".split())
_ALIKE = {"allergy": ("avoids", "condition", "diet")}
"""Relations that say something of what was asked, where nothing else does."""
_LABELS = {
    "name": "{whose} name",
    "age": "how old {who} {be}",
    "home": "where {who} {live}",
    "job": "what {who} {do} for work",
    "birthday": "when {whose} birthday is",
    "allergy": "about any allergy",
}


@dataclass(frozen=True, slots=True)
class _Who:
    """The people of a question: the subjects of their facts, their names with roles, and a label such as "your son"."""

    keys: frozenset[str]
    people: tuple[tuple[str, str], ...] = ()
    label: str = "you"

    @property
    def is_user(self) -> bool:
        return USER in self.keys


_THE_USER = _Who(frozenset((USER,)))


def answered(
    text: str,
    live: Sequence[Passage],
    past: Callable[[], Sequence[Passage]],
    analyse: Callable[[str], tuple[str, ...]],
) -> Recollection | None:
    """The answer of the facts, present and past, to a question; None where it asks for something else."""
    question = plain_question(text)
    if question is None:
        return None
    asked = _Questions(live, past, analyse)
    recollection = asked.answer(question)
    return (
        None
        if recollection is not None and recollection.kind == "untold" and asked.may_be_told(question)
        else recollection
    )


class _Questions:
    """A user's facts, ready to be asked."""

    def __init__(
        self,
        live: Sequence[Passage],
        past: Callable[[], Sequence[Passage]],
        analyse: Callable[[str], tuple[str, ...]],
    ) -> None:
        self._known = [(row, _placed(fact_of(row))) for row in live]
        self._past = past
        self._analyse = analyse
        named = people_of(fact for _, fact in self._known)
        self._people = {
            each: _one(role) for name, role in named.items() if role for each in _AND.split(name)
        }  # "Ana and Ben" are two

    def may_be_told(self, question: str) -> bool:
        """Whether a fact that no rule places speaks of what a question asks."""
        stems = set(self._analyse(question))
        return any(
            (not row.meta.get("slot") or fact.slot == "about") and stems & {*self._analyse(row.text)}
            for row, fact in self._known
        )

    def answer(self, question: str) -> Recollection | None:
        was_told = what_was_told(question)
        if was_told is not None:
            return self._was_told(was_told)
        slot = slot_asked_for(question)
        if slot is not None:
            recollection = self._slot(*slot)
            own = (
                recollection is not None
                and recollection.kind == "known"
                and fact_of(recollection.facts[0]).subject == USER
            )
            # The reader quotes a fact of the user's own, which it finds by the words of the question.
            return None if own and self._analyse(question) else recollection
        about = person_asked_about(question)
        if about is not None:
            return self._about(about)
        listed = roles_listed(question)
        if listed is not None and (everyone := self._everyone(_roles_of(listed))):
            return _recollection("known", everyone)
        rows = facts_asked_for(question, self._known, self._analyse, self._keys_of)
        if rows:
            return _recollection("known", rows[-_MOST_SHOWN:])
        reply = self._yes_or_no(question)
        owned = whether_so(question, self._known, self._analyse, self._keys_of) if reply is None else None
        return reply if owned is None else _recollection("yes" if owned[0] else "no", owned[1:])

    def _everyone(self, roles: frozenset[str]) -> list[Passage]:
        """One fact of each person or animal of some roles, without those whom the user has no longer."""
        names = {name.casefold() for name, role in self._people.items() if canonical(role) in roles}
        chosen: dict[str, Passage] = {}
        for row, fact in self._known:
            subject, kinds = fact.subject.casefold(), map(_one, re.findall(r"[\w-]+", fact.value.casefold()))
            is_one = subject in names or canonical(_one(fact.role)) in roles
            is_owned = fact.slot in ("pet", "family") and {canonical(kind) for kind in kinds} & roles
            named = {name for name in names if name in row.text.casefold()} or {subject if is_one else row.id}
            if (is_one or is_owned) and not _GONE.search(row.text) and not named & chosen.keys():
                chosen.update((name, row) for name in named if not self._is_gone(name))
        return list({row.id: row for row in chosen.values()}.values())

    @staticmethod
    def _names(row: Passage, person: tuple[str, str]) -> bool:
        return person[0].casefold() in row.text.casefold()

    def _is_gone(self, name: str) -> bool:
        """Whether the user said that somebody has died or is theirs no longer."""
        mention = re.compile(rf"(?<![\w'’-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
        return any(_GONE.search(row.text) and mention.search(row.text) for row, _ in self._known)

    def _keys_of(self, named: str) -> frozenset[str]:
        who = self._who(named)
        return who.keys if who is not None else frozenset()

    def _was_told(self, rest: str) -> Recollection | None:
        """ "Did I tell you where I work?": yes with it, or no."""
        slot = slot_asked_for(rest)
        if slot is not None:
            recollection = self._slot(*slot)
            if recollection is None or recollection.kind == "untold":
                return recollection
            return _recollection("yes", recollection.facts, recollection.people)
        about = self._about(rest)
        if about is not None:
            return about if about.kind == "untold" else _recollection("yes", about.facts)
        return self._answer_by_statement(re.sub(r"^(?:if|whether|that) ", "", rest))

    def _about(self, named: str) -> Recollection | None:
        """Everything about somebody or something of the user's."""
        who = self._who(named)
        if who is None or who.is_user:
            return None
        if not who.keys:
            thing = re.sub(r"^(?:my|our) ", "", named, flags=re.IGNORECASE)
            stems = set(self._analyse(thing))
            rows = [row for row, fact in self._known if stems and stems <= {*self._analyse(f"{fact.slot} {row.text}")}]
            return (
                _recollection("known", rows) if rows else _recollection("untold", value=f"anything about {who.label}")
            )
        return _recollection("known", self._rows_of(who))

    def _rows_of(self, who: _Who) -> list[Passage]:
        """The facts of which somebody is the subject, or that name them."""
        names = {name.casefold() for name, _ in who.people if name.casefold() not in words("roles") | words("pets")}
        return [
            row
            for row, fact in self._known
            if fact.subject.casefold() in who.keys
            or names & {word.removesuffix("'s") for word in re.findall(r"[\w'-]+", row.text.casefold())}
        ]

    def _slot(self, slot: str, named: str) -> Recollection | None:
        who = self._who(named)
        if who is None:
            return None
        if not who.keys and not _roles_of(who.label.removeprefix("your ")) and self._speaks_of(named):
            return None  # a thing that facts speak of: "What is my bicycle called?"
        if slot == "name" and not who.is_user:
            people = [(name, role) for name, role in who.people if name.casefold() != role.casefold()]
            if people and any(name.casefold() == named.casefold() for name, _ in people):
                return None
            return _recollection("named", self._rows_of(who), people) if people else _nothing_told("name", who)
        rows = [row for row, fact in self._known if fact.subject.casefold() in who.keys and fact.relation == slot]
        if rows:
            return _recollection("known", rows[-1:] if who.is_user else rows)
        kin = [
            row
            for row, fact in self._known
            if fact.subject.casefold() in who.keys and fact.relation in _ALIKE.get(slot, ())
        ]
        return replace(_nothing_told(slot, who), facts=tuple(kin[-_MOST_SHOWN:]))

    def _speaks_of(self, thing: str) -> bool:
        """Whether a fact names a thing of the user's."""
        stems = set(self._analyse(re.sub(r"^(?:my|our) ", "", thing, flags=re.IGNORECASE)))
        return any(stems <= {*self._analyse(row.text)} for row, _ in self._known)

    def _yes_or_no(self, question: str) -> Recollection | None:
        named = name_asked_for(question)
        if named is not None:
            return self._is_called(*named)
        somebody = role_asked_for(question)
        if somebody is not None:
            roles = _SPOUSES if somebody == MARRIED else _roles_of(somebody)
            people = [(name, role) for name, role in self._people.items() if canonical(role) in roles]
            ended = [
                row
                for row, fact in self._known
                if (fact.slot in ("pet!", "family!") and roles & set(fact.value.lower().split()))
                or (_GONE.search(row.text) and any(self._names(row, each) for each in people))
            ]
            people = [each for each in people if not self._is_gone(each[0])]
            if ended and not people:
                return _recollection("no", ended[-1:])
            if people:
                keys = {name.casefold() for name, _ in people}
                return _recollection(
                    "yes", [row for row, fact in self._known if fact.subject.casefold() in keys], people
                )
        stated = re.fullmatch(r"(?:if|whether|that) (.+)", question, re.IGNORECASE)
        if stated is not None:
            return self._answer_by_statement(stated[1])
        asks = statement_asked_for(question, self._people)
        return None if asks is None else self._answer_by_statement(asks[0], past=asks[1])

    def _is_called(self, owner: str, name: str) -> Recollection | None:
        who = self._who(owner)
        if who is None:
            return None
        asked = set(name.casefold().split())
        if who.is_user:
            rows = [row for row, fact in self._known if fact.subject == USER and fact.relation == "name"][-1:]
            if not rows:
                return _nothing_told("name", who)
            return _recollection("yes" if asked <= set(rows[0].meta["value"].casefold().split()) else "no", rows)
        people = [(called, role) for called, role in who.people if called.casefold() != role.casefold()]
        if not people:
            return _nothing_told("name", who)
        same = [each for each in people if asked <= set(each[0].casefold().split())]
        return _recollection("yes" if same else "no", self._rows_of(who), same or people)

    def _answer_by_statement(self, statement: str, *, past: bool = False) -> Recollection | None:
        """Whether the user has said what a statement says."""
        if not statement:
            return None
        read = facts(statement[:1].upper() + statement[1:], people=lambda: self._people)
        if len(read) != 1 and len({fact.relation for fact in read}) != 1:
            return None
        asked = read[0]
        base = asked.relation.rstrip("!")
        subject = self._subject(asked)
        if subject is None:
            return None
        opposite = {"likes": "dislikes", "dislikes": "likes"}.get(base, "")
        alike = [(row, fact) for row, fact in self._known if fact.subject.casefold() in subject.keys]
        rows = [(row, fact) for row, fact in alike if fact.relation.rstrip("!") in (base, opposite)]
        gone = [
            row
            for row, fact in ((row, fact_of(row)) for row in self._past())
            if fact.subject.casefold() in subject.keys
            and fact.relation == base
            and not row.meta.get("corrected")
            and self._meets(asked, fact)
        ]
        if gone and past:
            return _recollection("yes", gone[-1:])
        if gone and rows and not any(self._meets(asked, fact) for _, fact in rows):
            return _recollection("no", [row for row, _ in rows[-_MOST_SHOWN:]])  # "Do I live in Bern?", who moved away
        return self._judged(asked, base, rows, alike) or (
            _recollection("untold", value="that") if base in _OWN_MATTERS else None
        )

    def _judged(
        self,
        asked: Fact,
        base: str,
        rows: Sequence[tuple[Passage, Fact]],
        alike: Sequence[tuple[Passage, Fact]],
    ) -> Recollection | None:
        """Yes, no, or what is known instead."""
        for row, fact in rows:
            if self._meets(asked, fact):
                is_same = fact.relation in (base, asked.relation) and _denies(fact) == _denies(asked)
                return _recollection("yes" if is_same else "no", [row])
        if base == "diet" and asked.value.casefold() == "vegetarian":  # who is vegan is
            vegan = [row for row, fact in rows if fact.value.casefold() == "vegan"]
            if vegan and not _denies(asked):
                return _recollection("yes", vegan[-1:])
        eaten = set(asked.value.casefold().split()) & _MEATLESS
        if base in ("diet", "likes") and eaten:
            meatless = [row for row, fact in alike if fact.relation == "diet" and fact.value.casefold() in _DIETS]
            return _recollection("no", meatless) if meatless else None
        shown = [row for row, _ in rows]
        if not shown or base in ("likes", "dislikes"):
            return None
        kinds = {fact.value.casefold() for _, fact in rows}
        if base in _SINGLE or (base == "diet" and asked.value.casefold() == "vegan" and kinds & (_DIETS - {"vegan"})):
            return _recollection("no", shown[-1:])
        return _recollection("only", shown[-_MOST_SHOWN:]) if base in _OWN_MATTERS else None

    def _meets(self, asked: Fact, fact: Fact) -> bool:
        """Whether the values of two facts of one relation agree."""
        wanted, value = asked.value.casefold(), fact.value.casefold()
        if set(wanted.split()) & _ANY:
            return True
        if asked.relation == "age":
            return re.findall(r"\d+", wanted) == re.findall(r"\d+", value) and bool(re.search(r"\d", wanted))
        stems = set(self._analyse(wanted))
        return wanted == value or (bool(stems) and stems <= {*self._analyse(value), *self._analyse(fact.text)})

    def _subject(self, asked: Fact) -> _Who | None:
        if asked.subject == USER:
            return _THE_USER
        return self._who(asked.subject if asked.subject != asked.role else f"my {asked.role}")

    def _who(self, named: str) -> _Who | None:
        """The person or thing that words name; without keys where no fact is about it."""
        words = named.strip().casefold()
        if words in USER_WORDS:
            return _THE_USER
        known = {name.casefold(): (name, role) for name, role in self._people.items()}
        owned = re.fullmatch(r"(?:my|our) (?P<noun>.+)", words)
        bare = owned["noun"] if owned else words
        name = next((each for each in (bare, bare.rpartition(" ")[2]) if each in known), None)
        if name is not None and known[name][0].casefold() != known[name][1].casefold():
            together = {
                fact.subject.casefold() for _, fact in self._known if name in _AND.split(fact.subject.casefold())
            }
            return _Who(frozenset((name, *together)), (known[name],), known[name][0])
        if owned is None:
            return None
        roles = _roles_of(bare)
        if not roles:
            return _Who(frozenset(), label=f"your {bare}")
        people = tuple((each, role) for each, role in self._people.items() if canonical(role) in roles)
        subjects = {fact.subject.casefold() for _, fact in self._known if canonical(_one(fact.role)) in roles}
        keys = frozenset(subjects | {each.casefold() for each, _ in people})
        return _Who(keys, people, f"your {bare}")


def _placed(fact: Fact) -> Fact:
    """A fact of a file, which has only a text, as one that may name somebody."""
    return fact if fact.slot else replace(fact, slot="family", value=fact.text.rstrip("."), subject=USER)


def _one(role: str) -> str:
    """The role of one of several: "grandchildren" are each a grandchild."""
    return role if role in words("roles") | words("pets") else singular(role)


def _roles_of(noun: str) -> frozenset[str]:
    """The roles that a word names: "kids" are sons and daughters; none where it names nobody."""
    one = _one(noun)
    base = canonical(one)
    if base in _GROUPS:
        return _GROUPS[base]
    return frozenset((base,)) if one in words("roles") | words("pets") else frozenset()


def _denies(fact: Fact) -> bool:
    return fact.slot.endswith("!") or fact.value.casefold().startswith(("no ", "not ")) or fact.value == "no"


def _nothing_told(slot: str, who: _Who) -> Recollection:
    verbs = {"be": "are", "live": "live", "do": "do"} if who.is_user else {"be": "is", "live": "lives", "do": "does"}
    whose = "your" if who.is_user else f"{who.label}'" if who.label.endswith("s") else f"{who.label}'s"
    return _recollection("untold", value=_LABELS[slot].format(who=who.label, whose=whose, **verbs))


def _recollection(
    kind: HistoryKind, rows: Sequence[Passage] = (), people: Sequence[tuple[str, str]] = (), value: str = ""
) -> Recollection:
    return Recollection(kind, tuple(rows), people=tuple(people), value=value)
