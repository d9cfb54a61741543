"""Batches in a form that can be compared."""

from __future__ import annotations

from ghosts.data.batches import Batch


def contents(batch: Batch) -> dict[tuple[int, int, int, int], dict[int, float]]:
    """(step, item, row, column) to labels with weights."""
    cells = batch.seen.cells
    assert cells.labels is not None
    keys = list(zip(*(getattr(cells, name).tolist() for name in ("step", "item", "row", "col"))))
    assert len(set(keys)) == len(keys)
    found: dict[tuple[int, int, int, int], dict[int, float]] = {key: {} for key in keys}
    for cell, label, weight in zip(*(getattr(cells.labels, name).tolist() for name in ("cell", "label", "weight"))):
        assert label not in found[keys[cell]]
        found[keys[cell]][label] = weight
    return found
