"""Shared fixtures. Shapes in annotations are checked at run time here, and only here (jaxtyping with beartype)."""

from __future__ import annotations

import gc
import importlib.util
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Workers fill the cores (make test): threads beyond that only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENCV_FOR_THREADS_NUM", "1")
if importlib.util.find_spec("beartype"):  # beside a GPU it may be missing
    import checks

    checks.install()
import ghosts  # noqa: F401 (before torch: it settles what torch may use of the processor)
from roots import _private_cache, golden, navigation, root  # noqa: F401 (fixtures)
from shared import _shared, shared_object  # noqa: F401 (a fixture)

# No test cuts the power: what is written need not wait for the disk.
os.fsync = lambda file: None


def import_heavy() -> None:
    """Import what tests share."""
    # Until all tests are collected nothing that was made is garbage, and looking for it takes a quarter of the time.
    gc.disable()
    # What a checked module imports is compiled from source (the hook looks for bytecode of its own): 2 500 modules.
    for heavy in (
        *("beartype", "cv2", "fastapi", "gymnasium", "lightning_fabric", "matplotlib.pyplot", "safetensors.torch"),
        *("scipy.ndimage", "scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "torch", "tyro"),
    ):
        with suppress(ImportError):  # extras
            importlib.import_module(heavy)
    from ghosts.devices import keep_memory

    keep_memory()  # also in tests that start no command


# Not in the process that only hands out tests to workers.
if "PYTEST_XDIST_WORKER" in os.environ or not any(word.startswith("-n") for word in sys.argv):
    import_heavy()
REQUIRE_BROWSER = "GHOSTS_REQUIRE_BROWSER"
"""Set by CI: browser tests without a browser then fail instead of being skipped."""
SKIPPED = {
    "browser": "need Chromium: apt-get install chromium",
    "gpu": "need a CUDA device",
}
"""Kinds of tests that a machine may be unable to run, and what they need."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """An order that no test may depend on."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run modules, and tests within them, in random order")


def pytest_configure(config: pytest.Config) -> None:
    """`-n 0` is no such process."""
    if not getattr(config.option, "numprocesses", None):
        import_heavy()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m gpu` reads no other modules: packages that they need may be missing beside a GPU."""
    if config.option.markexpr == "gpu" and collection_path.name.startswith("test_"):
        return None if "pytest.mark.gpu" in collection_path.read_text(encoding="utf-8") else True
    return None


@pytest.hookimpl(trylast=True)  # pytest itself sorts by fixtures first
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run; shuffle where that is asked for."""
    if config.option.shuffle is not None:
        order = random.Random(config.option.shuffle)
        modules = {item.path: order.random() for item in items}
        items.sort(key=lambda item: (modules[item.path], order.random()))
    for kind, need in SKIPPED.items():
        chosen = [item for item in items if item.get_closest_marker(kind)]
        if chosen and not _can_run(kind):
            for item in chosen:
                item.add_marker(pytest.mark.skip(reason=need))


def _can_run(kind: str) -> bool:
    if kind == "gpu":
        import torch

        return torch.cuda.is_available()
    from ghosts.view.images import find_chromium

    return find_chromium() is not None or bool(os.environ.get(REQUIRE_BROWSER))


def pytest_collection_finish() -> None:
    """Modules live until the end: later searches for garbage leave them out."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)  # 700 new objects, Python's own, are found in every small computation


def pytest_sessionfinish() -> None:
    """pytest looks for garbage five times before it ends, a third of a second each; nothing that is left is any."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test checks what it calls."""
    if "checks" in globals():
        checks.next_test()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line on what was skipped, and what it needs."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        words = getattr(report, "keywords", ())  # a module that was skipped as a whole has none
        counts[next((kind for kind in SKIPPED if kind in words), "other")] += 1
    if counts:
        kinds = [f"{counts[kind]} {kind} tests ({need})" for kind, need in SKIPPED.items() if counts[kind]]
        if counts["other"]:
            kinds.append(f"{counts['other']} for other reasons (pytest -rs tells them)")
        terminalreporter.write_line(f"skipped: {', '.join(kinds)}")


@pytest.fixture(autouse=True, scope="session")
def _one_trial(_shared: None) -> Iterator[None]:  # noqa: F811
    """Whether this CPU can compute in half precision takes 2 s to find out: once for all workers."""
    from ghosts import precision

    with pytest.MonkeyPatch.context() as patch:
        tried = precision.half_problem
        patch.setattr(precision, "half_problem", lambda: shared_object("half precision", tried))
        yield
