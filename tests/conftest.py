"""Shared fixtures. Shapes in annotations are checked at run time here, and only here (jaxtyping with beartype)."""

from __future__ import annotations

import gc
import importlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Workers fill the cores (make test): threads beyond that only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
install_import_hook("ghosts", "beartype.beartype")
import ghosts  # noqa: E402, F401 (before torch: it settles what torch may use of the processor)

# Until all tests are collected nothing that was made is garbage, and looking for it takes a quarter of the time.
gc.disable()
# What a checked module imports is compiled from source (the hook looks for its own kind of bytecode): 2 500 modules.
for heavy in (
    *("beartype", "cv2", "fastapi", "gymnasium", "lightning.fabric", "matplotlib.pyplot", "safetensors.torch"),
    *("scipy.stats", "torch", "tyro"),
):
    with suppress(ImportError):  # extras
        importlib.import_module(heavy)
# A test never times: on a busy machine every deadline is missed. The same examples in every run.
hypothesis.settings.register_profile("ghosts", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ghosts")

GOLDEN = Path(__file__).resolve().parent / "golden"


def pytest_collection_finish() -> None:
    """Modules live until the end: later searches for garbage leave them out."""
    gc.enable()
    gc.freeze()


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
    before = os.environ.get("GHOSTS_CACHE")
    os.environ["GHOSTS_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["GHOSTS_CACHE"]
    else:
        os.environ["GHOSTS_CACHE"] = before


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small data root with images."""
    from makers import make_root  # not above: what it imports of ghosts must come after the hook

    return make_root(tmp_path / "root")
