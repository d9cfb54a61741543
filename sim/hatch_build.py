"""Compiles the kernel that draws views when the package is built; without a compiler it is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "src/ghosts_sim/_native.so"


def compile_native(source: Path, library: Path) -> bool:
    """Compile `native.c`; says whether it worked."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return False
    made = library.with_suffix(".tmp")
    words = [compiler, "-O3", "-std=gnu11", "-shared", "-fPIC", str(source), "-o", str(made), "-lm"]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        return False
    made.replace(library)
    return True


class NativeHook(BuildHookInterface):
    """Adds the library to wheels and editable installations."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform that the wheel is for."""
        library = Path(self.root) / LIBRARY
        if not compile_native(library.with_name("native.c"), library):
            if os.environ.get("GHOSTS_REQUIRE_KERNEL"):  # of wheels that others install
                raise SystemExit("native.c does not compile")
            self.app.display_warning("no C compiler: ghosts-sim draws with OpenCV, at a third to a half of the speed")
        else:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data.update(pure_python=False, tag=f"py3-none-{platform}")
            build_data["artifacts"].append(LIBRARY)
