"""How the package's thesaurus was made from the files of WordNet 3.0 (Debian: `apt-get install wordnet-base`).

`PYTHONPATH=src:tests python -m reference.word_kin /usr/share/wordnet src/ghosts/weights/thesaurus.safetensors`
"""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ghosts.language.packed import write_table
from ghosts.language.thesaurus import FORMAT
from ghosts.language.vectors import shipped_vectors

Synset = tuple[str, str]
"""Part of speech (n, v, a or r) and offset in its file."""
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
LEAST = -6.0
"""Words of less kinship (a natural logarithm) are left out, and so are all but the `MOST` nearest."""
MOST = 12
SAID_OF_WAYS = {"00", "01", "02", "04", "06", "07", "15", "17", "23", "25", "28", "44", *map(str, range(29, 44))}
"""WordNet's files of synsets that can be meant in directions: acts, things, places, shapes, times, verbs, adjectives,
adverbs. Animals, plants, people, chemicals and ideas are left out unless the word has a vector."""
UNUSED = 0.5
"""Added to how often WordNet's texts use each sense of a word, so that no sense is impossible."""


class Entry(NamedTuple):
    """A synset: words of one meaning."""

    file: str
    words: list[str]
    pointers: list[tuple[str, Synset]]


def read_synsets(folder: Path) -> dict[Synset, Entry]:
    """All synsets with their pointers."""
    found = {}
    for part, name in FILES.items():
        for line in _lines(folder / f"data.{name}"):
            fields = line.split("|")[0].split()
            count = int(fields[3], 16)
            words = [re.sub(r"\(\w+\)", "", fields[4 + 2 * k]).lower() for k in range(count)]
            rest = fields[5 + 2 * count :]
            pointers = [
                (rest[4 * k], ("a" if rest[4 * k + 2] == "s" else rest[4 * k + 2], rest[4 * k + 1]))
                for k in range(int(fields[4 + 2 * count]))
            ]
            found[(part, fields[0])] = Entry(fields[1], words, pointers)
    return found


def read_senses(folder: Path) -> dict[str, dict[Synset, float]]:
    """For each word its synsets, each with the probability that the word is used in this sense."""
    used: dict[tuple[str, str, int], int] = {}
    for line in _lines(folder / "cntlist.rev"):
        key, number, count = line.split()
        word, rest = key.split("%")
        used[(word, "nvara"[int(rest[0]) - 1], int(number))] = int(count)
    counts: dict[str, dict[Synset, float]] = defaultdict(dict)
    for part, name in FILES.items():
        for line in _lines(folder / f"index.{name}"):
            fields = line.split()
            for number, offset in enumerate(fields[-int(fields[2]) :], 1):
                counts[fields[0]][(part, offset)] = used.get((fields[0], part, number), 0) + UNUSED
    return {word: {s: n / sum(senses.values()) for s, n in senses.items()} for word, senses in counts.items()}


def around(synset: Synset, synsets: dict[Synset, Entry]) -> dict[Synset, float]:
    """Synsets near one, with their distances: 1 for what it is a kind of and for similar adjectives, 2 further off."""
    near = {synset: 0.0}
    for kind, other in synsets[synset].pointers:
        if kind in ("@", "@i"):
            near.setdefault(other, 1.0)
            for again, above in synsets[other].pointers:
                if again == "@":
                    near.setdefault(above, 2.0)
        else:
            distance = {"&": 1.0, "^": 1.5, "$": 1.5, "~": 2.0, "+": 2.0}.get(kind)
            if distance is not None:
                near.setdefault(other, distance)
    return near


def kinship(folder: Path) -> dict[str, dict[str, float]]:
    """For each word the words that can stand in for it, with their kinship.

    It is ln Σ p(sense | word) e^(−distance) p(sense' | other) over the senses of both: near senses that both are
    often used in.
    """
    synsets, senses, meant = read_synsets(folder), read_senses(folder), shipped_vectors().ids
    found = {}
    for word, own in senses.items():
        common = word in meant or any(synsets[synset].file in SAID_OF_WAYS for synset in own)
        if not word.isalpha() or len(word) < 2 or not common:
            continue
        total: dict[str, float] = defaultdict(float)
        for synset, likely in own.items():
            for other, distance in around(synset, synsets).items():
                for name in synsets[other].words:
                    if name != word and name in meant and name.isalpha():
                        total[name] += likely * math.exp(-distance) * senses[name].get(other, 0.0)
        kin = sorted(((math.log(value), name) for name, value in total.items() if value > 0.0), reverse=True)
        kept = {name: value for value, name in kin[:MOST] if value >= LEAST}
        if kept:
            found[word] = kept
    return found


def _lines(path: Path) -> Iterator[str]:
    """Lines of a file of WordNet without its licence at the top."""
    with open(path, encoding="latin-1") as text:
        yield from (line for line in text if not line.startswith(" "))


if __name__ == "__main__":
    write_table(Path(sys.argv[2]), FORMAT, kinship(Path(sys.argv[1])))
