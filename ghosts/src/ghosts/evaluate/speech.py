"""How close instructions are to people's: BLEU (Papineni et al. 2002), ROUGE-L (Lin 2004), CIDEr-D (Vedantam 2015).

All on the tokens of `words.tokens`, against several references, with the constants that image captioning uses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ghosts_sim.tokens import tokenise

ORDER = 4
"""Longest n-gram."""
ROUGE_BETA = 1.2
CIDER_SIGMA = 6.0


@dataclass(frozen=True)
class SpeechScores:
    """Means over all instructions; BLEU is of the corpus."""

    bleu: float
    rouge: float
    cider: float


def score_speech(said: Sequence[str], references: Sequence[Sequence[str]]) -> SpeechScores:
    """Score texts against what people said.

    Args:
        said: one text per path.
        references: people's texts for each path.
    """
    hypotheses = [tokenise(text) for text in said]
    human = [[tokenise(text) for text in texts] for texts in references]
    return SpeechScores(bleu(hypotheses, human), rouge_l(hypotheses, human), cider(hypotheses, human))


def bleu(said: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> float:
    """BLEU-4 of a corpus: clipped n-gram precision, brevity against the references of the closest length."""
    matched, total = np.zeros(ORDER), np.zeros(ORDER)
    length, wanted = 0, 0
    for words, human in zip(said, references, strict=True):
        length += len(words)
        wanted += min((abs(len(other) - len(words)), len(other)) for other in human)[1]
        for order in range(1, ORDER + 1):
            ours = _grams(words, order)
            most: Counter[tuple[str, ...]] = Counter()
            for other in human:
                most |= _grams(other, order)
            matched[order - 1] += sum((ours & most).values())
            total[order - 1] += max(0, len(words) - order + 1)
    if not matched.all():
        return 0.0
    brevity = min(0.0, 1.0 - wanted / length)
    return float(np.exp(np.log(matched / total).mean() + brevity))


def rouge_l(said: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> float:
    """Mean F-measure of longest common subsequences; the best precision and the best recall over the references."""
    scores = []
    for words, human in zip(said, references, strict=True):
        common = [_common(words, other) for other in human]
        precision = max(found / max(len(words), 1) for found in common)
        recall = max(found / max(len(other), 1) for found, other in zip(common, human))
        both = recall + ROUGE_BETA**2 * precision
        scores.append((1.0 + ROUGE_BETA**2) * precision * recall / both if both else 0.0)
    return float(np.mean(scores))


def cider(said: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> float:
    """CIDEr-D: clipped cosines of n-gram vectors weighted by rarity among the references, ten times."""
    frequency: Counter[tuple[str, ...]] = Counter()
    for human in references:
        frequency.update({gram for other in human for order in range(1, ORDER + 1) for gram in _grams(other, order)})
    documents = math.log(len(references))

    def weighed(words: Sequence[str], order: int) -> dict[tuple[str, ...], float]:
        grams = _grams(words, order)
        return {gram: count * (documents - math.log(max(1.0, frequency[gram]))) for gram, count in grams.items()}

    scores = []
    for words, human in zip(said, references, strict=True):
        total = 0.0
        for other in human:
            shrunk = math.exp(-((len(words) - len(other)) ** 2) / (2.0 * CIDER_SIGMA**2))
            for order in range(1, ORDER + 1):
                ours, theirs = weighed(words, order), weighed(other, order)
                norms = math.sqrt(sum(v * v for v in ours.values()) * sum(v * v for v in theirs.values()))
                shared = sum(min(value, theirs[gram]) * theirs[gram] for gram, value in ours.items() if gram in theirs)
                total += shrunk * shared / norms if norms else 0.0
        scores.append(10.0 * total / (ORDER * len(human)))
    return float(np.mean(scores))


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for at, same in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if word == same else max(row[at], row[at - 1])
    return row[-1]
