"""Training buildings in shards: the same batches as held whole, in an order of their own, in bounded memory."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch.testing import assert_close

from experiments import task_of
from ghosts.config import DataConfig
from ghosts.data import stream
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.examples import TRAIN, split_buildings
from ghosts.data.reading import reading_of
from ghosts.data.stream import MIXED, Stream, visited
from ghosts.data.symmetry import Symmetry
from ghosts.methods.ghost.presets import tiny_agent
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.train.trainer import RunFiles, train
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError
from landmark_world import SCANS, make_landmark_root, small_experiment

TRAINED = [*SCANS[:3], SCANS[4]]


def in_shards(folder: Path) -> Path:
    """The same root with a file per training building."""
    whole = folder / "r2r" / "R2R_train.json"
    (folder / "r2r" / "R2R_train").mkdir()
    for scan in SCANS:
        records = [record for record in json.loads(whole.read_text()) if record["scan"] == scan]
        (folder / "r2r" / "R2R_train" / f"{scan}.json").write_text(json.dumps(records))
    whole.unlink()
    (folder / "r2r" / "R2R_val_seen.json").unlink()
    return folder


def experiment(**settings: object) -> FilterExperiment:
    base = small_experiment(mirrored=0.5, label_dropout=0.3, **settings)
    model = replace(base.model, language=replace(base.model.language, vectors=True))
    shown = replace(base.data, landmarks=replace(base.data.landmarks, vectors=True))
    return replace(base, model=model, data=shown)


def load(folder: Path, experiment: FilterExperiment) -> Dataset:
    """The data anew: a stream keeps what it has read."""
    return open_dataset(DataRoot(folder), reading_of(experiment, training=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_shards(make_landmark_root(tmp_path_factory.mktemp("stream") / "root"))


@pytest.fixture(scope="module")
def data(folder: Path) -> Dataset:
    return load(folder, experiment())


def test_a_root_in_shards_is_read_as_a_whole_one(folder: Path, data: Dataset, tmp_path: Path) -> None:
    root, whole = DataRoot(folder), DataRoot(make_landmark_root(tmp_path / "whole"))
    assert root.splits == [TRAIN]
    assert root.in_shards(TRAIN)
    assert not whole.in_shards(TRAIN)
    assert root.scans_of(TRAIN) == whole.scans_of(TRAIN) == sorted(SCANS)
    assert root.episodes(TRAIN) == whole.episodes(TRAIN)
    assert split_buildings(root) == split_buildings(whole) == (TRAINED, [SCANS[3]])
    assert split_buildings(root, buildings=2)[0] == [SCANS[0], SCANS[2]]
    held = load(whole.path, experiment())
    assert data.vocabulary.words == held.vocabulary.words
    assert data.labels == held.labels
    assert data.splits[TRAIN] == []
    assert data.scans == [SCANS[3]]  # which is dev_unseen, held whole
    assert data.stream is not None
    assert data.stream.scans == TRAINED
    examples = [example for scan in TRAINED for example in data.stream.building(scan)]
    assert [item.instr_id for item in examples] == [item.instr_id for item in held.splits[TRAIN]]
    some, turned = examples[::7], Symmetry(mirrored=True, quarters=1)
    walks = [data.walk(item, 3, np.random.default_rng(number)) for number, item in enumerate(some)]
    streamed, usual = (each.batch(some, walks, [turned] * len(some)) for each in (data, held))
    assert_close(vars(streamed.seen.cells) | {"labels": None}, vars(usual.seen.cells) | {"labels": None})
    for name in ("cell", "label", "weight", "vectors"):
        assert_close(getattr(streamed.seen.cells.labels, name), getattr(usual.seen.cells.labels, name))
    assert torch.equal(streamed.briefing.tokens, usual.briefing.tokens)


def test_every_building_is_visited_equally_often() -> None:
    """Seven buildings, three open at a time, five instructions each."""
    found = [visited(4, 7, 5, number, mixed=3) for number in range(7 * 5 * 6)]
    assert Counter(building for building, _, _ in found) == dict.fromkeys(range(7), 30)
    assert set(found) == {(building, turn, place) for building in range(7) for turn in range(6) for place in range(5)}
    for first in range(0, len(found), 15):
        assert len({(building, turn) for building, turn, _ in found[first : first + 15]}) == 3
    near = [building for building, _, _ in found[:15]]
    assert near != sorted(near, key=near.index)  # mixed, not one after the other
    assert [visited(5, 7, 5, number, mixed=3) for number in range(30)] != found[:30]


def test_a_visit_takes_different_instructions(data: Dataset) -> None:
    """64 visits of six instructions each, in buildings of 24: sixteen visits each."""
    config = replace(experiment().train, visit=6)
    assert data.stream is not None
    found = [data.stream.example(config, number) for number in range(MIXED * 6)]
    assert Counter(example.scan for example in found) == dict.fromkeys(TRAINED, 16 * 6)
    visits: dict[tuple[int, int], list[str]] = {}
    for number, example in enumerate(found):
        visits.setdefault(visited(config.seed, len(TRAINED), 6, number)[:2], []).append(example.instr_id)
    assert all(len(set(ids)) == 6 for ids in visits.values())
    assert len({frozenset(ids) for (building, _), ids in visits.items() if building == 0}) > 1


def test_the_next_buildings_are_read_one_by_one_before_they_are_needed(data: Dataset) -> None:
    config, known = replace(experiment().train, visit=4, batch=16), data.stream
    assert known is not None
    iterations = MIXED * 4 // 16
    ahead = [scan for iteration in range(iterations) for scan in known.next_buildings(config, iteration)]
    assert len(ahead) == MIXED
    assert max(len(known.next_buildings(config, iteration)) for iteration in range(iterations)) == 16 // 4
    numbers = range(MIXED * 4, 2 * MIXED * 4)
    needed = Counter(TRAINED[visited(config.seed, len(TRAINED), 4, number)[0]] for number in numbers)
    assert {scan: 4 * count for scan, count in Counter(ahead).items()} == needed


def test_memory_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "KEPT", 2)
    read: list[str] = []
    plain = Stream._read
    monkeypatch.setattr(Stream, "_read", lambda self, scan: (read.append(scan), plain(self, scan))[1])
    data = load(folder, experiment())
    assert data.stream is not None
    assert data.bank.more is not None
    for scan in (*TRAINED, *TRAINED):
        data.stream.building(scan)
        data.bank.more(scan)
    data.stream.building(TRAINED[-1])
    assert read == [*TRAINED, *TRAINED]  # forgotten after two others; the last is still there
    for kept in (data.stream._recent, data.root._recent):  # type: ignore[attr-defined]
        assert kept.cache_info().currsize <= 2


def test_a_run_on_a_stream_resumes_as_if_it_had_never_stopped_and_starts_another(folder: Path, tmp_path: Path) -> None:
    def run(name: str, iterations: int, threads: int = 0) -> dict[str, torch.Tensor]:
        settings = experiment(iterations=2, checkpoint_every=1, visit=3, schedule="constant")
        data = load(folder, settings)
        task = task_of(settings, data)
        if iterations < 2:
            task.config = replace(task.config, iterations=iterations)
        train(task, Fabric(accelerator="cpu", devices=1), RunFiles.of(tmp_path / name), threads=threads)
        return load_checkpoint(tmp_path / name / LAST).weights

    whole = run("whole", 2)
    run("parts", 1)
    assert_close(run("parts", 2, threads=2), whole, rtol=0, atol=0)
    # Another root, in which words and labels have other numbers.
    other = make_landmark_root(tmp_path / "other")
    text = (other / "r2r" / "R2R_train.json").read_text().replace("straight", "onwards")
    (other / "r2r" / "R2R_train.json").write_text(text)
    settings = experiment()
    again = load(other, settings)
    task = task_of(settings, again, warm_start=tmp_path / "whole" / LAST)
    before, now = (load(folder, settings).vocabulary, again.vocabulary)
    own = task.model.state_dict()["language.encoder.embedding.own.weight"]
    old = whole["language.encoder.embedding.own.weight"]
    assert before.words != now.words
    for word in set(before.words) & set(now.words):
        assert_close(own[now.id(word)], old[before.id(word)])
    assert not own[now.id("onwards")].any()  # read by its meaning alone at first
    rest = {name: value for name, value in whole.items() if name.startswith(("mapper.", "filter."))}
    assert rest
    assert_close({name: task.model.state_dict()[name] for name in rest}, rest)
    other_size = replace(settings, model=replace(settings.model, mapper=replace(settings.model.mapper, channels=16)))
    with pytest.raises(DataError, match="a model of other sizes"):
        task_of(other_size, again, warm_start=tmp_path / "whole" / LAST)


def test_what_cannot_be_streamed_is_said(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="agents cannot learn from a streamed training split"):
        task_of(tiny_agent(), data)
    root = in_shards(make_landmark_root(tmp_path / "root"))
    (root / "scans").mkdir()
    with pytest.raises(DataError, match="only landmarks are streamed"):
        load(root, replace(experiment(), data=DataConfig("images")))
    shard = root / "r2r" / "R2R_train" / f"{SCANS[0]}.json"
    shard.write_text((root / "r2r" / "R2R_train" / f"{SCANS[1]}.json").read_text())
    with pytest.raises(DataError, match=f"expected '{SCANS[0]}', as the file is named"):
        DataRoot(root).episodes(TRAIN)
