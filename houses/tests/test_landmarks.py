"""Houses as landmarks, and worlds of thousands of them: in shards, made by several processes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ghosts_houses import world
from ghosts_houses.cli.world import main
from ghosts_houses.furniture.catalogue import KINDS
from ghosts_houses.graph.sight import things_seen
from ghosts_houses.graph.viewpoints import make_graph
from ghosts_houses.house import House, Opening
from ghosts_houses.landmarks import LETTERS, R2R_LABELS, house_landmarks
from ghosts_houses.make import house_name
from ghosts_houses.plan.rooms import ROOM_KINDS
from ghosts_houses.record import Described
from ghosts_houses.world import WorldConfig, make_world
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import read_json
from ghosts_sim.landmarks.format import load_scene
from ghosts_sim.landmarks.regions import ROOM_NAMES

MANY = WorldConfig(houses=5, seed=3, paths=4, seen=0.0, unseen=0.2, landmarks=True, shards=True)


@pytest.fixture(scope="module")
def found(handmade: House) -> Described:
    """The hand-made house with a window, and two ways to go in it."""
    window = Opening("window", (1, -1), 2.5, 7.06, "x", 1.2, 0.9, 2.1)
    house = replace(handmade, openings=(*handmade.openings, window))
    graph = make_graph(house)
    edges = np.argwhere(np.triu(graph.unobstructed))[:4]
    names = [point.name for point in graph.viewpoints]
    paths = [
        {"distance": 1.0, "path": [names[a], names[b]], "heading": 0.0, "instructions": [f"Go to {b}."]}
        for a, b in edges.tolist()
    ]
    return Described(house, graph, things_seen(house, graph.positions_m), paths)


@pytest.fixture
def quick(found: Described, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every house is the hand-made one; the seeds that were made."""
    made: list[int] = []

    def describe(seed: int, count: int, size: object) -> Described:
        made.append(seed)
        paths = [dict(path) for path in found.paths[:count]]
        return replace(found, house=replace(found.house, name=house_name(seed), seed=seed), paths=paths)

    monkeypatch.setattr(world, "describe", describe)
    return made


def test_every_kind_has_a_name_and_names_are_r2rs() -> None:
    assert set(LETTERS) == set(ROOM_KINDS)
    assert set(LETTERS.values()) <= set(ROOM_NAMES)
    assert set(R2R_LABELS) <= set(KINDS)


def test_rooms_things_and_windows(found: Described) -> None:
    scene = house_landmarks(found.house, found.graph, found.seen)
    points = {point.name: point for point in found.graph.viewpoints}
    assert {name: region.room for name, region in scene.viewpoints.items() if region is not None} == {
        name: LETTERS[found.house.rooms[point.room].kind] for name, point in points.items()
    }
    labels = Counter(item.label for item in scene.objects)
    assert labels["couch"] == labels["refrigerator"] == labels["tv"] == labels["window"] == 1
    assert labels["bed"] == 2
    assert "sofa" not in labels
    for item in scene.objects:
        if item.label == "window":
            assert {points[name].room for name in item.seen_from} == {1}
            continue
        index = int(item.id.removeprefix("thing "))
        thing = found.house.things[index]
        assert item.position_m == thing.center_m
        seers = [point for row, point in enumerate(found.graph.viewpoints) if found.seen[row, index]]
        away = {point.name: float(thing.gap_m(np.array(point.xy_m))) for point in seers}
        assert set(item.seen_from) <= set(away)
        near = {name for name in away if away[name] <= 2.0 and points[name].room == thing.room}
        assert set(item.seen_from) == (near or {min(away, key=away.__getitem__)})


def test_shards_are_made_by_several_processes(quick: list[int], tmp_path: Path) -> None:
    whole, shared = tmp_path / "whole", tmp_path / "shared"
    assert make_world(whole, MANY, images=False) is not None
    assert len(quick) == 5
    assert make_world(shared, MANY, images=False, share=(1, 2)) is None  # the others' houses are missing
    assert not (shared / "world.json").exists()
    assert len(quick) == 7
    summary = make_world(shared, MANY, images=False, share=(0, 2))
    assert len(quick) == 10
    first, second = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (whole, shared)
    )
    assert first == second
    assert summary is not None
    assert summary["command"].endswith("--landmarks --shards")
    assert summary["statistics"]["paths, train"] == 16
    assert [len(summary["splits"][split]) for split in ("train", "val_seen", "val_unseen")] == [4, 0, 1]
    root = DataRoot(shared)
    assert root.splits == ["train", "val_unseen"]
    assert root.scans_of("train") == summary["splits"]["train"]
    assert len(root.episodes("train")) == 16
    assert load_scene(root, root.scans[0]).objects


def test_landmarks_are_added_to_a_world_that_has_none(
    quick: list[int], found: Described, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = replace(MANY, landmarks=False)
    make_world(tmp_path, plain, images=False)
    monkeypatch.setattr(world, "make_house", lambda seed, size: replace(found.house, name=house_name(seed), seed=seed))
    monkeypatch.setattr(world, "make_graph", lambda house: found.graph)
    monkeypatch.setattr(world, "things_seen", lambda house, places: found.seen)
    make_world(tmp_path, MANY, images=False)
    assert len(quick) == 5  # nothing is told twice
    assert len(list((tmp_path / "landmarks").glob("*.json"))) == 5
    with pytest.raises(DataError, match=r"training split is in shards.*--out"):
        make_world(tmp_path, replace(plain, shards=False), images=False)


def test_a_large_world_goes_on_with_the_houses_of_the_next_seeds() -> None:
    assert world._seeds(WorldConfig(seed=5), 7) == [50007, 52507, 55007, 57507]
    assert world._seeds(WorldConfig(seed=5), 2507) == world._seeds(WorldConfig(seed=6), 7)
    every = [seed for index in range(0, 7000, 100) for seed in world._seeds(WorldConfig(seed=2), index)]
    assert len(set(every)) == len(every)


def test_the_command_line(
    quick: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--houses", "3", "--paths", "2", "--seen", "0", "--no-images", "--landmarks", "--shards"]
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        main(["--out", str(tmp_path / "w"), "--workers", "1", *options])
    said = capsys.readouterr().out
    assert "process 0: done; other houses are missing (still being made, or run the same command again)" in said
    assert "3 houses" in said
    assert read_json(tmp_path / "w" / "world.json")["config"]["shards"] is True
    with pytest.raises(ConfigError, match="shards leave no val_seen: use --seen 0"):
        main(["--out", str(tmp_path / "x"), "--shards"])
