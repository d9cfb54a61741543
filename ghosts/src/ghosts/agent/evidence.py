"""Whether the building has what the words name, as far as can be told from what was seen.

The belief alone is as sure of "wait by the altar" as of "wait by the sofa", since the rest of the sentence leads there
just as well. So what the last filter step attends to, as it was said, is compared with all labels seen, by their
vectors. What is named stands behind an article: "the altar", "a small dining table".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ghosts.mapping.cells import MapCells
from ghosts.words.vectors import shipped_vectors
from ghosts_sim.tokens import tokenise

PRESENT, FITTING, USUAL = 2.4, 6.3, 0.75
"""Log-odds that the building has what is named: the first, plus the second times how much better than `USUAL` something
seen fits. Fitted on dev_unseen: people's instructions, and a tenth of them with the last thing named replaced by one
that no house has (docs/goals.md)."""
FAINT = 1e-3
LONGEST = 3
"""Words of a name."""
ARTICLES = frozenset(["the", "a", "an", "your", "this", "that", "these", "those"])
BEFORE = frozenset(["first", "second", "third", "last", "next", "left", "right", "large", "small", "big"])
"""Words between the article and the name."""
AFTER = frozenset(
    [
        "the",
        "a",
        "an",
        "your",
        "this",
        "that",
        "these",
        "those",
        "its",
        "his",
        "her",
        "of",
        "on",
        "in",
        "into",
        "at",
        "to",
        "by",
        "near",
        "from",
        "with",
        "through",
        "past",
        "and",
        "or",
        "then",
        "until",
        "when",
        "where",
        "for",
        "is",
        "are",
        "be",
        "there",
        "will",
        "you",
        "turn",
        "go",
        "walk",
        "stop",
        "wait",
        "enter",
        "exit",
        "left",
        "right",
        "straight",
        "just",
        "before",
        "after",
        "around",
        "up",
        "down",
        "between",
        "towards",
        "toward",
        "out",
        "next",
        "first",
        "second",
        "third",
        "last",
        "outside",
        "inside",
        "front",
        "end",
        "top",
        "bottom",
    ]
)
"""Words that end a name."""


@dataclass(frozen=True)
class SeenLabels:
    """Labels that one walker has seen."""

    label: Int[np.ndarray, " n"]
    """Row of `vectors`; each once."""
    vectors: Float[np.ndarray, "u d"]
    """Of length 1; zeros for labels without a vector."""
    step: Int[np.ndarray, " n"]
    """When each was first seen."""

    def joined(self, other: SeenLabels) -> SeenLabels:
        """These and others, seen later."""
        vectors, number = np.unique(np.concatenate([self.vectors, other.vectors]), axis=0, return_inverse=True)
        label = number.ravel()[np.concatenate([self.label, other.label + len(self.vectors)])]
        label, first = np.unique(label, return_index=True)
        return SeenLabels(label, vectors, np.concatenate([self.step, other.step])[first])


def labels_by_walker(cells: MapCells) -> list[SeenLabels] | None:
    """What each walker of a batch has seen; None where cells have features, or labels without vectors."""
    labels = cells.labels
    if labels is None or labels.vectors is None:
        return None
    number, label = labels.cell.cpu().numpy(), labels.label.cpu().numpy()
    item, step = cells.item.cpu().numpy()[number], cells.step.cpu().numpy()[number]
    vectors = _unit(labels.vectors.cpu().numpy())
    # By walker and label, the first step of each first.
    order = np.lexsort((step, label, item))
    pairs = np.stack([item[order], label[order]])
    new = np.append(True, (pairs[:, 1:] != pairs[:, :-1]).any(0)) if len(order) else np.zeros(0, bool)
    kept = order[new]
    cuts = np.searchsorted(item[kept], np.arange(1, cells.batch))
    return [SeenLabels(label[own], vectors, step[own]) for own in np.split(kept, cuts)]


@dataclass(frozen=True)
class Names:
    """What a text names."""

    words: tuple[slice, ...]
    """Words of each name."""
    whole: Float[np.ndarray, "k d"]
    """Mean vector of each name's words, of length 1; zeros where none is known."""
    head: Float[np.ndarray, "k d"]
    """Vector of its last word, likewise."""


def names_in(text: str) -> Names:
    """What a text names, read as English."""
    words, found = tokenise(text), []
    at = 0
    while at < len(words):
        at += 1
        if words[at - 1] in ARTICLES:
            while at < len(words) and words[at] in BEFORE:
                at += 1
            end = at
            while end < min(len(words), at + LONGEST) and words[end].isalpha() and words[end] not in AFTER:
                end += 1
            if end > at:
                found.append(slice(at, end))
                at = end
    vectors = shipped_vectors()
    whole = np.stack([vectors.rows(words[one]).mean(0) for one in found] or [np.zeros(vectors.dimension, np.float32)])
    head = vectors.rows([words[one.stop - 1] for one in found] or [""])
    return Names(tuple(found), _unit(whole), _unit(head))


def fit(
    names: Names, attention: Float[np.ndarray, " l"], seen: SeenLabels, steps: Sequence[int]
) -> Float[np.ndarray, " s"]:
    """How well labels fit what is named: the cosine of each name and the label most like it, averaged by the attention
    to the name. Infinite where nothing is named.

    Args:
        names: of the text.
        attention: of the last filter step's observation to each word (`words.decoder.Latents`).
        seen: labels.
        steps: those seen after this agent step are left out, for each answer.
    """
    weight = np.array([attention[one].sum() for one in names.words])
    if weight.sum() < FAINT:
        return np.full(len(steps), np.inf)
    alike = np.maximum(seen.vectors @ names.whole.T, seen.vectors @ names.head.T)
    best = [alike[np.unique(seen.label[seen.step <= step])].max(0, initial=0.0) for step in steps]
    return np.stack(best) @ weight / weight.sum()


def presence(fits: Float[np.ndarray, " *n"]) -> Float[np.ndarray, " *n"]:
    """How likely the building has what is named; one instruction in ten names what it has not."""
    return 1.0 / (1.0 + np.exp(-PRESENT - FITTING * (fits - USUAL)))


def _unit(vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-6)
