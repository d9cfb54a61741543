"""The viewer and the static report in a real browser: everything a visitor does, and no error on the console."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

if "GHOSTS_REQUIRE_BROWSER" not in os.environ:  # where it is set, a missing package is an error
    pytest.importorskip("fastapi", reason="the viewer's server needs ghosts[web]")
    pytest.importorskip("uvicorn", reason="the viewer's server needs ghosts[web]")
    pytest.importorskip("playwright", reason="browser tests need playwright (ghosts[dev])")

from playwright.sync_api import sync_playwright

from ghosts.cli import main
from ghosts.view.images import ARGUMENTS, Served, find_chromium
from ghosts.view.library import Library
from ghosts.view.record import from_json
from makers import viewpoint_id

pytestmark = pytest.mark.browser
READY = ".numbers tr:nth-child(3)"
PATIENCE_MS = 120_000
"""A machine that does much else at the same time is no failure."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = find_chromium()
    assert chromium is not None, "no Chromium here, and GHOSTS_REQUIRE_BROWSER is set"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(combs: Path, photos: Path, run: Path, baseline: Path, agent: Path, pictured: Path) -> Iterator[str]:
    with Served(Library([photos, combs], [run, baseline, agent, pictured], baseline=True)) as served:
        yield served.address


@contextmanager
def silent_page(browser: Any, **how: Any) -> Iterator[Any]:
    """A page whose console must stay silent."""
    context = browser.new_context(**how)
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda item: complaints.append(item.text) if item.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.set_default_timeout(PATIENCE_MS)
    yield found
    context.close()
    assert complaints == []


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """On a desk, and allowed to use the clipboard."""
    rights = ["clipboard-read", "clipboard-write"]
    with silent_page(browser, viewport={"width": 1200, "height": 900}, permissions=rights) as found:
        yield found


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A phone: narrow, touched with fingers."""
    with silent_page(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as found:
        yield found


def pixels(page: Any, selector: str) -> np.ndarray:
    """What a canvas shows."""
    script = "c => { const s = document.createElement('canvas'); s.width = 64; s.height = 64;"
    script += "const k = s.getContext('2d'); k.drawImage(c, 0, 0, 64, 64);"
    script += "return Array.from(k.getImageData(0, 0, 64, 64).data); }"
    return np.array(page.eval_on_selector(selector, script)).reshape(64, 64, 4)


def settled(page: Any, selector: str) -> np.ndarray:
    """What a canvas shows once something is drawn and nothing moves any more."""
    last = pixels(page, selector)
    for _ in range(PATIENCE_MS // 100):
        page.wait_for_timeout(100)
        now = pixels(page, selector)
        if now.any() and np.array_equal(now, last):
            return now
        last = now
    raise AssertionError(f"{selector} is empty, or never rests")


def differ(before: np.ndarray, after: np.ndarray) -> bool:
    return bool(np.abs(before - after).max() > 20)


def becomes(page: Any, selector: str, before: np.ndarray, other: bool = True) -> bool:
    """Whether a canvas comes to differ from what it showed (or, not `other`, to show it again); it is given time."""
    for _ in range(PATIENCE_MS // 50):
        if differ(before, pixels(page, selector)) == other:
            return True
        page.wait_for_timeout(50)
    return False


def test_a_visit(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY)
    # Look around: dragging the panorama turns it, and the wedge on the map with it.
    page.wait_for_selector(".panobox:not([hidden])")
    before, map_before = settled(page, "canvas.pano"), settled(page, "canvas.map")
    box = page.locator("canvas.pano").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 80, steps=4)
    page.mouse.up()
    assert becomes(page, "canvas.pano", before)
    assert becomes(page, "canvas.map", map_before)
    before = settled(page, "canvas.map")
    page.check("[data-show=photo]")
    assert becomes(page, "canvas.map", before)
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
    before = settled(page, "canvas.map")
    page.fill("#text", "Turn right, then walk straight and stop at the chair.")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message:has-text('Your instruction')")
    assert "chair" in page.inner_text(".words")
    assert becomes(page, "canvas.map", before)
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


def test_two_models(page: Any, address: str) -> None:
    """Map, words, numbers, inside and attention of both, at every step."""
    page.goto(f"{address}#w=combs&m=small&o=agent&s=dev_unseen&e=300_0")
    page.wait_for_selector(".numbers td:nth-child(3)")
    assert page.locator("canvas.map").count() == 2
    assert page.input_value("#episode") == "300_0"
    for part in ("words", "inside", "attention"):
        found = page.locator(f"[data-part={part}] section").evaluate_all("all => all.map(x => x.dataset.model)")
        assert found == ["small", "agent"], part
    assert page.locator("[data-part=attention] table").count() == 4
    first, second = (f"[data-part=inside] [data-model={name}] canvas" for name in ("small", "agent"))
    before = [settled(page, selector) for selector in (first, second)]
    assert differ(*before)
    page.fill("[data-part=filter]", "2")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 2 of 4')")
    for old, selector in zip(before, (first, second)):
        assert becomes(page, selector, old)
    # One click, both kernels.
    asked: list[Any] = []
    page.on("request", lambda request: asked.append(request.post_data_json) if "/api/cell" in request.url else None)
    page.locator("canvas.map").nth(1).click(position={"x": 120, "y": 170})
    page.wait_for_selector("[data-model=agent] small:has-text('where mass of this cell goes')")
    page.wait_for_selector("[data-model=small] small:has-text('where mass of this cell goes')")
    assert sorted(item["model"] for item in asked) == ["agent", "small"]
    # Both are saved.
    page.click(".menu summary")
    with page.expect_download() as saved:
        page.click("#json")
    records = [from_json(item) for item in json.loads(Path(saved.value.path()).read_text())]
    assert [record.model for record in records] == ["small", "agent"]
    with page.expect_download() as saved:
        page.click("#png")
    two = cv2.imread(saved.value.path())
    page.select_option("#other", "hand-coded")
    page.wait_for_selector("[data-part=inside] [data-model=hand-coded]:has-text('no filter')")
    page.select_option("#other", "")
    page.wait_for_selector(".numbers td:nth-child(3)", state="detached")
    with page.expect_download() as saved:
        page.click("#png")
    one = cv2.imread(saved.value.path())
    assert two.shape[1] > 1.9 * one.shape[1]
    page.select_option("#model", "hand-coded")
    page.wait_for_selector(".inside:has-text('no filter')")


@pytest.mark.parametrize(("model", "told"), [("small", "worth"), ("agent", "probability"), ("plain", "goal mass")])
def test_walking_on_as_the_agent_does(page: Any, address: str, model: str, told: str) -> None:
    page.goto(f"{address}#w=combs&m={model}&s=dev_unseen&e=302_0")
    page.wait_for_selector(READY)
    page.fill("#text", "walk straight")
    page.click("text=Ask")
    page.wait_for_selector("[data-part=stepnote]:has-text('1 of 1')")
    for number in range(2, 14):
        assert told in page.inner_text(".numbers")
        page.click("#walkon")
        page.wait_for_selector(f"#message:has-text('stops'), [data-part=stepnote]:has-text('{number} of {number}')")
        if "stops" in page.inner_text("#message"):
            return
    raise AssertionError("the agent never stopped")


def test_saving(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&b=comb3&x=walk&h=0&p={viewpoint_id(300)}&d=&k=0")
    page.wait_for_selector(READY)
    page.click(".menu summary")
    for button, name, head in (
        ("#png", "ghosts-episode.png", b"\x89PNG"),
        ("#json", "ghosts-episode.json", b'{"format":"ghosts-episode"'),
        ("#gif", "ghosts-episode.gif", b"GIF89a"),
        ("#mp4", "ghosts-episode.mp4", b"\x00\x00\x00 ftyp"),
    ):
        with page.expect_download() as saved:
            page.click(button)
        assert saved.value.suggested_filename == name
        assert Path(saved.value.path()).read_bytes().startswith(head)
    page.click("#link")
    page.wait_for_selector("#message:has-text('Link copied')")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert "x=walk" in page.url


def test_playing(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=300_0&k=0&t=1")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 1 of 4')")
    # Clicked and read at once: it plays for a moment only.
    script = "button => { button.click(); return button.textContent; }"
    assert page.eval_on_selector("[data-part=playfilter]", script) == "❚❚"
    page.wait_for_selector("[data-part=filternote]:has-text('t = 4 of 4')")
    page.wait_for_selector("[data-part=playfilter]:has-text('▶')")
    page.click("[data-part=playsteps]")
    page.wait_for_selector("[data-part=stepnote]:has-text('3 of 8')")
    page.click("[data-part=playsteps]")
    page.wait_for_selector("[data-part=playsteps]:has-text('▶')")
    assert "of 8" in page.inner_text("[data-part=stepnote]")


def test_the_keyboard_alone(page: Any, address: str) -> None:
    page.goto(f"{address}#w=photos&m=pictured&k=0&t=2")
    page.wait_for_selector(READY)
    settled(page, "canvas.pano")
    note, steps = "[data-part=filternote]", "[data-part=stepnote]"
    for key, part, text in (
        ("ArrowLeft", note, "t = 3 of 4"),
        ("ArrowRight", note, "t = 4 of 4"),
        ("ArrowUp", steps, "2 of 8"),
        (".", steps, "3 of 8"),
        (",", steps, "2 of 8"),
        ("ArrowDown", steps, "1 of 8"),
    ):
        page.keyboard.press(key)
        page.wait_for_selector(f"{part}:has-text('{text}')")
    before = settled(page, "canvas.pano")
    page.keyboard.press("d")
    assert becomes(page, "canvas.pano", before)
    before = settled(page, "canvas.map")
    page.locator("canvas.map").hover()
    page.mouse.wheel(0, -600)
    assert becomes(page, "canvas.map", before)
    page.keyboard.press("0")
    assert becomes(page, "canvas.map", before, other=False)
    page.keyboard.press("n")
    page.wait_for_selector(f"{steps}:has-text('2 of 8')")
    page.keyboard.press("Space")
    page.wait_for_selector(f"{note}:has-text('t = 1 of 4')")
    page.keyboard.press("Space")
    page.keyboard.press("p")
    page.wait_for_selector(f"{steps}:has-text('4 of 8')")
    page.keyboard.press("p")
    page.keyboard.press("r")
    page.wait_for_selector(f"{steps}:has-text('1 of 8')")


def test_a_wrong_link_says_so(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=nobody")
    page.wait_for_selector("#message.bad:has-text('unknown episode')", timeout=PATIENCE_MS)
    page.close()


def test_a_phone(phone: Any, address: str) -> None:
    phone.goto(f"{address}#w=combs&m=small&o=agent&s=dev_unseen&e=300_0")
    phone.wait_for_selector(".numbers td:nth-child(3)")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    # Below each other, each as wide as the phone.
    boxes = [phone.locator("canvas.map").nth(k).bounding_box() for k in (0, 1)]
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
    assert min(box["width"] for box in boxes) > 340
    small = phone.evaluate(
        "[...document.querySelectorAll('.bar select, .buttons button, .time button, .time input')]"
        ".filter(x => x.getBoundingClientRect().height && x.getBoundingClientRect().height < 28).map(x => x.outerHTML)"
    )
    assert small == [], "too small for a finger"
    with phone.expect_response("**/api/cell"):
        phone.locator("canvas.map").first.tap(position={"x": 150, "y": 120})
    phone.fill("#text", "turn right and stop")
    phone.tap("text=Ask")
    phone.wait_for_selector("#message:has-text('Your instruction')")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.fixture(scope="module")
def report(photos: Path, pictured: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    runs = ["--run", str(pictured), "--baseline"]
    main(["report", "--data", str(photos), *runs, "--out", str(out), "--show", "3"])
    return out


@pytest.fixture(scope="module")
def library_of_photos(photos: Path, pictured: Path) -> Library:
    return Library([photos], [pictured])


def test_the_report_from_disk(page: Any, report: Path, library_of_photos: Library) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_selector(READY)
    assert page.locator(".card").count() == 3
    assert page.inner_text("[data-part=stepnote]") == "8 of 8"  # opens where the walk ends
    first = page.inner_text("#title")
    page.locator(".card").nth(2).click()
    page.wait_for_selector(".card:nth-child(3).now")
    assert page.inner_text("#title") != first
    page.fill("[data-part=steps]", "5")
    page.wait_for_selector("[data-part=stepnote]:has-text('6 of 8')")
    page.fill("[data-part=filter]", "2")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 2 of 4')")
    # Any cell's kernel is in the page: the one it shows is the filter's.
    page.locator("canvas.map").first.click(position={"x": 150, "y": 150})
    page.wait_for_selector(".inside small:has-text('where mass of this cell goes')")
    assert page.locator(".inside canvas").count() == 5
    assert page.locator("canvas.map").count() == 2
    page.wait_for_selector("[data-model=hand-coded]:has-text('no filter')")
    assert_kernel(page, library_of_photos)
    before = settled(page, "canvas.pano")
    box = page.locator("canvas.pano").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 80, steps=4)
    page.mouse.up()
    assert becomes(page, "canvas.pano", before)
    page.keyboard.press("]")
    page.wait_for_selector(".card:nth-child(1).now")
    page.locator("#related a").last.click()
    page.wait_for_selector(".card:nth-child(3).now")
    page.click("[data-part=playfilter]")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 4 of 4')")
    before = settled(page, "canvas.map")
    page.check("[data-show=photo]")
    assert becomes(page, "canvas.map", before)
    page.locator("summary:has-text('Every instruction')").click()
    assert page.locator("svg[aria-label=calibration] polyline").count() == 2
    page.locator("a[data-go]").first.click()
    page.wait_for_selector(".card:nth-child(1).now")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def assert_kernel(page: Any, library: Library) -> None:
    """The kernel under the mouse, rebuilt from the page's data by the page's own code, is the filter's."""
    script = """async () => {
      const data = JSON.parse(document.getElementById("data").textContent), { models: [record] } = data.episodes[2];
      const cell = [4, 5], { motion, grid, origin_xy_m: origin } = record;
      const kernel = Ghosts.kernelOf(await Ghosts.unpackMotion(motion), 5, 2, ...cell);
      const xy = [1, 0].map((k) => origin[1 - k] + (cell[k] + 0.5 - grid[k] / 2) * grid[2]);
      return { id: record.instr_id, values: [...kernel.values], shape: kernel.shape, xy };
    }"""
    told = page.evaluate(script)
    mind = library.mind("photos", "pictured")
    x_m, y_m = map(float, told["xy"])
    truth = mind.cell(library.question(mind, "val_unseen", told["id"]), 5, 2, (x_m, y_m)).kernel
    np.testing.assert_allclose(np.array(told["values"]).reshape(told["shape"]), truth, rtol=0.05, atol=1e-5)


def test_the_report_on_a_phone(phone: Any, report: Path) -> None:
    phone.goto(report.as_uri())
    phone.wait_for_selector(READY)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.fill("[data-part=steps]", "4")
    phone.wait_for_selector("[data-part=stepnote]:has-text('5 of 8')")
