"""A whole world: formats, splits, the same bytes whatever the workers, resuming, and geometry from the seed."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from checks import unchecked
from ghosts_houses import world
from ghosts_houses.cli.world import main
from ghosts_houses.make import make_house
from ghosts_houses.plan.slots import HouseSize
from ghosts_houses.render import scene
from ghosts_houses.statistics import statistics
from ghosts_houses.summary import R2R
from ghosts_houses.world import WorldConfig, load_house, make_world
from ghosts_sim.episodes import load_episodes
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.files import read_json, write_json
from ghosts_sim.graph import parse_graph
from ghosts_sim.remedy import landmarks_command
from made import SMALL
from makers import walked_episodes


@pytest.fixture
def root(small_world: Path) -> Path:
    return small_world


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_readers_of_real_data_accept_it(root: Path) -> None:
    scans = (root / "connectivity" / "scans.txt").read_text().split()
    graphs = {}
    for scan in scans:
        path = root / "connectivity" / f"{scan}_connectivity.json"
        graphs[scan] = parse_graph(scan, read_json(path), path)
    assert len(graphs) == 2
    ids: set[int] = set()
    for split in ("train", "val_seen", "val_unseen"):
        for episode in load_episodes(root / "r2r" / f"R2R_{split}.json"):
            graph = graphs[episode.scan]
            rows = [graph.index(name) for name in episode.path]
            assert all(graph.adjacent[a, b] for a, b in itertools.pairwise(rows))
            assert episode.distance_m == pytest.approx(graph.distance_m[rows[0], rows[-1]], abs=0.006)
            assert len(episode.instructions) == 3
            assert episode.path_id not in ids
            ids.add(episode.path_id)
    assert len(ids) == 2 * SMALL.paths


def test_records_have_exactly_the_released_fields(root: Path) -> None:
    record = read_json(root / "r2r" / "R2R_train.json")[0]
    assert list(record) == ["distance", "scan", "path_id", "path", "heading", "instructions"]
    viewpoint = read_json(next((root / "connectivity").glob("*.json")))[0]
    assert list(viewpoint) == ["image_id", "pose", "included", "visible", "unobstructed", "height"]
    assert len(viewpoint["pose"]) == 16


def test_splits_are_by_house(root: Path) -> None:
    summary = read_json(root / "world.json")
    splits = {split: {e.scan for e in load_episodes(root / "r2r" / f"R2R_{split}.json")} for split in summary["splits"]}
    assert len(splits["val_unseen"]) == 1
    assert splits["train"] == splits["val_seen"]
    assert not splits["train"] & splits["val_unseen"]
    assert {split: sorted(scans) for split, scans in splits.items()} == summary["splits"]


def test_same_bytes_with_two_workers(root: Path, tmp_path: Path) -> None:
    make_world(tmp_path, SMALL, images=False, workers=2)
    assert digests(tmp_path) == digests(root)


def test_a_stopped_run_goes_on(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the first house; the second run makes only the others."""

    class Stop(Exception):
        pass

    made: list[int] = []
    real = world.describe

    def stopping(seed: int, count: int, size: HouseSize):  # type: ignore[no-untyped-def]
        if len(made) == 1:
            raise Stop
        made.append(seed)
        return real(seed, count, size)

    monkeypatch.setattr(world, "describe", stopping)
    with unchecked(), pytest.raises(Stop):
        make_world(tmp_path, SMALL, images=False)
    assert not (tmp_path / "world.json").exists()
    again: list[int] = []
    monkeypatch.setattr(world, "describe", lambda *arguments: (again.append(arguments[0]), real(*arguments))[1])
    with unchecked():
        make_world(tmp_path, SMALL, images=False)
    assert not set(made) & set(again)
    assert digests(tmp_path) == digests(root)


def test_another_world_is_refused(root: Path) -> None:
    with pytest.raises(DataError, match=r"holds another world.*--out"):
        make_world(root, WorldConfig(houses=2, seed=2, paths=12), images=False)


def test_foreign_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "connectivity").mkdir()
    with pytest.raises(DataError, match="another kind"):
        make_world(tmp_path, SMALL, images=False)


def test_load_house_gives_the_geometry(root: Path) -> None:
    summary = read_json(root / "world.json")
    scan = summary["splits"]["val_unseen"][0]
    with unchecked():
        house = load_house(root, scan)
        assert house == make_house(summary["houses"][scan]["seed"], SMALL.size)
    path = root / "connectivity" / f"{scan}_connectivity.json"
    graph = parse_graph(scan, read_json(path), path)
    assert len(graph.ids) == summary["houses"][scan]["viewpoints"]
    inside = house.rooms_at(graph.position_m - [0, 0, 0.5]) >= 0
    assert np.mean(inside) > 0.6  # the rest stand in doorways and on stairs
    with pytest.raises(UnknownNameError):
        load_house(root, "nowhere")


def test_houses_of_a_size_are_made_again_of_that_size(root: Path, tmp_path: Path) -> None:
    summary = read_json(root / "world.json")
    assert "--storeys 1 1 --rooms 5 6 --area 0.0 1000.0" in summary["command"]
    scan = summary["splits"]["val_unseen"][0]
    with unchecked():
        other = make_house(summary["houses"][scan]["seed"], HouseSize(storeys=(1, 1), rooms=(7, 8)))
    summary["houses"] = {scan: summary["houses"][scan] | {"rooms": len(other.rooms), "things": len(other.things)}}
    summary["config"]["rooms"] = [7, 8]
    write_json(tmp_path / "world.json", summary)
    with unchecked():
        assert load_house(tmp_path, scan) == other
    write_json(tmp_path / "world.json", summary | {"config": {"rooms": [6]}})
    with pytest.raises(DataError, match="expected storeys, rooms and area, two numbers each"):
        load_house(tmp_path, scan)


def test_facts_are_kept_with_the_instructions(root: Path) -> None:
    for stored in (root / "houses").glob("*.json"):
        for path in json.loads(stored.read_text())["paths"]:
            assert len(path["facts"]) == len(path["instructions"]) == len(path["styles"]) == 3
            assert all(facts[-1]["kind"] == "stop" for facts in path["facts"])


def test_statistics(root: Path) -> None:
    figures = statistics(root)
    assert figures["houses"] == 2
    assert figures["paths per house"] == SMALL.paths
    assert figures["instructions"] == 2 * SMALL.paths * 3
    assert 4 <= figures["moves per path"] <= 6
    assert 20 <= figures["words per instruction, mean"] <= 34
    assert figures == read_json(root / "world.json")["statistics"]


def test_summary_tells_of_buildings_and_figures(root: Path) -> None:
    summary, plans = read_json(root / "summary.json"), read_json(root / "world.json")["houses"]
    with unchecked():
        houses = [make_house(plan["seed"], SMALL.size) for plan in plans.values()]
    rooms = [room for plan in houses for room in plan.rooms]
    figures = summary["buildings"]["rooms"]
    assert {kind: item["count"] for kind, item in figures.items()} == Counter(room.kind for room in rooms)
    baths = [room.area_m2 for room in rooms if room.kind == "bathroom"]
    assert figures["bathroom"]["floor (m²)"]["most"] == pytest.approx(max(baths), abs=0.01)
    assert set(summary["buildings"]["flaws"].values()) == {0}
    assert sum(summary["buildings"]["houses by storeys"].values()) == 2
    figures = read_json(root / "world.json")["statistics"]
    assert {name: item["houses"] for name, item in summary["figures"].items()} == figures
    assert summary["figures"]["degree"]["R2R"] == 4.11
    # A small world has fewer than R2R's 693 instructions to count words in.
    assert {re.sub(r"in \d+ instr", "in instr", name) for name in R2R} <= {
        re.sub(r"in \d+ instr", "in instr", name) for name in figures
    }


def test_statistics_of_a_real_graph(navigation: Path, tmp_path: Path) -> None:
    """On one building of R2R with made-up paths, against figures worked out by hand from the files."""
    scan = "17DRP5sb8fy"
    records = read_json(navigation / "connectivity" / f"{scan}_connectivity.json")
    episodes = walked_episodes(scan, records, 60, np.random.default_rng(0))
    write_json(tmp_path / "connectivity" / f"{scan}_connectivity.json", records)
    twice = {**episodes[0], "path": [*episodes[0]["path"], episodes[0]["path"][-1]]}
    write_json(tmp_path / "r2r" / "R2R_train.json", [twice, *episodes[1:]])
    with pytest.raises(DataError, match=r"R2R_train\.json.*nobody can walk straight"):
        statistics(tmp_path)
    write_json(tmp_path / "r2r" / "R2R_train.json", episodes)
    figures = statistics(tmp_path)
    kept = [k for k, record in enumerate(records) if record["included"]]
    degrees = [sum(records[k]["unobstructed"][j] for j in kept) for k in kept]
    assert figures["houses"] == 1
    assert figures["viewpoints per house"] == len(kept)
    assert figures["degree"] == pytest.approx(np.mean(degrees))
    assert figures["path length, mean (m)"] == pytest.approx(np.mean([e["distance"] for e in episodes]))


def test_a_process_without_a_house_of_its_own_has_nothing_to_render(tmp_path: Path) -> None:
    assert make_world(tmp_path, SMALL, images=True, workers=2, share=(2, 3)) is None


def test_images_are_written_once(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A house's skyboxes at the smallest size: all three files of every viewpoint; nothing is rendered twice."""
    record = read_json(sorted((root / "houses").glob("*.json"))[0])
    record["viewpoints"] = record["viewpoints"][:1]
    arguments = (tmp_path, SMALL, "cpu", record)
    monkeypatch.setattr("ghosts_houses.render.lighting.SHADOW_PX", 16)  # light as coarse as the faces
    monkeypatch.setattr("ghosts_houses.render.volume.VOXEL_M", 0.4)
    # The house is lit once.
    monkeypatch.setattr("ghosts_houses.render.scene.prepare", functools.cache(scene.prepare))
    with unchecked():
        assert world._render_house(*arguments) == 1
    files = digests(tmp_path)
    assert len(files) == 3
    (tmp_path / next(iter(files))).unlink()
    from ghosts_houses.render import panorama as render

    rendered: list[int] = []
    real = render.render_panoramas

    def counting(scene: object, positions_m: np.ndarray, face_size: int):  # type: ignore[no-untyped-def]
        rendered.append(len(positions_m))
        return real(scene, positions_m, face_size)

    monkeypatch.setattr(render, "render_panoramas", counting)
    with unchecked():
        assert world._render_house(*arguments) == 1
    assert world._render_house(*arguments) == 1  # all is there: nothing to do
    assert rendered == [1]
    assert digests(tmp_path) == files


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"houses": 0}, "houses"),
        ({"faces": 100}, "multiple of 16"),
        ({"unseen": 1.0}, "unseen"),
        ({"seed": -1}, "seed"),
        ({"rooms": (9, 6)}, "rooms must be two numbers"),
    ],
)
def test_bad_settings_are_named(fields: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        WorldConfig(**fields)


def test_what_makes_landmarks_later_is_said(tmp_path: Path) -> None:
    """The command that `ghosts doctor` advises for a world without landmarks adds them, and changes nothing else."""
    root = tmp_path / "world"
    main(
        ["--out", str(root), "--houses", "2", "--paths", "2", "--no-images", "--storeys", "1", "1", "--rooms", "5", "6"]
    )
    before = {path: path.read_bytes() for path in (root / "houses").iterdir()}
    command = landmarks_command(root)
    assert command.startswith(f"ghosts world --out {root} --houses 2 ")
    main(command.split()[2:])
    assert {path.stem for path in (root / "landmarks").iterdir()} == {path.stem for path in before}
    assert before == {path: path.read_bytes() for path in (root / "houses").iterdir()}
