"""A house as landmarks: its rooms, things and windows in R2R's words, without a picture.

Which viewpoint lists which thing follows REVERIE's rule for real buildings: the same room, at most 2 m away, in plain
sight. A thing that nobody would list is listed by the nearest viewpoint that sees it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from ghosts_houses import __version__
from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House
from ghosts_houses.tables import entries, sections
from ghosts_sim.landmarks.format import Landmark, SceneLandmarks
from ghosts_sim.landmarks.regions import Region

LISTED_M = 2.0
"""A viewpoint lists things of its room up to this far."""
UNCERTAINTY_M = 0.05
"""Of well triangulated objects of R2R's buildings (docs/landmark-files.md)."""
_R2R = sections("words/r2r.txt")
LETTERS = {kind: letter for kind, (letter,) in entries(_R2R["letters"]).items()}
"""Matterport3D's letter for each kind of room."""
R2R_LABELS = {kind: label for label, kinds in entries(_R2R["labels"]).items() for kind in kinds}
"""Kinds of things that R2R's annotators call otherwise; the others keep their name."""
WINDOW = "window"


def house_landmarks(house: House, graph: HouseGraph, seen: Bool[np.ndarray, "n things"]) -> SceneLandmarks:
    """The landmarks of a house; `seen` tells which things each viewpoint sees (`graph.sight.things_seen`)."""
    points = graph.viewpoints
    names = [point.name for point in points]
    xy_m = np.array([point.xy_m for point in points], float)
    rooms = np.array([point.room for point in points])
    objects = []
    for index, thing in enumerate(house.things):
        near = _listed(thing.gap_m(xy_m), rooms == thing.room, seen[:, index])
        if len(near):
            label = R2R_LABELS.get(thing.kind, thing.kind)
            size = 2.0 * max(thing.half_m[:2]), 2.0 * thing.half_m[2]
            objects.append(_landmark(f"thing {index}", label, thing.center_m, size, [names[k] for k in near]))
    for index, opening in enumerate(house.openings):
        inside = np.isin(rooms, [room for room in opening.rooms if room >= 0])
        away_m = np.hypot(xy_m[:, 0] - opening.x_m, xy_m[:, 1] - opening.y_m)
        near = _listed(away_m, inside, inside) if opening.kind == "window" else np.zeros(0, int)
        if len(near):
            middle = opening.x_m, opening.y_m, (opening.bottom_z_m + opening.top_z_m) / 2.0
            size = opening.width_m, opening.top_z_m - opening.bottom_z_m
            objects.append(_landmark(f"window {index}", WINDOW, middle, size, [names[k] for k in near]))
    regions = {point.name: Region(str(point.room), LETTERS[house.rooms[point.room].kind]) for point in points}
    return SceneLandmarks(house.name, f"ghosts world {__version__}, seed {house.seed}", dict(regions), tuple(objects))


def _listed(away_m: np.ndarray, inside: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Viewpoints that list a thing: those near it in its room that see it, or else the nearest that does."""
    near = np.flatnonzero(seen & inside & (away_m <= LISTED_M))
    if len(near) or not seen.any():
        return near
    return np.array([np.where(seen, away_m, np.inf).argmin()])


def _landmark(
    name: str, label: str, middle_m: tuple[float, float, float], size_m: tuple[float, float], seen_from: list[str]
) -> Landmark:
    return Landmark(name, label, middle_m, UNCERTAINTY_M, size_m, "detected", None, tuple(seen_from))
