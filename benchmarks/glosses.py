"""Make the word list by which Chinese is glossed in English: `src/dragoman/decision/data/zh_dictionary.tsv.gz`.

    python benchmarks/glosses.py CEDICT

CEDICT is the text file of CC-CEDICT (CC BY-SA 4.0). How often a word is used comes from jieba's dictionary (MIT).
Of each word the first everyday sense is kept; `zh_glosses.toml` says otherwise where that is wrong for services.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/dragoman/decision/data/zh_dictionary.tsv.gz"
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


def plain(sense: str) -> str:
    """A sense without notes, alternatives and the words before a verb or noun."""
    text = re.sub(r"\([^)]*\)|\[[^\]]*\]|[\u4e00-\u9fff|]+|\b(?:sb|sth)\b\.?", "", sense)
    text = re.split("[;,]", text)[0].strip(" .")
    return " ".join(re.sub(r"^(?:to be|to|a|an|the) ", "", text).split())


def entries(lines: Iterator[str]) -> dict[str, str]:
    """The gloss of each word."""
    senses: dict[str, list[tuple[bool, int, str]]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for line in lines:
        entry = ENTRY.match(line)
        if entry is None:
            continue
        word = entry["word"]
        for place, sense in enumerate(entry["senses"].split("/")):
            gloss = plain(sense)
            if gloss and len(gloss) <= LONGEST_GLOSS and not NOT_MEANT.match(sense):
                late = 2 * seen[word] + place + 2 * sense.startswith("(") + max(0, len(gloss.split()) - 2)
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
        glosses = entries(lines)
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
