"""Builds the compiled kernel for tests, with the hook that builds it for installations."""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import types
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ghosts_sim import native

ROOT = Path(__file__).resolve().parents[1]


def build_hook() -> dict[str, Any]:
    """What `hatch_build.py` defines, without hatchling."""
    interface = types.ModuleType("interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    with patch.dict(sys.modules, {"hatchling.builders.hooks.plugin.interface": interface}):
        return runpy.run_path(str(ROOT / "hatch_build.py"))


def built_kernel(folder: Path) -> native.Native | None:
    """The kernel of this source; None where nothing can compile it, or the processor cannot run it."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        return None
    library = folder / "_native.so"
    assert build_hook()["compile_native"](native.LIBRARY.with_name("native.c"), library), "native.c does not compile"
    try:
        return native.Native(library)
    except OSError:
        return None
