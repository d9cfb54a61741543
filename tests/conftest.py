"""The example of a method of one's own, installed beside the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghosts.methods import methods

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "my_method"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, as pip puts it beside the others."""
    folder = tmp_path_factory.mktemp("site")
    words = [*("install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder))]
    subprocess.run([sys.executable, "-m", "pip", *words, str(EXAMPLE)], check=True, capture_output=True)
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within a test the package is installed."""
    monkeypatch.syspath_prepend(str(site))
    methods.cache_clear()
    yield
    methods.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "my_method"]:
        del sys.modules[name]
