"""The Runs panel: tables and figures of one stored experiment, or of two side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.server.http.views import View
from dragoman.server.page.elements import Phrases, el, empty, errors_shown, heading
from dragoman.server.page.session import PageSession
from dragoman.server.page.stored_runs.figures import figure, legend
from dragoman.server.page.stored_runs.tables import best_of, cell_text, measured_first

_SHORT = 160
"""Characters of what stands at once of the words about an experiment."""


class RunsPanel:
    """The Runs panel, for admins only."""

    def __init__(self, page_session: PageSession, words: Phrases) -> None:
        self._page_session, self._words = page_session, words

    def build(self, into: TextElement) -> None:
        self._panel = into

    async def refresh(self) -> bool:
        """Reload the list of runs; whether it is shown."""
        words = self._words
        with errors_shown(words):
            caller = await self._page_session.caller()
            rows = await self._page_session.listed_runs() if caller.admin else []
            self._panel.clear()
            with self._panel:
                heading(words["runs.title"])
                if not caller.admin:
                    empty("lock_outline", words["runs.admin"])
                    return True
                if not rows:
                    empty("science", words["runs.empty"], words["runs.empty_more"])
                    return True
                names = {str(row["id"]): _run_label(row) for row in rows}
                with el("div", classes="row wrap chosen"):
                    self._first = self._choice(words["runs.first"], names, next(iter(names)))
                    self._second = self._choice(words["runs.second"], {"": words["runs.one"], **names}, "")
                self._shown = el("div", classes="results")
            await self._show()
            return True
        return False

    def _choice(self, label: str, names: dict[str, str], value: str) -> ui.select:
        select = ui.select(names, value=value, label=label, on_change=self._show)
        select.props("outlined dense options-dense")
        return select

    async def _show(self) -> None:
        with errors_shown(self._words):
            selected = [str(choice.value) for choice in (self._first, self._second) if choice.value]
            results = [await self._page_session.run_result(name) for name in dict.fromkeys(selected)]
            self._shown.clear()
            self._shown.classes(add="two" if len(results) > 1 else "", remove="" if len(results) > 1 else "two")
            with self._shown:
                for result in results:
                    with el("section", classes="result"):
                        if result is None:
                            el("p", self._words["runs.gone"], "muted")
                        else:
                            self._result(result)

    def _result(self, result: View) -> None:
        el("h4", str(result.get("title", "")), "heads")
        about = str(result.get("about") or "")
        if len(about) > _SHORT:
            with el("details", classes="more"):
                el("summary", self._words["runs.about"])
                el("p", about, "muted about")
        elif about:
            el("p", about, "muted about")
        for table in result.get("tables") or ():
            self._table(measured_first(table))
        for drawn in result.get("figures") or ():
            picture = figure(drawn)
            if picture:
                with el("figure", classes="card"):
                    el(
                        "figcaption",
                        " · ".join(str(drawn[key]) for key in ("title", "data") if drawn.get(key)),
                        "heads",
                    )
                    # Our own drawing: every text in it is escaped where it is drawn.
                    ui.html(picture, sanitize=False)
                    with el("div", classes="legend"):
                        for number, name in enumerate(legend(drawn)):
                            with el("span"):
                                el("i", classes=f"s{number}")
                                el("span", name)

    def _table(self, table: View) -> None:
        """Table of a run; systems without any figure are folded away."""
        words = self._words
        rows: Sequence[View] = table["rows"]
        count = sum(any(cell.get("value") is not None for cell in row["cells"]) for row in rows) or len(rows)
        title = str(table.get("title") or table.get("data"))
        with el("div", classes="card table"):
            el("div", title, "heads")
            counts = words["runs.turns"].format(turns=f"{table['turns']:,}", dialogues=f"{table['dialogues']:,}")
            el("div", counts, "muted")
            self._grid(table, rows[:count], title)
            if rows[count:]:
                with el("details", classes="more"):
                    el("summary", words["runs.holes"].format(count=len(rows) - count))
                    self._grid(table, rows[count:], title)

    def _grid(self, table: View, rows: Sequence[View], title: str) -> None:
        columns: Sequence[View] = table["columns"]
        best = best_of({**table, "rows": rows})
        with el("div", classes="wide", tabindex="0", role="region", aria_label=title), el("table"):
            with el("thead"), el("tr"):
                el("th", self._words["runs.system"], scope="col")
                for column in columns:
                    arrow = {"up": " ↑", "down": " ↓"}.get(str(column["direction"]), "")
                    el("th", f"{column['title']}{arrow}", scope="col", title=str(column["cite"]))
            with el("tbody"):
                for place, row in enumerate(rows):
                    with el("tr"):
                        label = " · ".join(str(row[key]) for key in ("system", "group") if row.get(key))
                        el("th", str(row["system"]), scope="row", title=label)
                        for number, (column, cell) in enumerate(zip(columns, row["cells"], strict=False)):
                            kind = "best" if best.get(number) == place else ""
                            hole = "muted" if cell.get("value") is None else ""
                            el("td", cell_text(cell, column), kind or hole, title=self._paper(cell))

    def _paper(self, cell: Mapping[str, Any]) -> str:
        return "" if cell.get("paper") is None else self._words["runs.paper"].format(figure=cell["paper"])


def _run_label(row: View) -> str:
    ended = str(row.get("ended") or "")[:16].replace("T", " ")
    return " · ".join(part for part in (str(row["name"]), ended) if part)
