"""The documentation's pictures of viewer and report, remade by `make images` (`ghosts report --figures DIR`)."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ghosts.view.figures import belief_sequence, episode_figures
from ghosts.view.library import Library
from ghosts.view.record import EpisodeRecord
from ghosts_houses.draw.canvas import save_figure
from ghosts_sim.errors import GhostsError, MissingExtraError
from ghosts_sim.files import atomic_path

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking")
"""Software draws, three dimensions too."""
_PATIENCE_MS, _REST_MS = 120_000, 2000
"""How long a page may take, and how long it gets to draw what came last."""
_WHOLE = """() => {
  const { panes: [{ scene }], pano } = Ghosts.shown_player, average = document.getElementById("average");
  return (!scene.images || pano.source) && (!average || average.textContent);
}"""
"""The panorama is there, and in the viewer how many instructions arrive."""


def remake_images(
    folder: Path, library: Library, world: str, split: str, record: EpisodeRecord, page: Path
) -> Iterator[str]:
    """Draw an episode for the documentation, and photograph viewer and report where that is possible.

    A world of landmarks gives its belief and the viewer on it; one with photos gives all the rest.

    Yields:
        A line about each picture, once it is there.
    """
    scene = library.scene(world, record.scan)
    if library.root(world).has_images:
        figures = episode_figures(record, scene, painting=library.painting_at(world, record.scan, record.walk[-1]))
        wanted = ["belief-photo.jpg", *(["attention.png", "inside.png"] if record.filter_steps else [])]
    else:
        figures, wanted = {"belief": belief_sequence(record, scene)}, ["belief.png"]
    for name in wanted:
        figure = figures[Path(name).stem]
        figure.set_dpi(96)
        save_figure(figure, folder / name)
        yield _size(folder / name)
    try:
        yield from _photograph(folder, library, world, split, record, page)
    except MissingExtraError as error:
        yield f"the viewer's pictures are left as they are: {error}"


def _size(path: Path) -> str:
    return f"{path}: {path.stat().st_size / 1000:.0f} kB"


def find_chromium() -> str | None:
    """A Chromium on this machine, if any."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


class Served:
    """The viewer on a free port of this machine, for the length of a `with` block; `how` goes to `server.make_app`."""

    def __init__(self, library: Library, **how: Any) -> None:
        import uvicorn

        from ghosts.view.connections import Visitor
        from ghosts.view.server import make_app

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        app = make_app(library, **how)
        config = uvicorn.Config(app, host="127.0.0.1", port=self.port, http=Visitor, loop="asyncio", log_level="error")
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


@dataclass(frozen=True)
class _Shot:
    """A photograph of a page."""

    name: str
    wide: int
    high: int
    link: Mapping[str, Any] = field(default_factory=dict)
    """What the viewer's address says besides the episode."""
    dark: bool = False
    driven: bool = False
    """With the house in three dimensions and a drive in it."""


def _shots(library: Library, world: str, record: EpisodeRecord) -> list[_Shot]:
    if not library.root(world).has_images:
        return [_Shot("viewer-landmarks.jpg", 1400, 1000, {"k": len(record.walk) // 2})]
    shots = [_Shot("viewer.jpg", 1400, 1120), _Shot("viewer-dark.jpg", 1400, 900, dark=True)]
    shots.append(_Shot("viewer-phone.jpg", 390, 844))
    if len(library.models) > 1:
        beside = {"o": library.models[-1], "k": len(record.walk) // 2}
        shots.append(_Shot("viewer-compare.jpg", 1400, 1560, beside))
    if library.scene(world, record.scan)["kind"] == "house":
        shots.append(_Shot("viewer-3d.jpg", 1400, 900, {"v": "3d"}, driven=True))
    return [*shots, _Shot("report.jpg", 1400, 1120)]


def _photograph(
    folder: Path, library: Library, world: str, split: str, record: EpisodeRecord, report: Path
) -> Iterator[str]:
    chromium = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingExtraError("playwright", "photos", "photographing the viewer") from None
    if chromium is None:
        names = ", ".join(CHROMIUM)
        raise MissingExtraError(f"photographing the viewer needs a browser (one of {names}); install Chromium")
    shown = {"w": world, "m": record.model, "s": split, "e": record.instr_id, "k": len(record.walk) - 1}
    with Served(library) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        for shot in _shots(library, world, record):
            page = browser.new_page(
                viewport={"width": shot.wide, "height": shot.high}, color_scheme="dark" if shot.dark else "light"
            )
            page.set_default_timeout(_PATIENCE_MS)
            of_report = shot.name.startswith("report")
            page.goto(
                report.resolve().as_uri() if of_report else f"{served.address}#{urlencode({**shown, **shot.link})}"
            )
            page.wait_for_selector("[data-part=stepnote]:has-text('of ')")
            page.wait_for_function(_WHOLE)
            if shot.driven:
                _drive(page)
            page.wait_for_timeout(_REST_MS)
            with atomic_path(folder / shot.name) as temporary:
                page.screenshot(path=temporary, type="jpeg", quality=82)
            page.close()
            yield _size(folder / shot.name)
        browser.close()


def _drive(page: Any) -> None:
    """Let the agent drive, and stop it on the way."""
    page.wait_for_selector("canvas.solid:visible")
    page.click("[data-part=drive]")
    page.wait_for_selector("[data-part=drivenote]:has-text('of ')")
    slider = page.locator("[aria-label='action of the drive']")
    slider.fill(str(int(slider.get_attribute("max")) * 3 // 5))  # it plays by itself, and stops there
