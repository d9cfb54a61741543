"""A synthetic raw release, written once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ghosts_sim.matterport.raw import RawRelease
from matterport.release import HOUSE, HOUSE_STANDS, ReleaseConfig, Shot, make_shots, write_graph, write_release
from shared import shared_folder, shared_object

CONFIG = ReleaseConfig(disc_rad=0.15, discs=14)
"""Holes of up to 30 pixels on faces of 192 pixels."""


@pytest.fixture(scope="session")
def shots() -> list[Shot]:
    """Two panoramas, turned and tilted differently."""
    return shared_object("shots", lambda: make_shots(CONFIG, 2))


@pytest.fixture(scope="session")
def raw(shots: list[Shot]) -> Path:
    """Folder of the raw scans."""

    def write(folder: Path) -> None:
        write_release(folder / "v1" / "scans", CONFIG, shots)
        write_graph(folder / "connectivity", shots)

    return shared_folder("raw", write) / "v1" / "scans"


@pytest.fixture(scope="session")
def release(raw: Path) -> RawRelease:
    """The same, opened."""
    return RawRelease([raw])


APART = replace(CONFIG, offset_m=0.05)
"""Cameras 5 cm apart."""


@pytest.fixture(scope="session")
def house_shots() -> list[Shot]:
    """Three viewpoints of a furnished house with all its thin things."""
    return shared_object("house shots", lambda: make_shots(APART, len(HOUSE_STANDS), house=HOUSE))


@pytest.fixture(scope="session")
def house_release(house_shots: list[Shot]) -> RawRelease:
    """Raw scans of it."""
    return RawRelease([shared_folder("house", lambda folder: write_release(folder, APART, house_shots))])
