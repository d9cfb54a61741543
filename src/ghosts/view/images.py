"""The documentation's pictures, remade by one command: `ghosts report --figures docs/images …`."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ghosts.errors import GhostsError, MissingExtraError
from ghosts.evaluate.goal import GoalScores
from ghosts.files import atomic_path
from ghosts.view.figures import attention_figure, belief_sequence, calibration_figure, inside_figure, save_figure
from ghosts.view.library import Library
from ghosts.view.record import EpisodeRecord

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking")
"""Software draws, three dimensions too."""


def remake_images(
    folder: Path,
    library: Library,
    world: str,
    split: str,
    record: EpisodeRecord,
    scores: Mapping[str, GoalScores] | None = None,
) -> list[str]:
    """Draw belief, attention and inside of an episode, and photograph the viewer where that is possible.

    Args:
        folder: where to.
        library: what is shown.
        world: data root's name.
        split: the episode's.
        record: the episode.
        scores: of a whole evaluation, for the calibration figure.

    Returns:
        A line about each picture.
    """
    scene, lines = library.scene(world, record.scan), []
    figures = {"belief.png": belief_sequence(record, scene)}
    if library.root(world).has_images:
        painting = library.painting_at(world, record.scan, record.walk[-1])
        figures["belief-photo.jpg"] = belief_sequence(record, scene, painting=painting)
    if record.filter_steps:
        figures["attention.png"] = attention_figure(record)
        figures["inside.png"] = inside_figure(record, scene, len(record.frames) - 1, max(1, record.filter_steps // 2))
    if scores:
        figures["calibration.png"] = calibration_figure(scores)
    for name, figure in figures.items():
        figure.set_dpi(96)
        save_figure(figure, folder / name)
        lines.append(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
    try:
        lines += _photograph(folder, library, world, split, record)
    except MissingExtraError as error:
        lines.append(f"the viewer's pictures are left as they are: {error}")
    return lines


def find_chromium() -> str | None:
    """A Chromium on this machine, if any."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


class Served:
    """The viewer on a free port of this machine, for the length of a `with` block.

    Args:
        library: what is shown.
        how: more for `server.make_app`.
    """

    def __init__(self, library: Library, **how: Any) -> None:
        import uvicorn

        from ghosts.view.server import make_app

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        config = uvicorn.Config(make_app(library, **how), host="127.0.0.1", port=self.port, log_level="error")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Served:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise GhostsError(
                    f"the viewer's server did not start on port {self.port}; another program may hold it: try again"
                )
            time.sleep(0.05)
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.should_exit = True
        self._thread.join()


def _photograph(folder: Path, library: Library, world: str, split: str, record: EpisodeRecord) -> list[str]:
    chromium = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingExtraError("playwright", "dev", "photographing the viewer") from None
    if chromium is None:
        names = ", ".join(CHROMIUM)
        raise MissingExtraError(f"photographing the viewer needs a browser (one of {names}); install Chromium")
    lines = []
    episode: dict[str, Any] = {
        "w": world,
        "m": record.model,
        "s": split,
        "e": record.instr_id,
        "k": len(record.walk) - 1,
    }
    with Served(library) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        pictures: list[tuple[str, int, int, dict[str, Any]]] = [
            ("viewer.jpg", 1400, 1120, {}),
            ("viewer-phone.jpg", 390, 844, {}),
        ]
        if len(library.models) > 1:
            pictures.append(("viewer-compare.jpg", 1400, 1560, {"o": library.models[-1], "k": len(record.walk) // 2}))
        for name, width, height, more in pictures:
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"{served.address}#{urlencode(episode | more)}")
            page.wait_for_selector(f"[data-part=stepnote]:has-text('of {len(record.walk)}')", timeout=120_000)
            page.wait_for_timeout(4000)
            with atomic_path(folder / name) as temporary:
                page.screenshot(path=temporary, type="jpeg", quality=82)
            lines.append(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
        browser.close()
    return lines
