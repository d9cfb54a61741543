"""Every command that writes, stopped at every file that it renames, and on a disk that is full there; then run again.

The suite tries some files of a command; `STOPS=1000 pytest ghosts/tests/robust/test_stops.py` tries all of them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from sound import (
    AGENT,
    BACKBONE,
    FILTER,
    GOAL,
    LANDMARKS,
    REPORT,
    SPEAK,
    SUBMIT,
    TAKE,
    TILES,
    TRAIN,
    TRAINED,
    WORLD,
    make_work,
)

from checks import unchecked
from forked import Forked
from ghosts_houses import world
from ghosts_sim.cli import main
from shared import shared_folder

TIMES = re.compile(rb'"(episodes_per_s|waiting|seconds)": [\d.e-]+')
"""What differs from run to run in a log."""
MANY = WORLD.replace("--paths 3", "--paths 4 --seen 0")
TINY = MANY.replace("--houses 2", "--houses 1").replace(" --no-images", "")
EPISODE = "--data {work}/combs --episode 300_0 --split dev_unseen"
COMMANDS = {
    "world": MANY,
    # Of this seed the first house is unseen, and of the next one the second.
    "world in shards": f"{MANY} --shards",
    "world in shards, with landmarks": f"{MANY.replace('--seed 0', '--seed 1')} --shards --landmarks",
    "world with pictures": TINY,
    "world, exported": "world --export vlnce --of {work}/houses --out {out}/vlnce",
    "tiles": TILES,
    "prepare": TAKE,
    "landmarks": f"{LANDMARKS}.tar.gz",
    "train": GOAL,
    "train from a run": f"train vln --preset tiny-agent {TRAIN} --warm-start {{work}}/{TRAINED}",
    "backbone": BACKBONE,
    "eval": f"{FILTER} --out {{out}}/scores",
    "belief": f"belief --run {{work}}/{TRAINED} {EPISODE} --out {{out}}/belief",
    "film": f"film --run {{work}}/{TRAINED} {EPISODE} --out {{out}}/film.gif",
    "report": REPORT,
    "export": f"export {AGENT} --out {{out}}/x.safetensors",
    "submit": SUBMIT,
    "speak": f"{SPEAK} --out {{out}}/said.png",
}
MOST = int(os.environ.get("STOPS", "1"))
"""Files of a command that are tried, spread evenly over those that it writes."""


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Houses are thought out once, and their pictures are grey: how they are written is the matter here."""

    def grey(scene: object, positions_m: np.ndarray, face_size: int) -> list[SimpleNamespace]:
        plane = np.ones((6, face_size, face_size), np.uint8)
        picture = SimpleNamespace(rgb=np.stack([plane] * 3, -1), depth_m=plane.astype(np.float32), label=plane)
        return [picture] * len(positions_m)

    from ghosts_houses.render import panorama, scene

    with pytest.MonkeyPatch.context() as patch, unchecked():
        patch.setattr(world, "describe", cache(world.describe))
        patch.setattr(scene, "prepare", lambda house, device: None)
        patch.setattr(panorama, "render_panoramas", grey)
        yield


@pytest.fixture(scope="module")
def work() -> Path:
    """What the commands read."""

    def make(folder: Path) -> None:
        make_work(folder, slow=True)

    return shared_folder("stops", make)


def digests(folder: Path) -> dict[str, str]:
    """Content of all files; what killed processes left, which starts with a dot, is no data. Old logs are aside."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(TIMES.sub(b"", path.read_bytes())).hexdigest()
        for path in sorted(folder.rglob("[!.]*"))
        if path.is_file() and not path.name.endswith(".1.jsonl")
    }


def stopped(words: list[str], out: Path, how: str, number: int) -> None:
    """A command that dies before or after the rename of its n-th file, or for which there is no space.

    There is none for a rename, or, as far as the system can imitate it, for files above some size.
    """
    files, replace = count(1), os.replace

    def last(source: Path, target: Path) -> None:
        this = Path(target).is_relative_to(out) and next(files) == number  # not the cache, which is filled once
        if this and how == "full disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if this and how == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if this:
            os.kill(os.getpid(), signal.SIGKILL)

    if how == "full at":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
    else:
        os.replace = last
    main(words)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_goes_on_where_it_was_stopped(
    name: str, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GHOSTS_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out [/b]"
    words = [word.format(work=work, out=out) for word in COMMANDS[name].split()]
    written: list[Path] = []
    replace = os.replace

    def noted(source: Path, target: Path) -> None:
        replace(source, target)
        written.append(Path(target))

    out.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", noted)
        main(words)
    whole, wrong = digests(out), []
    files = [target for target in written if target.is_relative_to(out)]
    once = {target for target in files if files.count(target) == 1 and target.name != "prepare.json"}
    moments = sorted({round(at) for at in np.linspace(0.5, len(files) + 0.5, MOST + 2)[1:-1]})
    stops = [(how, number) for how in ("before", "after", "full disk") for number in moments]
    stops.append(("full at", max(target.stat().st_size for target in files if target.is_file()) // 2))
    for how, number in stops:
        shutil.rmtree(out)
        out.mkdir(parents=True)
        first = Forked(partial(stopped, words, out, how, number))
        ended, there, told = first.end(), digests(out), first.errors() + first.output()
        # What is there under its own name is whole. Logs grow, checkpoints follow each other, and
        # prepare.json names what is missing.
        sound = all(whole.get(file, value) == value for file, value in there.items() if out / file in once)
        sound &= ended == (1 if how.startswith("full") else -signal.SIGKILL)
        if how.startswith("full"):
            cut = how == "full at" and len(told.encode()) >= number  # what is printed has an end, too
            sound &= (cut or "No space left" in told or "File too large" in told) and "Traceback" not in told
            sound &= not list(out.rglob(".*"))
        again = Forked(partial(main, words))
        status = again.end() and "the file is there already" not in again.errors()  # which the first one finished
        differ = {file for file, _ in digests(out).items() ^ whole.items()}
        if not sound or status or differ:
            wrong.append((how, number, ended, status, sorted(differ), told[-700:], again.errors()[-300:]))
    assert not wrong, f"{len(wrong)} of {len(stops)} stops: {wrong}"


def test_a_log_and_tensorboard_on_a_full_disk(work: Path, tmp_path: Path) -> None:
    """TensorBoard writes in a thread, whose traceback nobody would catch."""
    words = [word.format(work=work, out=tmp_path) for word in f"{GOAL} --tensorboard".split()]
    process = Forked(partial(stopped, words, tmp_path, "full at", 150))
    assert process.end() == 1
    assert "File too large" in process.errors()
    assert "Traceback" not in process.errors()
