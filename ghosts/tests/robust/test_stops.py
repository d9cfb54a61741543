"""Commands that write many files, stopped at every one of them, and on a disk that is full there; then run again.

Elsewhere: kill −9 in training (`train/test_trainer`) and in preparation (`tests/matterport/test_prepare_command`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import signal
from collections.abc import Iterator
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from checks import unchecked
from forked import Forked
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import save_backbone
from ghosts_houses import world
from ghosts_sim.cli import main
from image_roots import make_image_root
from shared import shared_folder

OUT = "OUT"
WORLD = ["world", "--out", OUT, "--houses", "2", "--paths", "4", "--faces", "16", "--workers", "1", "--seen", "0"]
WORLD += ["--storeys", "1", "1", "--rooms", "5", "6"]
DATA = "DATA"
COMMANDS = {
    "world": [*WORLD, "--no-images"],
    # Of this seed the first house is unseen, and of the next one the second.
    "world in shards": [*WORLD, "--no-images", "--shards"],
    "world in shards, with landmarks": [*WORLD, "--no-images", "--shards", "--landmarks", "--seed", "1"],
    "world with pictures": [*WORLD, "--houses", "1"],
    "tiles": ["tiles", "--data", DATA, "--backbone", f"{DATA}/backbone.safetensors", "--device", "cpu", "--out", OUT],
}
MOST = 8
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
def data() -> Path:
    """A root with pictures, and a backbone that is not trained."""

    def make(folder: Path) -> None:
        make_image_root(folder, {"train": ("house0", "house1")}, count=2)
        save_backbone(folder / "backbone.safetensors", SmallBackbone(8), [], {})

    return shared_folder("stops", make)


def digests(folder: Path) -> dict[str, str]:
    """Content of all files; what killed processes left, which starts with a dot, is no data."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("[!.]*"))
        if path.is_file()
    }


def stopped(words: list[str], out: Path, how: str, number: int) -> None:
    """A command that dies before or after the rename of its n-th file, or for which there is no space."""
    files, replace = count(1), os.replace

    def last(source: Path, target: Path) -> None:
        this = target.is_relative_to(out) and next(files) == number  # not the cache, which is filled once
        if this and how == "full disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if this and how == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if this:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = last
    main(words)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_goes_on_where_it_was_stopped(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(out: Path) -> list[str]:
        return [word.replace(DATA, str(data)).replace(OUT, str(out)) for word in COMMANDS[name]]

    written: list[Path] = []
    replace = os.replace
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda source, target: (written.append(target), replace(source, target)))
        main(words(tmp_path / "whole"))
    whole, wrong = digests(tmp_path / "whole"), []
    number_of_files = sum(target.is_relative_to(tmp_path / "whole") for target in written)
    moments = sorted({round(at) for at in np.linspace(1, number_of_files, MOST)})
    for how, status in (("before", -signal.SIGKILL), ("after", -signal.SIGKILL), ("full disk", 1)):
        for number in moments:
            out = tmp_path / f"{how} {number} [/b]"
            first = Forked(partial(stopped, words(out), out, how, number))
            ended, there = first.end(), digests(out)
            # What is there under its own name is whole.
            sound = ended == status and all(whole.get(file, value) == value for file, value in there.items())
            if how == "full disk":
                sound &= "No space left" in first.errors() and "Traceback" not in first.errors()
                sound &= not list(out.rglob(".*"))
            again = Forked(partial(main, words(out)))
            if not sound or again.end() or digests(out) != whole:
                wrong.append((how, number, ended, first.errors()[-300:], again.errors()[-300:]))
    assert not wrong, f"{len(wrong)} of {3 * len(moments)} stops, first: {wrong[0]}"
