"""Make the word list by which Chinese is glossed in English: `src/dragoman/decision/data/zh_dictionary.tsv.gz`.

    python benchmarks/judge/glosses.py CEDICT

CEDICT is the text file of CC-CEDICT (CC BY-SA 4.0). How often a word is used comes from jieba's dictionary (MIT).
Of each word an early sense in common words is kept; `zh_glosses.toml` says otherwise where that is wrong for services.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

TARGET = Path(__file__).parents[2] / "src/dragoman/decision/data/zh_dictionary.tsv.gz"
TOKENS = TARGET.parents[2] / "models/parts/english-joint/tokenizer.json"
"""The words that the English models know whole."""
LEAST = 20
"""How often jieba's corpus has a word that is kept."""
RARE = 3
"""The same for longer words, which mean one thing."""
LONGEST_WORD, LONGEST_GLOSS = 5, 28
NOT_MEANT = re.compile(
    r"^(?:surname|CL:|variant|old variant|see |abbr|used in|also written|same as|erhua|Japanese variant|Kangxi|also pr"
    r"|classifier|\((?:archaic|literary|old|dialect|onom|classical|bound form|loanword)"
    r"|.*(?:dynasty|radical|county|prefecture|given name|place name))"
)
ENTRY = re.compile(r"\S+ (?P<word>\S+) \[(?P<sound>[^\]]*)\] /(?P<senses>.*)/")


def plain(sense: str) -> list[str]:
    """The alternatives of a sense without notes and the words before a verb or noun."""
    text = re.sub(r"\([^)]*\)|\[[^\]]*\]|[\u4e00-\u9fff|]+|\b(?:sb|sth)\b\.?", "", sense)
    found = (each.strip(" .") for each in re.split("[;,]", text))
    return [" ".join(re.sub(r"^(?:to be|to|a|an|the) ", "", each).split()) for each in found if each]


def entries(lines: Iterable[str], common: frozenset[str]) -> dict[str, str]:
    """The gloss of each word: an early sense in few and `common` words."""
    senses: dict[str, list[tuple[bool, float, str]]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for line in lines:
        entry = ENTRY.match(line)
        if entry is None:
            continue
        word = entry["word"]
        for place, sense in enumerate(entry["senses"].split("/")):
            if NOT_MEANT.match(sense):
                continue
            for order, gloss in enumerate(plain(sense)):
                words = gloss.lower().split()
                if not words or len(gloss) > LONGEST_GLOSS:
                    continue
                rare = sum(word not in common for word in words)
                noted = 2 * sense.startswith("(")
                late = 2 * seen[word] + place + 0.4 * order + noted + 0.6 * (len(words) - 1) + 1.5 * rare
                senses[word].append((entry["sound"][:1].isupper(), late, gloss))
        seen[word] += 1
    return {word: min(found)[2] for word, found in senses.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cedict", type=Path)
    options = parser.parse_args()
    import jieba

    used = {}
    for line in Path(jieba.__file__).with_name("dict.txt").read_text(encoding="utf-8").splitlines():
        word, count, _ = line.split()
        used[word] = int(count)
    with options.cedict.open(encoding="utf-8") as lines:
        glosses = entries(lines, frozenset(json.loads(TOKENS.read_text(encoding="utf-8"))["model"]["vocab"]))
    rows = [
        f"{word}\t{max(1, used.get(word, 0))}\t{gloss}"
        for word, gloss in sorted(glosses.items())
        if re.fullmatch("[\u3400-\u9fff]+", word) and len(word) <= LONGEST_WORD
        if len(word) == 1 or used.get(word, 0) >= (LEAST if len(word) == 2 else RARE)
    ]
    note = (
        "# Chinese words, how often they are used, and a gloss. From CC-CEDICT, CC BY-SA 4.0; counts from jieba, MIT."
    )
    TARGET.write_bytes(gzip.compress("\n".join([note, *rows]).encode(), mtime=0))
    print(f"{len(rows)} words, {TARGET.stat().st_size} bytes: {TARGET}")


if __name__ == "__main__":
    main()
