"""Starting from other weights. If they were trained on other data, words and labels are matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ghosts.config import differences, to_dict
from ghosts.data.reading import Reading
from ghosts.run.load import described, find_checkpoint
from ghosts.train.task import EpisodeTask
from ghosts.weights.checkpoint import alike, load_checkpoint, misfit
from ghosts_sim.errors import DataError

POLICY = "policy."
WORDS, LABELS = "language.encoder.embedding.", "features.embedding."
"""Weights with a row per word or label."""


def start_from(task: EpisodeTask[Any, Any], warm_start: Path, *, policy: bool = True, by_name: bool = False) -> None:
    """Load another model's weights into a task.

    Args:
        task: what is to be trained.
        warm_start: run, checkpoint or shipped weights.
        policy: whether an agent's policy is taken as well; goal prediction does not train one.
        by_name: also take weights that were trained on other words and labels: what both know is taken by its name,
            the others start anew.

    Raises:
        DataError: the checkpoint was trained on other words, labels or tiles, or has other sizes.
    """
    path = find_checkpoint(warm_start)
    stored = load_checkpoint(path)
    # Read as settings, so that a setting which an older version did not have takes its default.
    about = described(stored, path)
    before = about.experiment
    for name in ("tiles",) if by_name and task.data.labels else ("vocabulary", "labels", "tiles"):
        if stored.about.get(name) != task.about()[name]:
            hint = "train both on the same data root"
            raise DataError(f"--warm-start: trained on other data (another {name})", file=path, hint=hint)
    # Equal labels can still be shown from nearer or farther.
    seen = to_dict(before.data.landmarks), to_dict(task.experiment.data.landmarks)
    shown = differences(*seen, "landmarks") if task.data.labels else []
    if shown:
        hint = "use the same --landmarks options"
        raise DataError(f"--warm-start: trained on other landmarks: {'; '.join(shown)}", file=path, hint=hint)
    acts = policy and before.acts
    own = task.model.state_dict()
    weights = {name: value for name, value in stored.weights.items() if acts or not name.startswith(POLICY)}
    if by_name:
        weights = _by_name(weights, own, about.reading, task.data.reading)
    # An agent's policy is taken whole or not at all.
    taken = any(name.startswith(POLICY) for name in weights)
    expected = {name: value for name, value in own.items() if taken or not name.startswith(POLICY)}
    if expected.keys() != weights.keys() or not all(alike(value, weights[name]) for name, value in expected.items()):
        problem = f"--warm-start: a model of other sizes ({misfit(expected, weights)})"
        raise DataError(problem, file=path, hint="use the same --model settings")
    task.model.load_state_dict(weights, strict=False)


def _by_name(weights: dict[str, Tensor], own: dict[str, Tensor], before: Reading, now: Reading) -> dict[str, Tensor]:
    """Weights with the rows of words and labels put where the new data has them."""
    assert before.vocabulary is not None, "a run knows its words"
    assert now.vocabulary is not None, "a data set knows its words"
    names = {WORDS: (before.vocabulary.words, now.vocabulary.words)}
    if before.labels is not None and now.labels is not None:
        old, new = ([(item.kind, item.name) for item in labels.labels] for labels in (before.labels, now.labels))
        names[LABELS] = old, new  # type: ignore[assignment]
    found = dict(weights)
    for prefix, (old_names, new_names) in names.items():
        for name in (f"{prefix}weight", f"{prefix}own.weight"):
            if name in weights and name in own and weights[name].shape[1:] == own[name].shape[1:]:
                found[name] = _rows(weights[name], own[name], old_names, new_names)
    return found


def _rows(weights: Tensor, own: Tensor, old: Sequence[object], new: Sequence[object]) -> Tensor:
    """Rows by name; words and labels that the old weights lack keep the new model's start."""
    at = {name: row for row, name in enumerate(old[: len(weights)])}
    pairs = [(row, at[name]) for row, name in enumerate(new[: len(own)]) if name in at]
    rows = own.clone()
    to, source = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    rows[to] = weights[source].to(own)
    return rows
