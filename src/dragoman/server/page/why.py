"""The Why panel: what decided the selected reply and what was found; gate, plan, scores and timings under Details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.values import Evidence, Learned, Verdict
from dragoman.server.cost import cost_text
from dragoman.server.explanation import Explanation, explanation_lines
from dragoman.server.page.elements import Phrases, el, empty, evidence_card, heading, meter, phrase
from dragoman.server.page.plan_graph import graph, seconds_text, span_of
from dragoman.server.page.reply.card import ReplyCard
from dragoman.server.page.session import Makeup
from dragoman.server.page.text_diff import difference
from dragoman.server.page.turn_view import Bar, Card, Round, TurnPicture, source_label

_AT_ONCE = 3
_READ = 8
"""Number of pieces that the critic scores for display: each takes it some hundredths of a second."""


class WhyPanel:
    """The panel that explains the selected reply."""

    def __init__(self, words: Phrases) -> None:
        self._words = words
        self.makeup = Makeup()
        self._slots: dict[str, TextElement] = {}
        self._is_open = False

    def build(self, into: TextElement) -> None:
        self._panel = into
        self.show(None)

    def show(self, answer: ReplyCard | None) -> None:
        """Redraw the panel for a reply, finished or not."""
        words = self._words
        self._panel.clear()
        self._slots = {}
        with self._panel:
            if answer is None:
                empty("route", words["why.empty"], words["why.empty_more"])
                return
            picture = answer.picture
            if picture is None:
                empty("route", words["why.broken_off" if answer.is_broken_off else "why.no_trace"])
                return
            if answer.reply is None and not picture.cards:
                el("p", words["chat.thinking"], "muted loading")
                return
            self._draw(picture, answer.seconds)
        if answer.checked:
            self.complete(answer)

    def unread(self, answer: ReplyCard) -> list[Evidence]:
        """The evidence of an answer that the agent's critic has not scored yet; none without a critic."""
        picture = answer.picture
        if picture is None or not self.makeup.has_critic or picture.worth not in ("answer", "nearest"):
            return []
        cards = [card for card in _ordered(picture.cards) if card.consistency is None and not card.is_gone]
        return [card.evidence for card in cards[:_READ]]

    def complete(self, answer: ReplyCard) -> None:
        """Add the consistencies that the critic scored after the reply."""
        scores: Mapping[str, float] = answer.checked or {}
        for name, value in scores.items():
            slot = self._slots.get(name)
            if slot is not None and not slot.is_deleted:
                slot.clear()
                with slot:
                    meter(self._words["consistency"], value)

    def _draw(self, picture: TurnPicture, seconds: float | None) -> None:
        """Show the deciding fact and rule and the evidence; scores, plan and timings stand under Details."""
        words = self._words
        if picture.explanation is not None:
            heading(words["why.decided"])
            self._explanation(picture.explanation)
        has_learned = picture.learned is not None and not picture.learned.is_empty
        if picture.explanation is None and picture.confidence is not None and not has_learned:
            self._verdict(picture)
        if picture.learned is not None and has_learned:
            heading(words["why.learned"])
            self._learned(picture.learned)
        if picture.warnings:
            heading(words["why.trouble"])
            for warning in picture.warnings:
                el("p", warning, "warning", role="note")
        if picture.stops or picture.cards:
            heading(words["why.looked" if picture.worth == "no answer" else "why.evidence"])
            if not picture.cards and all(stop.hits is not None for stop in picture.stops):
                el("p", words["why.nothing"], "muted")
        self._evidence(picture.cards)
        if picture.verdict is not None:
            self._details(picture, picture.verdict, seconds)

    def _details(self, picture: TurnPicture, verdict: Verdict, seconds: float | None) -> None:
        """Gate, plan, scores, refinement and timings, behind a fold that stays as the user left it."""
        words = self._words
        with el("details", classes="more why-details", open=self._is_open) as fold:
            fold.on(
                "toggle", lambda event: self._fold(bool(event.args)), js_handler="(event) => emit(event.target.open)"
            )
            el("summary", words["why.details"])
            self._plan(picture, verdict)
            if picture.confidence is not None:
                self._trust(picture, picture.confidence)
            self._scores(picture.cards)
            if picture.rounds:
                heading(words["why.refined"])
                names = {card.evidence.id: card.evidence.text for card in picture.cards}
                for number, one in enumerate(picture.rounds, start=1):
                    self._round(number, one, names)
            elif picture.confidence is not None and picture.cards and not self.makeup.refines:
                heading(words["why.refined"])
                key = "why.unrefined_read" if self.makeup.has_critic else "why.unrefined"
                el("p", words[key], "muted reason")
            if picture.bars:
                heading(words["why.time"])
                self._time(picture, seconds)

    def _fold(self, is_open: bool) -> None:
        self._is_open = is_open

    def _verdict(self, picture: TurnPicture) -> None:
        """Say in one sentence how the reply came about, where no rule decided it."""
        words = self._words
        match picture.worth:
            case "no answer" if picture.verdict is not None and not picture.verdict.retrieve:
                text = words["trust.not_looked"]
            case "no answer":
                text = words["trust.none"]
            case "nearest":
                text = words["trust.nearest"]
            case _:
                text = phrase(words, f"method.{picture.origin}", picture.origin)
        heading(words["why.decided"])
        with el("div", classes=f"card trust {picture.worth.replace(' ', '-')}"):
            el("p", text, "verdict")

    def _scores(self, cards: Sequence[Card]) -> None:
        """Relevance and consistency of each piece of evidence."""
        if not cards:
            return
        heading(self._words["why.scores"])
        for card in _ordered(cards):
            with el("div", classes="card score"):
                el("div", _first_words(card.evidence.text), "where")
                meter(self._words["relevance"], card.evidence.relevance)
                with el("div", classes="slot") as slot:
                    meter(self._words["consistency"], card.consistency)
                self._slots[card.evidence.id] = slot

    def _plan(self, picture: TurnPicture, verdict: Verdict) -> None:
        words = self._words
        heading(words["why.plan"])
        with el("div", classes="card"):
            # `graph` escapes every text.
            ui.html(graph(picture, self.makeup.sources, words), sanitize=False)
            reasons = {"gate": verdict.reason, "planner": picture.plan.reason if picture.plan else ""}
            lines = [
                f"{words[f'role.{role}']}: {phrase(words, f'reason.{reason}', reason)}"
                for role, reason in reasons.items()
                if reason
            ]
            if lines:
                el("p", " · ".join(lines), "muted reason")

    def _evidence(self, cards: Sequence[Card]) -> None:
        """Quoted evidence and the best of the rest; the remainder is folded away."""
        ordered = _ordered(cards)
        first = max(_AT_ONCE, sum(card.quoted for card in ordered))
        for card in ordered[:first]:
            evidence_card(card, self._words, scores=False)
        if ordered[first:]:
            with el("details", classes="more"):
                el("summary", self._words["why.more"].format(count=len(ordered) - first))
                for card in ordered[first:]:
                    evidence_card(card, self._words, scores=False)

    def _trust(self, picture: TurnPicture, confidence: float) -> None:
        """The confidence of the reply. "I don't know" has no bar: a full one would look like a sure answer."""
        words = self._words
        with el("div", classes=f"card trust {picture.worth.replace(' ', '-')}"):
            match picture.worth:
                case "no answer" if not picture.stops:
                    el("p", words["trust.not_looked"], "verdict")
                case "no answer":
                    el("p", words["trust.none"], "verdict")
                    el("p", words["trust.none_more"].format(best=picture.best, sure=confidence), "muted")
                case "nearest":
                    meter(words["confidence"], confidence)
                    el("p", words["trust.nearest"], "muted")
                case "phrase":
                    el("p", phrase(words, f"method.{picture.origin}", picture.origin), "muted")
                case "answer":
                    meter(words["confidence"], confidence)
                    el("p", phrase(words, f"method.{picture.origin}", picture.origin), "muted")

    def _explanation(self, reason: Explanation) -> None:
        with el("div", classes="card learned"):
            for label, text in explanation_lines(reason, self._words):
                with el("p"):
                    el("span", label, "tag")
                    el("span", text)

    def _learned(self, learned: Learned) -> None:
        changes = {
            "why.added": learned.added,
            "why.superseded": learned.superseded,
            "why.joined": learned.joined,
            "why.forgotten": learned.forgotten,
        }
        with el("div", classes="card learned"):
            for key, passages in changes.items():
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

    def _time(self, picture: TurnPicture, seconds: float | None) -> None:
        words = self._words
        whole = max(seconds or 0.0, picture.seconds) or 1e-9
        rest = (seconds or 0.0) - picture.seconds
        with el("div", classes="card waterfall"):
            for bar in picture.bars:
                about = ", ".join(source_label(name, words) for name in bar.about)
                role = phrase(words, f"role.{bar.role}", bar.role)
                self._bar(f"{role} · {about}" if about else role, bar, whole)
            if rest > 0:
                self._bar(words["why.rest"], Bar("", "", picture.seconds, rest), whole, kind="rest")
            with el("div", classes="fall total"):
                el("span", words["why.all"], "muted")
                el("span")
                el("span", seconds_text(max(seconds or 0.0, picture.seconds)), "figure")
        if cost := cost_text(picture.usage, picture.price, words):
            heading(words["why.cost"])
            el("p", cost, "muted reason cost")

    @staticmethod
    def _bar(name: str, bar: Bar, whole: float, *, kind: str = "") -> None:
        with el("div", classes=f"fall {kind}", title=" · ".join(part for part in (name, bar.component) if part)):
            el("span", name, "muted name")
            with el("span", classes="lane"):
                left, width = span_of(bar.start, bar.seconds, whole)
                el("span", classes="piece").style(f"left: {left:.2f}%; width: {width:.2f}%")
            el("span", seconds_text(bar.seconds), "figure")


def _first_words(text: str, most: int = 90) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _ordered(cards: Sequence[Card]) -> list[Card]:
    """Quoted evidence first, then by relevance; unused evidence last."""
    return sorted(cards, key=lambda card: (not card.quoted, card.is_gone, -card.evidence.relevance))
