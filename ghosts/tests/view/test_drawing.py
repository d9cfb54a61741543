"""Scenes, figures, films, reports and recordings of an episode."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need ghosts[viz]")

from PIL import Image

from checks import unchecked
from ghosts.agent.estimate import GoalEstimate
from ghosts.belief.filter import FilterTrace
from ghosts.evaluate.goal import GoalScores
from ghosts.view.canvas import MapLayers, choice_label, draw_map, heat_of, view_box, walk_name
from ghosts.view.figures import attention_figure, belief_sequence, episode_figures, inside_figure
from ghosts.view.film import film_pictures, write_pictures
from ghosts.view.library import Library
from ghosts.view.record import EpisodeRecord, corner_m
from ghosts.view.report import Assets, Evaluation, Shown, build_report
from ghosts.view.report_scores import Listed, calibration_points, choose_episodes, evaluation_html
from ghosts.view.rerun_log import log_goal, require_rerun, write_rerun
from ghosts_houses.draw.canvas import new_figure, save_figure
from ghosts_houses.draw.floor_plan import make_floor_plan, storey_levels
from ghosts_houses.draw.style import AGENT, DEMONSTRATOR, GOAL, GUIDED, LEGEND
from ghosts_houses.world import WorldConfig, load_house, make_world
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError, MissingExtraError
from ghosts_sim.metrics import NavScores
from makers import SCAN, make_root


@pytest.fixture(scope="module")
def scene(library: Library, record: EpisodeRecord) -> dict[str, Any]:
    return library.scene("combs", record.scan)


def test_a_landmark_scene(scene: dict[str, Any]) -> None:
    assert scene["kind"] == "landmarks"
    assert scene["storeys"] == [0.0]
    assert len(scene["viewpoints"]) == 11
    assert len(scene["edges"]) == 10
    assert {shape["t"] for shape in scene["shapes"] if shape["k"] == "name"} == {"hallway", "bedroom"}
    assert len(scene["marks"]) == 11
    json.dumps(scene, allow_nan=False)


def test_a_house_scene(tmp_path: Path) -> None:
    root = tmp_path / "world"
    with unchecked():
        make_world(root, WorldConfig(houses=1, seed=3, paths=3, storeys=(2, 2), rooms=(9, 12)), images=False)
    data = DataRoot(root)
    scene, house = make_floor_plan(data, data.scans[0]), load_house(root, data.scans[0])
    assert scene["kind"] == "house"
    assert not scene["images"]
    assert len(scene["storeys"]) == len({room.storey for room in house.rooms})
    rooms = [shape for shape in scene["shapes"] if shape["k"] == "room"]
    assert [shape["t"] for shape in rooms] == [room.kind for room in house.rooms]
    assert rooms[0]["p"][0] == [round(house.rooms[0].x0_m, 3), round(house.rooms[0].y0_m, 3)]
    # Every viewpoint is somewhere that has a name.
    kinds = {room.kind for room in house.rooms}
    named = {point["r"] for point in scene["viewpoints"]}
    assert all(name in kinds or name == "stairs" or name.startswith("doorway between ") for name in named), named
    assert named & kinds
    # Every viewpoint stands on its storey's floor, stairs apart.
    floor = data.graph(data.scans[0]).position_m[:, 2] - data.graph(data.scans[0]).height_m
    level = np.array(scene["storeys"])[[point["s"] for point in scene["viewpoints"]]]
    assert np.median(np.abs(floor - level)) < 0.05
    json.dumps(scene, allow_nan=False)


def test_storeys_are_told_apart(tmp_path: Path) -> None:
    graph = DataRoot(make_root(tmp_path / "root", count=15, images=False)).graph(SCAN)
    position = graph.position_m.copy()
    position[:, 2] = np.array([0.0] * 8 + [1.5] + [3.0] * 6) + graph.height_m  # one stands on the stairs
    np.testing.assert_allclose(storey_levels(replace(graph, position_m=position)), [0.0, 3.0])


def test_the_view_holds_the_paths(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    left, right, bottom, top = view_box(record, scene)
    places = {point["id"]: point for point in scene["viewpoints"]}
    for name in (*record.walk, *record.path):
        assert left + 1.9 <= places[name]["x"] <= right - 1.9
        assert bottom + 1.9 <= places[name]["y"] <= top - 1.9


def test_layers(record: EpisodeRecord) -> None:
    frame = record.frames[2]
    assert heat_of(frame, "belief", 0) is not heat_of(frame, "smoothed", 0)
    np.testing.assert_array_equal(heat_of(frame, "prediction", 3), frame.predictions[2])
    np.testing.assert_array_equal(heat_of(frame, "likelihood", 1), frame.likelihoods[0])
    np.testing.assert_array_equal(heat_of(frame, "likelihood", 0), frame.beliefs[0])


def test_a_belief_sequence(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    figure = belief_sequence(record, scene)
    assert [axes.get_xlabel()[:5] for axes in figure.axes[:5]] == [f"t = {t}" for t in range(5)]
    # The first free place of the last row says what the signs mean.
    names = [text.get_text() for text in figure.axes[5].get_legend().get_texts()]
    table = {text for _, _, text in LEGEND.values()}  # the viewer's words
    assert set(names) - table == {"fixed walk (evaluation's)"}
    assert {LEGEND[name][2] for name in ("start", "goal", "predicted", "belief", "demonstrator")} < set(names)
    last = figure.axes[record.filter_steps]
    heat = next(image for image in last.images if image.get_zorder() == 3)
    left, bottom = corner_m(record.grid, record.origin_xy_m)
    assert heat.get_extent()[0] == left
    assert heat.get_extent()[2] == bottom
    darkest = np.unravel_index(heat.get_array()[..., :3].sum(-1).argmin(), heat.get_array().shape[:2])
    assert darkest == np.unravel_index(
        record.frames[-1].beliefs[-1].sum(0).argmax(), darkest and heat.get_array().shape[:2]
    )


def test_only_the_agents_own_walk_is_blue(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    from matplotlib.patches import Circle

    for walked_by, colour, name in (
        (record.model, AGENT, "the agent and its way so far"),
        ("fixed walk", GUIDED, "fixed walk (evaluation's)"),
        ("visitor", GUIDED, "walk by hand"),
        ("other", GUIDED, "walk of other"),
    ):
        shown = replace(record, walked_by=walked_by)
        axes = new_figure(4.0, 4.0, "a test").add_subplot()
        draw_map(axes, scene, shown, 3, 4)
        assert {line.get_color() for line in axes.lines if line.get_linewidth() == 3.2} == {colour}
        assert walk_name(shown) == name
        # The circle that confidence is about, and all of a house in the picture.
        assert [patch.radius for patch in axes.patches if isinstance(patch, Circle)] == [3.0]


def test_attention_and_inside(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    figure = attention_figure(record)
    assert [image.get_array().shape[:2] for axes in figure.axes for image in axes.images] == [
        (4, len(record.words))
    ] * 2
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == list(record.words)
    assert len(inside_figure(record, scene, 0, 1).axes) == 5
    with pytest.raises(ConfigError, match=r"1\.\.4"):
        inside_figure(record, scene, 0, 0)


def test_figures_are_written_in_all_kinds(record: EpisodeRecord, scene: dict[str, Any], tmp_path: Path) -> None:
    figures = episode_figures(record, scene, step=0)
    assert set(figures) == {"belief", "attention", "inside"}
    for name in ("belief.pdf", "belief.png", "inside.svg"):
        save_figure(figures[name.split(".")[0]], tmp_path / name)
    page = (tmp_path / "belief.pdf").read_bytes()
    assert page.startswith(b"%PDF")
    assert b"/FontFile2" in page
    assert b"/Type3" not in page
    assert cv2.imread(str(tmp_path / "belief.png")).std() > 10
    with pytest.raises(DataError, match=r"\.png, \.pdf, \.svg, \.jpg"):
        save_figure(attention_figure(record), tmp_path / "x.doc")


def test_films(record: EpisodeRecord, scene: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    short = replace(record, frames=record.frames[:1], walk=record.walk[:1])
    pictures = list(film_pictures([short], scene))
    assert caplog.text == ""  # matplotlib has nothing to say about limits
    # The bars over words, and all else, keep off the frame's upper edge.
    assert all((picture[:8] == 255).all() for picture, _ in pictures)
    assert [hold for _, hold in pictures] == [1, 1, 1, 1, 3]
    assert len({picture.shape for picture, _ in pictures}) == 1
    assert np.abs(pictures[0][0].astype(int) - pictures[-1][0]).max() > 60
    assert write_pictures(tmp_path / "film.gif", pictures) == 7
    assert (tmp_path / "film.gif").read_bytes()[:6] == b"GIF89a"
    # The few pixels of a sign keep its colour.
    with Image.open(tmp_path / "film.gif") as film:
        shown = np.asarray(film.convert("RGB")).astype(int)
    for colour in (GOAL, GUIDED, DEMONSTRATOR):
        wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert np.abs(shown - wanted).sum(-1).min() < 24, colour
    with pytest.raises(DataError, match=r"\.mp4 or \.gif"):
        write_pictures(tmp_path / "film.avi", film_pictures([short], scene))
    assert list(tmp_path.iterdir()) == [tmp_path / "film.gif"]


def test_a_film_of_two_models(record: EpisodeRecord, scene: dict[str, Any], library: Library) -> None:
    other = library.inspector("combs", "plain")
    twin = other.record(library.query(other, "dev_unseen", "300_0", fixed=True))
    short = [replace(item, frames=item.frames[:1], walk=item.walk[:1]) for item in (record, twin)]
    pictures = list(film_pictures(short, scene))
    alone = next(film_pictures(short[:1], scene))[0]
    assert [hold for _, hold in pictures] == [1, 1, 1, 1, 3]
    assert pictures[0][0].shape[1] == 2 * alone.shape[1]


def test_the_next_move_is_drawn(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    figure = new_figure(4.0, 4.0, "a test")
    axes = figure.add_subplot()
    draw_map(axes, scene, record, 2, 4, MapLayers(choices=True, names=False))
    choice = record.frames[2].choice
    texts = {text.get_text() for text in axes.texts}
    assert choice_label(choice, choice.chosen) in texts
    assert choice_label(replace(choice, by="policy"), choice.chosen).endswith(" %")


def _scores(count: int = 12, first: int = 0) -> GoalScores:
    error = np.abs(np.arange(count, dtype=float) - first)[:, None] + np.zeros((count, 2))
    names = tuple(f"{row}_0" for row in range(count))
    half = np.full_like(error, 0.5)
    return GoalScores(names, error, error < 2, 10 * half, half, np.clip(1 - error / count, 0, 1), error)


def _chosen(*scores: GoalScores, count: int = 6) -> list[tuple[str, str]]:
    return choose_episodes(scores[0].instr_ids, [item.error_m.mean(1) for item in scores], count)


def test_best_worst_and_middling() -> None:
    names = _chosen(_scores())
    assert [name for name, _ in names[:4]] == ["0_0", "1_0", "11_0", "10_0"]
    assert names[0][1] == "best, 0.0 m off"
    assert [note.split(",")[0] for _, note in names] == ["best"] * 2 + ["worst"] * 2 + ["middling"] * 2
    assert len({name for name, _ in _chosen(_scores(2), count=9)}) == 2
    compared = _chosen(_scores(), _scores(first=4))
    assert compared[:4] == names[:4]
    assert compared[4:] == [("4_0", "differ by 4.0 m"), ("5_0", "differ by 4.0 m")]


def test_calibration() -> None:
    confidence = np.array([0.05, 0.05, 0.95, 0.95])
    points = calibration_points(confidence, np.array([False, True, True, True]))
    assert points == [
        {"confidence": pytest.approx(0.05), "success": 0.5, "share": 0.5},
        {"confidence": pytest.approx(0.95), "success": 1.0, "share": 0.5},
    ]


def test_tables_of_several_models() -> None:
    page = evaluation_html({"one": _scores(), "<two>": _scores(first=3)})
    assert "&lt;two&gt;" in page
    assert f"<td>{_scores().error_m.mean():.2f}</td>" in page
    assert page.count("<polyline") == 4


def test_the_outcome_comes_first(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    own = replace(record, walked_by=record.model)
    ends = [
        replace(own, frames=(*own.frames[:-1], replace(own.frames[-1], left_m=left_m))) for left_m in (0.5, 2.9, 3.1)
    ]
    shown = [Shown(f"{number}_0", "chosen", (item,)) for number, item in enumerate([*ends, record])]
    page = build_report("t", "a", shown, Assets({record.scan: scene}))
    assert page.index("<b>2 of 3 arrived</b> <span>small, walking by itself</span>") < page.index('id="player"')
    assert "stops less than 3 m, by the shortest walk, from where the words lead" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [item["left_m"] for item in data["list"]] == [0.5, 2.9, 3.1, None]
    walks = NavScores(("7_0", "8_0"), {"SR": np.array([0.0, 1.0])})
    listed = [Listed("7_0", "x", "go <b>", 4.0, 1.0), Listed("8_0", "x", "stop", 1.0, 2.0)]
    told = build_report("t", "a", shown, Assets({}), Evaluation(listed, {"<s>": walks}, {"other": _scores()}))
    assert "<b>1 of 2 arrived</b> <span>&lt;s&gt;, walking by itself</span>" in told
    assert f"<b>{100 * _scores().success.mean():.0f} % predicted right</b> <span>other, led along" in told
    data = json.loads(told.split('id="data">')[1].split("</script>")[0])
    assert data["list"][0] == {"name": "7_0", "scan": "x", "text": "go <b>", "left_m": 4.0, "error_m": 1.0}


def test_a_report_is_one_file_that_no_instruction_breaks(record: EpisodeRecord, scene: dict[str, Any]) -> None:
    hostile = replace(record, text="</script><script>alert(1)</script>")
    shown = [Shown("0_0", "best & <b>", (record, record)), Shown("1_0", "worst", (hostile,))]
    page = build_report("T <i>", "a & b", shown, Assets({record.scan: scene}), Evaluation(goals={"small": _scores()}))
    assert "</script><script>alert" not in page
    assert "T &lt;i&gt;" in page
    for word in ("http://", "https://", "<link", " src="):
        assert word not in page.split('<script type="application/json"')[0]
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["episodes"][1]["models"][0]["text"] == hostile.text
    assert len(data["episodes"][0]["models"]) == 2
    assert [item["name"] for item in data["list"]] == ["0_0", "1_0"]
    with pytest.raises(ConfigError, match="at least one"):
        build_report("t", "a", [], Assets({}))
    with pytest.raises(ConfigError, match="is to be shown twice; name it once"):
        build_report("t", "a", [shown[0], shown[0]], Assets({}))
    with pytest.raises(ConfigError, match="same walk"):
        build_report("t", "a", [Shown("x", "", (record, replace(record, walk=record.walk[::-1])))], Assets({}))


class _Recorder:
    """Stands in for the Rerun SDK and notes what is logged."""

    def __init__(self) -> None:
        self.logged: list[tuple[str, Any]] = []
        self.times: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *values, **named: SimpleNamespace(kind=name, values=values, **named)

    def RecordingStream(self, name: str) -> _Recorder:
        return self

    def save(self, path: str) -> None:
        Path(path).write_bytes(b"RRF2")

    def flush(self) -> None:
        self.flushed = True

    def set_time(self, name: str, *, sequence: int) -> None:
        self.times.append((name, sequence))

    def log(self, path: str, value: Any, static: bool = False) -> None:
        self.logged.append((path, value))


def test_rerun_gets_every_belief(record: EpisodeRecord, scene: dict[str, Any], tmp_path: Path) -> None:
    recorder = _Recorder()
    write_rerun(tmp_path / "episode.rrd", record, scene, recorder)
    assert (tmp_path / "episode.rrd").read_bytes() == b"RRF2"
    beliefs = [value for path, value in recorder.logged if path == "map/belief"]
    assert len(beliefs) == len(record.frames) * (record.filter_steps + 1)
    start = record.frames[0].beliefs[0].sum(0)
    row, col = np.unravel_index(start.argmax(), start.shape)
    left, bottom = corner_m(record.grid, record.origin_xy_m)
    # Rerun's y points down.
    peak = [left + (col + 0.5) * record.grid.cell_m, -bottom - (row + 0.5) * record.grid.cell_m]
    nearest = np.abs(np.array(beliefs[0].values[0]) - peak).sum(1).min()
    assert math.isclose(nearest, 0.0, abs_tol=1e-9)
    assert ("agent_step", len(record.frames) - 1) in recorder.times
    spots = [value for path, value in recorder.logged if path == "map/candidates"]
    assert [len(value.labels) for value in spots] == [len(frame.choice.candidates) for frame in record.frames]


def test_a_robots_estimates_go_to_rerun(record: EpisodeRecord) -> None:
    recorder, mass = _Recorder(), np.zeros((3, 4))
    mass[1, 2] = 1.0
    path = np.array([[10.0, 20.0], [12.0, 21.0]])
    estimate = GoalEstimate(
        mass, np.arange(4) + 10.5, np.arange(3) + 20.5, (12.4, 21.6), 0.75, 1.0, ("labels unknown: fridge",), 0.1,
        np.zeros((2, 1, 3, 4)), path, inspect.unwrap(FilterTrace.__new__)(FilterTrace),
    )  # fmt: skip
    log_goal(estimate, 5, recorder)
    logged = dict(recorder.logged)
    assert recorder.times == [("robot_step", 5)]
    np.testing.assert_allclose(logged["map/belief"].values[0], [[12.5, -21.5]])
    assert logged["map/trajectory"].values == ([[[10.0, -20.0], [12.0, -21.0]]],)
    assert logged["map/predicted"].values == ([(12.4, -21.6)],)
    assert logged["confidence"].values == (0.75,)
    assert logged["notes"].values == ("labels unknown: fridge",)


def test_rerun_missing_says_what_to_install() -> None:
    try:
        import rerun  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"pip install './ghosts\[rerun\]' in the checkout"):
            require_rerun()
