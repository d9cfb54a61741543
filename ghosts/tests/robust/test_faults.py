"""Faults while writing one file: a full disk, a read-only folder, two processes at once, other versions.

Commands that write many files: `test_stops`.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from forked import Forked
from ghosts.run.load import load_run
from ghosts.view.film import write_pictures
from ghosts.weights.checkpoint import FORMAT, load_checkpoint, save_checkpoint
from ghosts_sim.errors import DataError, GhostsError
from ghosts_sim.files import atomic_path, write_json
from ghosts_sim.graph import load_graph
from ghosts_sim.images import write_image
from makers import SCAN, make_root


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


WRITERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: write_json(path, {"a": 1}),
    "checkpoint": lambda path: save_checkpoint(path, {"model/a": torch.ones(9)}, {}),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_no_space_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    for step in ("write_bytes", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(*((Path, step) if step == "write_bytes" else (os, step)), full_disk)
            with pytest.raises(DataError, match="No space left on device") as caught:
                WRITERS[kind](path)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == b"old"
        assert [item.name for item in tmp_path.iterdir()] == ["file.bin"]


NOISE = np.random.default_rng(0).integers(0, 60000, (64, 384), dtype=np.uint16)
FILM = [(NOISE.view(np.uint8).reshape(128, 128, 3), 9)]
PICTURES: dict[str, Callable[[Path], object]] = {
    ".png": lambda path: write_image(path, NOISE),
    ".mp4": lambda path: write_pictures(path, FILM),
    ".gif": lambda path: write_pictures(path, FILM),
}


@pytest.mark.parametrize("name", ["depth.png", "film.mp4", "film.gif"])
def test_a_full_disk_keeps_the_old_picture_or_film(tmp_path: Path, name: str) -> None:
    """Also where another program writes it (ffmpeg)."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = tmp_path / name
    path.write_bytes(b"old")
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(DataError, match=name):
            PICTURES[path.suffix](path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(name, b"old")]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so that the system's answer is imitated where tests run as root."""
    (tmp_path / "locked").mkdir()

    def refused(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("ghosts_sim.files._locked_temporary", refused)
    with pytest.raises(DataError, match="Permission denied") as caught:
        write_json(tmp_path / "locked" / "a.json", 1)
    assert "locked" in str(caught.value)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataError, match="file"):
        write_json(tmp_path / "file" / "a.json", 1)


def test_a_read_only_cache_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_root(tmp_path / "root", images=False) / "connectivity" / f"{SCAN}_connectivity.json"
    monkeypatch.setattr("ghosts_sim.files._locked_temporary", full_disk)
    assert load_graph(path, tmp_path / "cache").path(0, 3) == [0, 1, 2, 3]
    assert not list((tmp_path / "cache").rglob("*.npz"))


def write_again_and_again(root: Path, cache: Path, number: int) -> None:
    for _ in range(60):
        graph = load_graph(root, cache)
        assert graph.path(0, 3) == [0, 1, 2, 3]
        for file in (cache / "graphs").glob("*.npz"):
            file.unlink(missing_ok=True)
        write_json(cache / "shared.json", [number] * 5000)


def test_processes_that_write_the_same_cache_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = make_root(tmp_path / "root", images=False) / "connectivity" / f"{SCAN}_connectivity.json"
    cache = tmp_path / "cache"
    processes = [Forked(partial(write_again_and_again, path, cache, number)) for number in range(2)]
    seen = 0
    while any(process.running for process in processes):
        if (cache / "shared.json").is_file():
            value = json.loads((cache / "shared.json").read_text())  # whole at every moment
            assert len(value) == 5000
            assert len(set(value)) == 1
            seen += 1
        time.sleep(0.01)
    for process in processes:
        assert process.end() == 0, process.errors()[-2000:]
    assert seen > 0
    assert not list(cache.rglob(".*"))


def test_other_versions_are_named(tmp_path: Path) -> None:
    path = tmp_path / "best.safetensors"
    save_checkpoint(path, {"model/a": torch.ones(2)}, {"iteration": 1})
    content = path.read_bytes()
    path.write_bytes(content.replace(f'"format":"{FORMAT}"'.encode(), b'"format":"1"'))
    with pytest.raises(DataError, match=r"formats 2, 3, 4; train again or use the version that wrote it"):
        load_checkpoint(path)
    about = {"iteration": 1, "vocabulary": ["<pad>", "<unk>"], "labels": None}
    experiment = {"name": "x", "kind": "filter", "model": {"language": {"hiden": 3}}}
    save_checkpoint(path, {"model/a": torch.ones(2)}, {**about, "experiment": experiment})
    with pytest.raises(DataError, match=r"unknown field 'hiden'; did you mean 'hidden'.*another version"):
        load_run(path)
    experiment["model"] = {"language": {"hidden": "9"}}
    save_checkpoint(path, {"model/a": torch.ones(2)}, {**about, "experiment": experiment})
    with pytest.raises(DataError, match=r"language\.hidden must be a whole number, got '9'"):
        load_run(path)


def test_an_error_inside_the_block_passes_through(tmp_path: Path) -> None:
    """Only what the system says about the file becomes a `DataError`; what the block itself raises stays what it is."""
    with pytest.raises(KeyError), atomic_path(tmp_path / "x"):
        raise KeyError("mine")
    with pytest.raises(GhostsError, match="mine"), atomic_path(tmp_path / "x"):
        raise DataError("mine")
    assert not list(tmp_path.iterdir())
