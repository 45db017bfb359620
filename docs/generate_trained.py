"""Writes docs/trained.md: the rows of the papers' tables that are trained, from run folders and part folders.

    python docs/generate_trained.py --runs DIR --parts DIR --machine TEXT --day DATE [--keep]

The runs are made by `dragoman evaluate EXPERIMENT --train ..`, on a GPU; unfinished ones are left out. A table
joins the runs of one experiment; above it stand the commands. `--parts` is where the parts lie that the runs trained:
their logs are the learning curves. With --keep, what the page holds already and these runs do not measure again stays:
rows of the same columns in their tables, other tables, other curves.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import kept_rows

from dragoman.evaluate.results import Result
from dragoman.evaluate.running.run_record import RESULTS, load_run
from dragoman.evaluate.show.tables import markdown

PAGE = Path(__file__).with_name("trained.md")
PAPERS = {"unims": "UniMS-RAG", "safari": "SAFARI", "ragate": "RAGate", "pkicr": "PK-ICR"}
ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII")
CURVES = ("plan/f1", "check/f1", "hit@1", "similarity/ece", "response/loss")
HEAD = """# Trained rows

The rows of the papers' tables whose parts are trained, on the dev splits.
{machine}, {day}. The command above a table trains what it needs and prints it; rows that need no
training stand in [results](results.md), nine more gates on KETOD and KBP's `classifier` in [what the learners
reach](learned.md), the shape of the model in [the unified model](unified.md). Written by `python
docs/generate_trained.py`.

- Ours are dev figures of one seed. Epochs, offsets and calibrations come from a tenth of the training dialogues; on
  DuLeMon, whose training part we did not have, from the fifth that is measured, which flatters its rows.
- Bold is the best of a table on this page alone: of KETOD's gates, [what the learners reach](learned.md) has one with
  F1 0.5698, partly fitted on the same turns.
- KBP and DuLeMon: Qwen2.5-Coder-0.5B-Instruct, all weights; DSTC11: SmolLM2-135M with an adapter of 14.7 MB. The
  critic that refines is another one than the judge of P.C and K.C.
- Of KBP, the rows of "unified" in Table VI are of 2026-11-15, by a part whose replies' end was not yet fitted
  (`model.endings`): in Table V, with one piece a source, BLEU-1 is 43.5 without it and 43.9 with it.
- In Table VI, KBP's "unified, alpha = 2" and "alpha = 3" were measured before a document whose persona is replaced in
  the same round was found by the new persona; the rows that quote did not change by it.
- Of the learning curves, that of DuLeMon's SAFARI and of the third training of dstc11-unims-mean were not kept.
- The judge of P.C and K.C was trained three times, and a GPU does not repeat itself to the bit: "unified" has 79.4 /
  64.5 by the first, 79.9 / 64.5 by the second, with the same replies. In Table V, "unified, evidence-aware plan" and
  "unified, pairs" are by the second, as is Table VII of KBP but for "unified without attention mask"; that row, "mean
  of three", "paper's layout" and SAFARI's Tables 7 and 8 are by the third; the rest is by the first. SAFARI's part was
  trained anew for its Tables 7 and 8: in Table 6 the one before replies.
- Replies of 2026-11-15 and 2026-11-16 were written before those that go round in circles were unwound
  (`text/circles.py`), and by parts whose end was fitted to lengths alone: of 1,227 replies of "paper's layout" 9 do, of
  those with 16 drafts 1 (`python benchmarks/circles.py RUN`). Of 2026-11-17 are Table V's "unified LoRA, mean of three"
  without drafts: the adapters of the day before, their end fitted anew to people's words (-3.75 on its logit).
- Of 2026-11-17 are also, with replies whose end was fitted to people's words, all rows of "DSTC11 unified" in Tables
  III to VII but for "mean of three", and KBP's with a bi-encoder's labels. `dstc11-unims` was trained anew for them
  by the same recipe; the training before had 96.74 ±2.47 in Table IV where this one has 98.14 ±1.69, and 92.56 ±3.33
  where it has 93.49 ±3.10: so far are two trainings apart. RAGate's Table 1 is by the training before: "unified
  judges" has hit@1 0.9674 there. The cells that say "not trained" were measured before their judge was trained.
- Rows of "mean of three", "without the mask", seen and unseen evidence, and SAFARI's Tables 7 and 8 were computed with
  products in TF32, the others in float32.
- The cut by unseen evidence leaves 3,224 turns to learn from, a third of the official part. "On seen evidence" is its
  control: 3,226 turns of all dialogues that are not held out, in which 82 % of the held-out evidence occurs.
- RAGate-PEFT's gates ran in llama.cpp on the processor beside that GPU: its seconds a turn are that processor's;
  those of "syn-resp" include the draft, and of "[contx;syn-resp;ner]" they are those of two cores Neoverse-N1.
- PK-ICR's rows, DSTC11's cross-encoder and encoder gate, and those with KBP's cross-encoder were measured on two cores
  Neoverse-N1, 2026-11-16 and 2026-11-17, with parts of the same H200.
- Of RAGate's Tables 3 and 5 the rows of RAGate-MHA and of linear gates over what is not trained, and of Table 2 the
  prompted gate, the linear ones and "contx x know" on DSTC11, were trained and measured on two cores Neoverse-N1,
  2026-11-16.
- Of 2026-11-17, with parts of the same H200, are the rows of a trained ranker and of Table 4: measured on two cores
  Neoverse-N1, beside other work, which their seconds a turn show. The encoder gate and RAGate-PEFT of Tables 3 and 5,
  Random-Aug and the linear gate of Table 4, and KBP's cross-encoder with the persona in its query were measured on the
  processor beside that GPU, shared too. There the encoder of BERTScore, which has eight bits, rounds otherwise: No-Aug
  has 0.1726 there and 0.1713 on the Neoverse-N1, which is what is printed.
- Human-label and Aug-All of Table 4 ask the same where a reply is measured. Ten of their 215 replies differ all the
  same: the embedded model writes two at once and rounds by which two, and their run was stopped and went on.
- Stars are of the run that measured a row, corrected over its rows: Random-Aug and the linear gate of Table 4 were run
  without their baseline and are not tested.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/trained.md.")
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--machine", required=True)
    parser.add_argument("--day", required=True)
    parser.add_argument("--keep", action="store_true", help="keep what these runs do not measure again")
    options = parser.parse_args()
    groups: dict[str, list[Result]] = {}
    for folder in sorted(options.runs.iterdir()):
        if (folder / RESULTS).exists():
            name = "-".join(folder.name.split("-")[:2])
            groups.setdefault(name, []).append(load_run(folder))
    before = PAGE.read_text(encoding="utf-8") if options.keep else ""
    page = HEAD.format(machine=options.machine, day=options.day)
    sections = kept_rows.read(before)
    for name in sorted(groups, key=_order):
        for result in groups[name]:  # one after the other: a row that several have, as a baseline, stands once
            for title, section in kept_rows.read(_section(name, result)).items():
                sections[title] = kept_rows.joined(sections[title], section) if title in sections else section
    page += "".join(kept_rows.written(sections[title]) for title in sorted(sections, key=_place))
    page += _curves(options.parts, before)
    PAGE.write_text(page, encoding="utf-8")


def _order(name: str) -> tuple[int, int]:
    paper, _, table = name.partition("-")
    return list(PAPERS).index(paper), int(table)


def _place(title: str) -> tuple[int, int]:
    """Where a section stands: by paper, then by the number of its table, Roman or not."""
    paper, _, rest = title.partition(", Table ")
    number = rest.partition(":")[0]
    return list(PAPERS.values()).index(paper), ROMAN.index(number) if number in ROMAN else int(number)


def _section(name: str, result: Result) -> str:
    kept = _measured(result)
    title = f"{PAPERS[name.partition('-')[0]]}, Table {_table(result)}: {result.title}"
    lines = markdown(kept).splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("## ")), 0)
    body = "\n".join(f"#{line}" if line.startswith("## ") else line for line in lines[start:]).strip()
    return f"\n## {title}\n\n```sh\n{_command(name, kept)}\n```\n\n{body}\n"


def _measured(result: Result) -> Result:
    """A result with the rows that were run."""
    tables = (
        replace(table, rows=tuple(row for row in table.rows if any(cell.value is not None for cell in row.cells)))
        for table in result.tables
    )
    return replace(result, tables=tuple(table for table in tables if table.rows))


def _table(result: Result) -> str:
    told = result.manifest.get("experiment")
    return str(told.get("table", "")) if isinstance(told, Mapping) else ""


def _command(name: str, result: Result) -> str:
    words = ["dragoman", "evaluate", name, "--train"]
    words += [word for table in result.tables for word in ("--data", table.data)]
    systems = dict.fromkeys(row.system for table in result.tables for row in table.rows)
    return shlex.join([*words, *(word for system in systems for word in ("--system", system))])


def _curves(parts: Path, before: str) -> str:
    """What dev said after each epoch, of every unified part; parts that were trained before keep their rows."""
    rows = [row for folder in sorted(parts.iterdir()) if (folder / "part.json").is_file() for row in _epochs(folder)]
    again = {_part(row) for row in rows}
    known = before.partition("## Learning curves")[2].splitlines(keepends=True)
    kept = [row for row in known if re.match(r"\| [a-z0-9-]+(, (run-\d+|their mean))? \| \d* \|", row)]
    kept = [row for row in kept if _part(row) not in again]
    rows = sorted([*kept, *rows], key=lambda row: (_part(row), int(row.split("|")[2].strip() or 0)))
    head = f"| part | epoch | training loss | {' | '.join(CURVES)} |\n|---|---:|---:|{'---:|' * len(CURVES)}\n"
    return f"\n## Learning curves\n\nOn the dialogues held out of training, after each epoch.\n\n{head}" + "".join(rows)


def _part(row: str) -> str:
    return row.split("|")[1].strip()


def _epochs(folder: Path) -> Iterator[str]:
    """A finished part's epochs; of one that is the mean of several runs each run's, then what the mean reaches."""
    part = folder.name.rpartition("-")[0]
    runs = sorted(folder.glob("run-*/log.jsonl"))
    logs = {f"{part}, {log.parent.name}": log for log in runs} or {part: folder / "log.jsonl"}
    for name, log in logs.items():
        for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else ():
            told = json.loads(line)
            if "plan/f1" in told.get("dev", {}):
                yield _curve(name, told["epoch"], f"{told['train_loss']:.2f}", told["dev"])
    if runs:
        made = json.loads((folder / "part.json").read_text(encoding="utf-8"))["made"]
        yield _curve(f"{part}, their mean", "", "", made["metrics"])


def _curve(name: str, epoch: object, loss: str, dev: Mapping[str, float]) -> str:
    values = " | ".join(f"{dev[column]:.3f}" if column in dev else "" for column in CURVES)
    return f"| {name} | {epoch} | {loss} | {values} |\n"


if __name__ == "__main__":
    main()
