"""A house in three dimensions: its mesh from the server, a drive, and both drawn in a real browser."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import trimesh

from agent.makers import small_model
from checks import unchecked
from ghosts.agent.candidates import Candidates
from ghosts.agent.tracker import GoalTracker
from ghosts.driving.agent import ContinuousAgent
from ghosts.driving.drive_record import Drive, record_drive
from ghosts.driving.places import Exploration
from ghosts.mapping.backbone import SmallBackbone
from ghosts.view.drive_film import ACTIONS_A_SECOND, drive_pictures
from ghosts.view.film import write_pictures
from ghosts.view.house3d import Houses3D
from ghosts.view.library import Library
from ghosts.view.packed_arrays import unpack
from ghosts.words.tokens import Vocabulary
from ghosts_houses.draw.floor_plan import house_floor_plan
from ghosts_houses.task.episode import ContinuousEpisode
from ghosts_houses.task.simulator import HouseSimulator, SimulatorConfig
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Episode, Instruction
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.types import Grid
from handmade import handmade_house
from image_roots import make_image_root
from makers import viewpoint_id
from view_fixtures import make_tiles

SMALL = SimulatorConfig(
    elevation_rad=math.radians(-30.0),
    hfov_rad=math.radians(60.0),
    rgb_px=24,
    depth_px=64,
    texel_m=0.25,
    renderer="baked",
)
HOUSE, LOOKS = "houseB", 2
"""Where the tests go, and how often the agent looks around before it stops."""


def onwards(candidates: Candidates, beliefs: torch.Tensor, start: torch.Tensor, grid: Grid) -> torch.Tensor:
    """Stands for a planner: on to the farthest place while there is one."""
    return torch.where(candidates.visited, 0.0, 1.0 + candidates.from_agent_m)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with pictures whose buildings are the hand-made house: viewpoints from its hall to its sofa."""
    folder = tmp_path_factory.mktemp("view") / "home"
    make_image_root(folder, {"train": ("houseA",), "val_unseen": (HOUSE,)}, count=4)
    (folder / "world.json").write_text("{}", encoding="utf-8")
    for path in (folder / "connectivity").glob("*.json"):
        records = json.loads(path.read_text(encoding="utf-8"))
        for row, record in enumerate(records):
            record["pose"][3], record["pose"][7] = 2.5, 1.6 + 1.5 * row
        path.write_text(json.dumps(records), encoding="utf-8")
    return make_tiles(folder)


@pytest.fixture(scope="module")
def houses(home: Path, combs: Path, pictured: Path, run: Path) -> Iterator[tuple[Library, Houses3D]]:
    """What the viewer knows of it; the agent is a short-sighted one that always goes on."""
    torch.manual_seed(1)
    tracker = GoalTracker(small_model(), Vocabulary(("<pad>", "<unk>", "go")), SmallBackbone(8))
    agent = ContinuousAgent(tracker, onwards, Exploration(looks=LOOKS))
    house = handmade_house()
    with pytest.MonkeyPatch.context() as patch, unchecked():
        for module in ("ghosts_houses.draw.floor_plan", "ghosts.view.house3d", "ghosts_houses.task.simulator"):
            patch.setattr(f"{module}.load_house", lambda root, scan: house)
        patch.setattr("ghosts.view.house3d.make_agent", lambda run, backbone, planner: agent)
        library = Library([home, combs], [pictured, run])
        yield library, Houses3D(library, SMALL)


@pytest.fixture(scope="module")
def driven(houses: tuple[Library, Houses3D]) -> dict[str, Any]:
    """A drive of an episode."""
    library, solid = houses
    inspector = library.inspector("home", "pictured")
    return solid.drive("home", "pictured", library.query(inspector, "val_unseen", "3_0", fixed=True))


def test_the_file_is_the_house_and_is_made_once(houses: tuple[Library, Houses3D], tmp_path: Path) -> None:
    _, solid = houses
    data = solid.file("home", HOUSE)
    (tmp_path / "house.glb").write_bytes(data)
    low, high = trimesh.load(tmp_path / "house.glb", force="scene").bounds
    np.testing.assert_allclose(low[[0, 2]], [0.0, -7.0], atol=0.15)  # y up: north is −z
    np.testing.assert_allclose(high[[0, 2]], [13.0, 0.0], atol=0.15)
    assert solid.file("home", HOUSE) is data


def test_a_drive_tells_poses_and_beliefs(driven: dict[str, Any]) -> None:
    poses = np.array(driven["poses"])
    np.testing.assert_allclose(poses[0, :3], [2.5, 1.6, 0.0], atol=0.01)
    steps = np.linalg.norm(np.diff(poses[:, :2], axis=0), axis=1)
    assert steps.max() <= 0.25 + 2e-3  # rounded to millimetres
    turned = np.abs((np.diff(poses[:, 3]) + math.pi) % (2 * math.pi) - math.pi)
    assert np.isin(np.round(turned, 2), [0.0, round(math.radians(15.0), 2)]).all()
    assert driven["looks"][0]["action"] == 22  # twelve views, two turns apart
    assert len(driven["looks"]) >= LOOKS
    for look in driven["looks"]:
        beliefs = unpack(look["beliefs"], "beliefs")
        assert beliefs.shape == (beliefs.shape[0], 1, *look["grid"][:2])
        np.testing.assert_allclose(beliefs.sum((1, 2, 3)), 1.0, atol=0.03)
        assert 0 <= look["chosen"] < len(look["places"])
    assert driven["scores"]["steps_taken"] == len(poses) - 1
    assert driven["scores"]["collisions"] == len(driven["bumps"])


def test_an_instruction_without_a_goal_is_driven_without_scores(
    houses: tuple[Library, Houses3D], driven: dict[str, Any]
) -> None:
    library, solid = houses
    inspector = library.inspector("home", "pictured")
    query = library.query(inspector, "val_unseen", "3_0", fixed=True)
    typed = type(query)(query.scan, query.text, query.heading_rad, query.walk)
    told = solid.drive("home", "pictured", typed)
    assert told["scores"] is None
    assert told["poses"] == driven["poses"]


def test_worlds_and_models_that_cannot_are_told(houses: tuple[Library, Houses3D]) -> None:
    library, solid = houses
    with pytest.raises(DataError, match="not made of procedural houses; make houses with: ghosts world --out DIR"):
        solid.file("combs", "comb0")
    query = library.query(library.inspector("combs", "small"), "dev_unseen", "300_0", fixed=True)
    with pytest.raises(DataError, match="not made of procedural houses"):
        solid.drive("combs", "small", query)


def test_a_model_without_images_cannot_drive(houses: tuple[Library, Houses3D], monkeypatch: pytest.MonkeyPatch) -> None:
    library, solid = houses
    query = library.query(library.inspector("home", "pictured"), "val_unseen", "3_1", fixed=True)
    monkeypatch.setattr(library, "file", lambda model: None)
    with pytest.raises(ConfigError, match="pictured cannot drive: only a filter on images can"):
        solid.drive("home", "pictured", query)


@pytest.fixture(scope="module")
def drive(home: Path, houses: tuple[Library, Houses3D]) -> Drive:
    """A short drive, for films: one look around, and back to the start."""
    torch.manual_seed(1)
    tracker = GoalTracker(small_model(), Vocabulary(("<pad>", "<unk>", "go")), SmallBackbone(8))
    agent = ContinuousAgent(tracker, lambda c, b, s, g: c.visited.float(), Exploration(looks=1, view_rad=math.pi))
    told = Episode(1, HOUSE, (viewpoint_id(0), viewpoint_id(2)), 0.0, ("Go past the “sofa”, then stop.",), 3.0)
    episode = ContinuousEpisode(HouseSimulator(handmade_house(), SMALL), DataRoot(home), Instruction(told, 0))
    return record_drive(agent, episode)


def test_a_film_of_a_drive_shows_camera_map_and_belief(drive: Drive, home: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from PIL import Image, ImageSequence

    shown: list[tuple[int, int]] = []
    steps = drive.episode.steps
    assert steps == 12 + 1  # two views, half a turn apart, and the stop
    scene = house_floor_plan(drive.episode.simulator.house, DataRoot(home).graph(HOUSE))
    pictures = drive_pictures(drive, scene, lambda *done: shown.append(done))
    count = write_pictures(tmp_path / "drive.gif", pictures, ACTIONS_A_SECOND)
    assert (shown[-1], count) == ((steps + 1, steps + 1), steps - 1 + 2 * 12)
    with Image.open(tmp_path / "drive.gif") as film:
        frames = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(film)]
    half = round(frames[0].shape[1] * 7.2 / 12.1)  # map, then camera and legend
    assert (np.abs(frames[0] - frames[5])[:, half:] > 30).mean() > 0.02  # it turns
    # The belief lies on the map once it has looked around, and not before.
    assert (np.abs(frames[5] - frames[-1])[:, :half] > 30).mean() > 0.02


def pixels(page: Any) -> np.ndarray:
    script = "c => { const s = document.createElement('canvas'); s.width = s.height = 96;"
    script += "const k = s.getContext('2d'); k.drawImage(c, 0, 0, 96, 96);"
    script += "return btoa(String.fromCharCode(...k.getImageData(0, 0, 96, 96).data)); }"
    found = base64.b64decode(page.eval_on_selector("canvas.solid", script))
    return np.frombuffer(found, np.uint8).astype(int).reshape(96, 96, 4)[..., :3]


def settled(page: Any, before: np.ndarray | None = None) -> np.ndarray:
    """What is drawn, once it differs from what was drawn before and rests."""
    last = pixels(page)
    for _ in range(800):
        page.wait_for_timeout(150)
        now = pixels(page)
        drawn = before is None or np.abs(now - before).max() > 20
        if drawn and len(np.unique(now.reshape(-1, 3), axis=0)) > 100 and np.array_equal(now, last):
            return now
        last = now
    raise AssertionError("nothing is drawn, or it is drawn as before, or it never rests")


@pytest.mark.browser
def test_the_browser_draws_it(houses: tuple[Library, Houses3D]) -> None:
    if "GHOSTS_REQUIRE_BROWSER" not in os.environ:
        for name in ("fastapi", "uvicorn", "playwright"):
            pytest.importorskip(name)
    from playwright.sync_api import sync_playwright

    from ghosts.view.images import ARGUMENTS, Served, find_chromium

    library, solid = houses
    complaints: list[str] = []
    with Served(library, houses=solid) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 640, "height": 480})
        page.set_default_timeout(120_000)
        # Software that draws complains that pixels are read, which is what this test does.
        told = lambda item: item.type in ("error", "warning") and "ReadPixels" not in item.text  # noqa: E731
        page.on("console", lambda item: complaints.append(item.text) if told(item) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{served.address}#w=home&s=val_unseen&e=3_0&v=3d")
        page.wait_for_selector("canvas.solid:visible")
        whole = settled(page)
        page.wait_for_selector("canvas.map", state="hidden")
        page.focus("canvas.solid")
        page.keyboard.press("ArrowRight")
        turned = settled(page, whole)
        page.locator("canvas.solid").dblclick()
        home = settled(page, turned)
        np.testing.assert_array_equal(home, whole)
        page.keyboard.press("ArrowRight")
        turned = settled(page, whole)
        page.keyboard.press("0")
        np.testing.assert_array_equal(settled(page, turned), whole)
        # All of the house is inside the picture, and its rooms have names.
        script = """() => { const { view } = Ghosts.shown_solid.state, [[a, b, c], [d, e, f]] = view.box;
          view.camera.updateMatrixWorld();
          return [a, d].flatMap((x) => [b, e].flatMap((y) => [c, Math.min(f, c + 2.2)].flatMap((z) => {
            const at = view.place([x, y, z]).project(view.camera); return [Math.abs(at.x), Math.abs(at.y)]; }))); }"""
        assert 0.8 < max(page.evaluate(script)) <= 1.0
        assert page.evaluate("Ghosts.shown_solid.state.view.signs.children.filter((item) => item.isSprite).length") > 2
        # The carpet is what the filter step changes, the storey what is cut away.
        page.evaluate("Ghosts.shown_player.go(0, 0)")
        start = settled(page, whole)
        page.select_option("div.solid select", "all")
        settled(page, start)
        page.select_option("div.solid select", "")
        page.click("[data-part=drive]")
        page.wait_for_selector("[data-part=drivenote]:has-text('of ')")
        page.click("[aria-label='play the drive']")  # it plays by itself; stop
        slider = page.locator("[aria-label='action of the drive']")
        slider.fill("0")
        before = settled(page)
        slider.fill(slider.get_attribute("max"))
        settled(page, before)
        # One truth at a time: the drive's outcome, numbers and camera in place of the walk's.
        page.wait_for_selector("[data-part=driveoutcome]:has-text('The drive stops')")
        page.wait_for_selector("canvas.eyes:visible")
        for part in ("outcome", "numbers", "line", "actions", "pano", "stepnote"):
            assert not page.locator(f"[data-part={part}]").is_visible(), part
        page.click("text=Back to the walk")
        page.wait_for_selector("[data-part=numbers]:visible")
        page.wait_for_selector("canvas.eyes", state="hidden")
        page.keyboard.press("0")
        settled(page)
        page.uncheck("[data-part=solid]")
        page.wait_for_selector("canvas.map:visible")
        assert "v=3d" not in page.url
        page.click("#experts summary")
        page.select_option("#world", "combs")
        page.wait_for_selector("#message:has-text('comb')")
        page.wait_for_selector("[data-part=solid]", state="hidden")
        browser.close()
    assert complaints == []
