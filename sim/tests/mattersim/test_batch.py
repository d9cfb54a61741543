"""The drop-in against the original simulator's recorded answers, and its errors, defaults and edge cases."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import ghosts_sim.mattersim as MatterSim
from makers import FACE_PX, SCAN, connectivity_records, viewpoint_id


def equal(found: Any, expected: Any, where: str = "state") -> None:
    """Compare a state with its recording: floats within 1e-6, the rest exactly."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            equal(getattr(found, key), value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            equal(found[number], value, f"{where}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-6), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("restricted", [0, 1])
@pytest.mark.parametrize("discretised", [0, 1])
def test_recorded_navigation(navigation: Path, discretised: int, restricted: int) -> None:
    record = json.loads((navigation / f"nav_disc{discretised}_restr{restricted}_b1.json").read_text())
    config = record["config"]
    sim = MatterSim.Simulator()
    sim.setNavGraphPath(str(navigation / "connectivity"))
    sim.setRenderingEnabled(config["renderingEnabled"])
    sim.setDiscretizedViewingAngles(config["discretizedViewingAngles"])
    sim.setRestrictedNavigation(config["restrictedNavigation"])
    sim.setCameraResolution(config["width"], config["height"])
    sim.setCameraVFOV(config["vfov"])
    sim.setBatchSize(config["batchSize"])
    sim.initialize()
    compared = 0
    for episode in record["episodes"]:
        start = episode["newEpisode"]
        sim.newEpisode(start["scanId"], start["viewpointId"], start["heading"], start["elevation"])
        equal(sim.getState(), episode["states"][0])
        for action, state in zip(episode["actions"], episode["states"][1:]):
            sim.makeAction(action["index"], action["heading"], action["elevation"])
            equal(sim.getState(), state)
            compared += 1
    assert compared >= 50
    provoke: dict[str, Callable[[], None]] = {
        "bad_index": lambda: sim.makeAction([999], [0], [0]),
        "bad_viewpoint": lambda: sim.newEpisode(["17DRP5sb8fy"], ["nope"], [0], [0]),
        "bad_scan": lambda: sim.newEpisode(["nope"], ["nope"], [0], [0]),
    }
    for name, kind, message in record["errors"]:
        if name == "excluded_viewpoint":
            excluded = message.split(": ")[2].split(",")[0]
            scan = next(
                path.name.split("_")[0]
                for path in (navigation / "connectivity").glob("*.json")
                if any(item["image_id"] == excluded for item in json.loads(path.read_text()))
            )
            action: Callable[[], None] = lambda: sim.newEpisode([scan], [excluded], [0], [0])  # noqa: B023, E731
        else:
            action = provoke[name]
        with pytest.raises(Exception) as caught:  # noqa: PT011 (the kind is compared below)
            action()
        assert type(caught.value).__name__ == kind
        assert str(caught.value) == message


def simulator(root: Path, **settings: Any) -> MatterSim.Simulator:
    """A simulator on the corridor of the test data root."""
    sim = MatterSim.Simulator()
    sim.setDatasetPath(str(root / "scans"))
    sim.setNavGraphPath(str(root / "connectivity"))
    for name, value in settings.items():
        getattr(sim, name)(value)
    return sim


def test_a_program_written_for_the_original_runs(root: Path) -> None:
    sim = simulator(root, setDepthEnabled=True, setCameraVFOV=math.radians(60))
    sim.setCameraResolution(64, 48)
    sim.initialize()
    sim.newEpisode([SCAN], [viewpoint_id(1)], [0], [0])
    state = sim.getState()[0]
    rgb, depth = np.array(state.rgb, copy=False), np.array(state.depth, copy=False)
    assert (rgb.shape, rgb.dtype) == ((48, 64, 3), np.uint8)
    assert (depth.shape, depth.dtype) == ((48, 64, 1), np.uint16)
    cv2.putText(rgb, "1", (4, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (230, 40, 40))
    assert [item.viewpointId for item in state.navigableLocations] == [viewpoint_id(1), viewpoint_id(2)]
    sim.makeAction([1], [0.5], [-0.2])
    state = sim.getState()[0]
    assert (state.step, state.location.viewpointId) == (1, viewpoint_id(2))
    assert (state.heading, state.elevation) == pytest.approx((0.5, -0.2))
    assert "Rendered 2 frames\nProcess time: " in sim.timingInfo()
    sim.resetTimers()
    assert "Rendered 0 frames" in sim.timingInfo()
    sim.close()


def test_colours_are_bgr(root: Path) -> None:
    file = root / "scans" / SCAN / "matterport_skybox_images" / f"{viewpoint_id(0)}_skybox_small.jpg"
    picture = np.zeros((FACE_PX, 6 * FACE_PX, 3), np.uint8)
    picture[..., 2] = 255  # red in OpenCV's order
    cv2.imwrite(str(file), picture)
    sim = simulator(root)
    sim.newEpisode([SCAN], [viewpoint_id(0)], [0.0], [0.0])
    blue, _, red = sim.getState()[0].rgb.reshape(-1, 3).mean(0)
    assert red > 250
    assert blue < 5


def test_defaults(root: Path) -> None:
    sim = simulator(root)
    sim.newEpisode([SCAN], [viewpoint_id(0)], [7.0], [2.0])
    state = sim.getState()[0]
    assert state.rgb.shape == (240, 320, 3)
    assert not state.depth.any()
    assert state.heading == pytest.approx(7.0 - 2 * math.pi)
    assert state.elevation == 0.94


def test_batches_and_their_sizes(root: Path) -> None:
    sim = simulator(root, setBatchSize=2, setRenderingEnabled=False, setRestrictedNavigation=False)
    sim.newEpisode([SCAN] * 2, [viewpoint_id(0), viewpoint_id(2)], [0, 0], [0, 0])
    sim.makeAction([1, 0], [0, 0], [0, 0])
    assert [state.location.viewpointId for state in sim.getState()] == [viewpoint_id(1), viewpoint_id(2)]
    with pytest.raises(ValueError, match="Invalid action index: 5 in environment 1 of 2"):
        sim.makeAction([0, 5], [0, 0], [0, 0])
    assert sim.getState()[0].step == 1  # nothing was half done
    with pytest.raises(IndexError, match="heading has 1 entries, the batch size is 2"):
        sim.makeAction([0, 0], [0], [0, 0])
    sim.makeAction([0, 0, 7], [0, 0, 0], [0, 0, 0])  # what is beyond the batch is ignored
    assert [state.step for state in sim.getState()] == [2, 2]


def test_a_heading_that_is_no_number(root: Path) -> None:
    sim = simulator(root, setRenderingEnabled=False)
    sim.newEpisode([SCAN], [viewpoint_id(0)], [0], [0])
    with pytest.raises(ValueError, match="a heading must be finite, got inf"):
        sim.makeAction([0], [math.inf], [0])
    assert sim.getState()[0].step == 0


def test_elevation_limits(root: Path) -> None:
    sim = simulator(root, setRenderingEnabled=False)
    assert not sim.setElevationLimits(0.1, 0.5)
    assert not sim.setElevationLimits(-0.5, 1.6)
    assert sim.setElevationLimits(-0.3, 0.2)
    sim.newEpisode([SCAN], [viewpoint_id(0)], [0], [-1.0])
    assert sim.getState()[0].elevation == -0.3


def test_settings_are_fixed_once_initialised(root: Path) -> None:
    sim = simulator(root, setRenderingEnabled=False)
    sim.initialize()
    sim.setBatchSize(5)
    sim.setDiscretizedViewingAngles(True)
    sim.newEpisode([SCAN], [viewpoint_id(0)], [0.2], [0])
    assert sim.getState()[0].heading == pytest.approx(0.2)


def test_random_episodes_are_the_original_s(navigation: Path) -> None:
    """Viewpoints and headings recorded from the original: two environments, seed 7."""
    sim = MatterSim.Simulator()
    sim.setNavGraphPath(str(navigation / "connectivity"))
    sim.setRenderingEnabled(False)
    sim.setBatchSize(2)
    sim.setSeed(7)
    for rows, listed in (([0, 44], 2), ([13, 10], 3), ([25, 15], 2)):  # one beyond the batch takes a random number
        sim.newRandomEpisode(["17DRP5sb8fy"] * listed)
        states = sim.getState()
        assert [state.location.ix for state in states] == rows
        assert [state.heading for state in states] == pytest.approx([0.8264762952590881, 2.881783770664272], abs=1e-12)


def test_random_episodes_start_at_included_viewpoints(root: Path) -> None:
    path = root / "connectivity" / f"{SCAN}_connectivity.json"
    path.write_text(json.dumps(connectivity_records(4, excluded=(0, 2, 3))))
    sim = simulator(root, setRenderingEnabled=False)
    for _ in range(10):
        sim.newRandomEpisode([SCAN])
        assert sim.getState()[0].location.viewpointId == viewpoint_id(1)
    path.write_text(json.dumps(connectivity_records(4, excluded=(0, 1, 2, 3))))
    with pytest.raises(RuntimeError, match=f"ScanId: {SCAN} has no included viewpoints!"):
        simulator(root, setRenderingEnabled=False).newRandomEpisode([SCAN])


def test_errors_name_what_is_missing(root: Path, tmp_path: Path) -> None:
    sim = MatterSim.Simulator()
    with pytest.raises(RuntimeError, match="newEpisode must be called before makeAction"):
        sim.makeAction([0], [0], [0])
    sim.setNavGraphPath(str(tmp_path / "nowhere"))
    sim.initialize()  # graphs are read by the first episode, as in the original
    with pytest.raises(ValueError, match="Invalid action index: 0 in environment 0 of 1"):
        sim.makeAction([0], [0], [0])
    with pytest.raises(ValueError, match=r"Could not open list of scans at: .*nowhere/scans.txt, is path valid\?"):
        sim.newEpisode([SCAN], [viewpoint_id(0)], [0], [0])
    (root / "connectivity" / "scans.txt").write_text(f"{SCAN}\nghost\n")
    with pytest.raises(ValueError, match=r"Could not open navigation graph file: .*ghost_connectivity.json"):
        simulator(root).newEpisode([SCAN], [viewpoint_id(0)], [0], [0])
    (root / "connectivity" / "scans.txt").write_text(SCAN)
    folder = root / "scans" / SCAN / "matterport_skybox_images"
    (folder / f"{viewpoint_id(1)}_skybox_depth_small.png").unlink()
    (folder / f"{viewpoint_id(0)}_skybox_small.jpg").write_bytes(b"\xff\xd8 half")
    sim = simulator(root, setDepthEnabled=True)
    with pytest.raises(ValueError, match=r"Could not open skybox depth files at: .*depth_small.png"):
        sim.newEpisode([SCAN], [viewpoint_id(1)], [0], [0])
    with pytest.raises(ValueError, match=r"Could not open skybox RGB files at: .*truncated JPEG"):
        sim.newEpisode([SCAN], [viewpoint_id(0)], [0], [0])


def test_states_are_the_environments_themselves(root: Path) -> None:
    """As with the original: a list of one's own, of objects that live on, can be hashed, and cannot be written to."""
    sim = simulator(root, setBatchSize=2, setRestrictedNavigation=False)
    assert sim.getState() == []
    sim.initialize()
    before = sim.getState()[0]
    assert (before.scanId, before.step, before.location, before.navigableLocations) == ("", 0, None, [])
    sim.newEpisode([SCAN] * 2, [viewpoint_id(0), viewpoint_id(0)], [0, 0], [0, 0])
    first, second = states = sim.getState()
    assert first is before
    assert first == first
    assert first != second
    assert first.location != second.location
    assert len({first, second, first.location, second.location}) == 4
    states.clear()
    assert len(sim.getState()) == 2
    places = first.navigableLocations
    assert places[0] is first.location
    places.clear()
    assert len(first.navigableLocations) == 2
    for thing, name in ((first, "step"), (first, "rgb"), (first.location, "x"), (first.location, "rel_heading")):
        with pytest.raises(AttributeError):
            setattr(thing, name, 1)
    picture = first.rgb
    seen = picture.copy()
    here, there = first.location, first.navigableLocations[1]
    assert there.rel_distance == 2.0
    sim.makeAction([0, 0], [1.0, 0], [0, 0])
    assert (first.step, first.heading) == (1, 1.0)
    assert first.location is here
    assert picture is first.rgb  # drawn over
    assert (picture != seen).any()
    assert repr(here) == f"ViewPoint({viewpoint_id(0)!r}, ix=0)"
    there = first.navigableLocations[1]
    sim.makeAction([1, 0], [0, 0], [0, 0])
    assert first.location is there
    assert (there.rel_heading, there.rel_elevation, there.rel_distance) == (0.0, 0.0, 0.0)


def test_a_closed_simulator_begins_anew(root: Path) -> None:
    sim = simulator(root, setRenderingEnabled=False)
    sim.newEpisode([SCAN], [viewpoint_id(0)], [0], [0])
    sim.close()
    assert sim.getState()[0].location.viewpointId == viewpoint_id(0)
    with pytest.raises(RuntimeError, match="newEpisode must be called"):
        sim.makeAction([0], [0], [0])
    sim.setBatchSize(2)
    sim.initialize()
    sim.initialize()
    assert len(sim.getState()) == 2


def test_what_is_drawn_is_settled_by_initialize(root: Path) -> None:
    """Where one may go follows the camera that is set later, as in the original."""
    sim = simulator(root)
    sim.setCameraResolution(64, 48)
    sim.initialize()
    sim.newEpisode([SCAN], [viewpoint_id(1)], [1.0], [0])
    assert len(sim.getState()[0].navigableLocations) == 1
    sim.setCameraResolution(64, 8)
    sim.makeAction([0], [0], [0])
    assert sim.getState()[0].rgb.shape == (48, 64, 3)
    assert len(sim.getState()[0].navigableLocations) == 3


@pytest.mark.parametrize("cores", [1, 3, 16])
def test_cores_do_not_change_what_is_drawn(root: Path, monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    def look() -> list[np.ndarray]:
        sim = simulator(root, setDepthEnabled=True, setBatchSize=2)
        sim.setCameraResolution(65, 47)
        sim.newEpisode([SCAN] * 2, [viewpoint_id(0), viewpoint_id(3)], [0.4, 2.0], [0.3, -0.8])
        return [picture for state in sim.getState() for picture in (state.rgb, state.depth)]

    expected = look()
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    for found, picture in zip(look(), expected):
        np.testing.assert_array_equal(found, picture)


def test_cbf_has_the_original_s_form() -> None:
    depth = np.asfortranarray(np.full((32, 48), 100, np.uint8))
    mask = np.asfortranarray(np.zeros((32, 48), bool))
    mask[10:14, 10:14] = True
    depth[mask] = 0
    result = np.zeros_like(depth)
    MatterSim.cbf(depth, np.asfortranarray(np.full((32, 48), 50, np.uint8)), mask, result)
    assert (result[~mask] == 100).all()
    assert (np.abs(result[mask].astype(int) - 100) <= 1).all()


def test_methods_do_not_call_what_a_subclass_overrides(root: Path) -> None:
    """As in C++; the simulator of *Chasing Ghosts* gives `newEpisode` another signature."""

    class Other(MatterSim.Simulator):
        def newEpisode(self, batch: list[str]) -> None:
            super().newEpisode([SCAN], batch, [0], [0])

        def initialize(self) -> None:
            raise AssertionError("never called")

    sim = Other()
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setRenderingEnabled(False)
    sim.newRandomEpisode([SCAN])
    sim.newEpisode([viewpoint_id(2)])
    assert sim.getState()[0].location.ix == 2


def test_identifiers_may_be_bytes_and_numbers_of_any_kind(root: Path) -> None:
    sim = simulator(root, setRenderingEnabled=False)
    sim.newEpisode([SCAN.encode()], np.array([viewpoint_id(1)]), np.array([0.5], np.float32), [np.int64(0)])
    state = sim.getState()[0]
    assert (state.scanId, state.heading) == (SCAN, 0.5)
    assert type(state.scanId) is str
    sim.makeAction(np.array([0]), (True,), [np.float64(-0.25)])
    assert (state.heading, state.elevation) == (1.5, -0.25)
