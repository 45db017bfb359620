# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Full sentences for what people leave out: "Son Sam, 9" is "My son Sam is 9", "Got asthma" is "I have asthma".

Two kinds of rewrites stand in `patterns/en.toml`. An elliptic rewrite fits a whole sentence without its subject or
verb. An embedded rewrite fits a phrase inside a sentence, mostly a question, that says something about the user: "As a
student, do I pay less?". Either kind may only state facts of the slots that it names, since what it completes could
mean something else: "Have fun" owns nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.memory.english.chunks import is_question
from dragoman.memory.patterns import REWRITES, Rewrite, fragment, words
from dragoman.memory.roles import singular
from dragoman.text import lazy_re as re

_FULL = re.compile(
    r"(?:I|my|we|our|he|she|they|it|you|your|his|her|its|their|the|this|that|these|those|there"
    r"|what|who|whom|whose|where|when|which|why|how|is|are|was|were|am|will|would|could|should|may|must|if|please)\b",
    re.IGNORECASE,
)
_PLEASE = re.compile(r"\bplease\b|^\S+ tickets?\b", re.IGNORECASE)
_TRAILING = re.compile(
    r"(?:,?(?<!\s)\s++(?:here|btw|by the way|though|tho|too|as well|actually|sadly|unfortunately|I am afraid"
    r"|you know|lol|haha)"
    r"|(?<!\s)\s*+[:;]-?[)(DP]|(?<!\s)\s++<3){1,3}$",
    re.IGNORECASE,
)
_NAMED_AGE = (
    r"(?-i:[A-ZÀ-Þ])[\w'’-]+(?: ?\(\d{1,2}(?: (?:years?|months?)(?: old)?)?\)|,? (?:who (?:is|has) (?:just |only |now )*(?:turned )?|is |aged )?\d{1,2}"
    r"(?: (?:years?|months?)(?: old)?)?(?! ?(?:kg|kilos?|cm|m|metres?)\b))"
)
_LISTED_ROLE = (
    r"\b(?P<role>kids|children|sons|daughters|boys|girls|twins|grandchildren|grandkids|grandsons|granddaughters|nephews"
    r"|nieces|dogs|cats|brothers|sisters|siblings|friends)(?: are| called| named|,|:)* "
)
_LISTED = re.compile(
    rf"{_LISTED_ROLE}(?P<list>{_NAMED_AGE}(?:(?:,| and|, and| &) {_NAMED_AGE})+)",
    re.IGNORECASE,
)
_RELATIVE = (
    r",? who(?: (?P<said>(?:is|was|has|turns|will|lives|goes|likes|loves|hates|cannot|can|does|eats|needs|wears|uses)\b[^,;()]{2,60}?)"
    r"(?=,|;|\)|$| and (?-i:[A-ZÀ-Þ])))"
)
_EITHER = rf"(?:{_NAMED_AGE}|(?-i:[A-ZÀ-Þ])[\w'’-]+{_RELATIVE.replace('?P<said>', '?:')})"
_DESCRIBED = re.compile(
    rf"{_LISTED_ROLE}(?P<list>{_EITHER}(?:(?:,| and|, and| &) {_EITHER})+)(?P<after>,)?", re.IGNORECASE
)
"""A list in which somebody is described and not aged: "two kids, Nils (9) and Aline, who turns 6 in May"."""
_ONE_DESCRIBED = re.compile(
    rf"(?<![\w'’-])(?P<name>(?-i:[A-ZÀ-Þ])[\w'’-]{{1,30}}+)(?: ?\((?P<age>\d{{1,2}}[^)]{{0,12}})\)|,? (?:aged )?(?P<age2>\d{{1,2}})\b|{_RELATIVE})",
    re.IGNORECASE,
)
_AGES = re.compile(
    r"\b(?P<role>kids|children|sons|daughters|boys|girls|twins|grandchildren|grandkids|nephews|nieces)"
    r"(?:, | \(|: | aged | who are )(?P<ages>\d{1,2}(?:, \d{1,2}){0,4} and \d{1,2}|(?<=\()\d{1,2}(?:, ?\d{1,2}){1,5}(?=\)))(?: years old| years)?\)?"
    r"(?! ?(?:kg|kilos?|cm|m|metres?|people|adults|days|nights|weeks)\b)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?<![\w'’-])(?P<name>(?-i:[A-ZÀ-Þ])[\w'’-]{1,30}+)(?: ?\((?P<age>\d{1,2}[^)]{0,12})\)|,? (?:who (?:is|has) (?:just |only |now )*(?:turned )?|is |aged )?"
    r"(?P<age2>\d{1,2}(?: (?:years?|months?)(?: old)?)?))",
    re.IGNORECASE,
)
_OWNED_AGE = re.compile(
    r"(?P<owns>(?:^|\b(?:I|we) (?:(?:just|have|only) )*)(?:have|has|got|own|adopted|bought|get|bring)(?: got)? (?:an?|one) (?:\w+ )?)"
    r"(?P<n>\d{1,2}|[a-z]{3,9}(?:-[a-z]{3,5})?)[- ](?P<unit>year|month|week|day)s?[- ]old (?P<kind>(?:[a-z-]+ ){0,2}?)(?P<role>[a-z-]+)"
    r"(?P<called>,? (?:called |named )?(?P<name>(?-i:[A-ZÀ-Þ])[\w'’-]+))?(?![\w'’-])",
    re.IGNORECASE,
)
_NAMES_THEN_AGES = re.compile(
    r"\b(?P<role>[a-z-]{3,14}s|children)(?: called| named|,|:)* (?P<names>(?-i:[A-ZÀ-Þ])[\w'’-]+(?:, (?-i:[A-ZÀ-Þ])[\w'’-]+){0,4} and (?-i:[A-ZÀ-Þ])[\w'’-]+)"
    r"(?P<cut>,? (?:who are |aged )(?P<ages>\d{1,2}(?:, \d{1,2}){0,4} and \d{1,2})(?: years?(?: old)?)?(?! ?(?:kg|kilos?|cm|m|metres?)\b))",
    re.IGNORECASE,
)
_PARTY = re.compile(
    rf", (?:we are )?(?P<x>{fragment('number')} (?:adults?|of us|people|persons|pensioners|grown-ups|seniors)\b"
    r"(?:(?:,| and| plus|, and| &) [^?]{1,80})?)$",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:we|us|our|I)\b", re.IGNORECASE)
_PART = re.compile(r"(?<!\s)\s++[-–—]\s++|[,;:]\s++")
_NAMED_KIND = re.compile(
    r"(?i:^(?:films?|movies?|actor\w*|actress\w*|singers?|bands?|books?|authors?|writers?|directors?|artists?|players?|teams?"
    r"|cit(?:y|ies)|countr(?:y|ies)|towns?|series|shows?|games?|brands?|musicians?|composers?|painters?)\b)|[A-ZÀ-Þ]"
)
"""Kinds of things that have names, or a name."""
_SPACES = re.compile(r"\s{2,}")
LONGEST_FRAGMENT = 160
"""A sentence of more characters is no fragment."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A full sentence and the slots of the facts that it may state: all where none are named."""

    text: str
    slots: frozenset[str]

    def allows(self, relation: str) -> bool:
        """Whether a fact of a relation may be learned from it."""
        slot = relation.rstrip("!")
        return not self.slots or slot in self.slots or slot.partition(" ")[0] in self.slots & {"favourite"}


def completed(text: str, *, asks: bool = False) -> Completed | None:
    """The full sentence that an elliptic one stands for; of a question, only the part before it is read."""
    part = _statement(text) if asks else text
    part = _TRAILING.sub("", part).strip(" ,.!")
    if not part or len(part) > LONGEST_FRAGMENT or _FULL.match(part) or _PLEASE.search(part):
        return None
    for spelling in dict.fromkeys((part[:1].lower() + part[1:], part)):  # a name keeps its capital
        for rewrite in REWRITES["elliptic"]:
            match = rewrite.pattern.fullmatch(spelling)
            if match is not None:
                return _filled(rewrite, match)
    return None


def embedded(text: str) -> Iterator[Completed]:
    """The statements that phrases inside a sentence make about the user."""
    if len(text) > LONGEST_FRAGMENT:
        return
    for rewrite in REWRITES["embedded"]:
        match = rewrite.pattern.search(text)
        if match is not None:
            yield _filled(rewrite, match)


def named_with_ages(text: str) -> tuple[list[Completed], str]:
    """What a list of names with ages says of each, and the text without the ages: "two kids, Ben (4) and Lea (7)"."""
    ages = _AGES.search(text)
    if ages is not None:  # "two kids, 4 and 7": their ages, not the user's
        return [Completed(f"My {ages['role'].lower()} are {ages['ages']}", frozenset(("age",)))], (
            text[: ages.end("role")] + text[ages.end() :]
        )
    party = _PARTY.search(text)
    if party is not None and _FIRST_PERSON.search(text, 0, party.start()):
        # "we stay from 3 to 7 June, two adults and a baby"
        return [Completed(f"We are {party['x'].replace(' of us', ' people')}", frozenset(("party",)))], text[
            : party.start()
        ]
    owned = _OWNED_AGE.search(text)
    if owned is not None and owned["role"].lower() in words("pets") | words("roles"):  # "a nine-year-old labrador"
        who = f"{owned['role'].lower()} {owned['name'] or ''}".strip()
        called = f" called {owned['name']}" if owned["name"] else ""
        statement = Completed(f"My {who} is {owned['n']} {owned['unit']}s old", frozenset(("age",)))
        kept = f"{owned['owns']}{owned['kind']}{owned['role']}{called}"
        return [statement], f"{text[: owned.start()]}{kept}{text[owned.end() :]}"
    several = _NAMES_THEN_AGES.search(text)
    if several is not None:  # "two dachshunds, Max and Moritz, aged 4 and 6"
        each = [re.split(r", | and ", several[group]) for group in ("names", "ages")]
        of = singular(several["role"].lower())
        if len(each[0]) == len(each[1]) and of in words("pets") | words("roles"):
            sentences = [
                Completed(f"My {of} {name} is {age}", frozenset(("age",))) for name, age in zip(*each, strict=True)
            ]
            return sentences, text[: several.start("cut")] + text[several.end("cut") :]
    return _listed(text)


def _listed(text: str) -> tuple[list[Completed], str]:
    """The same of a list of people in which each has an age or is described."""
    described = _DESCRIBED.search(text)
    match = _LISTED.search(text)
    if described is not None and (match is None or len(described["list"]) > len(match["list"])):
        return _described(described, text)
    if match is None:
        return [], text
    role = singular(match["role"].lower())
    named = [(one["name"], one["age"] or one["age2"]) for one in _NAMED.finditer(match["list"])]
    statements = [Completed(f"My {role} {name} is {age}", frozenset(("age",))) for name, age in named]
    names = " and ".join(filter(None, (", ".join(name for name, _ in named[:-1]), named[-1][0])))
    return statements, f"{text[: match.start('list')]}{names}{text[match.end('list') :]}"


def _described(match: re.Match[str], text: str) -> tuple[list[Completed], str]:
    """What a list of people says of each of them, and the text with their names alone."""
    role, names, statements = singular(match["role"].lower()), [], []
    for one in _ONE_DESCRIBED.finditer(match["list"]):
        age = one["age"] or one["age2"]
        said = f"is {age}" if age else one["said"]
        statements.append(Completed(f"My {role} {one['name']} {said}", frozenset(("age",) if age else ())))
        names.append(one["name"])
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return statements, f"{text[: match.start('list')]}{listed}{text[match.end() :]}"


def _lowered(match: re.Match[str]) -> str:
    return match[0].lower()


def _statement(text: str) -> str:
    """What stands before the question of a sentence: "coeliac here" in "coeliac here, any bread?"."""
    for cut in _PART.finditer(text):
        rest = text[cut.end() :].split()
        if rest and (is_question(rest) or rest[0].lower() in ("any", "anything")):
            return text[: cut.start()]
    return ""


def _filled(rewrite: Rewrite, match: re.Match[str]) -> Completed:
    groups = {name: re.sub("^(?:My|Our) ", _lowered, value or "") for name, value in match.groupdict().items()}
    if rewrite.expression.startswith("(?P<x>") and _NAMED_KIND.search(f"{groups.get('kind', '')} {groups['x'][1:]}"):
        groups["x"] = groups["x"][:1].upper() + groups["x"][1:]  # "Black Swan is my favourite film"
    if rewrite.sentence.startswith("{"):
        groups["who"] = groups["who"][:1].upper() + groups["who"][1:]
    return Completed(_SPACES.sub(" ", rewrite.sentence.format(**groups)).strip(), rewrite.slots)
