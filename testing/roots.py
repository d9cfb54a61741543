"""Fixtures of every test: recordings, a small data root, a cache of its own. They need only the simulator."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

GOLDEN = Path(__file__).resolve().parent / "golden"

# A test never times: on a busy machine every deadline is missed. The same examples in every run.
hypothesis.settings.register_profile("ghosts", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ghosts")


@pytest.fixture(scope="session")
def golden() -> Path:
    """Folder of answers recorded from the original simulator and the authors' modules."""
    return GOLDEN


@pytest.fixture(scope="session")
def navigation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of recorded sessions (`nav_*.json`) and, in `connectivity/`, the graphs of the buildings they walk in."""
    folder = tmp_path_factory.mktemp("navigation")
    with zipfile.ZipFile(GOLDEN / "simulator" / "navigation.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache folder out of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHOSTS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small data root with images."""
    from makers import make_root  # not above: what it imports of ours must come after the hook of `checks`

    return make_root(tmp_path / "root")
