"""The viewer and the static report in a real browser: everything a visitor does, and no error on the console."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the viewer's server needs ghosts[web]")
pytest.importorskip("uvicorn", reason="the viewer's server needs ghosts[web]")
playwright_api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright (ghosts[dev])")

from ghosts.cli import main  # noqa: E402
from ghosts.view.images import ARGUMENTS, Served, find_chromium  # noqa: E402
from ghosts.view.library import Library  # noqa: E402

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)")
READY = ".numbers tr:nth-child(3)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(combs: Path, photos: Path, run: Path, baseline: Path, pictured: Path) -> Iterator[str]:
    with Served(Library([photos, combs], [run, baseline, pictured])) as served:
        yield served.address


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page whose console must stay silent."""
    found = browser.new_page(viewport={"width": 1200, "height": 900})
    complaints: list[str] = []
    found.on("console", lambda item: complaints.append(item.text) if item.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.set_default_timeout(30_000)
    yield found
    found.close()
    assert complaints == []


def pixels(page: Any, selector: str) -> np.ndarray:
    """What a canvas shows."""
    script = "c => { const s = document.createElement('canvas'); s.width = 64; s.height = 64;"
    script += "const k = s.getContext('2d'); k.drawImage(c, 0, 0, 64, 64);"
    script += "return Array.from(k.getImageData(0, 0, 64, 64).data); }"
    page.wait_for_timeout(120)
    return np.array(page.eval_on_selector(selector, script)).reshape(64, 64, 4)


def differ(before: np.ndarray, after: np.ndarray) -> bool:
    return bool(np.abs(before - after).max() > 20)


def test_a_visit(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY)
    # Look around: dragging the panorama turns it, and the wedge on the map with it.
    page.wait_for_selector(".panobox:not([hidden])")
    page.wait_for_timeout(300)
    before, map_before = pixels(page, "canvas.pano"), pixels(page, "canvas.map")
    box = page.locator("canvas.pano").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 80, steps=4)
    page.mouse.up()
    assert differ(before, pixels(page, "canvas.pano"))
    assert differ(map_before, pixels(page, "canvas.map"))
    page.check("[data-show=photo]")
    page.wait_for_timeout(500)
    # Pick another world and another episode.
    page.select_option("#world", "combs")
    page.wait_for_selector("#message:has-text('comb3')")
    page.select_option("#episode", "301_1")
    page.wait_for_selector("#message:has-text('301_1')")
    assert page.is_hidden(".panobox")
    # Step and scrub.
    page.locator("h1").click()
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("[data-part=stepnote]:has-text('2 of 8')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 3 of 4')")
    page.fill("[data-part=steps]", "6")
    page.wait_for_selector("[data-part=stepnote]:has-text('7 of 8')")
    # Click a cell: the kernel of that cell comes from the server.
    with page.expect_response("**/api/cell") as told:
        page.locator("canvas.map").click(position={"x": 230, "y": 170})
    assert told.value.status == 200
    assert page.locator(".inside canvas").count() == 5
    # Type an instruction.
    before = pixels(page, "canvas.map")
    page.fill("#text", "Turn right, then walk straight and stop at the chair.")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message:has-text('Your instruction')")
    assert "chair" in page.inner_text(".words")
    assert differ(before, pixels(page, "canvas.map"))
    # Change a word.
    page.click(".word:has-text('chair')")
    page.fill(".edit", "lamp")
    page.keyboard.press("Enter")
    page.wait_for_selector(".word:has-text('lamp')")
    assert page.input_value("#text") == "turn right, then walk straight and stop at the lamp."
    # The address leads back here.
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".word:has-text('lamp')")
    page.wait_for_selector("[data-part=stepnote]:has-text('7 of 7')")


def test_two_models_and_walking(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&o=plain&s=dev_unseen&e=300_0")
    page.wait_for_selector(".numbers td:nth-child(3)")
    assert page.locator("canvas.map").count() == 2
    assert page.input_value("#episode") == "300_0"
    page.select_option("#other", "")
    page.wait_for_selector(".numbers td:nth-child(3)", state="detached")
    page.select_option("#model", "plain")
    page.wait_for_selector(".inside:has-text('no filter')")
    page.select_option("#model", "small")
    page.wait_for_selector(".inside canvas")
    page.fill("#text", "walk straight")
    page.click("text=Ask")
    page.wait_for_selector("[data-part=stepnote]:has-text('1 of 1')")
    page.click("#walkon")
    page.wait_for_selector("#message:has-text('stop'), [data-part=stepnote]:has-text('2 of 2')")


def test_saving(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=300_0")
    page.wait_for_selector(READY)
    page.click(".menu summary")
    for button, name, head in (
        ("#png", "ghosts-map.png", b"\x89PNG"),
        ("#json", "ghosts-300_0.json", b'{"format":"ghosts-episode"'),
    ):
        with page.expect_download() as saved:
            page.click(button)
        assert saved.value.suggested_filename == name
        assert Path(saved.value.path()).read_bytes().startswith(head)


def test_a_wrong_link_says_so(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=nobody")
    page.wait_for_selector("#message.bad:has-text('unknown episode')", timeout=30_000)
    page.close()


def test_a_phone(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(address)
    page.wait_for_selector(READY, timeout=30_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


@pytest.fixture(scope="module")
def report(photos: Path, pictured: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    main(["report", "--data", str(photos), "--run", str(pictured), "--out", str(out), "--show", "3"])
    return out


def test_the_report_from_disk(page: Any, report: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_selector(READY)
    assert page.locator(".card").count() == 3
    first = page.inner_text("#title")
    page.locator(".card").nth(2).click()
    page.wait_for_selector(".card:nth-child(3).now")
    assert page.inner_text("#title") != first
    page.fill("[data-part=steps]", "5")
    page.wait_for_selector("[data-part=stepnote]:has-text('6 of 8')")
    page.fill("[data-part=filter]", "2")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 2 of 4')")
    page.locator("canvas.map").click(position={"x": 200, "y": 150})
    assert page.locator(".inside canvas").count() == 5
    before = pixels(page, "canvas.pano")
    box = page.locator("canvas.pano").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 80, steps=4)
    page.mouse.up()
    assert differ(before, pixels(page, "canvas.pano"))
    before = pixels(page, "canvas.map")
    page.check("[data-show=photo]")
    page.wait_for_timeout(300)
    assert differ(before, pixels(page, "canvas.map"))
    page.locator("summary:has-text('Every instruction')").click()
    page.locator("a[data-go]").first.click()
    page.wait_for_selector(".card:nth-child(1).now")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
