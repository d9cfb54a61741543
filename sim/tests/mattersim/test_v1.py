"""The older interface against recordings of the original's tag v0.1, and its edge cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import ghosts_sim.mattersim.v1 as MatterSim
from makers import SCAN, viewpoint_id, write_skybox


@pytest.fixture(scope="module")
def recorded(golden: Path) -> dict[str, Any]:
    return json.loads((golden / "simulator_v1" / "sessions.json").read_text(encoding="utf-8"))


def simulator(graphs: Path, camera: tuple[int, int, float], *, rendering: bool = False) -> MatterSim.Simulator:
    sim = MatterSim.Simulator()
    sim.setNavGraphPath(str(graphs))
    sim.setRenderingEnabled(rendering)
    sim.setCameraResolution(*camera[:2])
    sim.setCameraVFOV(camera[2])
    return sim


def identifiers(graphs: Path, scan: str) -> list[str]:
    return [record["image_id"] for record in json.loads((graphs / f"{scan}_connectivity.json").read_text())]


def check(state: MatterSim.SimState, expected: dict[str, Any], ids: list[str]) -> None:
    row, *point = expected["location"]
    assert (state.step, state.viewIndex) == (expected["step"], expected["viewIndex"])
    assert (state.location.ix, state.location.viewpointId) == (row, ids[row])
    assert state.location.point == pytest.approx(point, abs=1e-6)
    assert (state.heading, state.elevation) == pytest.approx((expected["heading"], expected["elevation"]), abs=1e-6)
    assert [item.ix for item in state.navigableLocations] == [item[0] for item in expected["navigable"]]
    for item, (row, *relative) in zip(state.navigableLocations, expected["navigable"]):
        assert item.viewpointId == ids[row]
        found = (item.rel_heading, item.rel_elevation, item.rel_distance)
        assert found == pytest.approx(relative, abs=1e-6)


@pytest.mark.parametrize("number", range(10))
def test_recorded_sessions(navigation: Path, recorded: dict[str, Any], number: int) -> None:
    session, graphs = recorded["sessions"][number], navigation / "connectivity"
    sim = simulator(graphs, recorded["camera"])
    sim.setDiscretizedViewingAngles(session["discretised"])
    sim.init()
    ids = identifiers(graphs, session["scan"])
    row, heading, elevation = session["start"]
    sim.newEpisode(session["scan"], ids[row], heading, elevation)
    check(sim.getState(), session["states"][0], ids)
    for action, expected in zip(session["actions"], session["states"][1:]):
        sim.makeAction(*action)
        check(sim.getState(), expected, ids)


def test_recorded_errors_and_random_viewpoints(navigation: Path, recorded: dict[str, Any]) -> None:
    graphs, random = navigation / "connectivity", recorded["random"]
    sim = simulator(graphs, recorded["camera"])
    sim.setSeed(random["seed"])
    rows = []
    for _ in random["rows"]:
        sim.newEpisode(random["scan"], "", 0, 0)
        rows.append(sim.getState().location.ix)
    assert rows == random["rows"]
    for method, arguments, kind, message in recorded["errors"].values():
        with pytest.raises(Exception) as caught:  # noqa: PT011 (the kind is compared below)
            getattr(sim, method)(*arguments)
        assert type(caught.value).__name__ == kind
        assert str(caught.value) == message.replace("CONNECTIVITY", str(graphs))


def test_recorded_images(golden: Path, navigation: Path, recorded: dict[str, Any]) -> None:
    """From the release's six files of a panorama."""
    case, pictures = recorded["views"], np.load(golden / "simulator_v1" / "views.npz")["bgr"]
    sim = simulator(navigation / "connectivity", case["camera"], rendering=True)
    sim.setDatasetPath(str(golden / "simulator_v1"))
    sim.init()
    for (heading, elevation), expected in zip(case["views"], pictures):
        sim.newEpisode(case["scan"], case["viewpoint"], heading, elevation)
        off = np.abs(sim.getState().rgb.astype(int) - expected).max(-1)
        assert (off <= 1).mean() >= 0.9999


def corridor(root: Path, **settings: Any) -> MatterSim.Simulator:
    """A simulator on the corridor of the test data root, whose scans are where the older interface looks for them."""
    (root / "v1").mkdir(exist_ok=True)
    if not (root / "v1" / "scans").exists():
        (root / "v1" / "scans").symlink_to(root / "scans")
    sim = simulator(root / "connectivity", (64, 48, 0.8), rendering=True)
    sim.setDatasetPath(str(root))
    for name, value in settings.items():
        getattr(sim, name)(value)
    return sim


def test_states_are_copies(root: Path) -> None:
    sim = corridor(root)
    with pytest.raises(ValueError, match="Invalid action index: 0"):
        sim.makeAction(0, 0, 0)
    with pytest.raises(RuntimeError, match="newEpisode must be called before getState"):
        sim.getState()
    sim.newEpisode(SCAN, viewpoint_id(1), 0, 0)
    state = sim.getState()
    assert state != sim.getState()
    assert state.navigableLocations is state.navigableLocations
    assert state.location is state.navigableLocations[0]
    assert state.location.point == pytest.approx([0.5, 2.0, 1.5])
    assert [item.viewpointId for item in state.navigableLocations] == [viewpoint_id(1), viewpoint_id(2)]
    picture = state.rgb.copy()
    with pytest.raises(AttributeError):
        state.step = 4
    sim.makeAction(1, np.sign(0.3), 0)
    assert (state.step, state.location.ix, state.heading) == (0, 1, 0.0)
    np.testing.assert_array_equal(state.rgb, picture)
    moved = sim.getState()
    assert (moved.step, moved.location.ix, moved.heading) == (1, 2, 1.0)
    assert (moved.rgb != picture).any()
    assert corridor(root, setRenderingEnabled=False).newEpisode(SCAN, viewpoint_id(0), 0, 0) is None


def test_images_are_none_without_rendering_and_settings_are_fixed(root: Path) -> None:
    sim = corridor(root, setRenderingEnabled=False)
    sim.init()
    sim.setRenderingEnabled(True)
    sim.setDiscretizedViewingAngles(True)
    sim.newEpisode(SCAN, viewpoint_id(0), 0.2, 0)
    state = sim.getState()
    assert state.rgb is None
    assert not hasattr(state, "depth")
    assert (state.heading, state.viewIndex) == (0.2, 0)
    sim.close()
    with pytest.raises(ValueError, match="Invalid action index: 0"):
        sim.makeAction(0, 0, 0)
    sim.setDiscretizedViewingAngles(True)
    sim.newEpisode(SCAN, viewpoint_id(0), 0.2, 0)
    assert (sim.getState().heading, sim.getState().viewIndex) == (0.0, 12)


def test_init_again_and_another_data_set(root: Path) -> None:
    """As the original: the camera is that of the last `init`, and images are read from the path that is set now."""
    sim = corridor(root)
    sim.init()
    sim.newEpisode(SCAN, viewpoint_id(1), 0.3, 0)
    sim.setCameraResolution(32, 16)
    sim.makeAction(0, 0, 0)
    assert sim.getState().rgb.shape == (48, 64, 3)
    sim.init()
    sim.makeAction(0, 0, 0)
    state = sim.getState()
    assert (state.rgb.shape, state.step, state.heading) == ((16, 32, 3), 2, 0.3)
    sim.setDatasetPath(str(root / "elsewhere"))
    with pytest.raises(ValueError, match=r"Could not open skybox files at: .*elsewhere"):
        sim.makeAction(0, 0, 0)


def test_errors_name_files(root: Path) -> None:
    sim = corridor(root)
    folder = root / "scans" / SCAN / "matterport_skybox_images"
    (folder / f"{viewpoint_id(0)}_skybox_small.jpg").unlink()
    with pytest.raises(ValueError, match=r"Could not open skybox files at: .*_skybox\*_sami.jpg .*skybox0_sami.jpg"):
        sim.newEpisode(SCAN, viewpoint_id(0), 0, 0)
    colour, _ = write_skybox(root / "other", "v", 5, face_px=16)
    for face in range(6):
        size = 16 if face != 3 else 8
        picture = cv2.resize(colour[:, 16 * face : 16 * face + 16], (size, 16))
        cv2.imwrite(str(folder / f"{viewpoint_id(0)}_skybox{face}_sami.jpg"), picture)
    with pytest.raises(ValueError, match=r"skybox3_sami\.jpg: expected a square face of 16 pixels, found 8 × 16"):
        sim.newEpisode(SCAN, viewpoint_id(0), 0, 0)
    with pytest.raises(ValueError, match="Could not find viewpointId: nope"):
        sim.newEpisode(SCAN, "nope", 0, 0)
