"""Generator of dialogues between an invented user and an invented bot, with gold labels, from a seed.

A bot has three places (a persona statement each), a place has five facts (its documents), and a user has stated four
facts. The position in the dialogue decides the form of a question: with the words of the text, without them, or as a
follow-up. Dev and test have wordings and places that train lacks. A few turns are noise: evaded questions, and small
talk that the bot answers with its persona.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.datasets.toy.dice import Dice
from dragoman.datasets.toy.grammar import Pair, PlaceKind, Saying, ToyGrammar, ToyValue, clause, fill
from dragoman.datasets.toy.script import Exchange, Script, candidates_of, document_id, persona_id, user_id

TOLD = 4
"""Number of facts that a user has stated."""
HELD_BACK = 0.4
"""Share of wordings that train never sees, if others remain."""
EVADED, VOLUNTEERED = 0.05, 0.06
"""Noise: share of questions that are evaded, and of small talk answered with a persona statement."""


@dataclass(frozen=True, slots=True)
class BotPlace:
    """One of the bot's three places: its persona statement and its five documents."""

    kind: PlaceKind
    name: str
    persona: Saying
    value: ToyValue
    facts: tuple[ToyValue, ...]
    documents: tuple[str, ...]

    @property
    def statement(self) -> str:
        return fill(self.persona.says[0], self.value, name=self.name)


@dataclass(frozen=True, slots=True)
class TurnTopic:
    """Topic of the turn before: the place, if any, and the fact about it."""

    reply: str
    said: str = ""
    place: int | None = None


class DialogueComposer:
    """Generator of dialogues; seed, language and number determine a dialogue."""

    def __init__(self, grammar: ToyGrammar, *, language: str, seed: int) -> None:
        self._grammar = grammar
        self._key = (seed, language)
        self._held: dict[str, bool] = {}

    def script(self, id: str, *, number: int, part: str, joint: bool) -> Script:
        """Return a dialogue of a part; `joint` adds a turn that needs user facts and persona together."""
        dice = Dice(*self._key, "dialogue", number)
        domain = dice.pick(self._grammar.domains)
        places = [self._place(kind, name, dice, other) for kind, name, other in self._choose(domain, part, dice)]
        facts = [(saying, saying.value(dice)) for saying in dice.several(self._grammar.user, TOLD)]
        candidates = candidates_of(
            id,
            [fill(dice.pick(saying.says), value) for saying, value in facts],
            [(place.statement, list(place.documents)) for place in places],
        )
        stage = _DialogueState(
            id=id,
            domain=domain,
            grammar=self._grammar,
            places=tuple(places),
            facts=tuple(facts),
            dice=dice,
            heard=self._heard if part == "train" else None,
        )
        return Script(id, domain, tuple(candidates), tuple(stage.play(joint=joint)))

    def _heard(self, wording: str) -> bool:
        """Whether a wording may occur in train."""
        if wording not in self._held:
            self._held[wording] = Dice(*self._key, "wording", wording).chance(HELD_BACK)
        return not self._held[wording]

    def _choose(self, domain: str, part: str, dice: Dice) -> list[tuple[PlaceKind, str, int]]:
        """Choose three places, mostly two of a kind as distractors, each with a persona number."""
        mine = [kind for kind in self._grammar.kinds if kind.domain == domain]
        others = [kind for kind in self._grammar.kinds if kind.domain != domain]
        likeness = dice.weighed([("domain", 0.5), ("kind", 0.35), ("none", 0.15)])
        if likeness == "domain":
            kinds = [*dice.several(mine, 2), dice.pick(others)]
        elif likeness == "kind":
            kinds = [dice.pick(mine)] * 2 + [dice.pick(others)]
        else:
            kinds = [dice.pick(mine), *dice.several(others, 2)]
        numbers = dice.several(range(3), 3)
        chosen: list[tuple[PlaceKind, str, int]] = []
        for kind, number in zip(dice.several(kinds, 3), numbers, strict=True):
            free = [name for name in _names(kind, part, dice) if name not in {taken for _, taken, _ in chosen}]
            chosen.append((kind, dice.pick(free or kind.names[:-2]), number))
        return chosen

    def _place(self, kind: PlaceKind, name: str, dice: Dice, number: int) -> BotPlace:
        # A place is the same in every dialogue: its facts hang on the seed and its name alone.
        fate = Dice(*self._key, "place", name)
        facts = tuple(topic.value(fate) for topic in kind.topics)
        documents = tuple(
            fill(fate.pick(topic.says), fact, name=name) for topic, fact in zip(kind.topics, facts, strict=True)
        )
        persona = kind.personas[number]
        return BotPlace(kind, name, persona, persona.value(dice), facts, documents)


def _names(kind: PlaceKind, part: str, dice: Dice) -> Sequence[str]:
    """Return the names of a part: the last of a kind is for test only, the one before for dev only."""
    unseen = {"dev": kind.names[-2:-1], "test": kind.names[-1:]}.get(part, ())
    return unseen if unseen and dice.chance(0.5) else kind.names[:-2]


class _DialogueState:
    """State of one dialogue: used options, and the topic of the turn before."""

    def __init__(
        self,
        *,
        id: str,
        domain: str,
        grammar: ToyGrammar,
        places: tuple[BotPlace, ...],
        facts: tuple[tuple[Saying, ToyValue], ...],
        dice: Dice,
        heard: Callable[[str], bool] | None,
    ) -> None:
        self._id = id
        self._domain = domain
        self._talk = grammar.talk
        self._places = places
        self._facts = facts
        self._dice = dice
        self._heard = heard
        self._focus = TurnTopic("")
        self._used: set[str] = set()
        self._topics = [(place, topic) for place in range(3) for topic in range(5)]
        self._personas = [0, 1, 2]
        self._sayings = list(range(len(facts)))

    def play(self, *, joint: bool) -> list[Exchange]:
        length = 4 + self._dice.below(4)
        opened, closed = self._dice.chance(0.45), self._dice.chance(0.45)
        exchanges: list[Exchange] = []
        for position in range(length):
            if position == 0 and opened:
                exchange = self._say(self._talk.hello)
            elif position == length - 1 and closed:
                exchange = self._say(self._talk.close)
            elif joint and position == length // 2:
                exchange = self._joint()
            else:
                idle = len(exchanges) > 1 and not (exchanges[-1].evidence or exchanges[-2].evidence)
                exchange = self._turn(idle=idle)
            exchanges.append(exchange)
        return exchanges

    def _turn(self, *, idle: bool) -> Exchange:
        """Draw a turn for the middle; no small talk after two idle turns."""
        small = 0.0 if idle else 0.25
        act = self._dice.weighed([("document", 0.38), ("persona", 0.2), ("user", 0.14), ("small", small)])
        if act == "document":
            return self._noisy(self._document())
        if act == "persona" and self._personas:
            return self._noisy(self._persona())
        if act == "user" and self._sayings:
            return self._noisy(self._user())
        return self._small()

    def _document(self) -> Exchange:
        here = [entry for entry in self._topics if entry[0] == self._focus.place]
        stays = bool(here) and self._dice.chance(0.8)
        place, topic = self._dice.pick(here if stays else self._topics)
        stays = place == self._focus.place
        self._topics.remove((place, topic))
        there = self._places[place]
        saying, value = there.kind.topics[topic], there.facts[topic]
        ways = [(saying.then, 0.45), (saying.hints, 0.3), (saying.asks, 0.25)] if stays else [(saying.asks, 1.0)]
        if not stays and [other.kind for other in self._places].count(there.kind) > 1:
            ways = [(saying.asks[:1], 1.0)]  # the one that gives the name: nothing else tells the two apart
        question, reply = self._ask(saying, ways, value, there.name)
        self._focus = TurnTopic(reply, _said(value, reply), place)
        evidence = (persona_id(self._id, place + 1), document_id(self._id, place + 1, topic + 1))
        return Exchange(question, reply, evidence)

    def _persona(self) -> Exchange:
        place = self._personas.pop(self._dice.below(len(self._personas)))
        there = self._places[place]
        ways = [(there.persona.asks, 0.55), (there.persona.hints, 0.45)]
        question, reply = self._ask(there.persona, ways, there.value, there.name)
        self._focus = TurnTopic(reply, _said(there.value, reply), place)
        return Exchange(question, reply, (persona_id(self._id, place + 1),))

    def _user(self) -> Exchange:
        number = self._sayings.pop(self._dice.below(len(self._sayings)))
        saying, value = self._facts[number]
        question, reply = self._ask(saying, [(saying.asks, 0.5), (saying.hints, 0.5)], value, "")
        self._focus = TurnTopic(reply, _said(value, reply))
        return Exchange(question, reply, (user_id(self._id, number + 1),))

    def _joint(self) -> Exchange:
        number, place = self._dice.below(len(self._facts)), self._dice.below(3)
        (saying, value), there = self._facts[number], self._places[place]
        question = fill(self._fresh(saying.joint), value, there=there.kind.there)
        reply = fill(self._dice.pick(saying.both), value, persona=clause(there.statement))
        self._focus = TurnTopic(reply, place=place)
        return Exchange(question, reply, (user_id(self._id, number + 1), persona_id(self._id, place + 1)))

    def _small(self) -> Exchange:
        ways: list[tuple[tuple[Pair, ...], float]] = [(self._talk.any, 0.3), (self._talk.domain[self._domain], 0.25)]
        if self._focus.reply:
            ways += [(self._talk.react, 0.3), (self._talk.again, 0.1)]
        if self._focus.said:
            ways.append((self._talk.check, 0.15))
        way = self._dice.weighed(ways)
        if way is not self._talk.any and way is not self._talk.domain[self._domain]:
            return self._say(way)
        if not self._dice.chance(VOLUNTEERED):
            return self._say(way)
        user = self._say(way).user
        place = self._dice.below(3)
        statement = clause(self._places[place].statement)
        reply = fill(self._dice.pick(self._talk.volunteer), ToyValue(), persona=statement)
        self._focus = TurnTopic(reply, place=place)
        return Exchange(user, reply, (persona_id(self._id, place + 1),))

    def _say(self, pairs: Sequence[Pair]) -> Exchange:
        """Small talk; a mere reaction keeps the topic of the turn before."""
        question = self._fresh([user for user, _ in pairs])
        reply = dict(pairs)[question]
        value = ToyValue(self._focus.said, self._focus.said)
        exchange = Exchange(fill(question, value), fill(reply, value, last=self._focus.reply))
        leaves = any(pairs is stays for stays in (self._talk.react, self._talk.check, self._talk.again))
        self._focus = TurnTopic("", place=self._focus.place if leaves else None)
        return exchange

    def _noisy(self, exchange: Exchange) -> Exchange:
        if not self._dice.chance(EVADED):
            return exchange
        self._focus = TurnTopic("")
        return Exchange(exchange.user, self._dice.pick(self._talk.evade))

    def _ask(
        self, saying: Saying, ways: Sequence[tuple[tuple[str, ...], float]], value: ToyValue, name: str
    ) -> tuple[str, str]:
        """Return a question and its reply: the first wording answers a plain question, the second a hint."""
        way = self._dice.weighed(ways)
        plain = 0.0 if way is saying.hints else 0.5 if way is saying.then else 1.0
        reply = saying.tells[0 if self._dice.chance(plain) else 1]
        return fill(self._fresh(way), value, name=name), fill(reply, value, name=name)

    def _fresh(self, options: Sequence[str]) -> str:
        """Draw an option of this part, unused while there is one."""
        allowed = [option for option in options if self._heard is None or self._heard(option)] or options[:1]
        unused = [option for option in allowed if option not in self._used] or allowed
        chosen = self._dice.pick(unused)
        self._used.add(chosen)
        return chosen


def _said(value: ToyValue, reply: str) -> str:
    """Return the value in the wording of the reply, for a question that asks for confirmation."""
    return next((form for form in (value.formal, value.casual) if form and form in reply), "")
