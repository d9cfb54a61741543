"""What the suite tries of `formats` and `fuzz`, in one process: to import everything takes as long as half the tries.

Prints the results of both as JSON, a line each, and ends as the fuzzer does.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import formats
from fuzz import fuzz
from fuzz_files import HOUSES

from ghosts_houses import world

PART = 4
"""The suite tries a quarter of the random damage to a format; `make script RUN="ghosts/tests/robust/formats.py"`
tries all."""


def main() -> int:
    """All formats in a fork, which changes nothing here; then a bounded part of the fuzzer."""
    # The houses of sound files are thought out once: what counts here is how files are read.
    world.describe, world.make_house = cache(world.describe), cache(world.make_house)
    with tempfile.TemporaryDirectory() as folder:
        world.make_world(Path(folder), HOUSES, images=False)
    gc.freeze()  # whoever looks for garbage copies every page it looks at
    gc.set_threshold(20_000, 20, 20)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            formats.main([], PART)
            sys.stdout.flush()
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        return 100
    return min(fuzz(["--files", "1", "--each", "1", "--seed", "18", "--quick", "--json"]), 99)


if __name__ == "__main__":
    raise SystemExit(main())
