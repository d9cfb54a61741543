"""What a model is shown of a viewpoint of a landmark world: labels in words, and where the objects lie."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ghosts.data.dataset import Dataset
from ghosts.mapping.landmark_views import viewpoints_in_sight
from ghosts_houses.draw.floor_plan import placed
from ghosts_sim.landmarks.format import read_landmarks
from ghosts_sim.landmarks.regions import ROOM_NAMES


def labels_at(data: Dataset, scan: str, row: int) -> tuple[str, ...]:
    """Rooms and objects that are seen from a viewpoint, rooms first, then what covers most cells; none with images."""
    bank, known = data.bank, data.labels
    if bank.labels is None or known is None or (scan, row) not in bank.numbers:
        return ()
    _, cells = bank.gather(np.array([bank.tile(scan, row)]))
    covered = np.bincount(bank.labels.labels_of(cells).label.numpy(), minlength=len(known))[: len(known)]
    seen = [known.labels[number] for number in np.argsort(-covered, kind="stable") if covered[number]]
    rooms = [f"{ROOM_NAMES[label.name]} (room)" for label in seen if label.kind == "room"]
    return (*rooms, *(label.name for label in seen if label.kind == "object"))


def marks_at(data: Dataset, scan: str, row: int) -> tuple[int, ...]:
    """Objects that are seen from a viewpoint, as numbers of the scene's marks; none with images."""
    config = data.reading.landmarks
    if data.bank.labels is None or not config.objects:
        return ()
    graph = data.root.graph(scan)
    names = {graph.ids[seen] for seen in viewpoints_in_sight(graph, row, config.sight_m)}
    seen_from = _seen_from(data.root.path / "landmarks" / f"{scan}.json")
    return tuple(number for number, by in enumerate(seen_from) if by & names)


@lru_cache(maxsize=64)
def _seen_from(path: Path) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(item.seen_from) for item in placed(read_landmarks(path)))
