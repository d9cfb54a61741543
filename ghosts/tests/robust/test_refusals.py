"""Refusals that no other test meets: rare damage, missing extras, values only a program can pass."""

from __future__ import annotations

import inspect
import io
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from ghosts.cli import report
from ghosts.config import MotionConfig
from ghosts.data.examples import split_buildings
from ghosts.data.reading import reading_of
from ghosts.data.tile_maker import TileMaker, sweep_on_device
from ghosts.data.tile_store import TileSettings
from ghosts.devices import choose_device
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.camera_torch import PanoramaBank
from ghosts.mapping.label_tiles import label_tiles
from ghosts.mapping.labels import LabelSet, build_labels
from ghosts.mapping.saved_backbone import load_backbone
from ghosts.methods.seq2seq.model import Seq2Seq, Seq2SeqAgent
from ghosts.methods.seq2seq.presets import tiny_seq2seq
from ghosts.run.env import R2REnv
from ghosts.run.load import Run
from ghosts.train.labelled_views import load_labelled
from ghosts.view import film, images
from ghosts.view.figures import attention_figure
from ghosts.view.library import Library
from ghosts.view.paint import paint
from ghosts.view.panorama import png
from ghosts.view.query import EpisodeQuery
from ghosts.weights.checkpoint import BACKBONE, misfit, save_checkpoint
from ghosts_houses.draw.canvas import new_figure
from ghosts_houses.graph import sites
from ghosts_houses.house import Primitive
from ghosts_houses.record import read_record
from ghosts_houses.render import scene
from ghosts_houses.solids import Solids
from ghosts_houses.statistics import statistics
from ghosts_houses.world import load_house
from ghosts_sim import workers
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.depth_fill import fill_depth
from ghosts_sim.errors import GhostsError
from ghosts_sim.files import read_words, write_json
from ghosts_sim.graph import parse_graph
from ghosts_sim.images import read_skybox_depth, write_image
from ghosts_sim.landmarks.reverie import read_listings
from ghosts_sim.matterport import panorama, prepare, raw
from ghosts_sim.matterport.graphs import take_episodes
from ghosts_sim.remedy import PictureRecipe
from ghosts_sim.types import Intrinsics
from makers import SCAN, connectivity_records, make_root, viewpoint_id, write_skybox

CPU = torch.device("cpu")
SETTINGS = TileSettings("hash", 2, 0.5, camera=Intrinsics(32, 32, 1.0), headings=1)
PICTURES = f"scans/{SCAN}/matterport_skybox_images"


def told(call: Callable[[], object]) -> str:
    """The message that a call ends with."""
    with pytest.raises(GhostsError) as caught:
        call()
    return str(caught.value)


def answered(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line that a command ends with."""
    with pytest.raises(SystemExit):
        main(words)
    return capsys.readouterr().err


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """As if packages were not installed."""
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["eval", "vln", "--batch", "0"], "ghosts eval: --batch must be at least 1, got 0\n"),
        (["submit", "--run", "x", "--batch", "0"], "ghosts submit: --batch must be at least 1, got 0\n"),
    ],
)
def test_commands(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(words, capsys) == line


def test_missing_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install = "which is not installed; run: pip install './{}' in the checkout"
    without(monkeypatch, "fastapi", "matplotlib.figure", "imageio_ffmpeg", "playwright.sync_api")
    assert "ghosts view needs fastapi, " + install.format("ghosts[web]") in answered(["view"], capsys)
    assert told(lambda: new_figure(1.0, 1.0, "drawing a film")) == "drawing a film needs matplotlib, " + install.format(
        "houses[viz]"
    )
    assert told(lambda: film.check_film(Path("x.mp4"))) == "writing an MP4 needs imageio-ffmpeg, " + install.format(
        "ghosts[viz]"
    )
    # Without the tests' type checks: neither library nor record is looked at before the browser is.
    photograph: Any = inspect.unwrap(images._photograph)
    line = "photographing the viewer needs playwright, " + install.format("ghosts[photos]")
    assert told(lambda: list(photograph(tmp_path, None, "w", "s", None, tmp_path))) == line
    monkeypatch.setitem(sys.modules, "playwright.sync_api", SimpleNamespace(sync_playwright=None))
    monkeypatch.setattr(images, "find_chromium", lambda: None)
    line = f"photographing the viewer needs a browser (one of {', '.join(images.CHROMIUM)}); install Chromium"
    assert told(lambda: list(photograph(tmp_path, None, "w", "s", None, tmp_path))) == line


def test_programs_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_program() -> str:
        raise RuntimeError("No ffmpeg exe could be found")

    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", SimpleNamespace(get_ffmpeg_exe=no_program))
    assert told(lambda: film.check_film(Path("x.mp4"))) == (
        "writing an MP4 needs the program ffmpeg, which is not installed; install it, or end --out in .gif"
    )
    film.check_film(Path("x.gif"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert told(lambda: choose_device("cuda")) == (
        "--device cuda: torch finds no CUDA device here; use --device cpu or auto"
    )
    assert told(lambda: choose_device("tpu")) == "--device must be cpu, cuda or auto, got 'tpu'"


def test_models(tmp_path: Path) -> None:
    words, experiment = Seq2Seq.__new__(Seq2Seq), tiny_seq2seq()
    assert told(lambda: Seq2SeqAgent(words, 0)) == "step_limit must be at least 1, got 0"
    run = Run("words", experiment, words, reading_of(experiment))
    assert "has no belief for the planner; leave out --planner" in told(lambda: run.agent(planner=True))
    path, about = tmp_path / "b.safetensors", {"kind": BACKBONE, "channels": 8, "labels": ["a"]}
    weights = SmallBackbone(16, 1).state_dict()
    save_checkpoint(path, {f"model/{name}": value for name, value in weights.items()}, about)
    message = told(lambda: load_backbone(path))
    assert message.startswith(f"{path}: weights do not fit the settings (")
    assert " has the size " in message
    assert message.endswith("; copy it again, or remove it and train again")


def test_runs(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    assert told(lambda: R2REnv(root, observation="landmarks", run="houses-agent")) == (
        "this run reads images and knows no labels; leave out observation='landmarks'"
    )
    # The tests' type checks would refuse the word before the setting does.
    settings = MotionConfig()
    object.__setattr__(settings, "kind", "dog")
    assert told(settings.__post_init__) == "motion.kind must be factorised or joint, got 'dog'"
    labels = build_labels([])
    twice = (*labels.labels, labels.labels[0])
    assert told(lambda: LabelSet(twice)) == (
        f"field 'labels': a label is listed twice (got '{twice[0].name}'); remove one of the two"
    )


def test_episodes_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    mind: Any = SimpleNamespace(root=SimpleNamespace(path=Path("ROOT"), scans=["here"]))
    monkeypatch.setattr("ghosts.view.record_json.read_records", lambda path: [SimpleNamespace(scan="elsewhere")])
    stored: Any = inspect.unwrap(report._stored)
    assert told(lambda: stored(Path("r.json"), mind.root)) == (
        "r.json, field 'scan': an episode of a building that this data root lacks (got 'elsewhere'); "
        "name the root it was recorded in with --data"
    )
    empty: Any = SimpleNamespace(data=SimpleNamespace(examples=lambda split: []), root=mind.root)
    question: Any = inspect.unwrap(Library.query)
    assert told(lambda: question(None, empty, "test")) == "ROOT: split test holds no episode; choose another split"


def test_weights_that_do_not_fit_are_named() -> None:
    right = torch.nn.Linear(2, 3).state_dict()
    assert misfit(right, {"weight": right["weight"]}) == "bias is missing"
    assert misfit(right, {**right, "bias": torch.zeros(4)}) == "bias has the size 4, expected 3"
    assert misfit(right, {**right, "scale": torch.zeros(())}) == "the model has no scale"


def test_tiles(tmp_path: Path) -> None:
    bank = PanoramaBank(torch.zeros(1, 6 * 16, dtype=torch.int32), None, 4)
    assert told(lambda: sweep_on_device(bank, np.eye(3)[None], 0, SETTINGS)) == (
        "the panoramas have no depth; tiles need it; make it with: ghosts prepare --raw RAW --out ROOT"
    )

    backbone = SmallBackbone(2).requires_grad_(False)
    backbone.output.bias.fill_(1e9)  # type: ignore[union-attr]
    maker = TileMaker(DataRoot(make_root(tmp_path / "root", count=1)), backbone, SETTINGS, CPU, 1)
    assert told(lambda: list(maker.buildings([SCAN]))) == (
        f"building {SCAN}: the backbone's features do not fit into 16 bits; use another --backbone"
    )


def test_labelled_pictures(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", count=2)
    for row, side in ((0, 16), (1, 32)):
        path = root / PICTURES / f"{viewpoint_id(row)}_skybox_label_small.png"
        cv2.imwrite(str(path), np.zeros((side, 6 * side), np.uint8))
    assert "the label skybox has faces of 16 pixels, the colour one of 32; remove the scans/" in told(
        lambda: load_labelled(DataRoot(root), [SCAN], 9, CPU)
    )
    write_skybox(root / PICTURES, viewpoint_id(0), 0, 16)
    assert f"{root}, record {SCAN}: houses have faces of different sizes; remove the scans/" in told(
        lambda: load_labelled(DataRoot(root), [SCAN], 9, CPU)
    )
    assert told(lambda: load_labelled(DataRoot(root), [], 9, CPU)) == (
        f"{root}: no included viewpoint in the houses to train on; make houses with: ghosts world"
    )


def test_the_command_that_makes_a_picture_again(tmp_path: Path) -> None:
    """Of houses: with the options they were made with, and without the damaged file, which would be kept."""
    root = DataRoot(make_root(tmp_path / "root", images=False))
    write_json(root.path / "world.json", {"command": "ghosts world --out DIR --houses 2 --seed 5"})
    line = f"ghosts world --out {root.path} --houses 2 --seed 5"
    assert PictureRecipe.of(root.path).command(SCAN) == line
    assert PictureRecipe.of(root.path).command(SCAN, again=True) == f"remove the bad pictures, then {line}"
    write_json(root.path / "world.json", [])
    assert PictureRecipe.of(root.path).command(SCAN) == f"ghosts world --out {root.path}"


def test_pictures_of_the_viewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = DataRoot(make_root(tmp_path / "root", count=1))
    graph, store = root.graph(SCAN), root.panoramas()
    assert told(lambda: paint(graph, store, 3)) == f"scan {SCAN} has no viewpoint on storey 3; storeys are 0..0"
    assert told(lambda: paint(graph, store, 0, cut_m=-9.0)) == (
        "nothing to paint: no depth reading below the cut; raise cut_m"
    )
    assert told(lambda: EpisodeQuery("s", "go", 0.0, ())) == "a walk needs at least one viewpoint: its start"
    plain: Any = SimpleNamespace(filter_steps=0, model="hand-coded")
    undecorated = inspect.unwrap(attention_figure)
    assert told(lambda: undecorated(plain)) == (
        "model hand-coded has no attention over filter steps; name a run of a filter"
    )
    monkeypatch.setattr(cv2, "imencode", lambda *_: (False, None))
    assert told(lambda: png(np.zeros((2, 2, 4), np.uint8))) == (
        "the picture could not be encoded as png; reinstall opencv-python-headless"
    )


def test_pictures_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2, "imwrite", lambda *_: False)
    line = "x.png: the image could not be written; free some space, or choose another --out"
    assert told(lambda: write_image(tmp_path / "x.png", np.zeros((2, 12), np.uint16))).endswith(line)
    assert not list(tmp_path.iterdir())


def test_damaged_pixels(tmp_path: Path) -> None:
    """A PNG whose parts are whole, but whose pixels are no stream."""
    path = tmp_path / "d.png"
    cv2.imwrite(str(path), np.zeros((4, 24), np.uint16))
    data = path.read_bytes()
    at = data.index(b"IDAT")
    length = int.from_bytes(data[at - 4 : at], "big")
    body = b"IDAT" + bytes(length)
    path.write_bytes(data[:at] + body + zlib.crc32(body).to_bytes(4, "big") + data[at + 8 + length :])
    assert told(lambda: read_skybox_depth(path)).startswith(
        f"{path}: cannot be decoded as a depth image; remove it and run"
    )


def test_graphs_and_paths(tmp_path: Path) -> None:
    assert told(lambda: read_words(tmp_path)) == f"{tmp_path}: cannot be read (Is a directory)"
    records = connectivity_records(2)
    records[1]["pose"][3] = 2e6
    assert told(lambda: parse_graph("s", records, Path("s.json"))) == (
        f"s.json, record 1, field 'pose': viewpoint {viewpoint_id(1)} is farther than 1000000 m from the origin; "
        "take the file again from where it came from"
    )
    root = make_root(tmp_path / "root", images=False)
    write_json(root / "connectivity" / f"{SCAN}_connectivity.json", connectivity_records(4, excluded=(1,)))
    assert told(lambda: DataRoot(root).episodes("train")) == (
        f"{root}/r2r/R2R_train.json, record 7, field 'path': a viewpoint that scan {SCAN} excludes "
        f"(got '{viewpoint_id(1)}'); take r2r/ and connectivity/ from the same release"
    )
    (root / "r2r" / "R2R_train.json").unlink()
    assert told(lambda: split_buildings(DataRoot(root))).startswith(
        f"{root}/r2r/R2R_train.json: no such file; evaluation needs it too, to know which buildings are unseen"
    )
    write_json(tmp_path / "R2R_train.json", [{"path": []}])
    assert told(lambda: take_episodes(tmp_path, tmp_path / "out", ["s"])).endswith(
        "R2R_train.json, record 0, field 'path_id': missing"
    )


def test_worlds(tmp_path: Path) -> None:
    assert told(lambda: label_tiles([], 0.0)) == "cell_m must be positive, got 0.0"
    assert "no R2R_<split>.json found; make one with" in told(lambda: statistics(tmp_path))
    write_json(tmp_path / "world.json", {"houses": {"h": {"seed": "5"}}})
    assert told(lambda: load_house(tmp_path, "h")) == (
        f"{tmp_path}/world.json, record h, field 'seed': expected a whole number (got '5')"
    )
    write_json(tmp_path / "h.json", {"index": 0, "scan": "h", "seed": 1, "paths": [], "viewpoints": [], "rooms": 1})
    assert told(lambda: read_record(tmp_path / "h.json", 0)) == (
        f"{tmp_path}/h.json, field 'storeys': missing; remove the file; the same command makes it again"
    )
    write_json(tmp_path / "h.json", {"index": 0, "scan": "h", "seed": 1, "paths": [], "viewpoints": [], "checksum": 7})
    assert told(lambda: read_record(tmp_path / "h.json", 0)).startswith(
        f"{tmp_path}/h.json: a damaged record (its checksum differs); remove the file"
    )
    assert told(lambda: Solids.of(())) == "a scene needs at least one primitive; there is nothing to draw"
    gold = Primitive("box", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0.0, "gold", (1.0, 1.0, 1.0), "wall")
    rich = SimpleNamespace(name="h", primitives=(gold,))
    assert told(lambda: inspect.unwrap(scene.prepare)(rich)) == (
        "house h: a part with an unknown material or label (got 'gold')"
    )
    room = SimpleNamespace(kind="bathroom")
    house: Any = SimpleNamespace(name="h", seed=5, rooms=(room,))
    anchor = inspect.unwrap(sites._anchor)
    assert told(lambda: anchor(house, np.zeros((0, 3)), 0, np.random.default_rng(0))) == (
        "house 'h' (seed 5): no free place to stand in the bathroom (room 0); choose another --seed"
    )


def test_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def archive(*names: str) -> Path:
        path = tmp_path / "BBox.tar.gz"
        with tarfile.open(path, "w:gz") as file:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = 2
                file.addfile(member, io.BytesIO(b"{}"))
        return path

    twice = archive("a/s_v.json", "b/s_v.json")
    assert told(lambda: read_listings(twice)) == (
        f"{twice}, record s_v.json: in the archive twice; pass REVERIE's own BBox.tar.gz"
    )
    nameless = archive("_v.json")
    assert told(lambda: read_listings(nameless)) == (
        f"{nameless}, record _v.json: expected a name like <scan>_<viewpoint>.json; remove it"
    )
    monkeypatch.setattr("ghosts_sim.landmarks.reverie.MAX_FILE_BYTES", 1)
    assert told(lambda: read_listings(archive("s_v.json"))) == (
        f"{twice}, record s_v.json: 2 bytes are too many for a listing; download BBox.tar.gz again"
    )
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as file:
        file.writestr("s/x.jpg", b"12")
    monkeypatch.setattr(raw, "_LARGEST", 1)
    assert told(lambda: raw._read_zip(tmp_path / "r.zip", "s/x.jpg")) == (
        f"{tmp_path}/r.zip, record s/x.jpg: a file of the release is never this large; download the zip file again"
    )


def test_a_port_that_is_taken_meanwhile() -> None:
    class Refused:
        started = False

        def run(self) -> None:
            """As uvicorn's when the port is held: it ends without having started."""

    served = images.Served.__new__(images.Served)
    served.port, served._server = 8471, Refused()  # type: ignore[assignment]
    served._thread = Thread(target=served._server.run)
    assert told(served.__enter__) == (
        "the viewer's server did not start on port 8471; another program may hold it: try again"
    )


def test_raw_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of a raw release that are whole, but not what they should be."""

    class Release(raw.RawRelease):
        def __init__(self, data: bytes) -> None:
            self.data = data

        def read(self, scan: str, kind: str, name: str) -> tuple[bytes, Path]:
            return self.data, Path(name)

    def release(image: np.ndarray, kind: str) -> raw.RawRelease:
        return Release(cv2.imencode(kind, image)[1].tobytes())

    read_depth, read_skybox = inspect.unwrap(panorama.read_depth), inspect.unwrap(panorama.read_skybox)
    assert told(lambda: read_depth(release(np.zeros((4, 4), np.uint8), ".png"), "s", "v")) == (
        "v_d0_0.png: expected a 16-bit image with one channel, found 8 bits and 1 channel; download it again"
    )
    assert told(lambda: read_skybox(release(np.zeros((4, 8, 3), np.uint8), ".jpg"), "s", "v", 4)) == (
        "v_skybox0_sami.jpg: a skybox face must be square, found 8 × 4 pixels; download it again"
    )
    sized = b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x04\x00\x04\x03" + bytes(9)
    assert told(lambda: read_depth(Release(sized + b" rubbish \xff\xd9"), "s", "v")) == (
        "v_d0_0.png: cannot be decoded as an image; download it again"
    )
    make = inspect.unwrap(panorama.make_panorama)
    assert "camera parameters of scan s lack images 0_0, 0_1" in told(
        lambda: make(None, "s", "v", {}, panorama.PrepareConfig())
    )
    pixels = np.zeros((4, 24), np.uint16)
    monkeypatch.setattr(cv2, "imencode", lambda *_: (False, None))
    assert "d.png: the image could not be written" in told(
        lambda: panorama.write_panorama(
            tmp_path / "c.jpg", tmp_path / "d.png", np.zeros((4, 24, 3), np.uint8), pixels, ""
        )
    )


def test_filling_what_does_not_fit() -> None:
    fill, plane = inspect.unwrap(fill_depth), np.zeros((4, 4))
    assert told(lambda: fill(plane, np.zeros((4, 5)), plane > 0)) == (
        "depth (4, 4), intensity (4, 5) and mask (4, 4) differ in size"
    )


def test_a_worker_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pool:
        def __init__(self, *_: Any) -> None: ...

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: Any) -> None: ...

        def submit(self, *_: Any) -> Future[None]:
            future: Future[None] = Future()
            future.set_exception(BrokenProcessPool())
            return future

        def shutdown(self, **_: Any) -> None: ...

    monkeypatch.setattr(workers, "_Pool", Pool)
    todo, config = [("s", "v"), ("s", "w")], panorama.PrepareConfig()
    assert told(lambda: prepare.prepare_release([tmp_path], tmp_path, config, todo, 2, lambda unit: None)) == (
        f"{tmp_path}: a worker process died; the same command goes on where it stopped; "
        "use fewer --workers if memory ran out"
    )
