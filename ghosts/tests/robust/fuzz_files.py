"""What the fuzzer (`fuzz`) works on: one small sound file of every kind, and the commands that read it."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from formats import KINDS, PLAIN, Codec, inside_header, make_record, make_torch_file
from lightning_fabric import Fabric

from experiments import task_of
from ghosts.config import DataConfig, Experiment
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import FOLDER, JOINED, TileSettings
from ghosts.evaluate.submission import write_submission
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import save_backbone, weights_hash
from ghosts.train.trainer import RunFiles, train
from ghosts.weights.checkpoint import BEST, LAST
from ghosts_houses.world import WorldConfig, make_world
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.graph import load_graph
from ghosts_sim.types import Intrinsics
from image_roots import make_image_root
from landmark_world import SCANS, load, make_landmark_root, small_experiment
from makers import viewpoint_id
from matterport.release import SCAN, ReleaseConfig, make_shots, write_graph, write_release
from view_fixtures import save_untrained


def inside_tar(content: bytes) -> str:
    """The JSON of an archive's first member."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile(archive.getmembers()[0])
        assert member is not None
        return member.read().decode()


def into_tar(content: bytes, text: str) -> bytes:
    """The archive with another first member, its sums right."""
    made = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive, tarfile.open(fileobj=made, mode="w:gz") as new:
        for number, member in enumerate(archive.getmembers()):
            read = archive.extractfile(member)
            assert read is not None
            body = text.encode("utf-8", "surrogatepass") if number == 0 else read.read()
            member.size = len(body)
            new.addfile(member, io.BytesIO(body))
    return made.getvalue()


@dataclass(frozen=True)
class Pair:
    """A file, and a command that reads it. Words may name {work} and {out}."""

    file: str
    words: str
    json: Codec | None = None
    text: bool = False
    lines: bool = False
    tensors: bool = False
    """Whether it is a checkpoint, whose tensors are spoilt too, with sums that fit."""
    copied: str = ""
    """Of the work folder into {out}, for commands that go on with what is there."""
    refused: bool = False
    """Whether the sound file is refused too, after it was read."""

    slow: bool = False
    """Whether it takes more than a quarter of a second; fewer files of it are tried."""

    @property
    def name(self) -> str:
        """For people."""
        words = [word for word in self.words.split() if not word.startswith("{")]
        more = next((word for word in words if word in ("--check", "--record", "--spoken", "--stats", "--answers")), "")
        kind = words[1] if words[0] in ("eval", "train") else more
        return f"{'/'.join(Path(self.file).parts[-2:])}: ghosts {words[0]} {kind}".rstrip()


EVAL = "--data {work}/combs --device cpu --examples 2 --split val_seen"
VLN = f"eval vln --baseline stop {EVAL}"
LANDMARKS = "landmarks --connectivity {work}/combs/connectivity --regions {work}/regions"
LANDMARKS += " --out {out}/new --r2r {work}/combs/r2r --scan comb0 --bbox {work}/"
PREPARE = "prepare --out {out}/new --faces 16 --workers 1 --raw {work}/"
TAKE = PREPARE + "raw --connectivity {work}/graph --r2r {work}/paths"
GO_ON = "prepare --out {out}/prepared --faces 16 --workers 1 --raw {work}/raw"
MODEL = "--model.language.vocabulary 40 --model.language.embedding 8 --model.language.hidden 8"
MODEL += " --model.language.position 4 --model.language.steps 4 --model.language.dropout 0"
MODEL += " --model.mapper.features 8 --model.mapper.channels 8 --model.mapper.dropout 0 --model.mapper.rows 32"
MODEL += " --model.mapper.cols 32 --model.filter.motion.kernel 5 --model.filter.motion.hidden 8"
MODEL += " --model.filter.motion.branch 4 --model.filter.motion.language 8 --model.filter.motion.dropout 0"
MODEL += " --model.filter.observation.levels 2 --model.filter.observation.channels 4"
MODEL += " --model.filter.observation.language 4 --model.filter.observation.output 8"
TRAIN = f"--data {{work}}/combs --device cpu --threads 0 {MODEL} --train.iterations 3 --train.batch 4"
TRAIN += " --train.agent-steps 3 --train.log-every 1 --train.checkpoint-every 1 --train.learning-rate 0.003"
TRAIN += " --select-examples 2 --train.evaluate-every 60"
GOAL = f"train goal --preset tiny {TRAIN} --out {{out}}/run"
TILES = "tiles --data {work}/photos --device cpu --out {out}/tiles --backbone {work}/backbone.safetensors"
CE = "eval ce --baseline stop --data {work}/houses --split train --examples 1"
HOUSES = WorldConfig(houses=2, seed=0, paths=3, faces=16, storeys=(1, 1), rooms=(5, 6))
WORLD = "world --out {out}/houses --houses 2 --seed 0 --paths 3 --faces 16 --storeys 1 1 --rooms 5 6 --no-images"
WORLD += " --workers 1"
ABOUT = inside_header("about")
PHOTO = "photos/scans/houseA/matterport_skybox_images/*_skybox"
GRAPH, LISTED = "combs/connectivity/comb0_connectivity.json", "combs/connectivity/scans.txt"
EPISODES, OBJECTS = "combs/r2r/R2R_val_seen.json", "combs/landmarks/comb0.json"
ONE_HOUSE = "houses/houses/*.json"
PAIRS = (
    Pair(GRAPH, "doctor --data {work}/combs", PLAIN, True),
    Pair(GRAPH, LANDMARKS + "BBox.tar.gz", PLAIN, True),
    Pair(GRAPH, VLN, PLAIN, True),
    Pair(
        GRAPH,
        f"speak --run {{work}}/speaker.safetensors --data {{work}}/combs --device cpu --scan comb0 "
        f"--walk {viewpoint_id(0)} --walk {viewpoint_id(4)}",
        PLAIN,
        True,
    ),
    Pair(f"graph/{SCAN}_connectivity.json", TAKE, PLAIN, True, slow=True),
    Pair("cache/graphs/*.npz", "doctor --data {work}/combs"),
    Pair(LISTED, "doctor --data {work}/combs", None, True, True),
    Pair(LISTED, VLN, None, True, True),
    Pair(EPISODES, "doctor --data {work}/combs", PLAIN, True),
    Pair(EPISODES, LANDMARKS + "BBox.tar.gz", PLAIN, True),
    Pair(EPISODES, VLN, PLAIN, True),
    Pair(EPISODES, "episodes --data {work}/combs --most 0", PLAIN, True),
    Pair("paths/R2R_train.json", TAKE, PLAIN, True, slow=True),
    Pair("told.json", GOAL + " --spoken {work}/told.json --train.spoken 0.5", PLAIN, True, slow=True),
    Pair(OBJECTS, "doctor --data {work}/combs", PLAIN, True),
    Pair(OBJECTS, f"eval goal --run {{work}}/goal.safetensors {EVAL}", PLAIN, True),
    Pair("goal.safetensors", f"eval goal --run {{work}}/goal.safetensors {EVAL}", ABOUT, tensors=True),
    Pair(
        "goal.safetensors",
        "belief --run {work}/goal.safetensors --data {work}/combs --split val_seen --out {out}/belief",
        ABOUT,
        tensors=True,
        slow=True,
    ),
    Pair(
        "goal.safetensors",
        f"train vln --preset tiny-agent {TRAIN} --out {{out}}/run --warm-start {{work}}/goal.safetensors",
        ABOUT,
        tensors=True,
        slow=True,
    ),
    Pair("agent.safetensors", f"{VLN} --run {{work}}/agent.safetensors", ABOUT, tensors=True),
    Pair("agent.safetensors", "export --run {work}/agent.safetensors --out {out}/x.safetensors", ABOUT, tensors=True),
    Pair(
        "agent.safetensors",
        "submit --run {work}/agent.safetensors --data {work}/combs --split val_seen --device cpu --out {out}/x.json",
        ABOUT,
        tensors=True,
    ),
    Pair(
        "agent.safetensors",
        "report --run {work}/agent.safetensors --data {work}/combs --split val_seen --examples 2 --show 1 "
        "--out {out}/x.html",
        ABOUT,
        tensors=True,
    ),
    Pair(
        "speaker.safetensors",
        f"speak --run {{work}}/speaker.safetensors --data {{work}}/combs --device cpu --scan comb0 "
        f"--walk {viewpoint_id(0)} --walk {viewpoint_id(4)}",
        ABOUT,
        tensors=True,
    ),
    Pair(f"run/{BEST}", "runs --folder {work}/run", ABOUT, tensors=True),
    Pair(f"run/{LAST}", GOAL, ABOUT, tensors=True, copied="run", slow=True),
    Pair("run/log.jsonl", GOAL, None, True, True, copied="run", slow=True),
    Pair(f"photos/{FOLDER}/{JOINED}", "doctor --data {work}/photos", inside_header("index")),
    Pair(
        f"photos/{FOLDER}/{JOINED}",
        "eval goal --run {work}/pictured.safetensors --data {work}/photos --device cpu --examples 2 --split val_unseen",
        inside_header("index"),
    ),
    Pair(f"{PHOTO}_small.jpg", "doctor --data {work}/photos"),
    Pair(f"{PHOTO}_depth_small.png", "doctor --data {work}/photos"),
    Pair(f"{PHOTO}_label_small.png", "doctor --data {work}/photos"),
    Pair(f"{PHOTO}_small.jpg", TILES, slow=True),
    Pair(f"{PHOTO}_depth_small.png", TILES, slow=True),
    Pair(
        f"{PHOTO}_label_small.png",
        "backbone --data {work}/photos --out {out}/x.safetensors --device cpu --iterations 1 --train.batch 1 "
        "--train.width 32 --train.height 32 --train.channels 4 --train.held-out-views 1",
    ),
    Pair("backbone.safetensors", TILES, ABOUT, tensors=True, slow=True),
    Pair("photos/prepare.json", "doctor --data {work}/photos", PLAIN, True),
    # Weights of a whole ResNet-34 would take 87 MB; these are read, and refused for their names.
    Pair("zip/weights.pth", "weights --file {work}/zip/weights.pth --out {out}/x.safetensors", refused=True, slow=True),
    Pair(
        "legacy/weights.pth",
        "weights --file {work}/legacy/weights.pth --out {out}/x.safetensors",
        refused=True,
        slow=True,
    ),
    Pair(
        "goal.safetensors", "weights --file {work}/goal.safetensors --out {out}/x.safetensors", refused=True, slow=True
    ),
    Pair("BBox.tar.gz", LANDMARKS + "BBox.tar.gz", (inside_tar, into_tar)),
    Pair(f"BBox/comb0_{viewpoint_id(0)}.json", LANDMARKS + "BBox", PLAIN, True),
    Pair("regions/comb0.panorama_to_region.txt", LANDMARKS + "BBox.tar.gz", None, True, True),
    Pair(f"raw/{SCAN}/undistorted_camera_parameters/{SCAN}.conf", PREPARE + "raw", None, True, True, slow=True),
    Pair(f"raw/{SCAN}/undistorted_depth_images/*_d1_0.png", PREPARE + "raw", slow=True),
    Pair(f"raw/{SCAN}/matterport_skybox_images/*_skybox1_sami.jpg", PREPARE + "raw", slow=True),
    Pair(f"raw/{SCAN}/undistorted_color_images/*_i1_0.jpg", PREPARE + "raw --colour undistorted", slow=True),
    Pair(f"zipped/{SCAN}/undistorted_camera_parameters.zip", PREPARE + "zipped", slow=True),
    Pair(f"zipped/{SCAN}/matterport_skybox_images.zip", PREPARE + "zipped", slow=True),
    Pair(
        f"prepared/scans/{SCAN}/matterport_skybox_images/*_skybox_depth_small.png", GO_ON, copied="prepared", slow=True
    ),
    Pair("prepared/prepare.json", GO_ON, PLAIN, True, copied="prepared", slow=True),
    Pair("houses/world.json", WORLD, PLAIN, True, copied="houses"),
    Pair("houses/world.json", CE, PLAIN, True, slow=True),
    Pair(ONE_HOUSE, WORLD, PLAIN, True, copied="houses"),
    Pair(ONE_HOUSE, CE, PLAIN, True, slow=True),
    Pair("houses/r2r/R2R_train.json", "world --stats {work}/houses", PLAIN, True),
    Pair(
        "houses/r2r/R2R_train.json",
        "world --export vlnce --of {work}/houses --out {out}/vlnce",
        PLAIN,
        True,
        slow=True,
    ),
    Pair("record.json", "report --record {work}/record.json --out {out}/x.html", PLAIN, True),
    Pair("answers.json", "submit --check {work}/answers.json --data {work}/combs --split val_seen", PLAIN, True),
)


def make_work(work: Path, slow: bool) -> None:
    """One sound file of every kind; not `slow`: of those of fast pairs."""
    combs = make_landmark_root(work / "combs")
    small = small_experiment()
    for name, kind in KINDS.items():
        save_untrained(work / f"{name}.safetensors", combs, kind(small))
    shutil.copy(combs / "r2r" / "R2R_train.json", work / "told.json")
    load_graph(combs / "connectivity" / f"{SCANS[0]}_connectivity.json", work / "cache")
    root = DataRoot(combs)
    starts = {
        f"{episode.path_id}_{number}": [root.graph(episode.scan).index(episode.path[0])]
        for episode in root.episodes("val_seen")
        for number in range(3)
    }
    write_submission(work / "answers.json", root, "val_seen", starts)
    make_record(work)
    _make_run(work / "run", combs)
    _make_photos(work, replace(small, data=DataConfig("images")))
    _make_annotations(work)
    make_world(work / "houses", HOUSES, images=False)
    if slow:
        for name, legacy in (("zip", False), ("legacy", True)):
            (work / name).mkdir()
            make_torch_file(legacy)(work / name).rename(work / name / "weights.pth")
        _make_release(work)


def _make_run(folder: Path, combs: Path) -> None:
    """A run stopped after two of three iterations, and its best checkpoint."""
    experiment = small_experiment(iterations=3, log_every=1, checkpoint_every=1)
    task = task_of(experiment, load(combs, experiment))
    draw: Callable[..., object] = task.draw

    def stopping(iteration: int, share: object) -> object:
        if iteration == 2:
            raise KeyboardInterrupt
        return draw(iteration, share)

    task.draw = stopping  # type: ignore[method-assign, assignment]
    try:
        train(task, Fabric(accelerator="cpu", devices=1), RunFiles.of(folder), threads=0)
    except KeyboardInterrupt:
        shutil.copy(folder / LAST, folder / BEST)


def _make_photos(work: Path, experiment: Experiment) -> None:
    """Pictures, tiles of them, and a model and a backbone that read them."""
    splits = {"train": ("houseA", "houseC"), "val_unseen": ("houseB",)}
    photos = DataRoot(make_image_root(work / "photos", splits, count=2))
    torch.manual_seed(0)
    backbone = SmallBackbone(8).eval().requires_grad_(False)
    save_backbone(work / "backbone.safetensors", backbone, [], {})
    settings = TileSettings(weights_hash(backbone), 8, 0.5, camera=Intrinsics(32, 32, 1.0))
    maker = TileMaker(photos, backbone, settings, torch.device("cpu"), batch=4)
    assert build_tiles(maker, photos.path / FOLDER, plan_work(maker, photos.path / FOLDER))
    save_untrained(work / "pictured.safetensors", photos.path, experiment)
    row = {"panoramas": 2, "prepared": 2, "agreement": 0.99, "lowest_agreement": 0.98, "graph_turn_deg": 0.1}
    (photos.path / "prepare.json").write_text(json.dumps({"config": {}, "scans": {"houseA": row}, "missing": {}}))


def _make_annotations(work: Path) -> None:
    """Public annotations of a building."""
    (work / "BBox").mkdir()
    (work / "regions").mkdir()
    rows = range(11)
    with tarfile.open(work / "BBox.tar.gz", "w:gz") as archive:
        for row in rows:
            name = viewpoint_id(row)
            objects = {"7": {"name": "sofa", "visible_pos": [3], "bbox2d": [[10, 20, 30.5, 40]]}}
            path = work / "BBox" / f"{SCANS[0]}_{name}.json"
            path.write_text(json.dumps({name: objects}))
            archive.add(path, f"BBox/{path.name}")
    lines = "".join(f"{row} {viewpoint_id(row)} {row} b\n" for row in rows)
    (work / "regions" / f"{SCANS[0]}.panorama_to_region.txt").write_text(lines)


def _make_release(work: Path) -> None:
    """A raw release as folders and as zip files, a graph and paths of it, and what was prepared of it."""
    config = ReleaseConfig(width=48, height=32, fx=40.2, fy=33.2, centre=(2, -1), skybox_px=48, discs=4)
    shots = make_shots(config, 1)
    write_release(work / "raw", config, shots)
    write_release(work / "zipped", config, shots, zipped=True)
    write_graph(work / "graph", shots)
    path = [shots[0].viewpoint]
    episode = {"path_id": 1, "scan": SCAN, "path": path, "heading": 0.5, "distance": 2.2, "instructions": ["Go."] * 3}
    (work / "paths").mkdir()
    (work / "paths" / "R2R_train.json").write_text(json.dumps([episode]))
    main(GO_ON.replace("{out}", str(work)).replace("{work}", str(work)).split())
