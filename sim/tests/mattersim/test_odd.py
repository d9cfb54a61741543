"""Files that the original reads and that are odd: HM3D's graphs, depth of another size than colour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import cv2
import numpy as np
import pytest

import ghosts_sim.mattersim as MatterSim
from ghosts_sim.errors import DataError
from ghosts_sim.graph import load_graph
from makers import SCAN, connectivity_records, viewpoint_id

Change = Callable[[Any], Any]


def changed(**fields: Callable[[dict[str, Any]], Any]) -> Change:
    """Every record with other values in some fields."""
    return lambda records: [{**record, **{name: make(record) for name, make in fields.items()}} for record in records]


def pose(record: dict[str, Any], matrix: float) -> list[float]:
    """Its pose with another matrix: a multiple of the rotation, 0 for HM3D's."""
    values = np.array(record["pose"]).reshape(4, 4)
    values[:3, :3] *= matrix
    return values.ravel().tolist()


def as_hm3d(records: Any) -> Any:
    """As step00 of HM3DAutoVLN writes them."""
    kept = ("image_id", "included", "unobstructed")
    return [{**{name: record[name] for name in kept}, "pose": pose(record, 0.0)} for record in records]


RECORDS: dict[str, Change] = {
    "HM3D": as_hm3d,
    "numbers for flags": changed(included=lambda _: 1, unobstructed=lambda record: [*map(int, record["unobstructed"])]),
    "twelve numbers": changed(pose=lambda record: record["pose"][:12]),
    "twice as large": changed(pose=lambda record: pose(record, 2.0)),
    "too many flags": changed(unobstructed=lambda record: [*record["unobstructed"], True]),
    "an object": lambda records: {str(row): record for row, record in enumerate(records)},
}
TEXTS: dict[str, Callable[[str], str]] = {
    "comments": lambda text: "// by hand\n" + text.replace("}, {", "}, /* next */ {"),
    "byte-order mark": lambda text: "\ufeff" + text,
    "a comma too many": lambda text: text[:-1] + ",]",
}


def walk(root: Path) -> list[Any]:
    """What a program that only navigates sees, with the field of view of ScaleVLN's step00: 60 rad."""
    sim = MatterSim.Simulator()
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setRenderingEnabled(False)
    sim.setDiscretizedViewingAngles(True)
    sim.setCameraVFOV(60)
    sim.setCameraResolution(640, 480)
    sim.initialize()
    sim.newEpisode([SCAN], [viewpoint_id(1)], [0], [0])
    seen = []
    for _ in range(12):
        state = sim.getState()[0]
        places = [(item.ix, item.rel_heading, item.rel_distance) for item in state.navigableLocations]
        seen.append((state.location.viewpointId, state.heading, places))
        sim.makeAction([len(places) - 1], [1], [0])
    return seen


@pytest.mark.parametrize("kind", [*RECORDS, *TEXTS])
def test_odd_graphs_are_read_with_a_warning(root: Path, kind: str) -> None:
    """The same walk as with a regular file; checked once beside a build of the original, which walks it too."""
    file = root / "connectivity" / f"{SCAN}_connectivity.json"
    expected = walk(root)
    assert len({place for place, _, _ in expected}) > 2
    text = json.dumps(RECORDS.get(kind, lambda records: records)(json.loads(file.read_text())))
    file.write_text(TEXTS.get(kind, str)(text), encoding="utf-8")
    if kind == "too many flags":
        assert walk(root)  # a warning is said once per place in a program
    else:
        with pytest.warns(UserWarning, match=f"read as the original reads it: .*{SCAN}_connectivity.json"):
            assert walk(root) == expected
    with pytest.raises(DataError):
        load_graph(file)


def test_one_way_edges_and_equal_names(root: Path) -> None:
    file = root / "connectivity" / f"{SCAN}_connectivity.json"
    records = connectivity_records(4)
    records[2]["unobstructed"][1] = False
    records[3]["image_id"] = viewpoint_id(1)
    file.write_text(json.dumps(records))
    with pytest.warns(UserWarning, match="listed twice"):
        assert len(walk(root)) == 12
    sim = MatterSim.Simulator()
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setRenderingEnabled(False)
    sim.setRestrictedNavigation(False)
    sim.newEpisode([SCAN], [viewpoint_id(2)], [0], [0])
    assert [item.ix for item in sim.getState()[0].navigableLocations] == [2, 3]  # nothing leads back to 1
    sim.newEpisode([SCAN], [viewpoint_id(1)], [0], [0])
    assert sim.getState()[0].location.ix == 1  # of equal names the first


@pytest.mark.parametrize(
    "change",
    [
        changed(pose=lambda record: record["pose"][:11]),
        changed(pose=lambda record: ["x"] * 16),
        changed(unobstructed=lambda record: record["unobstructed"][:-1]),
        changed(included=lambda _: "yes"),
        changed(image_id=lambda _: "../../etc/passwd"),
        lambda records: [1, 2],
        lambda records: [],
    ],
)
def test_what_the_original_cannot_read_is_refused(root: Path, change: Change) -> None:
    file = root / "connectivity" / f"{SCAN}_connectivity.json"
    file.write_text(json.dumps(change(connectivity_records(4))))
    with pytest.raises(DataError, match=SCAN):
        walk(root)
    file.write_text('[{"image_id": ')
    with pytest.raises(DataError, match="not valid JSON"):
        walk(root)


def draw(root: Path) -> tuple[np.ndarray, np.ndarray]:
    sim = MatterSim.Simulator()
    sim.setDatasetPath(str(root / "scans"))
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setDepthEnabled(True)
    sim.setCameraResolution(64, 48)
    sim.newEpisode([SCAN], [viewpoint_id(1)], [0.4], [0.2])
    state = sim.getState()[0]
    return state.rgb, state.depth


def test_scaled_poses_draw_the_same_and_zero_ones_black(root: Path) -> None:
    file, records = root / "connectivity" / f"{SCAN}_connectivity.json", connectivity_records(4)
    expected = draw(root)
    file.write_text(json.dumps(changed(pose=lambda record: pose(record, 2.0))(records)))
    for found, picture in zip(draw(root), expected):
        assert (np.abs(found.astype(int) - picture) <= 1).mean() > 0.99
    file.write_text(json.dumps(as_hm3d(records)))
    assert not any(picture.any() for picture in draw(root))


@pytest.mark.parametrize("size", [16, 64])
def test_depth_of_another_size_than_colour(root: Path, size: int) -> None:
    rgb, depth = draw(root)
    folder = root / "scans" / SCAN / "matterport_skybox_images"
    file = folder / f"{viewpoint_id(1)}_skybox_depth_small.png"
    strip = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
    cv2.imwrite(str(file), cv2.resize(strip, (6 * size, size), interpolation=cv2.INTER_NEAREST))
    found_rgb, found_depth = draw(root)
    np.testing.assert_array_equal(found_rgb, rgb)
    if size == 64:  # every texel four times
        assert (found_depth == depth).mean() > 0.97
    else:
        assert (found_depth != depth).any()
        assert found_depth.any()
