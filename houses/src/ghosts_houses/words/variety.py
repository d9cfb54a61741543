"""How people write: figures of a sample of instructions, made or real, and R2R's beside them."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np

SAMPLE = 693
"""Instructions measured for variety, picked at random: more texts have more words, so only equal numbers compare."""
OPENINGS = ("walk", "go", "turn", "exit", "leave", "enter")
"""R2R's six most frequent first words."""
R2R = {
    "different words in 693 instructions": 751,
    "different word pairs in 693 instructions": 3792,
    "different first words of a clause in 693 instructions": 138,
    "different sentences (%) in 693 instructions": 95.4,
    "instructions that begin with walk (%)": 36.5,
    "instructions that begin with go (%)": 18.2,
    "instructions that begin with turn (%)": 14.1,
    "instructions that begin with exit (%)": 13.3,
    "instructions that begin with leave (%)": 4.8,
    "instructions that begin with enter (%)": 2.0,
}
"""The figures of R2R's training split (`ghosts world --stats ROOT`)."""


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.findall(r"[a-z0-9]+", text.lower())


def style_figures(texts: list[str]) -> dict[str, float | int]:
    """Measure instructions.

    Args:
        texts: at least one; of more than `SAMPLE`, as many are picked at random.

    Returns:
        Figures by the names of `R2R`.
    """
    chosen = np.random.default_rng(0).permutation(len(texts))[:SAMPLE]
    sample = [texts[k] for k in sorted(chosen)]
    tokens = [words(text) for text in sample]
    sentences = [part.strip().lower() for text in sample for part in re.split(r"[.!?\n]+", text) if words(part)]
    clauses = [words(part) for sentence in sentences for part in re.split(r",|\band\b|\bthen\b", sentence)]
    figures: dict[str, float | int] = {
        "different words": len({word for token in tokens for word in token}),
        "different word pairs": len({pair for token in tokens for pair in itertools.pairwise(token)}),
        "different first words of a clause": len({clause[0] for clause in clauses if clause}),
        "different sentences (%)": 100.0 * len(set(sentences)) / max(1, len(sentences)),
    }
    first = Counter(words(text)[0] for text in texts if words(text))
    shares = {f"instructions that begin with {word} (%)": 100.0 * first[word] / len(texts) for word in OPENINGS}
    return {f"{name} in {len(sample)} instructions": value for name, value in figures.items()} | shares
