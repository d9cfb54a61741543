"""A synthetic raw release, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghosts.world.matterport.raw import RawRelease
from world.matterport.release import ReleaseConfig, Shot, make_shots, write_graph, write_release

CONFIG = ReleaseConfig(disc_rad=0.15, discs=14)
"""Holes of up to 30 pixels on faces of 192 pixels."""


@pytest.fixture(scope="session")
def shots() -> list[Shot]:
    """Two panoramas, turned and tilted differently."""
    return make_shots(CONFIG, 2)


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory, shots: list[Shot]) -> Path:
    """Folder of the raw scans."""
    folder = tmp_path_factory.mktemp("raw") / "v1" / "scans"
    write_release(folder, CONFIG, shots)
    write_graph(folder.parents[1] / "connectivity", shots)
    return folder


@pytest.fixture(scope="session")
def release(raw: Path) -> RawRelease:
    """The same, opened."""
    return RawRelease([raw])
