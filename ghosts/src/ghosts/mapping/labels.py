"""The label set: numbers for what can be seen, fixed by the training buildings and saved with a model."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int8, UInt64

from ghosts.words.vectors import shipped_vectors
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.landmarks.format import SceneLandmarks
from ghosts_sim.landmarks.regions import ROOM_NAMES
from ghosts_sim.senses import CAPTIONS, DETECTIONS, DOORWAYS, OBJECTS, ROOMS, SENSES, WAYS
from ghosts_sim.senses import FLOOR as FLOOR_SENSE

DEFAULT_OBJECTS = 300
FLOOR, VIEWPOINT, UP, DOWN, UNKNOWN_OBJECT = "floor", "viewpoint", "up", "down", "unknown object"
DOOR = "doorway"
STRUCTURE = {
    FLOOR: "floor",
    VIEWPOINT: "way",
    UP: "stairs up",
    DOWN: "stairs down",
    UNKNOWN_OBJECT: "object",
    DOOR: "door doorway",
}
CAPTION, DETECTION = "caption", "detection"
KINDS = ("structure", "room", "object", CAPTION, DETECTION)
_STRUCTURE_SENSES = {FLOOR: FLOOR_SENSE, VIEWPOINT: WAYS, UP: WAYS, DOWN: WAYS, UNKNOWN_OBJECT: OBJECTS, DOOR: DOORWAYS}
_KIND_SENSES = {"room": ROOMS, "object": OBJECTS, CAPTION: CAPTIONS, DETECTION: DETECTIONS}


@dataclass(frozen=True)
class Label:
    """Something a cell can hold. Kinds keep names apart: `toilet` is a room and an object."""

    kind: str
    """`structure`, `room`, `object`, `caption` (a word of one) or `detection` (a detector's class)."""
    name: str
    """For a room its letter."""
    words: tuple[str, ...]
    """What it is called, for starting an embedding from word vectors."""

    @property
    def sense(self) -> str:
        """The sense that it belongs to (`ghosts_sim.senses`)."""
        return _STRUCTURE_SENSES[self.name] if self.kind == "structure" else _KIND_SENSES[self.kind]


@dataclass(frozen=True)
class LabelSet:
    """Labels in the order of their ids."""

    labels: tuple[Label, ...]
    """Labels of training."""
    new: tuple[Label, ...] = field(default=(), compare=False, repr=False)
    """New labels, with ids after those of training; only the meaning of their words is known. Not saved."""

    def __post_init__(self) -> None:
        if len(self._ids) != len(self.labels) + len(self.new):
            listed = [(label.kind, label.name) for label in self.labels]
            twice = next(label.name for label in self.labels if listed.count((label.kind, label.name)) > 1)
            raise DataError("a label is listed twice", field="labels", value=twice, hint="remove one of the two")
        for kind, names in (("structure", STRUCTURE), ("room", ROOM_NAMES)):
            for name in names:
                if (kind, name) not in self._ids and name != DOOR:  # which the first sets had not
                    hint = "make the set anew; it is not written by hand"
                    raise DataError(f"the {kind} {name!r} is missing, which every set has", field="labels", hint=hint)

    @cached_property
    def _ids(self) -> dict[tuple[str, str], int]:
        return {(label.kind, label.name): number for number, label in enumerate((*self.labels, *self.new))}

    def __len__(self) -> int:
        """Labels of training."""
        return len(self.labels)

    def with_new(self, names: Iterable[str], kind: str = "object") -> LabelSet:
        """The same with labels outside the set that have a word with a meaning; the others stay unknown."""
        known, found = shipped_vectors(), dict.fromkeys(self.new)
        for name in names:
            if (kind, name) not in self._ids and known.mean(label_words(name)) is not None:
                found[Label(kind, name, label_words(name))] = None
        return replace(self, new=tuple(found))

    @cached_property
    def vectors(self) -> Float32[np.ndarray, "ids d"]:
        """A vector per id, of training and new: the mean of its words'; zeros where none is known."""
        known = shipped_vectors()
        means = (known.mean(label.words) for label in (*self.labels, *self.new))
        return np.stack([np.zeros(known.dimension, np.float32) if mean is None else mean for mean in means])

    @cached_property
    def keys(self) -> UInt64[np.ndarray, " ids"]:
        """A number per id, of training and new, that depends on the label's kind and name alone."""
        names = (f"{label.kind} {label.name}".encode() for label in (*self.labels, *self.new))
        return np.array([int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") for name in names], "u8")

    def structure_id(self, name: str) -> int:
        """Id of `floor`, `viewpoint`, `up`, `down` or `unknown object`."""
        if name not in STRUCTURE:
            raise UnknownNameError("structure label", name, STRUCTURE)
        return self._ids["structure", name]

    def room_id(self, letter: str) -> int:
        """Id of a room letter."""
        if letter not in ROOM_NAMES:
            raise UnknownNameError("room letter", letter, ROOM_NAMES)
        return self._ids["room", letter]

    def object_id(self, name: str) -> int:
        """Id of an object's label; of one outside the set that of its head noun, else of `unknown object`."""
        if ("object", name) not in self._ids:
            name = head_label(name, self.objects) or ""
        return self._ids.get(("object", name), self._ids["structure", UNKNOWN_OBJECT])

    def heard_id(self, kind: str, name: str) -> int | None:
        """Id of a caption's word or of a detector's class; None where nothing is known of it."""
        return self._ids.get((kind, name))

    @cached_property
    def senses(self) -> Int8[np.ndarray, " ids"]:
        """Number of the sense (in the order of `SENSES`) that each id belongs to, of training and met."""
        numbers = {name: number for number, name in enumerate(SENSES)}
        return np.array([numbers[label.sense] for label in (*self.labels, *self.new)], np.int8)

    @cached_property
    def structure(self) -> frozenset[str]:
        """Names of the structure in the set."""
        return frozenset(label.name for label in self.labels if label.kind == "structure")

    @cached_property
    def objects(self) -> frozenset[str]:
        """Names of the objects in the set."""
        return frozenset(label.name for label in self.labels if label.kind == "object")

    def to_list(self) -> list[dict[str, Any]]:
        """Plain JSON values."""
        return [{"kind": label.kind, "name": label.name, "words": list(label.words)} for label in self.labels]

    @classmethod
    def from_list(cls, rows: Any, path: Path) -> LabelSet:
        """From plain JSON values, read from `path`."""
        if not isinstance(rows, list):
            raise DataError("expected a list", file=path, field="labels", value=rows)
        labels = []
        for number, row in enumerate(rows):
            wrong = partial(DataError, file=path, record=number)
            if not isinstance(row, dict) or row.keys() != {"kind", "name", "words"}:
                raise wrong("expected kind, name and words", value=row)
            kind, name, words = row["kind"], row["name"], row["words"]
            if kind not in KINDS:
                raise wrong(f"expected one of {', '.join(KINDS)}", field="kind", value=kind)
            if not isinstance(name, str) or not name:
                raise wrong("expected a text", field="name", value=name)
            if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
                raise wrong("expected a list of words", field="words", value=words)
            labels.append(Label(kind, name, tuple(words)))
        try:
            return cls(tuple(labels))
        except DataError as error:
            raise error.in_file(path) from None


def build_labels(
    scenes: Iterable[SceneLandmarks],
    objects: int = DEFAULT_OBJECTS,
    heard: Iterable[tuple[str, str]] = (),
) -> LabelSet:
    """Structure and room labels, then the most frequent object labels of the given (training) buildings.

    Args:
        scenes: buildings to count in; each object counts once however many viewpoints see it.
        objects: how many object labels to keep; ties in alphabetical order.
        heard: kinds and names of the words of captions and of a detector's classes.
    """
    counts = Counter(item.label for scene in scenes for item in scene.objects)
    kept = sorted(counts, key=lambda name: (-counts[name], name))[:objects]
    return LabelSet(
        (
            *(Label("structure", name, label_words(text)) for name, text in STRUCTURE.items()),
            *(Label("room", letter, label_words(text)) for letter, text in ROOM_NAMES.items()),
            *(Label("object", name, label_words(name)) for name in kept),
            *(Label(kind, name, label_words(name)) for kind, name in heard),
        )
    )


def head_label(name: str, known: Collection[str]) -> str | None:
    """The known label that a longer one ends in, as English names things: "dining table" is a table.

    What follows a slash or "of" qualifies ("window / outside", "box of fruit"); a plural counts as its singular.

    Example:
        >>> head_label("wooden dining tables", {"table", "dining table"})
        'dining table'
    """
    words = re.split(r"/| of ", name)[0].split()
    for first in range(len(words)):
        ending = " ".join(words[first:])
        for suffix in ("", "s", "es"):
            if ending.endswith(suffix) and ending.removesuffix(suffix) in known:
                return ending.removesuffix(suffix)
    return None


def label_words(text: str) -> tuple[str, ...]:
    """The words of a label's name."""
    return tuple(re.findall(r"[a-z0-9]+", text))
