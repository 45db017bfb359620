# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Answer English questions about what a user has told: what is known of whom, names, ages, yes or no.

A question for yes or no is read as the statement that it asks for ("Am I vegan?" as "I am vegan"), by the same rules
that learn facts, and compared with the facts of the same subject and relation. Where those rules find nothing, and
where documents may decide ("Do I need a ticket?"), nothing is answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.core.values import Fact, HistoryKind, Passage, Recollection
from dragoman.memory.facts import facts
from dragoman.memory.patterns import VERBS, words
from dragoman.memory.people import people_of
from dragoman.memory.recall.matters import facts_asked_for, whether_so
from dragoman.memory.reconcile import fact_of
from dragoman.memory.roles import canonical, singular
from dragoman.memory.subjects import USER
from dragoman.text import lazy_re as re
from dragoman.text.known import asks_for_everything
from dragoman.text.language import language
from dragoman.text.spelling import spelt

LONGEST_QUESTION = 120
_MOST_SHOWN = 3
_OPENING = re.compile(
    r"(?:(?:so|and|hey|hi|hello|ok|okay|well|please|but|now|wait|um|er|btw|by the way)\b[,.!]? ?)+", re.I
)
_CLOSING = re.compile(
    r"(?:,? (?:now|currently|these days|again|at the moment|today|please|anyway|then|by now))+$", re.I
)
_WRAPPED = re.compile(
    r"(?:(?:do|can|could|would|will) you (?:still |even |actually |please |happen to )*"
    r"(?:know|remember|recall|tell me|remind me of|remind me)|tell me|remind me of|remind me)"
    r" (?P<rest>(?:what|whats|where|when|who|whos|how|if|whether|that|about|anything|everything|something|all|my|our)\b.*)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:what (?:else |all )?(?:do|can|could) you (?:still |already |actually )?"
    r"(?:know|remember|recall|tell me|say|have noted|have stored|have saved) (?:about|of|on)"
    r"|what (?:else )?(?:did|have) i (?:already |ever )?(?:say|said|tell|told|mention|mentioned)(?: to)?(?: you)? about"
    r"|(?:(?:anything|everything|something|all|what)(?: that)?(?: you (?:know|remember)| i (?:told|said to) you)? )?about"
    r"|who(?: is|['’]?s| are)) (?P<who>.+)",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:did|have) i (?:ever |already )?(?:tell|told|mention|mentioned|say|said)(?: to)?(?: you)? "
    r"(?:(?:anything |something )?(?:about |that )?)(?P<rest>.+)",
    re.IGNORECASE,
)
_BE = r"(?:['’]?s| is| are| was)"
_OF = r"(?P<who>my|our|.+?)(?:['’]s|s['’]|s)?"
_SLOTS = tuple(
    (slot, re.compile(pattern, re.IGNORECASE))
    for slot, pattern in (
        ("name", rf"what{_BE} {_OF} (?:first |full )?names?"),
        ("name", rf"what{_BE} the names? of (?P<who>.+)"),
        ("name", r"what(?:['’]?s| is| are| do you call) (?P<who>.+?)(?: called| named)"),
        ("name", r"what (?P<who>.+?) (?:is|are) (?:called|named)"),
        ("name", rf"{_OF} (?:first |full )?names?(?: is| are)?"),
        ("age", r"how old (?:is|are|am) (?P<who>.+)"),
        ("age", r"how old (?P<who>.+?) (?:is|are|am)"),
        ("age", rf"(?:what{_BE} )?{_OF} age"),
        ("home", r"(?:where|which (?:city|town|country|street)) (?:do|does) (?P<who>.+?) live(?: in)?"),
        ("home", r"where (?P<who>.+?) lives?"),
        (
            "job",
            r"(?:where (?:do|does) (?P<who>.+?) work|what (?:do|does) (?P<who2>.+?) (?:do(?: for (?:a living|work))?|work as))",
        ),
        ("job", r"(?:where (?P<who>.+?) works?|what (?P<who2>.+?) do(?:es)?(?: for (?:a living|work))?)"),
        ("job", rf"what {_OF} (?:job|profession|occupation) (?:is|was)"),
        ("job", rf"(?:what{_BE} )?{_OF} (?:job|profession|occupation)"),
        ("birthday", rf"(?:when{_BE} )?{_OF} birthday(?: is)?"),
        ("birthday", r"when (?:was|were) (?P<who>.+?) born"),
        ("allergy", r"what (?:am|is|are) (?P<who>.+?) allergic to"),
        ("allergy", r"what (?P<who>.+?) (?:am|is|are) allergic to"),
        ("allergy", rf"(?:what{_BE} )?{_OF} allerg(?:y|ies)"),
    )
)
_ASKS = re.compile(
    r"(?P<verb>am|are|is|do|does|did|have|has|was) (?P<who>i|we|(?:my|our) (?!\w+['’]s)[\w-]+(?: (?-i:[A-Z])[\w'’-]+)?|[A-Za-z][\w'’-]+)"
    r" (?:ever |still )?(?P<rest>.+)",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"(?:is|are) (?P<who>my|our|my [\w-]+?|our [\w-]+?)(?:['’]s|s['’])? (?:(?:first |full )?name|called|named) (?P<name>[\w'’ -]+)",
    re.IGNORECASE,
)
_HAS_SOMEBODY = re.compile(
    r"(?:(?:do|have) (?:i|we) (?:have|got) (?:an? |any )?(?P<role>[a-z-]+))"
    r"|am i (?P<state>married)",
    re.IGNORECASE,
)
_AND = re.compile(r",? and |, ")
_USER_WORDS = frozenset("i we me us my our myself".split())
_ANY = frozenset("any anything something anyone somebody".split())
_SPOUSES = frozenset(("husband", "wife"))
_GROUPS: Mapping[str, frozenset[str]] = {
    "child": frozenset(("child", "son", "daughter", "baby", "twin", "stepson", "stepdaughter", "eldest", "youngest")),
    "sibling": frozenset(("sibling", "brother", "sister")),
    "parent": frozenset(("parent", "mother", "father")),
    "grandchild": frozenset(("grandchild", "grandson", "granddaughter")),
    "partner": frozenset(("partner", "husband", "wife", "boyfriend", "girlfriend")),
    "pet": words("pets"),
    "dog": frozenset("dog labrador terrier poodle beagle collie greyhound dachshund retriever spaniel".split()),
}
_OWN_MATTERS = frozenset(
    "allergy diet likes dislikes hobby language pet name age home job birthday smokes drives swims fear condition studies"
    " origin".split()
) | {"marital status"}
"""Relations that only the user can have told of: no document answers a question about them."""
_SINGLE = frozenset(("name", "age", "smokes", "drives", "swims", "birthday", "marital status"))
"""Relations of which another value is a no."""
_DIETS = frozenset("vegetarian vegan pescatarian pescetarian".split())
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
    """Whom a question is about: the subjects of facts about them, and what they are called to the user."""

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
    """What the facts that hold now, or held in the past, have on a question; None where it asks for something else."""
    question = _plain(text)
    if question is None:
        return None
    asked = _Questions(live, past, analyse)
    found = asked.answer(question)
    return None if found is not None and found.kind == "untold" and asked.may_be_told(question) else found


def asks_for_own_fact(text: str) -> bool:
    """Whether a question asks for a fact about the user and nothing else: "Where do I live?"."""
    question = _plain(text) or ""
    for _, pattern in _SLOTS:
        match = pattern.fullmatch(question)
        if match is not None:
            groups = match.groupdict()
            return (groups.get("who") or groups.get("who2") or "").casefold() in _USER_WORDS
    return False


def _plain(text: str) -> str | None:
    """A short English question without greeting, wrapping and question mark."""
    if len(text) > LONGEST_QUESTION or language(text) != "en" or asks_for_everything(text):
        return None
    said = spelt(text).strip()
    opening = _OPENING.match(said)
    if opening is not None and opening.end() < len(said):
        said = said[opening.end() :]
    said = said.rstrip(" ?!.")
    wrapped = _WRAPPED.fullmatch(said)
    asks = (
        text.rstrip().endswith("?")
        or wrapped
        or re.match(r"(?:what|where|who|how|when|am|is|do|does|did|have)", said, re.I)
    )
    if not asks or re.search(r"[.?!;]\s", said):
        return None
    return _CLOSING.sub("", wrapped["rest"] if wrapped else said).replace("’", "'")


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
        told = _TOLD.fullmatch(question)
        if told is not None:
            return self._was_told(told["rest"])
        for slot, pattern in _SLOTS:
            match = pattern.fullmatch(question)
            if match is not None:
                found = self._slot(slot, match.groupdict().get("who") or match.groupdict().get("who2") or "")
                own = found is not None and found.kind == "known" and fact_of(found.facts[0]).subject == USER
                # The reader quotes a fact of the user's own, which it finds by the words of the question.
                return None if own and self._analyse(question) else found
        about = _ABOUT.fullmatch(question)
        if about is not None:
            return self._about(about["who"])
        rows = facts_asked_for(question, self._known, self._analyse, self._keys_of)
        if rows:
            return _made("known", rows[-_MOST_SHOWN:])
        said = self._yes_or_no(question)
        owned = whether_so(question, self._known, self._analyse, self._keys_of) if said is None else None
        return said if owned is None else _made("yes" if owned[0] else "no", owned[1:])

    def _keys_of(self, named: str) -> frozenset[str]:
        who = self._who(named)
        return who.keys if who is not None else frozenset()

    def _was_told(self, rest: str) -> Recollection | None:
        """ "Did I tell you where I work?": yes with it, or no."""
        for slot, pattern in _SLOTS:
            match = pattern.fullmatch(rest)
            if match is not None:
                found = self._slot(slot, match.groupdict().get("who") or match.groupdict().get("who2") or "")
                return found if found is None or found.kind == "untold" else _made("yes", found.facts, found.people)
        about = self._about(rest)
        if about is not None:
            return about if about.kind == "untold" else _made("yes", about.facts)
        return self._stated(re.sub(r"^(?:if|whether|that) ", "", rest))

    def _about(self, named: str) -> Recollection | None:
        """Everything about somebody or something of the user's."""
        who = self._who(named)
        if who is None or who.is_user:
            return None
        if not who.keys:
            thing = re.sub(r"^(?:my|our) ", "", named, flags=re.IGNORECASE)
            stems = set(self._analyse(thing))
            rows = [row for row, fact in self._known if stems and stems <= {*self._analyse(f"{fact.slot} {row.text}")}]
            return _made("known", rows) if rows else _made("untold", value=f"anything about {who.label}")
        return _made("known", self._rows_of(who))

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
            return _made("named", self._rows_of(who), people) if people else _untold("name", who)
        rows = [row for row, fact in self._known if fact.subject.casefold() in who.keys and fact.relation == slot]
        if rows:
            return _made("known", rows[-1:] if who.is_user else rows)
        kin = [
            row
            for row, fact in self._known
            if fact.subject.casefold() in who.keys and fact.relation in _ALIKE.get(slot, ())
        ]
        return replace(_untold(slot, who), facts=tuple(kin[-_MOST_SHOWN:]))

    def _speaks_of(self, thing: str) -> bool:
        """Whether a fact names a thing of the user's."""
        stems = set(self._analyse(re.sub(r"^(?:my|our) ", "", thing, flags=re.IGNORECASE)))
        return any(stems <= {*self._analyse(row.text)} for row, _ in self._known)

    def _yes_or_no(self, question: str) -> Recollection | None:
        named = _NAMES.fullmatch(question)
        if named is not None:
            return self._is_called(named["who"], named["name"])
        somebody = _HAS_SOMEBODY.fullmatch(question)
        if somebody is not None:
            roles = _SPOUSES if somebody["state"] else _roles_of(somebody["role"].lower())
            people = [(name, role) for name, role in self._people.items() if canonical(role) in roles]
            ended = [
                row
                for row, fact in self._known
                if fact.slot in ("pet!", "family!") and roles & set(fact.value.lower().split())
            ]
            if ended:
                return _made("no", ended[-1:])
            if people:
                keys = {name.casefold() for name, _ in people}
                return _made("yes", [row for row, fact in self._known if fact.subject.casefold() in keys], people)
        stated = re.fullmatch(r"(?:if|whether|that) (.+)", question, re.IGNORECASE)
        if stated is not None:
            return self._stated(stated[1])
        asks = _ASKS.fullmatch(question)
        return (
            None if asks is None else self._stated(_statement(asks, self._people), past=asks["verb"].lower() == "did")
        )

    def _is_called(self, owner: str, name: str) -> Recollection | None:
        who = self._who(owner)
        if who is None:
            return None
        asked = set(name.casefold().split())
        if who.is_user:
            rows = [row for row, fact in self._known if fact.subject == USER and fact.relation == "name"][-1:]
            if not rows:
                return _untold("name", who)
            return _made("yes" if asked <= set(rows[0].meta["value"].casefold().split()) else "no", rows)
        people = [(known, role) for known, role in who.people if known.casefold() != role.casefold()]
        if not people:
            return _untold("name", who)
        same = [each for each in people if asked <= set(each[0].casefold().split())]
        return _made("yes" if same else "no", self._rows_of(who), same or people)

    def _stated(self, statement: str, *, past: bool = False) -> Recollection | None:
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
            return _made("yes", gone[-1:])
        if gone and rows and not any(self._meets(asked, fact) for _, fact in rows):
            return _made("no", [row for row, _ in rows[-_MOST_SHOWN:]])  # "Do I live in Bern?", who moved away
        return self._judged(asked, base, rows, alike) or (
            _made("untold", value="that") if base in _OWN_MATTERS else None
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
                return _made("yes" if is_same else "no", [row])
        eaten = set(asked.value.casefold().split()) & _MEATLESS
        if base in ("diet", "likes") and eaten:
            meatless = [row for row, fact in alike if fact.relation == "diet" and fact.value.casefold() in _DIETS]
            return _made("no", meatless) if meatless else None
        shown = [row for row, _ in rows]
        if not shown or base in ("likes", "dislikes"):
            return None
        kinds = {fact.value.casefold() for _, fact in rows}
        if base in _SINGLE or (base == "diet" and asked.value.casefold() == "vegan" and kinds & (_DIETS - {"vegan"})):
            return _made("no", shown[-1:])
        return _made("only", shown[-_MOST_SHOWN:]) if base in _OWN_MATTERS else None

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
        """Whom words name; no keys where they name somebody or something of the user's that is not known."""
        said = named.strip().casefold()
        if said in _USER_WORDS:
            return _THE_USER
        known = {name.casefold(): (name, role) for name, role in self._people.items()}
        owned = re.fullmatch(r"(?:my|our) (?P<noun>.+)", said)
        bare = owned["noun"] if owned else said
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


def _statement(asks: re.Match[str], people: Mapping[str, str]) -> str:
    """The statement that a question asks for; empty where it is about nobody that is known."""
    verb, who, rest = asks["verb"].lower(), asks["who"], asks["rest"]
    low = who.casefold()
    names = {name.casefold(): name for name in people}
    if low in ("i", "we"):
        subject = low
    elif low.startswith(("my ", "our ")):
        subject = who
    elif low in names:
        subject = names[low]
    else:
        return ""
    first, _, after = rest.partition(" ")
    if verb in ("am", "are", "is", "was"):
        return f"{subject} {'am' if subject == 'i' else 'are' if subject == 'we' else 'is'} {rest}"
    if verb in ("have", "has"):
        return f"{subject} {verb} {after}" if first.lower() == "got" else ""
    if first.lower() not in VERBS:
        return ""
    return f"{subject} {first if subject in ('i', 'we') else _third_person(first)} {after}".strip()


def _third_person(verb: str) -> str:
    irregular = {"have": "has", "do": "does", "go": "goes"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"


def _denies(fact: Fact) -> bool:
    return fact.slot.endswith("!") or fact.value.casefold().startswith(("no ", "not ")) or fact.value == "no"


def _untold(slot: str, who: _Who) -> Recollection:
    verbs = {"be": "are", "live": "live", "do": "do"} if who.is_user else {"be": "is", "live": "lives", "do": "does"}
    whose = "your" if who.is_user else f"{who.label}'" if who.label.endswith("s") else f"{who.label}'s"
    return _made("untold", value=_LABELS[slot].format(who=who.label, whose=whose, **verbs))


def _made(
    kind: HistoryKind, rows: Sequence[Passage] = (), people: Sequence[tuple[str, str]] = (), value: str = ""
) -> Recollection:
    return Recollection(kind, tuple(rows), people=tuple(people), value=value)
