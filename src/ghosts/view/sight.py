"""What a model is shown of a viewpoint, in words: the labels of a landmark world."""

from __future__ import annotations

import numpy as np

from ghosts.data.dataset import Dataset
from ghosts.world.landmarks.regions import ROOM_NAMES


def labels_at(data: Dataset, scan: str, row: int) -> tuple[str, ...]:
    """Rooms and objects that are seen from a viewpoint, rooms first, then what covers most cells; none with images.

    Args:
        data: what a model reads.
        scan: building.
        row: viewpoint of its graph.
    """
    bank, known = data.bank, data.labels
    if bank.labels is None or known is None or (scan, row) not in bank.numbers:
        return ()
    _, cells = bank.gather(np.array([bank.tile(scan, row)]))
    covered = np.bincount(bank.labels.labels_of(cells).label.numpy(), minlength=len(known))[: len(known)]
    seen = [known.labels[number] for number in np.argsort(-covered, kind="stable") if covered[number]]
    rooms = [f"{ROOM_NAMES[label.name]} (room)" for label in seen if label.kind == "room"]
    return (*rooms, *(label.name for label in seen if label.kind == "object"))
