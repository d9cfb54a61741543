"""A speaker at work: walks in words, paths drawn like R2R's, and told paths as episodes."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.examples import TRAIN, load_spoken, make_example
from ghosts.methods.build import build_model
from ghosts.methods.speaker.model import Speaker
from ghosts.methods.speaker.presets import tiny_speaker
from ghosts.run import speak
from ghosts.run.load import Run, load_run
from ghosts.run.speak import as_episodes, describe, hide_labels, paths_like_r2r, speaker_of, tell_paths, walk_through
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from landmark_world import load, make_landmark_root, small_experiment
from makers import viewpoint_id


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("speak") / "root"), tiny_speaker())


@pytest.fixture(scope="module")
def run() -> Run:
    """The shipped speaker."""
    return load_run("landmarks-speaker")


@pytest.fixture(scope="module")
def read(data: Dataset, run: Run) -> Dataset:
    """The data as it reads it."""
    return open_dataset(data.root, run.reading)


def test_the_shipped_speaker_tells_walks(run: Run, read: Dataset) -> None:
    """Sentences in words that it knows, and a left turn is not told as a right one."""
    assert isinstance(run.model, Speaker)
    ids = [viewpoint_id(row) for row in range(11)]
    left, right = (describe(run, read, "comb0", [ids[0], ids[row]]) for row in (6, 9))
    for text in (left, right):
        assert text[0].isupper()
        assert text.endswith(".")
        assert len(text.split()) > 5
        assert run.reading.vocabulary is not None
        assert not run.reading.vocabulary.read(text).unknown
    assert "left" in left
    assert "right" in right
    assert describe(run, read, "comb0", ids[:3] + ids[6:7]) == left  # the same walk, viewpoint by viewpoint
    assert describe(run, read, "comb0", [ids[0], ids[6]], math.radians(180.0)) != left  # first one has to turn round


def test_the_walker_looks_along_the_first_move_by_default(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(speak, "tell_paths", lambda run, data, examples: told.extend(examples) or ["x"])
    run = Run("r", tiny_speaker(), build_model(tiny_speaker(), data.vocabulary, data.labels), data.reading)
    ids = [viewpoint_id(100 + row) for row in range(11)]
    assert describe(run, data, "comb1", [ids[5], ids[2]]) == "x"
    describe(run, data, "comb1", [ids[5], ids[2]], 1.5)
    assert told[0].path == (5, 0, 1, 2)
    graph = data.root.graph("comb1")
    east, north = (graph.position_m[0] - graph.position_m[5])[:2]
    assert told[0].start_heading_rad == pytest.approx(math.atan2(east, north))
    assert told[1].start_heading_rad == 1.5


def test_walks_that_are_none(data: Dataset, run: Run, read: Dataset) -> None:
    graph = data.root.graph("comb0")
    ids = list(graph.ids)
    assert walk_through(graph, [ids[0], ids[6], ids[0]]) == (0, 1, 2, 6, 2, 1, 0)
    for walk, told in (([], "none"), (ids[:1], ids[0]), ([ids[0]] * 2, f"{ids[0]}, {ids[0]}")):
        with pytest.raises(ConfigError) as caught:
            walk_through(graph, walk)
        assert str(caught.value) == f"a walk needs two viewpoints or more, got {told}"
    apart = replace(graph, distance_m=np.where(np.eye(len(ids), dtype=bool), 0.0, np.inf))
    with pytest.raises(ConfigError, match=f"no walk leads from {ids[0]} to {ids[3]} in comb0"):
        walk_through(apart, [ids[0], ids[3]])
    with pytest.raises(UnknownNameError, match="unknown viewpoint 'x' in scan comb0"):
        walk_through(graph, [ids[0], "x"])
    with pytest.raises(UnknownNameError, match="unknown scan 'comb9'"):
        describe(run, read, "comb9", ids[:2])
    unseen = replace(read, bank=replace(read.bank, numbers={("comb1", 0): 0}))
    with pytest.raises(ConfigError) as caught:
        describe(run, unseen, "comb0", ids[:2])
    assert str(caught.value) == "the data set does not show comb0; open it with also=['comb0']"


def test_other_runs_do_not_speak(data: Dataset) -> None:
    experiment = small_experiment()
    run = Run("mine", experiment, build_model(experiment, data.vocabulary, data.labels), data.reading)
    with pytest.raises(ConfigError) as caught:
        speaker_of(run)
    assert str(caught.value) == "mine does not speak; name a run of ghosts train speaker, such as landmarks-speaker"


def test_telling_does_not_look_at_the_texts(run: Run, read: Dataset) -> None:
    examples = [example for example in read.examples(TRAIN) if len(example.path) == 4][:6:3]
    blank = [replace(example, text="") for example in examples]
    texts = tell_paths(run, read, examples)
    assert [tell_paths(run, read, [example])[0] for example in blank] == texts
    warm = [tell_paths(run, read, examples, temperature=1.0, seed=seed) for seed in (0, 0, 1)]
    assert warm[0] == warm[1]
    assert warm[1] != warm[2]


def test_what_is_hidden_is_not_told(run: Run, read: Dataset) -> None:
    """Each path has labels of its own to lack, in whatever order the paths are told."""
    examples = [example for example in read.examples(TRAIN) if len(example.path) == 4][:6:3]
    lacking = hide_labels(read, examples, 0.9, seed=1)
    texts = tell_paths(run, read, lacking)
    assert texts != tell_paths(run, read, examples)
    assert tell_paths(run, read, lacking[::-1]) == texts[::-1]
    assert [example.hidden for example in hide_labels(read, examples, 0.9, seed=1)] == [
        example.hidden for example in lacking
    ]
    seeds = {example.hidden for seed in (1, 2) for example in hide_labels(read, examples * 4, 0.9, seed)}
    assert len(seeds) == 2 * 4 * len(examples)
    with pytest.raises(ConfigError, match="a world of images has no labels to hide; leave out --label-dropout"):
        hide_labels(replace(read, reading=replace(read.reading, labels=None)), examples, 0.9)


def test_paths_are_drawn_like_r2rs(data: Dataset) -> None:
    found = paths_like_r2r(data, 40, seed=3)
    assert abs(len(found) - 40) <= 4
    counts = Counter(example.scan for example in found)
    assert {*counts} == {"comb0", "comb1", "comb2", "comb4"}  # of training alone
    assert max(counts.values()) - min(counts.values()) == 0
    told = {(example.scan, example.start, example.goal) for example in data.examples(TRAIN)}
    drawn = {(example.scan, example.start, example.goal) for example in found}
    assert len(drawn) == len(found)
    assert not drawn & told
    for example in found:
        graph = data.root.graph(example.scan)
        assert 5 <= len(example.path) <= 7
        assert graph.distance_m[example.start, example.goal] >= 5.0
        assert list(example.path) == graph.path(example.start, example.goal)
    assert len({example.start_heading_rad for example in found}) == len(found)
    again = paths_like_r2r(data, 40, seed=3)
    assert [example.path for example in again] == [example.path for example in found]
    assert [example.path for example in paths_like_r2r(data, 40, seed=4)] != [example.path for example in found]


def test_a_world_too_small_has_no_such_path(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speak, "SHORTEST_M", 100.0)
    with pytest.raises(DataError) as caught:
        paths_like_r2r(data, 5)
    assert str(caught.value) == (
        f"{data.root.path}: no path of five to seven viewpoints and five metres; "
        "its buildings are too small; name another --data"
    )


def test_told_paths_are_episodes_that_training_reads(data: Dataset, tmp_path: Path) -> None:
    examples = paths_like_r2r(data, 12)
    texts = ["Go there.", "", *["Turn left."] * (len(examples) - 2)]
    records = as_episodes(data, examples, texts)
    assert len(records) == len(examples) - 1  # nothing was said of one
    assert not any("hidden_labels" in record for record in records)
    assert [record["path_id"] for record in records[:2]] == [10_000_000, 10_000_002]
    (tmp_path / "told.json").write_text(json.dumps(records))
    read = load_spoken(DataRoot(data.root.path), tmp_path / "told.json", set(data.scans), data.reading.steps)
    said = [example for example, text in zip(examples, texts) if text]
    assert [example.path for example in read] == [example.path for example in said]
    assert [example.instr_id for example in read] == [example.instr_id for example in said]
    for mine, other in zip(read, said):
        assert mine.start_heading_rad == pytest.approx(other.start_heading_rad, abs=1e-4)
    graph = data.root.graph(records[0]["scan"])
    assert records[0]["distance"] == pytest.approx(graph.distance_m[said[0].start, said[0].goal], abs=1e-3)
    assert make_example(graph, "", "", 0.0, said[0].path, 4).goal == said[0].goal
