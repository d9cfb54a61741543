"""Paths as a speaker sees them, and instructions as it learns to say them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops
from ghosts.data.examples import Example, headings_along
from ghosts.data.symmetry import Symmetry
from ghosts.devices import to_device
from ghosts.methods.speaker.model import END, WalkedPaths
from ghosts.words.tokens import MAX_TOKENS, Vocabulary
from ghosts_sim.geometry import heading_of, turn_rad


@dataclass(frozen=True)
class SpeakerBatch:
    """Paths and their instructions, on the CPU."""

    paths: WalkedPaths
    rows: Int[Tensor, " n"] | None
    """See `batches.Batch.rows`."""
    tokens: Int[Tensor, "b l"]
    """Listed words of each instruction, then the end mark; padded with 0."""


def make_batch(
    data: Dataset,
    examples: Sequence[Example],
    symmetries: Sequence[Symmetry] | None = None,
    drops: Drops | None = None,
) -> SpeakerBatch:
    """Paths of examples with what is seen along them; see `Dataset.batch`."""
    symmetries = symmetries or [Symmetry()] * len(examples)
    most = max(len(example.path) for example in examples)
    walks = [[*example.path, *[example.path[-1]] * (most - len(example.path))] for example in examples]
    cells, rows = data.cells(examples, walks, symmetries, drops)
    _, origin = data.starts(examples, symmetries)
    xy_m, heading_rad, moves = (np.zeros((len(examples), most, *size)) for size in ((2,), (), (6,)))
    for number, (example, symmetry, walk) in enumerate(zip(examples, symmetries, walks)):
        graph, angle = data.root.graph(example.scan), data.angle(symmetry)
        xyz = graph.position_m[walk]
        xy_m[number] = symmetry.points(xyz[:, :2], angle) - origin[number]
        looked = np.array(headings_along(graph, tuple(walk), example.start_heading_rad))
        heading_rad[number] = symmetry.headings(looked, angle)
        moves[number, : len(example.path)] = _moves(xy_m[number], xyz[:, 2], heading_rad[number], len(example.path))
    stops = np.arange(most) < np.array([[len(example.path)] for example in examples])
    places, headings, ahead = (torch.from_numpy(part).float() for part in (xy_m, heading_rad, moves))
    paths = WalkedPaths(cells, places, headings, ahead, torch.from_numpy(stops))
    ids = data.briefing(examples, symmetries).tokens.numpy()
    return SpeakerBatch(paths, rows, torch.from_numpy(said(ids, data.vocabulary)))


def _moves(xy_m: np.ndarray, z_m: np.ndarray, heading_rad: np.ndarray, count: int) -> np.ndarray:
    """`speaker.model.MOVE_FEATURES` of the stops of a path."""
    found = np.zeros((count, 6))
    for stop in range(count - 1):
        delta = xy_m[stop + 1] - xy_m[stop]
        turn = turn_rad(heading_rad[stop], float(heading_of(delta))) if delta.any() else 0.0
        rise = z_m[stop + 1] - z_m[stop]
        found[stop, :4] = np.sin(turn), np.cos(turn), np.hypot(*delta) / 5.0, rise
    found[-1, 4], found[0, 5] = 1.0, 1.0
    return found


def said(ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Word ids of instructions as a speaker says them: listed words alone, then the end mark."""
    rows = [row[(row > END) & (row < len(vocabulary))][: MAX_TOKENS - 1] for row in ids]
    tokens = np.zeros((len(rows), max(len(row) for row in rows) + 1), np.int64)
    for number, row in enumerate(rows):
        tokens[number, : len(row)], tokens[number, len(row)] = row, END
    return tokens


def load_batch(data: Dataset, batch: SpeakerBatch, device: torch.device) -> SpeakerBatch:
    """A batch on a device, with stored features."""
    batch = to_device(batch, device)
    return replace(batch, paths=replace(batch.paths, cells=data.fill(batch.paths.cells, batch.rows)))


def spoken_text(tokens: Sequence[int], vocabulary: Vocabulary) -> str:
    """Word ids as a sentence: words apart, marks close to what they follow, capitals after full stops."""
    words = [vocabulary.words[token] for token in tokens if END < token < len(vocabulary)]
    text = ""
    for word in words:
        close = not (word[0].isalnum() or word == "(") or text.endswith(("'", "-", "/", "(")) or not text
        starts = not text or text.rstrip().endswith((".", "!", "?"))
        text += ("" if close else " ") + (word.capitalize() if starts and word[0].isalpha() else word)
    return text
