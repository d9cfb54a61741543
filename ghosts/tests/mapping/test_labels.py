"""The label set: what is kept, in which order, and its words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ghosts.mapping.labels import LabelSet, build_labels, head_label
from ghosts.run.load import find_checkpoint
from ghosts.weights.checkpoint import load_checkpoint
from ghosts.words.vectors import shipped_vectors
from ghosts_houses.furniture.catalogue import KINDS as HOUSE_KINDS
from ghosts_houses.landmarks import R2R_LABELS
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.landmarks.format import Landmark, SceneLandmarks, normalise_label
from ghosts_sim.landmarks.regions import ROOM_NAMES


def scene(*names: str) -> SceneLandmarks:
    items = [Landmark(str(k), name, (0.0, 0.0, 0.0), 0.1, None, "ray", None, ("v",)) for k, name in enumerate(names)]
    return SceneLandmarks("s", "test", {"v": None}, tuple(items))


def test_the_most_frequent_objects_are_kept_ties_by_name() -> None:
    labels = build_labels([scene("chair", "lamp", "bed"), scene("chair", "bed", "art")], objects=3)
    assert [label.name for label in labels.labels if label.kind == "object"] == ["bed", "chair", "art"]
    assert len(labels) == 6 + len(ROOM_NAMES) + 3
    assert labels.labels[labels.object_id("bed")].name == "bed"
    assert labels.labels[labels.object_id("lamp")].name == "unknown object"


def test_rooms_and_objects_of_one_name_are_apart() -> None:
    labels = build_labels([scene("toilet", "bar")])
    assert labels.room_id("t") != labels.object_id("toilet")
    assert labels.labels[labels.room_id("B")].words == ("bar",)
    assert labels.structure_id("up") != labels.structure_id("down")
    assert len({labels.structure_id(name) for name in ("floor", "viewpoint", "up", "down", "unknown object")}) == 5


def test_words_of_labels() -> None:
    labels = build_labels([scene("sofa chair", "washer-dryer")])
    assert labels.labels[labels.object_id("sofa chair")].words == ("sofa", "chair")
    assert labels.labels[labels.object_id("washer-dryer")].words == ("washer", "dryer")
    assert labels.labels[labels.room_id("d")].words == ("dining", "room")
    assert all(label.words for label in labels.labels)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sofa#chair", "sofa chair"),
        ("Toaster?", "toaster"),
        ("picture#/#other#room", "picture / other room"),
        ("c;lothes#hangers", "c lothes hangers"),
        ("##", "unknown"),
    ],
)
def test_normalised_names(name: str, expected: str) -> None:
    assert normalise_label(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dining table", "table"),
        ("old sofa chair", "sofa chair"),
        ("sofa chairs", "sofa chair"),
        ("boxes", "box"),
        ("table / other room", "table"),
        ("box of fruit", "box"),
        ("table lamp", None),
        ("tablet", None),
    ],
)
def test_a_label_outside_the_set_goes_by_its_head_noun(name: str, expected: str | None) -> None:
    labels = build_labels([scene("table", "chair", "sofa chair", "box")])
    assert head_label(name, labels.objects) == expected
    wanted = labels.object_id(expected) if expected else labels.structure_id("unknown object")
    assert labels.object_id(name) == wanted


def test_objects_met_later_have_numbers_and_meanings_of_their_own() -> None:
    labels = build_labels([scene("bowl", "toilet", "settee")], objects=2)
    assert [label.name for label in labels.labels[-2:]] == ["bowl", "settee"]
    met = labels.with_new(["toilet", "bowl", "xqzt", "office chair", "toilet"])
    assert [label.name for label in met.new] == ["toilet", "office chair"]  # a word without a meaning stays unknown
    assert met.object_id("toilet") == len(labels)
    assert met.object_id("office chair") == len(labels) + 1
    assert met.object_id("xqzt") == labels.structure_id("unknown object")
    assert met == labels  # what was met later is no part of the set
    assert met.with_new(["sofa"]).object_id("office chair") == met.object_id("office chair")
    vectors = met.vectors
    assert vectors.shape == (len(labels) + 2, 100)
    words = shipped_vectors()
    np.testing.assert_allclose(vectors[met.object_id("office chair")], words.mean(["office", "chair"]))
    np.testing.assert_array_equal(vectors[: len(labels)], labels.vectors)


def test_unknown_names_are_refused() -> None:
    labels = build_labels([])
    with pytest.raises(UnknownNameError, match=r"structure label 'flor'.*'floor'"):
        labels.structure_id("flor")
    with pytest.raises(UnknownNameError, match="room letter 'q'"):
        labels.room_id("q")


def test_to_a_list_and_back(tmp_path: Path) -> None:
    labels = build_labels([scene("chair", "sofa chair")])
    assert LabelSet.from_list(labels.to_list(), tmp_path) == labels


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"kind": "thing", "name": "x", "words": []}, "record 0, field 'kind'"),
        ({"kind": "object", "name": "", "words": []}, "record 0, field 'name'"),
        ({"kind": "object", "name": "x", "words": [1]}, "record 0, field 'words'"),
        ({"kind": "object"}, "record 0: expected kind, name and words"),
        ({"kind": "object", "name": "x", "words": ["x"]}, "f, field 'labels': the structure 'floor' is missing"),
    ],
)
def test_bad_lists_are_refused(row: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        LabelSet.from_list([row], Path("f"))
    with pytest.raises(DataError, match="f, field 'labels': expected a list"):
        LabelSet.from_list({}, Path("f"))


def test_things_of_houses_have_names_that_the_shipped_weights_know() -> None:
    shipped = load_checkpoint(find_checkpoint(Path("landmarks-improved"))).about["labels"]
    known = {label["name"] for label in shipped if label["kind"] == "object"}
    assert set(R2R_LABELS.values()) <= known
    own = {kind for kind in HOUSE_KINDS if R2R_LABELS.get(kind, kind) not in known}
    assert own == {"aquarium", "crib", "door", "front door", "globe", "ironing board", "punching bag"}
