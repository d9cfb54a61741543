"""A top-level `MatterSim` module, for programs whose import lines should stay as they are: one file, removable."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import cache_from_source
from pathlib import Path
from typing import Literal

from ghosts_sim.errors import DataError
from ghosts_sim.files import write_text

Version = Literal[1, 2]
"""2: the newer interface, 1: the older one."""
_MARK = "# Made by `ghosts mattersim --install-shim`; `ghosts mattersim --remove-shim` takes it away.\n"
_IMPORTS: dict[Version, str] = {
    1: "from ghosts_sim.mattersim.v1 import SimState, Simulator, ViewPoint  # noqa: F401\n",
    2: "from ghosts_sim.mattersim import SimState, Simulator, ViewPoint, cbf  # noqa: F401\n",
}
NAMES: dict[Version, str] = {
    1: "the older interface (one simulator, plain values)",
    2: "the newer interface (a batch, lists)",
}


def shim_text(version: Version) -> str:
    """What the shim says."""
    return _MARK + _IMPORTS[version]


@dataclass(frozen=True)
class Found:
    """What `import MatterSim` would import."""

    path: Path | None
    """None for nothing."""
    version: Version | None
    """Of our shim; None for another module."""


def site_packages() -> Path:
    """Where packages of this Python are installed."""
    return Path(sysconfig.get_path("purelib"))


def find(folder: Path | None = None) -> Found:
    """Look for a module `MatterSim` on the path of imports, in a folder of one's own first."""
    importlib.invalidate_caches()
    before = [] if folder is None else [str(folder)]
    spec = PathFinder.find_spec("MatterSim", [*before, *sys.path])
    if spec is None:
        return Found(None, None)
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    path = Path(origin)
    text = path.read_text(encoding="utf-8", errors="replace") if path.suffix == ".py" and path.is_file() else ""
    if not text.startswith(_MARK):
        return Found(path, None)
    return Found(path, 1 if _IMPORTS[1] in text else 2)


def install(version: Version, folder: Path | None = None) -> Path:
    """Write the shim; one of the other version is replaced.

    Raises:
        DataError: another `MatterSim` is there, or the folder cannot be written to.
    """
    text, folder = shim_text(version), folder or site_packages()
    found = find(folder)
    if found.path is not None and found.version is None:
        raise DataError(
            "another MatterSim is installed and stays as it is",
            file=found.path,
            hint="take it off the path of imports first, or write: import ghosts_sim.mattersim as MatterSim",
        )
    if not os.access(folder, os.W_OK):
        raise DataError(
            "packages cannot be written here",
            file=folder,
            hint="install ghosts into an environment of your own: python -m venv .venv",
        )
    path = folder / "MatterSim.py"
    write_text(path, text)
    return path


def remove(folder: Path | None = None) -> Path | None:
    """Take the shim away. Returns what was removed; None where there was none.

    Raises:
        DataError: the `MatterSim` that is there is not ours.
    """
    found = find(folder or site_packages())
    if found.path is None:
        return None
    if found.version is None:
        raise DataError(
            "this MatterSim was not made by ghosts and stays as it is", file=found.path, hint="remove it yourself"
        )
    found.path.unlink()
    Path(cache_from_source(str(found.path))).unlink(missing_ok=True)
    return found.path
