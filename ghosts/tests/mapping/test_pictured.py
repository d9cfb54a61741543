from __future__ import annotations

from dataclasses import replace

import numpy as np

from ghosts.config import LandmarkConfig, PictureConfig
from ghosts.mapping.labels import CAPTION, DETECTION, STRUCTURE, Label, LabelSet
from ghosts.mapping.pictured import PictureReader, heard_names, names_in, said_words, sector_of
from ghosts_sim.landmarks.captions import Box, SceneCaptions, View
from ghosts_sim.landmarks.regions import ROOM_NAMES


def labels() -> LabelSet:
    base = [Label("structure", name, ()) for name in STRUCTURE] + [Label("room", letter, ()) for letter in ROOM_NAMES]
    return LabelSet((*base, Label(CAPTION, "sofa", ("sofa",)), Label(DETECTION, "chair", ("chair",))))


def test_words_stand_ahead_and_boxes_on_the_floor():
    known = labels()
    config = LandmarkConfig(captions=True, detections=True, pictures=PictureConfig(ahead_m=(2.0,)))
    # A box whose lower edge is seen 45 degrees down stands as far away as the camera is high.
    box = Box("chair", 180.0, -45.0, 0.8, "a sofa")
    faint = replace(box, confidence=0.4)
    high = replace(box, bottom_deg=-5.0)  # stands 17 m away, or hangs on a wall
    views = [View(90.0, 0.0, "the sofa", (box, faint, high)), View(90.0, -30.0, "a sofa")]
    found = PictureReader(known, config).points(views, np.array([10.0, 20.0, 1.5]))
    names = [known.labels[number].name for number in found.label_id]
    assert names == ["sofa", "sofa", "chair"]
    assert np.allclose(found.xyz_m[:, :2], [[12.0, 20.0], [10.0, 20.0], [10.0, 18.5]])
    assert found.weight.tolist() == [0.6, 0.25, 0.8]
    assert found.sector.tolist() == [3, 3, 6]
    assert known.senses[found.label_id].tolist() == [5, 5, 6]


def test_said_words_leave_out_those_that_mean_nothing():
    assert said_words("A close up of the Sofa, in a living room") == ["sofa", "living", "room"]
    assert sector_of(-14.0) == 0
    assert sector_of(346.0) == 0
    assert sector_of(16.0) == 1


def test_names_are_kept_by_how_often_they_are_said():
    views = (View(0.0, 0.0, "sofa lamp"), View(30.0, 0.0, "sofa", (Box("tv", 0.0, 0.0, 0.9, ""),)))
    assert heard_names([SceneCaptions("s", "x", {"a": views})], 1) == [(CAPTION, "sofa"), (DETECTION, "tv")]


def test_names_are_those_that_are_read():
    scene = SceneCaptions("s", "x", {"a": (View(0.0, 0.0, "a sofa", (Box("tv", 0.0, 0.0, 0.9, "a lamp"),)),)})
    assert names_in(scene) == {CAPTION: {"sofa"}, DETECTION: {"tv"}}


def test_a_model_without_a_sense_reads_nothing_of_it():
    known, views = labels(), [View(0.0, 0.0, "a sofa", (Box("chair", 0.0, -30.0, 0.9, ""),))]
    for captions, detections, kinds in ((True, False, {CAPTION}), (False, True, {DETECTION})):
        reader = PictureReader(known, LandmarkConfig(captions=captions, detections=detections))
        found = reader.points(views, np.zeros(3))
        assert {known.labels[number].kind for number in found.label_id} == kinds
