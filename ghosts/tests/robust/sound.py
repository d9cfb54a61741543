"""What the fuzzer (`fuzz`) spoils: one small sound file of every kind, and the commands that read them."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from lightning_fabric import Fabric

import experiments
from ghosts.config import DataConfig, Experiment
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import FOLDER, JOINED, TileSettings
from ghosts.evaluate.submission import write_submission
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import save_backbone, weights_hash
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.methods.speaker.settings import SpeakerConfig
from ghosts.train.trainer import RunFiles, train
from ghosts.view.library import Library
from ghosts.view.record import crop
from ghosts.view.record_json import to_json
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


@dataclass(frozen=True)
class Pair:
    """A file, and a command that reads it. Words may name {work} and {out}."""

    file: str
    words: str
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
        more = next((word for word in words if word in ("--check", "--record", "--spoken", "--stats", "--export")), "")
        kind = words[1] if words[0] in ("eval", "train") else more
        return f"{'/'.join(Path(self.file).parts[-2:])}: ghosts {words[0]} {kind}".rstrip()


DATA = "--data {work}/combs --device cpu"
EVAL = f"{DATA} --examples 2 --split val_seen"
VLN, FILTER = f"eval vln --baseline stop {EVAL}", f"eval goal --run {{work}}/goal.safetensors {EVAL}"
SPEAK = (
    f"speak --run {{work}}/speaker.safetensors {DATA} --scan comb0 --walk {viewpoint_id(0)} --walk {viewpoint_id(4)}"
)
LANDMARKS = "landmarks --connectivity {work}/combs/connectivity --regions {work}/regions"
LANDMARKS += " --out {out}/new --r2r {work}/combs/r2r --scan comb0 --bbox {work}/BBox"
PREPARE = "prepare --out {out}/new --faces 16 --workers 1 --raw {work}/"
TAKE = PREPARE + "raw --connectivity {work}/graph --r2r {work}/paths"
GO_ON = "prepare --out {out}/prepared --faces 16 --workers 1 --raw {work}/raw"
MODEL = "language.vocabulary 40, language.embedding 8, language.hidden 8, language.position 4, language.steps 4"
MODEL += ", language.dropout 0, mapper.features 8, mapper.channels 8, mapper.dropout 0, mapper.rows 32, mapper.cols 32"
MODEL += ", filter.motion.kernel 5, filter.motion.hidden 8, filter.motion.branch 4, filter.motion.language 8"
MODEL += ", filter.motion.dropout 0, filter.observation.levels 2, filter.observation.channels 4"
MODEL += ", filter.observation.language 4, filter.observation.output 8"
TRAIN = f"{DATA} --threads 0 {' '.join(f'--model.{words}' for words in MODEL.split(', '))} --train.iterations 3"
TRAIN += " --train.batch 4 --train.agent-steps 3 --train.log-every 1 --train.checkpoint-every 1"
TRAIN += " --train.learning-rate 0.003 --select-examples 2 --train.evaluate-every 60 --out {out}/run"
GOAL = f"train goal --preset tiny {TRAIN}"
TILES = "tiles --data {work}/photos --device cpu --out {out}/tiles --backbone {work}/backbone.safetensors"
PICTURED = "eval goal --run {work}/pictured.safetensors --data {work}/photos --device cpu --examples 2"
BACKBONE = "backbone --data {work}/photos --out {out}/x.safetensors --device cpu --iterations 1 --train.batch 1"
BACKBONE += " --train.width 32 --train.height 32 --train.channels 4 --train.held-out-views 1"
CE = "eval ce --baseline stop --data {work}/houses --split train --examples 1"
HOUSES = WorldConfig(houses=2, seed=0, paths=3, faces=16, storeys=(1, 1), rooms=(5, 6))
WORLD = "world --out {out}/houses --houses 2 --seed 0 --paths 3 --faces 16 --storeys 1 1 --rooms 5 6 --no-images"
WORLD += " --workers 1"
AGENT = "--run {work}/agent.safetensors"
SUBMIT = f"submit {AGENT} {DATA} --split val_seen --out {{out}}/x.json"
REPORT = f"report {AGENT} --data {{work}}/combs --split val_seen --examples 2 --show 1 --out {{out}}/x.html"
WEIGHTS = "weights --out {out}/x.safetensors --file {work}/"
DOCTOR, PHOTOS = "doctor --data {work}/combs", "doctor --data {work}/photos"
PHOTO = "photos/scans/houseA/matterport_skybox_images/*_skybox"
GRAPH, LISTED, HOUSE = (
    "combs/connectivity/comb0_connectivity.json",
    "combs/connectivity/scans.txt",
    "houses/houses/*.json",
)
EPISODES, OBJECTS, PATHS = "combs/r2r/R2R_val_seen.json", "combs/landmarks/comb0.json", "houses/r2r/R2R_train.json"
SKYBOXES, RAW, CONF = "matterport_skybox_images", f"raw/{SCAN}", "undistorted_camera_parameters"
TRAINED, JOINT = "goal.safetensors", f"photos/{FOLDER}/{JOINED}"
slow, ends = partial(Pair, slow=True), partial(Pair, refused=True, slow=True)
PAIRS = (
    *(Pair(GRAPH, words) for words in (DOCTOR, LANDMARKS + ".tar.gz", VLN, SPEAK)),
    slow(f"graph/{SCAN}_connectivity.json", TAKE),
    Pair("cache/graphs/*.npz", DOCTOR),
    *(Pair(LISTED, words) for words in (DOCTOR, VLN)),
    *(Pair(EPISODES, words) for words in (DOCTOR, LANDMARKS + ".tar.gz", VLN, "episodes --data {work}/combs --most 0")),
    slow("paths/R2R_train.json", TAKE),
    slow("told.json", GOAL + " --spoken {work}/told.json --train.spoken 0.5"),
    *(Pair(OBJECTS, words) for words in (DOCTOR, FILTER)),
    Pair(TRAINED, FILTER),
    slow(TRAINED, f"belief --run {{work}}/{TRAINED} --data {{work}}/combs --split val_seen --out {{out}}/belief"),
    slow(TRAINED, f"train vln --preset tiny-agent {TRAIN} --warm-start {{work}}/{TRAINED}"),
    Pair("agent.safetensors", f"{VLN} {AGENT}"),
    Pair("agent.safetensors", f"export {AGENT} --out {{out}}/x.safetensors"),
    Pair("agent.safetensors", SUBMIT),
    Pair("agent.safetensors", REPORT),
    Pair("speaker.safetensors", SPEAK),
    Pair(f"run/{BEST}", "runs --folder {work}/run"),
    slow(f"run/{LAST}", GOAL, copied="run"),
    slow("run/log.jsonl", GOAL, copied="run"),
    Pair(JOINT, PHOTOS),
    Pair(JOINT, f"{PICTURED} --split val_unseen"),
    *(Pair(f"{PHOTO}_{kind}", PHOTOS) for kind in ("small.jpg", "depth_small.png", "label_small.png")),
    *(slow(f"{PHOTO}_{kind}", TILES) for kind in ("small.jpg", "depth_small.png")),
    Pair(f"{PHOTO}_label_small.png", BACKBONE),
    slow("backbone.safetensors", TILES),
    Pair("photos/prepare.json", PHOTOS),
    # Weights of a whole ResNet-34 would take 87 MB; these are read, and refused for their names.
    *(ends(name, WEIGHTS + name) for name in ("zip/weights.pth", "legacy/weights.pth", TRAINED)),
    Pair("BBox.tar.gz", LANDMARKS + ".tar.gz"),
    Pair(f"BBox/comb0_{viewpoint_id(0)}.json", LANDMARKS),
    Pair("regions/comb0.panorama_to_region.txt", LANDMARKS + ".tar.gz"),
    slow(f"{RAW}/{CONF}/{SCAN}.conf", PREPARE + "raw"),
    slow(f"{RAW}/undistorted_depth_images/*_d1_0.png", PREPARE + "raw"),
    slow(f"{RAW}/{SKYBOXES}/*_skybox1_sami.jpg", PREPARE + "raw"),
    slow(f"{RAW}/undistorted_color_images/*_i1_0.jpg", PREPARE + "raw --colour undistorted"),
    *(slow(f"zipped/{SCAN}/{kind}.zip", PREPARE + "zipped") for kind in (CONF, SKYBOXES)),
    slow(f"prepared/scans/{SCAN}/{SKYBOXES}/*_skybox_depth_small.png", GO_ON, copied="prepared"),
    slow("prepared/prepare.json", GO_ON, copied="prepared"),
    *(Pair(file, WORLD, copied="houses") for file in ("houses/world.json", HOUSE)),
    *(slow(file, CE) for file in ("houses/world.json", HOUSE)),
    Pair(PATHS, "world --stats {work}/houses"),
    slow(PATHS, "world --export vlnce --of {work}/houses --out {out}/vlnce"),
    Pair("record.json", "report --record {work}/record.json --out {out}/x.html"),
    Pair("answers.json", "submit --check {work}/answers.json --data {work}/combs --split val_seen"),
)
KINDS: dict[str, Callable[[FilterExperiment], Experiment]] = {
    "goal": lambda small: small,
    "agent": experiments.acting,
    "speaker": partial(experiments.speaker_of, speaker=SpeakerConfig(hidden=16, encoded=16)),
}


def make_work(work: Path, slow: bool) -> None:
    """One sound file of every kind; not `slow`: of those of fast pairs."""
    combs, small = make_landmark_root(work / "combs"), small_experiment()
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
    library = Library([combs], [work / TRAINED])
    inspector = library.inspector("combs", library.models[0])
    record = crop(inspector.record(library.query(inspector, "dev_unseen", "300_0", fixed=True)))
    record = replace(record, scene=library.scene("combs", record.scan))
    (work / "record.json").write_text(json.dumps(to_json(record)))
    _make_run(work / "run", combs)
    _make_photos(work, replace(small, data=DataConfig("images")))
    _make_annotations(work)
    make_world(work / "houses", HOUSES, images=False)
    if slow:
        state = {"layer.weight": torch.arange(12.0).reshape(3, 4), "layer.bias": torch.ones(3)}
        for name in ("zip", "legacy"):
            (work / name).mkdir()
            torch.save(state, work / name / "weights.pth", _use_new_zipfile_serialization=name == "zip")
        _make_release(work)


def _make_run(folder: Path, combs: Path) -> None:
    """A run stopped after two of three iterations, and its best checkpoint."""
    experiment = small_experiment(iterations=3, log_every=1, checkpoint_every=1)
    task = experiments.task_of(experiment, load(combs, experiment))
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
