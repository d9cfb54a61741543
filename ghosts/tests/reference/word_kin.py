"""How the package's thesaurus was made from WordNet 3.0 and the Moby Thesaurus II.

    apt-get install wordnet-base && npm pack moby && tar xf moby-1.1.2.tgz
    make script RUN="ghosts/tests/reference/word_kin.py /usr/share/wordnet package/words.txt ROOT OUT"

with R2R's data root, and src/ghosts/weights/thesaurus.safetensors as OUT.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from ghosts.data.examples import TRAIN
from ghosts.weights import read_about, shipped
from ghosts.words.thesaurus import FORMAT, STRANGER, bases
from ghosts.words.vectors import shipped_vectors
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.tokens import tokenise
from reference.packing import write_table

Synset = tuple[str, str]
"""Part of speech (n, v, a or r) and offset in its file."""
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
LEAST = -7.9
"""Words of less kinship (a natural logarithm) are left out, and so are all but the `MOST` nearest."""
MOST = 16
SAID_OF_WAYS = {"00", "01", "02", "04", "06", "07", "15", "17", "23", "25", "28", "44", *map(str, range(29, 44))}
"""WordNet's files of synsets that can be meant in directions: acts, things, places, shapes, times, verbs, adjectives,
adverbs. Animals, plants, people, chemicals and ideas are left out unless the word has a vector."""
UNUSED = 0.5
"""Added to how often WordNet's texts use each sense of a word, so that no sense is impossible."""
IN_WORDNET = 0.5
"""Weight of ln(1 + share / 3e-4) for a share of WordNet's kinship. These weights and `TOGETHER`'s are the likeliest
ones for five lists of synonyms by different authors (docs/ideas.md tests them with others)."""
LEAST_SUM = 0.3
"""A word's kinship in WordNet is shared among all words that it is kin to: `room` is kin to so many that it says little
about each. This is the least that is shared."""
LISTED = 1.7
"""Weight of standing in the other word's list in Moby."""
TOGETHER = 1.1
"""Weight of ln(1 + 100 c) for the cosine c of two words' roots in Moby: whether the same lists hold both."""
LEAST_COSINE = 0.02
NEAREST = -math.log(STRANGER)
"""Sum of these that makes a kinship of 1; words without any are strangers."""
OFTEN = 0.3
"""Weight of how often directions use a word, where it has more than `MOST` kin."""
TWICE = 2
"""How often R2R's training instructions must use a word that others are kin to."""


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


def in_wordnet(folder: Path) -> dict[str, dict[str, float]]:
    """For each word the words that can stand in for it, with their kinship in WordNet.

    It is Σ p(sense | word) e^(−distance) p(sense' | other) over the senses of both: near senses that both are often
    used in; divided by the sum that the other word has with all words.
    """
    synsets, senses, meant = read_synsets(folder), read_senses(folder), shipped_vectors().ids
    found: dict[str, dict[str, float]] = {}
    sums: dict[str, float] = defaultdict(float)
    for word, own in senses.items():
        common = word in meant or any(synsets[synset].file in SAID_OF_WAYS for synset in own)
        if not word.isalpha() or len(word) < 2 or not common:
            continue
        kin = found[word] = defaultdict(float)
        for synset, likely in own.items():
            for other, distance in around(synset, synsets).items():
                for name in synsets[other].words:
                    if name != word and name.isalpha():
                        kin[name] += likely * math.exp(-distance) * senses[name].get(other, 0.0)
        for name, value in kin.items():
            sums[name] += value
    return {
        word: {name: value / max(LEAST_SUM, sums[name]) for name, value in kin.items()} for word, kin in found.items()
    }


def read_moby(path: Path) -> dict[str, set[str]]:
    """Moby's lists: each line has a root and the words of about its meaning. Phrases are left out."""
    lists: dict[str, set[str]] = {}
    for line in _lines(path):
        root, *words = line.strip().lower().split(",")
        lists.setdefault(root, set()).update(word for word in words if word.isascii() and word.isalpha())
    return lists


def together(lists: Mapping[str, Set[str]], names: Iterable[str]) -> dict[str, dict[str, float]]:
    """For each word those of the names that stand in the same lists, with the cosine of the sets of these lists."""
    roots: dict[str, set[str]] = defaultdict(set)
    for root, words in lists.items():
        for word in words:
            roots[word].add(root)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for name in names:
        if name not in roots:
            continue
        for word, count in Counter(word for root in roots[name] for word in lists[root]).items():
            cosine = count / math.sqrt(len(roots[word]) * len(roots[name]))
            if word != name and cosine > LEAST_COSINE:
                found[word][name] = cosine
    return found


def kinship(wordnet: Path, moby: Path, used: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """For each word the words that can stand in for it, with the logarithm of their kinship.

    Args:
        wordnet: folder of WordNet's files.
        moby: file of Moby's lists.
        used: words that directions use, and how often; only these stand in for others.
    """
    names = {*used, *(base for word in used for base in bases(word))}
    near, lists = in_wordnet(wordnet), read_moby(moby)
    beside = together(lists, sorted(names))
    kin: dict[str, dict[str, float]] = defaultdict(dict)
    for word in {*near, *beside}:
        own, own_beside = near.get(word, {}), beside.get(word, {})
        for name in names.intersection([*own, *own_beside]):
            listed = LISTED if word in lists.get(name, ()) else 0.0
            by_wordnet = IN_WORDNET * math.log1p(own.get(name, 0.0) / 3e-4)
            score = by_wordnet + listed + TOGETHER * math.log1p(100.0 * own_beside.get(name, 0.0)) - NEAREST
            if score >= LEAST:
                kin[word][name] = min(0.0, score)
    return {word: dict(_nearest(found, used)) for word, found in sorted(kin.items())}


def _nearest(found: Mapping[str, float], used: Mapping[str, int]) -> list[tuple[str, float]]:
    """The nearest kin, nearest first; frequent words are preferred."""

    def order(item: tuple[str, float]) -> tuple[float, str]:
        return -item[1] - OFTEN * math.log(1 + used.get(item[0], 0)), item[0]

    return sorted(sorted(found.items(), key=order)[:MOST], key=lambda item: (-item[1], item[0]))


def words_of_directions(root: DataRoot) -> dict[str, int]:
    """Words that R2R's training instructions use, and how often; and those that the shipped models know."""
    counts = Counter(
        word for episode in root.episodes(TRAIN) for text in episode.instructions for word in tokenise(text)
    )
    used = {word: count for word, count in counts.items() if count >= TWICE}
    for file in shipped().values():
        for word in (read_about(file) or {}).get("vocabulary", ()):
            used.setdefault(word, 1)
    return {word: count for word, count in used.items() if word.isalpha()}


def _lines(path: Path) -> Iterator[str]:
    """Lines of a file without WordNet's licence at the top."""
    with open(path, encoding="latin-1") as text:
        yield from (line for line in text if not line.startswith(" "))


if __name__ == "__main__":
    wordnet, moby, data, out = map(Path, sys.argv[1:])
    write_table(out, FORMAT, kinship(wordnet, moby, words_of_directions(DataRoot(data))))
