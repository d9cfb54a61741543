"""Every kind of file the package reads: how a sound one is written, and how a user's command would read it.

Run as a script, without the tests' shape checks (a user has none): spoils each format in seeded ways and prints, as
JSON, how many tries there were, how many were refused, and every one that ended in anything but success or a
`GhostsError`, left a temporary file behind, or changed a file that was only to be read.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import struct
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from reference.word_vectors import pack_vectors

import experiments
from ghosts.config import Experiment
from ghosts.data.drops import absent_of
from ghosts.data.examples import load_spoken
from ghosts.data.tile_store import JOINED, TileSettings, pictures_of, read_tiles, write_part
from ghosts.evaluate.submission import check_submission, write_submission
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.labels import LabelSet, build_labels
from ghosts.mapping.landmark_views import LandmarkSource
from ghosts.mapping.saved_backbone import load_backbone, save_backbone
from ghosts.mapping.tiles import Tiles
from ghosts.mapping.torch_archive import read_torch_archive
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.methods.speaker.settings import SpeakerConfig
from ghosts.run.doctor import diagnose
from ghosts.run.load import load_run
from ghosts.run.speak import speaker_of
from ghosts.train.log import keep_rows
from ghosts.view.library import Library
from ghosts.view.record import crop
from ghosts.view.record_json import from_json, read_records, to_json
from ghosts.words.packed import read_table
from ghosts.words.thesaurus import FORMAT
from ghosts.words.vectors import read_vectors
from ghosts_houses.world import WorldConfig, load_house, make_world
from ghosts_sim.check import check_root
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import GhostsError
from ghosts_sim.files import read_json
from ghosts_sim.graph import load_graph
from ghosts_sim.images import decode, read_skybox_depth, read_skybox_labels, read_skybox_rgb, write_image
from ghosts_sim.landmarks.build import Inputs, build_scene
from ghosts_sim.landmarks.regions import read_regions
from ghosts_sim.landmarks.reverie import parse_listing, read_listings
from ghosts_sim.matterport.graphs import take_episodes, take_graphs
from ghosts_sim.matterport.panorama import PrepareConfig, Prepared, make_note, read_note, write_panorama
from ghosts_sim.matterport.raw import COLOUR, DEPTH, PARAMETERS, SKYBOX, RawRelease, _open_zip
from ghosts_sim.types import Intrinsics
from landmark_world import make_landmark_root, small_experiment
from makers import SCAN, add_landmarks, make_root, viewpoint_id
from reference.packing import write_table
from view_fixtures import save_untrained

sys.path.insert(0, str(Path(__file__).parent))
from mutations import Case, spoil_bytes, spoil_encoding, spoil_json, spoil_lines

SEED = 2019
"""Of all mutations; the year of the paper."""
VIEW = viewpoint_id(1)
MOST_BYTES = 6 << 30
"""Of address space; the sound files need 2 GB of it, most for libraries."""
LONGEST_S = 10
Codec = tuple[Callable[[bytes], str], Callable[[bytes, str], bytes]]
"""JSON inside a file: taken out, and put in again with sums and lengths that fit."""


@dataclass(frozen=True)
class Format:
    """A kind of file."""

    name: str
    make: Callable[[Path], Path]
    """Writes a sound file, and what it needs beside it, into an empty folder; returns the file."""
    read: Callable[[Path], object]
    """Reads it, and uses what was read as a command would. May write to `out` beside the folder."""
    text: bool = False
    lines: bool = False
    json: Codec | None = None
    bytes: int = 8
    """Tries of each kind of damage to bytes."""
    fields: int = 60
    """Tries of damage to values in JSON."""


PLAIN: Codec = (lambda content: content.decode(), lambda content, text: text.encode("utf-8", "surrogatepass"))


def out_of(path: Path) -> Path:
    """Where a reader that writes does so."""
    return work_of(path).parent / "out"


def work_of(path: Path) -> Path:
    """The folder that a format was written into."""
    return next(parent for parent in path.parents if parent.name == "work")


# Graphs, episodes, landmarks, words


def make_graph_file(folder: Path) -> Path:
    return make_root(folder, images=False) / "connectivity" / f"{SCAN}_connectivity.json"


def read_graph_file(path: Path) -> None:
    graph = load_graph(path, out_of(path) / "cache")
    rows = np.flatnonzero(graph.included)
    if rows.size and np.isfinite(graph.distance_m[rows[0], rows[-1]]):
        graph.path(int(rows[0]), int(rows[-1]))
    take_graphs(path.parent, out_of(path), [SCAN])


def read_graph_cache(path: Path) -> None:
    root = work_of(path) / "root"
    graph = load_graph(root / "connectivity" / f"{SCAN}_connectivity.json", work_of(path) / "cache")
    assert graph.path(0, 3) == [0, 1, 2, 3]


def make_graph_cache(folder: Path) -> Path:
    load_graph(make_graph_file(folder / "root"), folder / "cache")
    return next((folder / "cache" / "graphs").glob("*.npz"))


def read_scan_list(path: Path) -> None:
    root = DataRoot(path.parent.parent)
    for scan in root.scans:
        root.graph(scan)


def read_episode_file(path: Path) -> None:
    root = DataRoot(path.parent.parent)
    for episode in root.episodes("train"):
        json.dumps(vars(episode)).encode()
    take_episodes(path.parent, out_of(path), [SCAN])


def make_landmark_file(folder: Path) -> Path:
    add_landmarks(make_root(folder, images=False))
    return folder / "landmarks" / f"{SCAN}.json"


def read_landmark_file(path: Path) -> None:
    root = DataRoot(path.parent.parent)
    source = LandmarkSource(root, build_labels([]))
    scene = source.scene(SCAN)
    build_labels([scene])
    for row in range(4):
        view = source.observe(SCAN, viewpoint_id(row))
        assert np.isfinite(view.xyz_m).all()


def make_label_file(folder: Path) -> Path:
    (folder / "labels.json").write_text(json.dumps(build_labels([]).to_list()))
    return folder / "labels.json"


def make_listing(folder: Path) -> Path:
    objects = {"7": {"name": "sofa#chair", "visible_pos": [3, 15], "bbox2d": [[10, 20, 30.5, 40], [1, 2, 3, 4]]}}
    (folder / f"s_{VIEW}.json").write_text(json.dumps({VIEW: objects}))
    return folder / f"s_{VIEW}.json"


def make_listing_archive(folder: Path) -> Path:
    content = make_listing(folder).read_bytes()
    (folder / f"s_{VIEW}.json").unlink()
    with tarfile.open(folder / "BBox.tar.gz", "w:gz") as archive:
        for number in range(3):
            entry = tarfile.TarInfo(f"BBox/s{number}_{VIEW}.json")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return folder / "BBox.tar.gz"


def read_archive(path: Path) -> None:
    for scan, listings in read_listings(path).items():
        for viewpoint, content in listings.items():
            parse_listing(content, viewpoint, f"{scan}_{viewpoint}.json")


def make_regions(folder: Path) -> Path:
    graph = make_root(folder / "root", images=False) / "connectivity" / f"{SCAN}_connectivity.json"
    assert graph.is_file()
    path = folder / f"{SCAN}.panorama_to_region.txt"
    path.write_text("".join(f"{row} {viewpoint_id(row)} {row // 2} b\n" for row in range(4)))
    return path


def build_from_regions(path: Path) -> None:
    read_regions(path)
    objects = {"7": {"name": "sofa", "visible_pos": [], "bbox2d": []}}
    listings = {SCAN: {VIEW: json.dumps({VIEW: objects}).encode()}}
    inputs = Inputs(work_of(path) / "root" / "connectivity", Path("BBox"), listings, path.parent)
    build_scene(SCAN, inputs, out_of(path) / "landmarks" / f"{SCAN}.json")


WORDS = ("bedroom", "floor", "kitchen", "the", "door", "stairs")


def make_vectors(folder: Path) -> Path:
    random = np.random.default_rng(1)
    lines = [f"{word} " + " ".join(f"{x:.4f}" for x in random.normal(size=4)) for word in WORDS]
    text = Path(tempfile.mkdtemp()) / "vectors.txt"
    text.write_text("".join(f"{line}\n" for line in lines))
    pack_vectors(text, folder / "words.safetensors")
    return folder / "words.safetensors"


def make_thesaurus(folder: Path) -> Path:
    table = {word: {other: -0.5 for other in WORDS if other != word} for word in WORDS}
    write_table(folder / "kin.safetensors", FORMAT, table)
    return folder / "kin.safetensors"


def make_told_paths(folder: Path) -> Path:
    root = make_root(folder / "root", images=False)
    records = json.loads((root / "r2r" / "R2R_train.json").read_text())
    told = [record | {"hidden_labels": {"share": 0.3, "seed": number}} for number, record in enumerate(records)]
    (folder / "told.json").write_text(json.dumps(told))
    return folder / "told.json"


def read_told_paths(path: Path) -> None:
    for example in load_spoken(DataRoot(path.parent / "root"), path, {SCAN}, 4):
        assert np.isfinite(example.path_xy_m).all()
        if example.hidden is not None:
            assert not absent_of(example.hidden, build_labels([]))[0]  # the floor


# Made worlds and pictures

WORLD = WorldConfig(houses=1, seed=0, paths=3, faces=16, storeys=(1, 1), rooms=(5, 6))
_worlds: dict[str, Path] = {}


def make_houses(folder: Path) -> Path:
    if "world" not in _worlds:
        _worlds["world"] = Path(tempfile.mkdtemp()) / "world"
        make_world(_worlds["world"], WORLD, images=False)
    shutil.copytree(_worlds["world"], folder, dirs_exist_ok=True)
    return folder / "world.json"


def make_house_record(folder: Path) -> Path:
    make_houses(folder)
    return sorted((folder / "houses").glob("*.json"))[0]


def resume_world(path: Path) -> None:
    shutil.copytree(work_of(path), out_of(path))
    make_world(out_of(path), WORLD, images=False)


def make_image_settings(folder: Path) -> Path:
    make_houses(folder)
    (folder / "scans").mkdir()
    (folder / "scans" / "images.json").write_text('{"faces": 16}')
    return folder / "scans" / "images.json"


def read_image_settings(path: Path) -> None:
    from ghosts_houses.world import _refuse_other_world

    _refuse_other_world(work_of(path), WORLD, images=True)


def read_world_summary(path: Path) -> None:
    load_house(path.parent, first_house(path.parent))


def first_house(folder: Path) -> str:
    return (folder / "connectivity" / "scans.txt").read_text().split()[0]


def make_picture(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        random = np.random.default_rng(3)
        images = {
            "colour.jpg": random.integers(0, 255, (16, 96, 3), dtype=np.uint8),
            "colour.png": random.integers(0, 255, (16, 96, 3), dtype=np.uint8),
            "depth.png": random.integers(0, 60000, (16, 96), dtype=np.uint16),
            "labels.png": random.integers(0, 9, (16, 96), dtype=np.uint8),
        }
        write_image(folder / kind, images[kind])
        return folder / kind

    return make


def make_prepared(folder: Path) -> Path:
    random = np.random.default_rng(3)
    rgb = random.integers(0, 255, (16, 96, 3), dtype=np.uint8)
    depth = random.integers(0, 60000, (16, 96), dtype=np.uint16)
    note = make_note(PrepareConfig(16), Prepared(0.1, 0.0, 0.5, 0.9, 0.001))
    write_panorama(folder / "c.jpg", folder / "d.png", rgb, depth, note)
    return folder / "d.png"


def make_summary(folder: Path) -> Path:
    make_root(folder, face_px=16)
    row = {"panoramas": 4, "prepared": 4, "holes_before": 0.1, "agreement": 0.3, "graph_turn_deg": 9.0}
    summary = {"config": vars(PrepareConfig(16)), "scans": {SCAN: row}, "missing": {f"{SCAN}/x": "d.png missing"}}
    (folder / "prepare.json").write_text(json.dumps(summary))
    return folder / "prepare.json"


def examine(path: Path) -> None:
    json.dumps(diagnose(path.parent, sample=1).to_dict())
    check_root(path.parent, sample=1)


# The raw release


def make_conf(folder: Path) -> Path:
    lens = "intrinsics_matrix 1076 0 630.1 0 1076.1 510.2 0 0 1"
    pose = "1 0 0 0.5 0 1 0 0.25 0 0 1 1.5 0 0 0 1"
    lines = ["dataset matterport", "n_images 18", lens]
    lines += [
        f"scan {VIEW}_d{tilt}_{turn}.png {VIEW}_i{tilt}_{turn}.jpg {pose}" for tilt in range(3) for turn in (0, 5)
    ]
    target = folder / "sCan" / PARAMETERS / "sCan.conf"
    target.parent.mkdir(parents=True)
    target.write_text("\n".join(lines) + "\n")
    return target


def read_conf(path: Path) -> None:
    for rig in RawRelease([work_of(path)]).cameras("sCan").values():
        for camera in rig.values():
            camera.pixel_from_ray(100)


def make_raw_zip(folder: Path) -> Path:
    conf = make_conf(folder).read_bytes()
    shutil.rmtree(folder / "sCan")
    picture = make_picture("colour.jpg")(folder).read_bytes()
    (folder / "colour.jpg").unlink()
    target = folder / "sCan" / f"{PARAMETERS}.zip"
    target.parent.mkdir()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"sCan/{PARAMETERS}/sCan.conf", conf)
        archive.writestr(f"sCan/{COLOUR}/{VIEW}_i0_0.jpg", picture)
        archive.writestr(f"sCan/{SKYBOX}/{VIEW}_skybox0_sami.jpg", picture)
    return target


def read_raw_zip(path: Path) -> None:
    _open_zip.cache_clear()
    release = RawRelease([work_of(path)])
    for scan in release.scans:
        release.viewpoints(scan)
        for kind in (SKYBOX, DEPTH, COLOUR):
            for name in release.names(scan, kind):
                data, place = release.read(scan, kind, name)
                decode(data, place, "an image", colour=True)
        release.cameras(scan)


# Tiles, checkpoints, logs


def make_tiles(folder: Path) -> Path:
    root = DataRoot(make_root(folder / "root", face_px=16))
    random = np.random.default_rng(4)
    cells = torch.from_numpy(np.stack(np.unravel_index(np.arange(12), (4, 3)), 1).astype(np.int32))
    features = torch.from_numpy(random.normal(size=(12, 4)).astype(np.float16))
    settings = TileSettings("0" * 32, 4, 0.5, camera=Intrinsics(80, 64, 1.0))
    write_part(folder / "tiles", root, SCAN, settings, pictures_of(root, SCAN), Tiles(features, cells, (3,) * 4, 0.5))
    (folder / "tiles" / "parts" / f"{SCAN}.safetensors").rename(folder / "tiles" / JOINED)
    return folder / "tiles" / JOINED


def read_tile_file(path: Path) -> None:
    stored = read_tiles(path)
    stored.verify(building.scan for building in stored.buildings)
    stored.settings.fingerprint  # noqa: B018
    stored.tiles(SCAN)


def inside_header(name: str) -> Codec:
    """JSON text under a name of a safetensors file's metadata."""

    def take(content: bytes) -> str:
        return str(_header(content)["__metadata__"][name])

    def put(content: bytes, text: str) -> bytes:
        header = _header(content)
        header["__metadata__"][name] = text
        written = json.dumps(header).encode()
        written += b" " * (-len(written) % 8)
        return struct.pack("<Q", len(written)) + written + content[8 + _length(content) :]

    return take, put


def _length(content: bytes) -> int:
    return int(struct.unpack_from("<Q", content)[0])


def _header(content: bytes) -> dict[str, Any]:
    return dict(json.loads(content[8 : 8 + _length(content)]))


_checkpoints: dict[str, bytes] = {}


KINDS: dict[str, Callable[[FilterExperiment], Experiment]] = {
    "goal": lambda small: small,
    "agent": experiments.acting,
    "speaker": partial(experiments.speaker_of, speaker=SpeakerConfig(hidden=16, encoded=16)),
}


def make_checkpoint(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / "best.safetensors"
        if kind not in _checkpoints:
            root = make_landmark_root(Path(tempfile.mkdtemp()) / "combs")
            _checkpoints[kind] = save_untrained(path, root, KINDS[kind](small_experiment())).read_bytes()
        path.write_bytes(_checkpoints[kind])
        return path

    return make


def make_backbone(folder: Path) -> Path:
    torch.manual_seed(0)
    save_backbone(folder / "b.safetensors", SmallBackbone(4), [], {})
    return folder / "b.safetensors"


ROWS = [{"iteration": number, "loss": 0.5 + number} for number in (2, 4, 6)]


def make_log(folder: Path) -> Path:
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder / "log.jsonl"


def cut_log(path: Path) -> None:
    shutil.copytree(path.parent, out_of(path))
    keep_rows(out_of(path) / path.name, 4)


def make_torch_file(legacy: bool) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        state = {"layer.weight": torch.arange(12.0).reshape(3, 4), "layer.bias": torch.ones(3)}
        torch.save(state, folder / "w.pth", _use_new_zipfile_serialization=not legacy)
        return folder / "w.pth"

    return make


# Records and submissions


def make_record(folder: Path) -> Path:
    root = make_landmark_root(Path(tempfile.mkdtemp()) / "combs")
    run = make_checkpoint("goal")(Path(tempfile.mkdtemp()))
    library = Library([root], [run])
    inspector = library.inspector("combs", library.models[0])
    record = crop(inspector.record(library.query(inspector, "dev_unseen", "300_0", fixed=True)))
    record = replace(record, scene=library.scene("combs", record.scan))
    (folder / "record.json").write_text(json.dumps(to_json(record)))
    return folder / "record.json"


def read_record(path: Path) -> None:
    for record in read_records(path):
        json.dumps(to_json(crop(record))).encode("utf-8", "surrogatepass")
        from_json(to_json(record))


def make_submission(folder: Path) -> Path:
    root = DataRoot(make_root(folder / "root", images=False))
    write_submission(folder / "submit.json", root, "test", {f"9_{number}": [0, 1] for number in range(3)})
    return folder / "submit.json"


FORMATS = (
    Format("connectivity", make_graph_file, read_graph_file, text=True, json=PLAIN, fields=120),
    Format("graph cache (.npz)", make_graph_cache, read_graph_cache, bytes=16),
    Format(
        "scans.txt",
        lambda folder: make_root(folder, images=False) / "connectivity" / "scans.txt",
        read_scan_list,
        text=True,
        lines=True,
    ),
    Format(
        "R2R episodes",
        lambda folder: make_root(folder, images=False) / "r2r" / "R2R_train.json",
        read_episode_file,
        text=True,
        json=PLAIN,
        fields=120,
    ),
    Format("landmarks", make_landmark_file, read_landmark_file, text=True, json=PLAIN, fields=120),
    Format("label set", make_label_file, lambda path: LabelSet.from_list(read_json(path), path), text=True, json=PLAIN),
    Format(
        "REVERIE listing",
        make_listing,
        lambda path: read_archive(path.parent),
        text=True,
        json=PLAIN,
        fields=100,
    ),
    Format("REVERIE archive", make_listing_archive, read_archive, bytes=16),
    Format("regions", make_regions, build_from_regions, text=True, lines=True),
    Format("word vectors", make_vectors, read_vectors, bytes=40),
    Format("thesaurus", make_thesaurus, lambda path: read_table(path, FORMAT, "a thesaurus"), bytes=40),
    Format("told paths", make_told_paths, read_told_paths, text=True, json=PLAIN, fields=120),
    Format("world.json", make_houses, read_world_summary, text=True, json=PLAIN, fields=16, bytes=3),
    Format("record of a house", make_house_record, resume_world, text=True, json=PLAIN, fields=50, bytes=4),
    Format("image settings", make_image_settings, read_image_settings, text=True, json=PLAIN, fields=20, bytes=4),
    Format("skybox, colour JPEG", make_picture("colour.jpg"), read_skybox_rgb, bytes=24),
    Format("skybox, colour PNG", make_picture("colour.png"), read_skybox_rgb, bytes=16),
    Format("skybox, depth PNG", make_picture("depth.png"), read_skybox_depth, bytes=16),
    Format("skybox, label PNG", make_picture("labels.png"), read_skybox_labels, bytes=16),
    Format(
        "note of a prepared panorama",
        make_prepared,
        lambda path: (read_note(path, PrepareConfig(16)), read_skybox_depth(path)),
        bytes=16,
    ),
    Format("prepare.json", make_summary, examine, text=True, json=PLAIN, fields=80, bytes=4),
    Format("camera parameters (.conf)", make_conf, read_conf, text=True, lines=True),
    Format("raw release (.zip)", make_raw_zip, read_raw_zip, bytes=40),
    Format("tiles", make_tiles, read_tile_file, json=inside_header("index"), fields=120, bytes=16),
    Format(
        "checkpoint, goal",
        make_checkpoint("goal"),
        lambda path: load_run(path.parent),
        json=inside_header("about"),
        fields=100,
        bytes=16,
    ),
    Format(
        "checkpoint, agent",
        make_checkpoint("agent"),
        lambda path: load_run(path.parent).agent(),
        json=inside_header("about"),
        fields=100,
        bytes=8,
    ),
    Format(
        "checkpoint, speaker",
        make_checkpoint("speaker"),
        lambda path: speaker_of(load_run(path.parent)),
        json=inside_header("about"),
        fields=100,
        bytes=8,
    ),
    Format("backbone", make_backbone, load_backbone, json=inside_header("about"), bytes=8),
    Format("log of a run", make_log, cut_log, text=True, lines=True),
    Format("torch file (zip)", make_torch_file(False), read_torch_archive, bytes=40),
    Format("torch file (legacy)", make_torch_file(True), read_torch_archive, bytes=40),
    Format("episode record", make_record, read_record, text=True, json=PLAIN, fields=100),
    Format(
        "submission",
        make_submission,
        lambda path: check_submission(path, DataRoot(path.parent / "root"), "test"),
        text=True,
        json=PLAIN,
    ),
)


def cases(item: Format, content: bytes, random: np.random.Generator, part: int = 1) -> Iterator[Case]:
    """All that is tried on a format. Of the random damage of each kind, only every `part`-th."""
    yield from spoil_bytes(content, random, max(2, item.bytes // part))
    if item.text:
        yield from spoil_encoding(content, random)
    if item.lines:
        yield from spoil_lines(content, random, 40 // part)
    if item.json is not None:
        take, put = item.json
        for what, text in spoil_json(take(content), random, item.fields // part):
            yield what, put(content, text)


def try_format(item: Format, folder: Path, part: int) -> dict[str, Any]:
    """Spoil a format in all ways; counts, and what went wrong."""
    work = folder / "work"
    work.mkdir(parents=True)
    path = item.make(work)
    content = path.read_bytes()
    item.read(path)
    shutil.rmtree(folder / "out", ignore_errors=True)
    before = _states(work, path)
    random = np.random.default_rng([SEED, *item.name.encode()])
    tried = refused = 0
    wrong: list[str] = []
    for what, spoilt in cases(item, content, random, part):
        path.unlink()  # to write over a file may wait for the disk
        path.write_bytes(spoilt)
        tried += 1
        problem, was_refused = _attempt(item, path)
        refused += was_refused
        names = [name for _, folders, files in os.walk(folder) for name in (*folders, *files)]
        left = [name for name in names if name.startswith(".") and name != ".lock"]
        changed = before != _states(work, path)
        shutil.rmtree(folder / "out", ignore_errors=True)
        if left or changed:
            problem = f"left {left}" if left else "changed another file"
        if problem:
            wrong.append(f"{what}: {problem}")
    # A folder where the file should be, and nothing at all.
    for what in ("a folder in its place", "missing"):
        if what == "missing":
            path.rmdir()
        else:
            path.unlink()
            path.mkdir()
        tried += 1
        problem, was_refused = _attempt(item, path)
        refused += was_refused
        if problem:
            wrong.append(f"{what}: {problem}")
        shutil.rmtree(folder / "out", ignore_errors=True)
    return {"name": item.name, "tried": tried, "refused": refused, "wrong": wrong}


def _attempt(item: Format, path: Path) -> tuple[str, bool]:
    """What went wrong in reading (empty where nothing did), and whether the file was refused."""
    try:
        signal.alarm(LONGEST_S)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            item.read(path)
        return "", False
    except GhostsError:
        return "", True
    except Exception:
        lines = traceback.format_exc().strip().splitlines()
        places = [line.strip() for line in lines if "ghosts" in line and line.strip().startswith("File")]
        return f"{lines[-1]} at {places[-1] if places else '?'}", False
    finally:
        signal.alarm(0)


def _too_long(number: int, frame: Any) -> None:
    raise RuntimeError(f"took more than {LONGEST_S} s")


def _states(folder: Path, but: Path) -> dict[str, tuple[int, int, int]]:
    """By file, what changes when anybody writes it."""
    states = {}
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "cache"]
        for path in (os.path.join(where, name) for name in files):
            if path != str(but):
                state = os.stat(path)
                states[path] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return states


def main(names: list[str], part: int = 1) -> None:
    """Try formats, all by default; `part` as in `cases`."""
    os.environ.setdefault("GHOSTS_CACHE", tempfile.mkdtemp())
    torch.set_num_threads(1)
    # A file that claims to be huge must not take the machine's memory or time with it.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGALRM, _too_long)
    results = []
    for item in FORMATS:
        if not names or item.name in names:
            with tempfile.TemporaryDirectory() as folder:
                start = time.process_time()
                results.append(try_format(item, Path(folder), part))
                print(item.name, f"{time.process_time() - start:.2f} s", file=sys.stderr, flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
