"""Words of photographs as labelled points: captions ahead of the camera, boxes where they stand on the floor.

Captions have a bearing and no depth. A word of a level view stands at several distances along the middle of its view,
and at the camera, where all views together say what kind of room this is. (Views up and down, captions of boxes and
boxes that hang on walls made goals 0.5 points worse: docs/ideas.md.) A box that reaches the floor tells its
distance by the elevation of its lower edge. Only the captions of the viewpoint itself are shown, never those of places
seen from afar.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64, Int64

from ghosts.config import LandmarkConfig
from ghosts.mapping.labels import CAPTION, DETECTION, LabelSet
from ghosts_sim.landmarks.captions import Box, SceneCaptions, View
from ghosts_sim.senses import SECTORS

_SILENT = frozenset(
    re.findall(
        r"[a-z']+",
        "a an the and or of on in at to with from by for it its is are has have that this there which who being "
        "through each other another some several many lot lots bunch couple pair set view image photo picture "
        "close up next top side front back background middle it's very",
    )
)
"""Words that say nothing about a place."""
LEVEL_DEG = 15.0
"""A view is level if it looks less than this up or down."""


def said_words(text: str) -> list[str]:
    """The words of a caption that may mean something, each once.

    Example:
        >>> said_words("A bathroom with a sink, and a sink")
        ['bathroom', 'sink']
    """
    return [word for word in dict.fromkeys(re.findall(r"[a-z]+", text.lower())) if word not in _SILENT]


def heard_names(scenes: Iterable[SceneCaptions], words: int) -> list[tuple[str, str]]:
    """Kinds and names of the most frequent caption words and of a detector's classes, as many of each at most."""
    said, found = Counter[str](), Counter[str]()
    for scene in scenes:
        for views in scene.viewpoints.values():
            for view in views:
                said.update(said_words(view.text))
                found.update(box.label for box in view.boxes)
    return [
        (kind, name)
        for kind, counts in ((CAPTION, said), (DETECTION, found))
        for name in sorted(counts, key=lambda name: (-counts[name], name))[:words]
    ]


def names_in(scene: SceneCaptions) -> dict[str, set[str]]:
    """Names by kind that a building's captions and boxes have."""
    views = [view for views in scene.viewpoints.values() for view in views]
    return {
        CAPTION: {word for text in {view.text for view in views} for word in said_words(text)},
        DETECTION: {box.label for view in views for box in view.boxes},
    }


@dataclass(frozen=True, eq=False)
class PicturedPoints:
    """Labelled points of one viewpoint."""

    label_id: Int64[np.ndarray, " p"]
    xyz_m: Float64[np.ndarray, "p 3"]
    weight: Float64[np.ndarray, " p"]
    sector: Int64[np.ndarray, " p"]
    """The direction, of `SECTORS`, in which a camera has to look for it."""


@dataclass(eq=False)
class _Points:
    """Points as they are collected, before the labels and places become arrays."""

    label_id: list[int] = field(default_factory=list)
    at: list[tuple[float, float]] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    sector: list[int] = field(default_factory=list)

    def add(self, labels: list[int], heading_deg: float, away_m: float, weight: float) -> None:
        """Some labels at a distance in a direction."""
        heading = math.radians(heading_deg)
        place = away_m * math.sin(heading), away_m * math.cos(heading)
        self.label_id += labels
        self.at += [place] * len(labels)
        self.weight += [weight] * len(labels)
        self.sector += [sector_of(heading_deg)] * len(labels)


def sector_of(heading_deg: float) -> int:
    """The direction, of `SECTORS`, in whose middle or around it a heading lies: the first around north."""
    return round(heading_deg * SECTORS / 360.0) % SECTORS


class PictureReader:
    """Reads the views of viewpoints, with the labels of a model.

    Args:
        labels: the model's, with those that were met.
        config: what is read, and where it is put.
    """

    def __init__(self, labels: LabelSet, config: LandmarkConfig) -> None:
        self.labels, self.config = labels, config
        self._known: dict[str, list[int]] = {}

    def points(self, views: Iterable[View], camera_m: Float64[np.ndarray, " 3"]) -> PicturedPoints:
        """What the views of a viewpoint say."""
        found = _Points()
        for view in views:
            if self.config.captions:
                self._caption(view, found)
            if self.config.detections:
                for box in view.boxes:
                    self._box(box, found)
        places = np.array(found.at, float).reshape(-1, 2)
        xyz_m = np.concatenate([places, np.zeros((len(places), 1))], 1) + camera_m
        numbers = np.array(found.label_id, np.int64), np.array(found.sector, np.int64)
        return PicturedPoints(numbers[0], xyz_m, np.array(found.weight, float), numbers[1])

    def _words(self, text: str) -> list[int]:
        if text not in self._known:
            ids = (self.labels.heard_id(CAPTION, word) for word in said_words(text))
            self._known[text] = [number for number in ids if number is not None]
        return self._known[text]

    def _caption(self, view: View, found: _Points) -> None:
        settings, words = self.config.pictures, self._words(view.text)
        if abs(view.elevation_deg) < LEVEL_DEG:
            for away_m in settings.ahead_m:
                found.add(words, view.heading_deg, away_m, settings.ahead)
            found.add(words, view.heading_deg, 0.0, settings.here)

    def _box(self, box: Box, found: _Points) -> None:
        label, away_m = self.labels.heard_id(DETECTION, box.label), self._away_m(box)
        if label is not None and away_m is not None and box.confidence >= self.config.pictures.confidence:
            found.add([label], box.heading_deg, away_m, box.confidence)

    def _away_m(self, box: Box) -> float | None:
        """How far away a box stands; None if it does not reach the floor within sight."""
        settings = self.config.pictures
        if box.bottom_deg >= 0.0:
            return None
        away_m = box.away_m if box.away_m is not None else settings.camera_m / math.tan(math.radians(-box.bottom_deg))
        return max(away_m, settings.near_m) if away_m <= settings.far_m else None
