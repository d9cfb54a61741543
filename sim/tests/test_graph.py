"""Navigation graphs: values, real files, and every way a file can be wrong."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.graph import load_graph, parse_graph, shortest_walks
from makers import SCAN, connectivity_records, viewpoint_id


def write(folder: Path, records: Any) -> Path:
    path = folder / f"{SCAN}_connectivity.json"
    path.write_text(json.dumps(records))
    return path


def test_corridor(tmp_path: Path) -> None:
    graph = load_graph(write(tmp_path, connectivity_records(4)))
    assert graph.scan == SCAN
    assert graph.index(viewpoint_id(2)) == 2
    assert graph.neighbours(1) == [0, 2]
    assert graph.path(0, 3) == [0, 1, 2, 3]
    assert graph.path(2, 2) == [2]
    assert graph.distance_m[0, 3] == pytest.approx(6.0)
    assert graph.next_hop[3, 0] == 2
    assert graph.next_hop[0, 0] == -1
    np.testing.assert_allclose(graph.position_m[1], [0.5, 2.0, 1.5])


def test_excluded_viewpoints_keep_their_row_but_have_no_edges(tmp_path: Path) -> None:
    graph = load_graph(write(tmp_path, connectivity_records(4, excluded=(1,))))
    assert graph.neighbours(0) == []
    assert np.isinf(graph.distance_m[0, 3])
    with pytest.raises(DataError, match="no walk"):
        graph.path(0, 3)


def test_shortest_walks_equal_all_detours_tried() -> None:
    random = np.random.default_rng(0)
    position = random.uniform(0, 10, (30, 3))
    adjacent = np.triu(random.random((30, 30)) < 0.15, 1)
    adjacent |= adjacent.T
    distance, next_hop = shortest_walks(position, adjacent)
    straight = np.linalg.norm(position[:, None] - position, axis=-1)
    lengths = np.where(adjacent | np.eye(30, dtype=bool), straight, np.inf)
    for stop in range(30):  # Floyd and Warshall
        lengths = np.minimum(lengths, lengths[:, stop, None] + lengths[stop])
    for a in range(30):
        for b in range(30):
            expected = lengths[a, b]
            assert distance[a, b] == pytest.approx(expected)
            if a != b and np.isfinite(expected):
                hop = int(next_hop[a, b])
                assert adjacent[a, hop]
                step = float(np.linalg.norm(position[a] - position[hop]))
                assert step + distance[hop, b] == pytest.approx(expected)


def test_cache_gives_the_same_graph_and_survives_damage(tmp_path: Path) -> None:
    path, cache = write(tmp_path, connectivity_records(5)), tmp_path / "cache"
    first = load_graph(path, cache)
    (stored,) = (cache / "graphs").iterdir()
    second = load_graph(path, cache)
    assert second.ids == first.ids
    np.testing.assert_array_equal(second.distance_m, first.distance_m)
    np.testing.assert_array_equal(second.next_hop, first.next_hop)
    stored.write_bytes(stored.read_bytes()[:100])
    np.testing.assert_array_equal(load_graph(path, cache).distance_m, first.distance_m)
    assert stored.stat().st_size > 100  # repaired


def test_caches_of_other_shapes_or_with_a_password_are_made_again(tmp_path: Path) -> None:
    path, cache = write(tmp_path, connectivity_records(5)), tmp_path / "cache"
    first = load_graph(path, cache)
    (stored,) = (cache / "graphs").iterdir()
    sound = stored.read_bytes()
    with np.load(stored) as file:
        arrays = {name: file[name] for name in file.files}
    for name in arrays:
        for shape in ((-1,), (1, -1)):
            np.savez(stored, **{**arrays, name: arrays[name].reshape(shape)})
            again = load_graph(path, cache)
            assert (again.ids, again.distance_m.shape, again.path(0, 4)) == (first.ids, (5, 5), first.path(0, 4))
    # The flag that says so, before each member and in the zip file's list.
    locked = bytearray(sound)
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        for found in re.finditer(mark, sound):
            locked[found.start() + place] |= 1
    stored.write_bytes(locked)
    assert load_graph(path, cache).path(0, 4) == first.path(0, 4)


def test_a_changed_file_is_not_served_from_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    load_graph(write(tmp_path, connectivity_records(5)), cache)
    assert len(load_graph(write(tmp_path, connectivity_records(3)), cache).ids) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_cache_is_no_error(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o500)
    assert len(load_graph(write(tmp_path, connectivity_records(3)), cache).ids) == 3


def test_a_cache_that_cannot_be_a_folder_is_no_error(tmp_path: Path) -> None:
    cache = tmp_path / "file"
    cache.write_text("in the way")
    assert len(load_graph(write(tmp_path, connectivity_records(3)), cache).ids) == 3


def broken(field: str, value: Any) -> list[dict[str, Any]]:
    records = connectivity_records(3)
    records[1][field] = value
    return records


def asymmetrical() -> list[dict[str, Any]]:
    records = connectivity_records(3)
    records[2]["unobstructed"][1] = False
    return records


def without(field: str) -> list[dict[str, Any]]:
    records = connectivity_records(3)
    del records[1][field]
    return records


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([], "non-empty list"),
        ({}, "non-empty list"),
        ([1, 2], "record 0: expected an object"),
        (without("image_id"), "record 1, field 'image_id': missing"),
        (without("pose"), "record 1, field 'pose': missing"),
        (without("height"), "field 'height'"),
        (broken("image_id", 5), r"field 'image_id': expected a text \(got 5\)"),
        (broken("image_id", viewpoint_id(0)), "listed twice"),
        (broken("pose", [0.0] * 15), "expected 16 numbers"),
        (broken("pose", [float("nan")] + [0.0] * 15), "expected finite numbers"),
        (broken("pose", ["1"] * 16), "expected finite numbers"),
        (broken("pose", [1.0, -1e308] + [0.0] * 14), "is no rotation"),
        (broken("pose", [2.0 * float(k % 5 == 0) for k in range(16)]), "no rotation"),
        (broken("pose", [float(k % 5 == 0) * (1 - 2 * (k == 15)) for k in range(16)]), "does not end with 0 0 0 1"),
        (broken("height", -1.0), "a camera below its floor"),
        (broken("height", 1e308), "a camera over 100 m above its floor"),
        (broken("included", "yes"), r"field 'included': expected true or false \(got 'yes'\)"),
        (broken("visible", [True]), "expected true or false for each of the 3 viewpoints, found 1$"),
        (broken("unobstructed", [True, 0, 1]), r"field 'unobstructed': expected true or false \(got 0\)"),
        (broken("height", None), "expected a finite number"),
        (asymmetrical(), "asymmetrical graph"),
    ],
)
def test_malformed_files_name_record_and_field(tmp_path: Path, records: Any, words: str) -> None:
    path = write(tmp_path, records)
    with pytest.raises(DataError, match=words) as caught:
        load_graph(path)
    assert str(path) in str(caught.value)


def test_missing_file_and_unknown_viewpoint(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_graph(tmp_path / "x_connectivity.json")
    graph = load_graph(write(tmp_path, connectivity_records(3)))
    with pytest.raises(UnknownNameError, match="did you mean"):
        graph.index(viewpoint_id(2)[:-1] + "9")


def test_real_graphs(navigation: Path) -> None:
    files = sorted((navigation / "connectivity").glob("*_connectivity.json"))
    graphs = [load_graph(path) for path in files]
    assert [len(graph.ids) for graph in graphs] == [48, 349, 12, 44, 8, 119, 342]
    assert [int(graph.included.sum()) for graph in graphs] == [44, 348, 12, 34, 8, 118, 337]
    for graph in graphs:
        assert (graph.adjacent == graph.adjacent.T).all()
        rows = np.flatnonzero(graph.included)
        reached = np.isfinite(graph.distance_m[np.ix_(rows, rows)])
        assert (reached == reached.T).all()


def test_parse_reports_its_source(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"somewhere\.json"):
        parse_graph("x", None, Path("somewhere.json"))
