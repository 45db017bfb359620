"""The turn as a picture: gate, plan, evidence, refinement, time and confidence of the selected reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.values import Evidence, Learned
from dragoman.server.page.chat import ReplyCard
from dragoman.server.page.elements import Phrases, el, empty, evidence_card, heading, meter, phrase
from dragoman.server.page.plan_graph import graph, seconds_text, span_of
from dragoman.server.page.session import Makeup
from dragoman.server.page.text_diff import difference
from dragoman.server.page.turn_view import Bar, Card, Round, TurnPicture

_AT_ONCE = 3
_READ = 8
"""So many pieces the critic reads for a picture: each costs it some hundredths of a second."""


class WhyPanel:
    """The panel of reasons."""

    def __init__(self, words: Phrases) -> None:
        self._words = words
        self.makeup = Makeup()
        self._slots: dict[str, TextElement] = {}

    def build(self, into: TextElement) -> None:
        self._panel = into
        self.show(None)

    def show(self, answer: ReplyCard | None) -> None:
        """Draw a reply anew, as far as it has come."""
        words = self._words
        self._panel.clear()
        self._slots = {}
        with self._panel:
            if answer is None:
                empty("route", words["why.empty"], words["why.empty_more"])
                return
            telling = answer.telling
            if telling is None:
                empty("route", words["why.no_trace"])
                return
            self._draw(telling, answer.seconds)
        if answer.checked:
            self.complete(answer)

    def unread(self, answer: ReplyCard) -> list[Evidence]:
        """The evidence of an answer that no critic has read yet, where this agent has one."""
        telling = answer.telling
        if telling is None or not self.makeup.has_critic or telling.worth not in ("answer", "nearest"):
            return []
        cards = [card for card in _ordered(telling.cards) if card.consistency is None and not card.is_gone]
        return [card.evidence for card in cards[:_READ]]

    def complete(self, answer: ReplyCard) -> None:
        """Put in what the critic said after the reply."""
        found: Mapping[str, float] = answer.checked or {}
        for name, value in found.items():
            slot = self._slots.get(name)
            if slot is not None and not slot.is_deleted:
                slot.clear()
                with slot:
                    meter(self._words["consistency"], value)

    def _draw(self, telling: TurnPicture, seconds: float | None) -> None:
        words = self._words
        if telling.learned is not None and not telling.learned.is_empty:
            heading(words["why.learned"])
            self._learned(telling.learned)
        if telling.verdict is not None:
            heading(words["why.plan"])
            with el("div", classes="card"):
                # Our own drawing: every text in it is escaped where it is drawn.
                ui.html(graph(telling, self.makeup.sources, words), sanitize=False)
                reasons = {"gate": telling.verdict.reason, "planner": telling.plan.reason if telling.plan else ""}
                said = [
                    f"{words[f'role.{role}']}: {phrase(words, f'reason.{reason}', reason)}"
                    for role, reason in reasons.items()
                    if reason
                ]
                if said:
                    el("p", " · ".join(said), "muted reason")
        if telling.confidence is not None:
            self._trust(telling, telling.confidence)
        if telling.warnings:
            heading(words["why.trouble"])
            for warning in telling.warnings:
                el("p", warning, "warning", role="note")
        if telling.stops or telling.cards:
            heading(words["why.looked" if telling.worth == "no answer" else "why.evidence"])
            if not telling.cards and all(stop.found is not None for stop in telling.stops):
                el("p", words["why.nothing"], "muted")
        self._evidence(telling.cards)
        if telling.rounds:
            heading(words["why.refined"])
            names = {card.evidence.id: card.evidence.text for card in telling.cards}
            for number, one in enumerate(telling.rounds, start=1):
                self._round(number, one, names)
        elif telling.confidence is not None and telling.cards and not self.makeup.refines:
            heading(words["why.refined"])
            key = "why.unrefined_read" if self.makeup.has_critic else "why.unrefined"
            el("p", words[key], "muted reason")
        if telling.bars:
            heading(words["why.time"])
            self._time(telling, seconds)

    def _evidence(self, cards: Sequence[Card]) -> None:
        """What the reply rests on and what fits best; the rest behind a line."""
        ordered = _ordered(cards)
        first = max(_AT_ONCE, sum(card.quoted for card in ordered))
        for card in ordered[:first]:
            self._slots[card.evidence.id] = evidence_card(card, self._words)
        if ordered[first:]:
            with el("details", classes="more"):
                el("summary", self._words["why.more"].format(count=len(ordered) - first))
                for card in ordered[first:]:
                    self._slots[card.evidence.id] = evidence_card(card, self._words)

    def _trust(self, telling: TurnPicture, confidence: float) -> None:
        """How far the reply is to be trusted. "I don't know" has no bar: a full one would look like a sure answer."""
        words = self._words
        with el("div", classes=f"card trust {telling.worth.replace(' ', '-')}"):
            match telling.worth:
                case "no answer":
                    el("p", words["trust.none"], "verdict")
                    if telling.stops:
                        el("p", words["trust.none_more"].format(best=telling.best, sure=confidence), "muted")
                    else:
                        el("p", words["trust.not_looked"], "muted")
                case "nearest":
                    meter(words["confidence"], confidence)
                    el("p", words["trust.nearest"], "muted")
                case "phrase":
                    el("p", words["method.said"], "muted")
                case "answer":
                    meter(words["confidence"], confidence)
                    el("p", phrase(words, f"method.{telling.method}", telling.method), "muted")

    def _learned(self, learned: Learned) -> None:
        told = {
            "why.added": learned.added,
            "why.superseded": learned.superseded,
            "why.joined": learned.joined,
            "why.forgotten": learned.forgotten,
        }
        with el("div", classes="card learned"):
            for key, passages in told.items():
                for passage in passages:
                    with el("p"):
                        el("span", self._words[key], "tag")
                        el("span", self._words["chat.forgotten"] if key == "why.forgotten" else passage.text)

    def _round(self, number: int, one: Round, names: dict[str, str]) -> None:
        words = self._words
        with el("article", classes="card round"):
            el("div", words["why.round"].format(number=number), "heads")
            if not one.replaced:
                el("p", words["why.kept_all"], "muted")
            else:
                el("p", words["why.swapped"], "muted")
            for old, new in one.replaced:
                with el("p", classes="swap"):
                    el("del", names.get(old, old))
                    el("ins", names.get(new, new))
            if one.before == one.after:
                el("p", words["why.same_text"], "muted")
                return
            el("p", words["why.changed"], "muted")
            with el("p", classes="diff"):
                for piece in difference(one.before, one.after):
                    el({"same": "span", "gone": "del", "new": "ins"}[piece.kind], piece.text)

    def _time(self, telling: TurnPicture, seconds: float | None) -> None:
        words = self._words
        whole = max(seconds or 0.0, telling.seconds) or 1e-9
        rest = (seconds or 0.0) - telling.seconds
        with el("div", classes="card waterfall"):
            for bar in telling.bars:
                role = phrase(words, f"role.{bar.role}", bar.role)
                self._bar(f"{role} · {bar.about}" if bar.about else role, bar, whole)
            if rest > 0:
                self._bar(words["why.rest"], Bar("", "", telling.seconds, rest), whole, kind="rest")
            with el("div", classes="fall total"):
                el("span", words["why.all"], "muted")
                el("span")
                el("span", seconds_text(max(seconds or 0.0, telling.seconds)), "figure")

    @staticmethod
    def _bar(name: str, bar: Bar, whole: float, *, kind: str = "") -> None:
        with el("div", classes=f"fall {kind}", title=" · ".join(part for part in (name, bar.component) if part)):
            el("span", name, "muted name")
            with el("span", classes="lane"):
                left, width = span_of(bar.start, bar.seconds, whole)
                el("span", classes="piece").style(f"left: {left:.2f}%; width: {width:.2f}%")
            el("span", seconds_text(bar.seconds), "figure")


def _ordered(cards: Sequence[Card]) -> list[Card]:
    """What the reply rests on first, then what fits best, then what went."""
    return sorted(cards, key=lambda card: (not card.quoted, card.is_gone, -card.evidence.relevance))
