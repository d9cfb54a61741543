"""Mutated files through the command line: no traceback, no signal, no hang, no gigabytes; and what is accepted is told.

For an hour, by hand: `PYTHONPATH=src:tests python tests/robust/fuzz.py --minutes 60 --seed 7`. The suite runs a bounded
part (`test_fuzz.py`). Everything follows from the seed; a file that went wrong is kept, with its command line.

Each command runs in a fork of this process, which has everything imported: some twenty files per second and core.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from formats import PLAIN, Codec, Format, cases, inside_header, make_torch_file

from ghosts.cli import main
from ghosts.config import VlnExperiment
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import FOLDER, JOINED, TileSettings
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import weights_hash
from ghosts.types import Intrinsics
from ghosts.world.dataroot import DataRoot
from image_roots import make_image_root
from landmark_world import SCANS, make_landmark_root, small_experiment
from makers import viewpoint_id
from view_fixtures import save_untrained
from world.matterport.release import SCAN, ReleaseConfig, make_shots, write_graph, write_release

LONGEST_S, LONGEST_WAIT_S, MOST_BYTES = 30, 120, 2 << 30
"""Of the processor's time, and of time on a busy machine."""
TRACEBACK = 70
"""The exit status of a command that ended in an exception."""


@dataclass(frozen=True)
class Pair:
    """A file, and a command that reads it. Words may name {work} and {out}."""

    file: str
    words: str
    json: Codec | None = None
    text: bool = False
    lines: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return f"{'/'.join(Path(self.file).parts[-2:])}: ghosts {' '.join(self.words.split()[:2])}"


EVAL = "--data {work}/combs --device cpu --examples 2 --splits val_seen"
LANDMARKS = "landmarks --connectivity {work}/combs/connectivity --bbox {work}/BBox.tar.gz --regions {work}/regions"
LANDMARKS += " --out {out} --r2r {work}/combs/r2r --scans comb0"
PREPARE = "prepare --raw {work}/raw --out {out} --faces 16 --workers 1"
ABOUT = inside_header("about")
PAIRS = (
    Pair("combs/connectivity/comb0_connectivity.json", "doctor {work}/combs", PLAIN, True),
    Pair("combs/connectivity/comb0_connectivity.json", LANDMARKS, PLAIN, True),
    Pair("combs/connectivity/scans.txt", "doctor {work}/combs", None, True, True),
    Pair("combs/r2r/R2R_val_seen.json", "doctor {work}/combs", PLAIN, True),
    Pair("combs/r2r/R2R_val_seen.json", LANDMARKS, PLAIN, True),
    Pair("combs/r2r/R2R_val_seen.json", f"eval vln --baselines stop {EVAL}", PLAIN, True),
    Pair("combs/landmarks/comb0.json", "doctor {work}/combs", PLAIN, True),
    Pair("combs/landmarks/comb0.json", f"eval goal --run {{work}}/goal.safetensors {EVAL}", PLAIN, True),
    Pair("goal.safetensors", f"eval goal --run {{work}}/goal.safetensors {EVAL}", ABOUT),
    Pair("agent.safetensors", f"eval vln --baselines stop --run {{work}}/agent.safetensors {EVAL}", ABOUT),
    Pair("agent.safetensors", "export --run {work}/agent.safetensors --out {out}/x.safetensors", ABOUT),
    Pair(
        "agent.safetensors",
        "submit --run {work}/agent.safetensors --data {work}/combs --split val_seen --device cpu --out {out}/x.json",
        ABOUT,
    ),
    Pair(f"photos/{FOLDER}/{JOINED}", "doctor {work}/photos", inside_header("index")),
    Pair("photos/scans/houseA/matterport_skybox_images/*_skybox_small.jpg", "doctor {work}/photos"),
    Pair("photos/scans/houseA/matterport_skybox_images/*_skybox_depth_small.png", "doctor {work}/photos"),
    Pair("photos/prepare.json", "doctor {work}/photos", PLAIN, True),
    Pair("zip/weights.pth", "weights --file {work}/zip/weights.pth --out {out}/x.safetensors"),
    Pair("legacy/weights.pth", "weights --file {work}/legacy/weights.pth --out {out}/x.safetensors"),
    Pair("BBox.tar.gz", LANDMARKS),
    Pair("regions/comb0.panorama_to_region.txt", LANDMARKS, None, True, True),
    Pair(f"raw/{SCAN}/undistorted_camera_parameters/{SCAN}.conf", PREPARE, None, True, True),
    Pair(f"raw/{SCAN}/undistorted_depth_images/*_d1_0.png", PREPARE),
    Pair(f"raw/{SCAN}/matterport_skybox_images/*_skybox1_sami.jpg", PREPARE),
)


def make_work(work: Path) -> None:
    """One sound file of every kind."""
    combs = make_landmark_root(work / "combs")
    save_untrained(work / "goal.safetensors", combs, small_experiment())
    save_untrained(work / "agent.safetensors", combs, VlnExperiment(**vars(small_experiment())))
    photos = DataRoot(make_image_root(work / "photos", {"train": ("houseA",), "val_unseen": ("houseB",)}, count=3))
    torch.manual_seed(0)
    backbone = SmallBackbone(4).eval().requires_grad_(False)
    settings = TileSettings(weights_hash(backbone), 4, 0.5, camera=Intrinsics(32, 32, 1.0))
    maker = TileMaker(photos, backbone, settings, torch.device("cpu"), batch=4)
    assert build_tiles(maker, photos.path / FOLDER, plan_work(maker, photos.path / FOLDER))
    row = {"panoramas": 3, "prepared": 3, "agreement": 0.99, "lowest_agreement": 0.98, "graph_turn_deg": 0.1}
    (photos.path / "prepare.json").write_text(json.dumps({"config": {}, "scans": {"houseA": row}, "missing": {}}))
    for name, legacy in (("zip", False), ("legacy", True)):
        (work / name).mkdir()
        made = make_torch_file(legacy)(work / name)
        made.rename(work / name / "weights.pth")
    with tarfile.open(work / "BBox.tar.gz", "w:gz") as archive:
        for row_number in range(11):
            name = viewpoint_id(row_number)
            objects = {"7": {"name": "sofa", "visible_pos": [3], "bbox2d": [[10, 20, 30.5, 40]]}}
            content = json.dumps({name: objects}).encode()
            member = tarfile.TarInfo(f"BBox/{SCANS[0]}_{name}.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    (work / "regions").mkdir()
    lines = "".join(f"{row_number} {viewpoint_id(row_number)} {row_number} b\n" for row_number in range(11))
    (work / "regions" / "comb0.panorama_to_region.txt").write_text(lines)
    config = ReleaseConfig(width=64, height=48, fx=53.6, fy=53.2, centre=(2, -2), skybox_px=48)
    shots = make_shots(config, 1)
    write_release(work / "raw", config, shots)
    write_graph(work / "graph", shots)


@dataclass
class Tally:
    """What came of the files of a pair."""

    counts: Counter[str] = field(default_factory=Counter)
    most_bytes: int = 0
    told: list[str] = field(default_factory=list)


class Fuzzer:
    """Mutates files in a work folder and runs commands on them.

    Args:
        folder: empty; files that went wrong stay in it, under `wrong`.
        seed: of all mutations.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.work, self.out, self.wrong, self.seed = folder / "work", folder / "out", folder / "wrong", seed
        os.environ["GHOSTS_CACHE"] = str(folder / "cache")
        self.work.mkdir()
        make_work(self.work)
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self._sound: dict[str, str] = {}  # answers of commands whose files are all sound

    def path(self, pair: Pair) -> Path:
        """The pair's file."""
        return sorted(self.work.glob(pair.file))[0]

    def mutations(self, pair: Pair, turn: int) -> Iterator[tuple[str, bytes | None]]:
        """Seeded damage, in a seeded order; None is a pipe in the file's place."""
        content = self.path(pair).read_bytes()
        random = np.random.default_rng([self.seed, turn, *pair.name.encode()])
        shape = Format(pair.name, Path, lambda path: None, pair.text, pair.lines, pair.json, bytes=12, fields=40)
        found: list[tuple[str, bytes | None]] = [*cases(shape, content, random), ("a pipe in its place", None)]
        random.shuffle(found)  # type: ignore[arg-type]
        yield from found

    def round(self, turn: int, most: int, until: float) -> int:
        """Some files of every pair; returns how many were tried."""
        tried = 0
        for pair in PAIRS:
            if pair.words not in self._sound:
                status, output, _ = self.run(pair)
                # Weights of a whole ResNet-34 would take 87 MB; these are read, and refused for their names.
                assert status == (1 if pair.words.startswith("weights") else 0), f"{pair.words}: {output}"
                self._sound[pair.words] = self.answer(output)
            path = self.path(pair)
            sound = path.read_bytes()
            for number, (what, content) in enumerate(self.mutations(pair, turn)):
                if number >= most or time.monotonic() > until:
                    break
                self.attempt(pair, path, what, content)
                tried += 1
            path.write_bytes(sound)
        return tried

    def attempt(self, pair: Pair, path: Path, what: str, content: bytes | None) -> None:
        """One file."""
        path.unlink(missing_ok=True)
        if content is None:
            os.mkfifo(path)
        else:
            path.write_bytes(content)
        status, output, most_bytes = self.run(pair)
        path.unlink(missing_ok=True)
        tally = self.tallies[pair.name]
        tally.most_bytes = max(tally.most_bytes, most_bytes)
        kind = self.judge(pair, status, output, most_bytes)
        tally.counts[kind] += 1
        if kind not in ("refused", "same"):
            tally.told.append(f"{kind}: {what}")
        if kind not in ("refused", "same", "other"):
            self.wrong.mkdir(exist_ok=True)
            name = f"{sum(item.counts.total() for item in self.tallies.values())}-{path.name}"
            (self.wrong / name).write_bytes(content or b"")
            (self.wrong / f"{name}.txt").write_text(f"{what}\nghosts {pair.words}\n{output}", errors="replace")

    def judge(self, pair: Pair, status: int, output: str, most_bytes: int) -> str:
        """In a word, what came of it."""
        if status < 0:
            return "hang" if -status in (signal.SIGALRM, signal.SIGXCPU) else f"signal {-status}"
        if status == TRACEBACK or "Traceback (most recent call last)" in output:
            return "traceback"
        if most_bytes > MOST_BYTES:
            return "memory"
        if status:
            return "refused"
        return "same" if self.answer(output) == self._sound[pair.words] else "other"

    def answer(self, output: str) -> str:
        """What a command said and wrote, without what differs from run to run."""
        digest = hashlib.sha256(re.sub(r"\d+\.?\d* (s|a second|per second)\b|0:00:\d\d", "", output).encode())
        for file in sorted(self.out.rglob("*")):
            if file.is_file() and file.suffix != ".safetensors":
                digest.update(str(file.relative_to(self.out)).encode() + file.read_bytes())
        return digest.hexdigest()

    def run(self, pair: Pair) -> tuple[int, str, int]:
        """Exit status (negative: a signal), what was printed, and the most memory it had."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        words = [word.format(work=self.work, out=self.out) for word in pair.words.split()]
        printed = self.out.parent / "printed"
        child = os.fork()
        if child == 0:
            self.command(words, printed)
        _, status, usage = os.wait4(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return code, printed.read_text(errors="replace"), usage.ru_maxrss << 10

    def command(self, words: list[str], printed: Path) -> None:
        """The forked process; never returns."""
        status = TRACEBACK
        try:
            signal.alarm(LONGEST_WAIT_S)
            spent = int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (spent + LONGEST_S, spent + 2 * LONGEST_S))
            descriptor = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (1, 2):
                os.dup2(descriptor, number)
            sys.stdout, sys.stderr = (
                io.TextIOWrapper(io.FileIO(number, "w", closefd=False), encoding="utf-8") for number in (1, 2)
            )
            warnings.simplefilter("ignore")
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            try:
                main(words)
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
        finally:
            os._exit(status)


def table(tallies: dict[str, Tally]) -> str:
    """Results for people."""
    kinds = ["refused", "same", "other"]
    kinds += sorted({kind for tally in tallies.values() for kind in tally.counts} - set(kinds))
    lines = [
        "| file and command | files | " + " | ".join(kinds) + " | most memory |",
        "| --- |" + " ---: |" * (len(kinds) + 2),
    ]
    for name, tally in tallies.items():
        numbers = " | ".join(str(tally.counts[kind]) for kind in kinds)
        lines.append(f"| {name} | {tally.counts.total()} | {numbers} | {tally.most_bytes / 1e9:.2f} GB |")
    return "\n".join(lines)


def fuzz(arguments: list[str]) -> int:
    """Run by hand or by the suite; returns how many files went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e6, help="for how long")
    parser.add_argument("--files", type=int, default=10**9, help="how many, at most")
    parser.add_argument("--each", type=int, default=10, help="of a pair, before the next one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in ("tyro", *(f"ghosts.cli.{pair.words.split()[0]}" for pair in PAIRS)):
        import_module(name)  # once, not in every fork
    folder = Path(tempfile.mkdtemp(prefix="ghosts-fuzz-"))
    fuzzer = Fuzzer(folder, options.seed)
    until, tried, turn = time.monotonic() + 60.0 * options.minutes, 0, 0
    while tried < options.files and time.monotonic() < until:
        tried += fuzzer.round(turn, min(options.each, options.files), until)
        turn += 1
        print(f"{tried} files", file=sys.stderr, flush=True)
    good = {"refused", "same", "other"}
    bad = sum(count for tally in fuzzer.tallies.values() for kind, count in tally.counts.items() if kind not in good)
    if options.json:
        rows = {
            name: {**tally.counts, "bytes": tally.most_bytes, "told": tally.told}
            for name, tally in fuzzer.tallies.items()
        }
        print(json.dumps(rows))
    else:
        print(table(fuzzer.tallies))
        for name, tally in fuzzer.tallies.items():
            for line in tally.told:
                print(f"{name}: {line}")
    if bad:
        print(f"{bad} files went wrong: {fuzzer.wrong}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return bad


if __name__ == "__main__":
    raise SystemExit(min(fuzz(sys.argv[1:]), 99))
