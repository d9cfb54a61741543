"""The viewer and the static report in a real browser: everything a visitor does, and no error on the console."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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

from ghosts.view.images import ARGUMENTS, Served, find_chromium
from ghosts.view.library import Library
from ghosts.view.record_json import from_json
from ghosts_sim.cli import main
from makers import viewpoint_id

pytestmark = pytest.mark.browser
READY = ".numbers tr:nth-child(3)"
PATIENCE_MS = 120_000
"""A machine that does much else at the same time is no failure."""
FASTER = """for (const name of ["setTimeout", "setInterval"]) {
  const real = window[name];
  window[name] = (call, ms, ...more) => real(call, ms / 4, ...more);
}"""
"""Pages of tests play and ask four times as often as a visitor's."""


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
def silent_page(context: Any) -> Iterator[Any]:
    """A page whose console must stay silent."""
    found = context.new_page()
    found.add_init_script(FASTER)
    found.add_init_script("try { localStorage.setItem('ghosts-experts', 'open'); } catch { /* a page of its own */ }")
    complaints: list[str] = []
    found.on("console", lambda item: complaints.append(item.text) if item.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.set_default_timeout(PATIENCE_MS)
    yield found
    found.close()
    assert complaints == []


@pytest.fixture(scope="module")
def desk(browser: Any) -> Iterator[Any]:
    """A desk, where one may use the clipboard. One for all tests: it takes as long to set up as a page to load."""
    rights = ["clipboard-read", "clipboard-write"]
    found = browser.new_context(viewport={"width": 1200, "height": 900}, permissions=rights)
    yield found
    found.close()


@pytest.fixture
def page(desk: Any) -> Iterator[Any]:
    with silent_page(desk) as found:
        yield found


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A phone: narrow, touched with fingers."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    with silent_page(context) as found:
        yield found
    context.close()


def pixels(page: Any, selector: str) -> np.ndarray:
    """What a canvas shows."""
    script = "c => { const s = document.createElement('canvas'); s.width = 64; s.height = 64;"
    script += "const k = s.getContext('2d'); k.drawImage(c, 0, 0, 64, 64);"
    script += "return btoa(String.fromCharCode(...k.getImageData(0, 0, 64, 64).data)); }"
    found = base64.b64decode(page.eval_on_selector(selector, script))  # a list of numbers takes 200 times as long
    return np.frombuffer(found, np.uint8).astype(int).reshape(64, 64, 4)


def drawn(page: Any) -> None:
    """Wait until the browser has drawn whatever is due: on a busy machine that is no matter of milliseconds."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def boxes_at_rest(page: Any, selector: str) -> list[dict[str, float]]:
    """Where parts of the page lie once they have stopped moving."""
    last = None
    for _ in range(PATIENCE_MS // 100):
        drawn(page)
        now = [part.bounding_box() for part in page.locator(selector).all()]
        if now == last and all(now):
            return now
        last = now
        page.wait_for_timeout(100)
    raise AssertionError(f"{selector} never rests")


def settled(page: Any, selector: str) -> np.ndarray:
    """What a canvas shows once something is drawn and nothing moves any more."""
    last = pixels(page, selector)
    for _ in range(PATIENCE_MS // 100):
        page.wait_for_timeout(100)
        drawn(page)
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


def signs(page: Any) -> list[str]:
    """What the legend explains."""
    found: list[str] = page.locator("[data-sign]").evaluate_all("all => all.map(x => x.dataset.sign)")
    return found


def choose(page: Any, name: str) -> None:
    """An episode from the list, found by its number."""
    page.click("#browse summary")
    page.fill("#browse [data-part=find]", name)
    page.wait_for_selector("[data-part=count]:has-text('1 episode')")
    page.click(f"#browse .episode[data-episode='{name}']")
    page.wait_for_selector(f"#message:has-text('Episode {name} ')")


def test_a_visit(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY)
    # Words that nobody is born with are explained where they stand.
    page.click(".terms summary")
    assert all(word in page.inner_text(".terms") for word in ("belief", "Sure", "entropy", "negative log-likelihood"))
    page.click(".terms summary")
    # Look around: dragging the panorama turns it, and the wedge on the map with it.
    page.wait_for_selector(".panobox:not([hidden])")
    page.wait_for_selector("[data-show=sight]", state="hidden")
    page.locator("canvas.pano").scroll_into_view_if_needed()
    before, map_before = settled(page, "canvas.pano"), settled(page, "canvas.map")
    page.hover("canvas.pano", position={"x": 200, "y": 60})  # waits until the page's parts rest
    page.mouse.down()
    page.hover("canvas.pano", position={"x": 60, "y": 80})
    page.mouse.up()
    assert becomes(page, "canvas.pano", before)
    assert becomes(page, "canvas.map", map_before)
    before = settled(page, "canvas.map")
    page.check("[data-show=photo]")
    assert becomes(page, "canvas.map", before)
    # Pick another world and another episode.
    page.select_option("#world", "combs")
    page.wait_for_selector("#message:has-text('comb3')")
    # On the evaluation's walk, which is neither the agent's nor drawn as if it were.
    assert "agent" in signs(page)
    assert "guided" not in signs(page)
    page.select_option("#walk", "fixed walk")
    page.wait_for_selector('[data-sign=guided]:has-text("fixed walk (evaluation\'s)")')
    choose(page, "301_1")
    page.wait_for_selector(".panobox", state="hidden")
    # Of a world of landmarks the map shows in which directions they lie.
    seen = "[...Ghosts.shown_player.panes[0].map.seen()].map((mark) => mark.t)"
    assert set(page.evaluate(seen)) <= set(page.locator("[data-part=seen] span").all_inner_texts())
    assert page.evaluate(seen)
    page.uncheck("[data-show=sight]")
    assert page.evaluate(seen) == []
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
    # Type an instruction: its walk starts over.
    before = settled(page, "canvas.map")
    page.fill("#text", "Turn right, then walk straight and stop at the chair.")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message:has-text('Your instruction')")
    assert "chair" in page.inner_text(".words")
    page.wait_for_selector("[data-part=stepnote]:has-text('1 of 1')")
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
    page.wait_for_selector("[data-part=stepnote]:has-text('1 of 1')")


def test_two_models(page: Any, address: str) -> None:
    """Map, words, numbers, inside and attention of both, at every step."""
    page.goto(f"{address}#w=combs&m=small&o=agent&s=dev_unseen&e=300_0")
    page.wait_for_selector(".numbers td:nth-child(3)")
    assert page.locator("canvas.map").count() == 2
    assert page.inner_text("#current").startswith("300_0: ")
    # Side by side they are as high as wide, and no word lies on another.
    boxes = boxes_at_rest(page, "canvas.map")
    assert all(abs(box["width"] - box["height"]) < 3 for box in boxes)
    crossing = page.evaluate(
        "Ghosts.shown_player.panes.map(({ map: { taken } }) => taken.filter(([x, y, w, h], k) => taken.slice(0, k)"
        ".some(([a, b, v, g]) => w > 8 && v > 8 && Math.abs(a - x) < v + w && Math.abs(b - y) < g + h)).length)"
    )
    assert crossing == [0, 0]
    assert page.locator("[data-sign=guided]").inner_text() == "walk of small"
    assert "agent" in signs(page)
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
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=300_0&f=1&k=0&t=1")
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
    page.goto(f"{address}#w=photos&m=pictured&f=1&k=0&t=2")
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
    page.keyboard.down("Control")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Control")
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


def test_keys_of_a_focused_control_are_its_own(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=300_0&f=1&k=1&t=2")
    note, steps = "[data-part=filternote]:has-text('t = 2 of 4')", "[data-part=stepnote]:has-text('{} of 8')"
    page.wait_for_selector(note)
    page.wait_for_selector(steps.format(2))
    page.focus("#walkon")
    page.keyboard.press("Space")
    page.wait_for_selector(steps.format(3))  # it walked on,
    assert page.inner_text("[data-part=playfilter]") == "▶"  # and did not play
    page.focus("[data-part=steps]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(steps.format(4))
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(steps.format(3))
    page.wait_for_selector(note)
    # The browser's own: reload, new window, history.
    page.evaluate(
        "() => { window.pressed = []; for (const id of ['random', 'walkon', 'undo'])"
        "document.getElementById(id).addEventListener('click', () => window.pressed.push(id), true); }"
    )
    script = "for (const [key, held] of [['r', 'ctrlKey'], ['n', 'metaKey'], ['u', 'altKey'], ['ArrowLeft', 'altKey']])"
    script += "document.body.dispatchEvent(new KeyboardEvent('keydown', {key, [held]: true, bubbles: true}))"
    page.evaluate(script)
    assert page.evaluate("window.pressed") == []
    page.wait_for_selector(note)
    page.click("#save summary")
    page.keyboard.press("Escape")
    page.wait_for_selector("#png", state="hidden")
    page.click("#save summary")
    page.wait_for_selector("#png", state="visible")
    page.locator("h1").click()
    page.wait_for_selector("#png", state="hidden")


def test_the_newest_choice_counts(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector(READY)
    held: list[Any] = []

    def slow(route: Any) -> None:
        held.append(route) if route.request.post_data_json["instr_id"] == "301_1" else route.continue_()

    page.route("**/api/pick", slow)
    page.click("#browse summary")
    page.click(".episode[data-episode='301_1']")
    page.wait_for_selector("#message:has-text('Walking')")
    page.click("#browse summary")  # it closes with a choice
    page.click(".episode[data-episode='303_2']")
    page.wait_for_selector("#message:has-text('Episode 303_2')")
    with page.expect_response("**/api/pick") as late:
        held[0].continue_()
    late.value.finished()
    drawn(page)
    assert page.inner_text("#message").startswith("Episode 303_2")
    assert page.inner_text("#current").startswith("303_2")
    assert page.locator(".episode[aria-current]").get_attribute("data-episode") == "303_2"
    assert "e=303_2" in page.url


def test_links(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=300_0")
    page.wait_for_selector("#message:has-text('Episode 300_0')")
    # One pasted into the same tab is followed.
    page.evaluate("location.hash = '#w=combs&m=agent&s=dev_unseen&e=301_1'")
    page.wait_for_selector("#message:has-text('Episode 301_1')")
    assert page.input_value("#model") == "agent"
    # What is not here is said, and what is shown stays.
    page.evaluate("location.hash = '#w=combs&m=nobody&s=dev_unseen&e=300_0'")
    page.wait_for_selector("#message.bad:has-text('The link names model “nobody”, which is not here. There is small')")
    assert page.inner_text("#current").startswith("301_1")
    # An instruction without a place is asked at the start of the first episode. The page may write its own address
    # before the browser tells it of the new one.
    page.evaluate(
        "() => { const old = location.hash; location.hash = '#w=combs&x=hello'; history.replaceState(null, '', old); }"
    )
    page.wait_for_selector("#message:has-text('Your instruction in building comb3')")
    assert page.inner_text("[data-part=notes]") == "1 of 1 words unknown: hello"
    page.wait_for_selector(".numbers:has-text('0 % (not all understood)')")
    # A building without episodes of this split.
    page.select_option("#scan", "comb0")
    page.wait_for_selector("#message.bad:has-text('No episodes here')")
    page.click("#random")
    page.wait_for_selector("#message.bad:has-text('No episodes here')")


def test_a_wrong_link_says_so(desk: Any, address: str) -> None:
    page = desk.new_page()
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=nobody")
    page.wait_for_selector("#message.bad:has-text('unknown episode')", timeout=PATIENCE_MS)
    page.close()


def test_copying_where_there_is_no_clipboard(page: Any, address: str) -> None:
    """As by plain HTTP from another machine."""
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=300_0")
    page.wait_for_selector(READY)
    page.evaluate("document.addEventListener('copy', () => { window.copied = String(document.activeElement.value); })")
    page.click("#save summary")
    page.click("#link")
    page.wait_for_selector("#message:has-text('Link copied')")
    assert page.evaluate("window.copied") == page.url


def test_walking_by_oneself(page: Any, address: str) -> None:
    """Start over, step back, walk by hand, go back to one's own instruction, let the agent walk."""
    steps = "[data-part=stepnote]:has-text('{}')"
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector("#message:has-text('Episode 302_0')")
    whole = page.inner_text("[data-part=stepnote]")
    page.click("#toend")
    page.wait_for_selector("[data-part=outcome]:has-text('m from the goal')")
    assert page.locator("[data-part=outcome] .badge").inner_text() in ("arrived ✓", "missed ✗")
    page.click("#again")
    page.wait_for_selector(steps.format("1 of 1"))
    header = page.evaluate("Ghosts.shown_player.header")
    there = page.evaluate(
        "() => { const { map, scene } = Ghosts.shown_player.panes[0];"
        "const [next] = Ghosts.neighbours(scene)[scene.index.get(map.header.walk[0])];"
        "return map.at(scene.viewpoints[next].id); }"
    )
    assert len(header["walk"]) == 1
    page.locator("canvas.map").click(position={"x": there[0], "y": there[1]})
    page.click(".spot button:has-text('Walk here')")
    page.wait_for_selector(steps.format("2 of 2"))
    assert page.locator("[data-sign=guided]").inner_text() == "walk by hand"
    page.click("#undo")
    page.wait_for_selector(steps.format("1 of 1"))
    page.fill("#text", "walk straight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#current:has-text('Your own instruction: walk straight')")
    assert "agent" in signs(page)
    page.click("#toend")
    page.wait_for_selector("#message:has-text('Your instruction')")
    page.wait_for_selector(".numbers:has-text('stops')")
    choose(page, "302_0")
    page.wait_for_selector(steps.format(whole))
    page.click("#browse summary")
    page.click(".episode[data-episode='own']")
    page.wait_for_selector("#current:has-text('Your own instruction: walk straight')")


def test_back_and_undo_return_to_what_was_shown(page: Any, address: str) -> None:
    step = "[data-part=stepnote]:has-text('{} of 8')"
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0&f=1&k=0&t=2")
    page.wait_for_selector(step.format(1))
    assert page.is_disabled("#undo")
    before = settled(page, "canvas.map")
    for number in (2, 3):
        page.click("#walkon")
        page.wait_for_selector(step.format(number))
    page.click("#undo")
    page.wait_for_selector(step.format(2))
    page.go_back()  # the browser's own button
    page.wait_for_selector(step.format(1))
    assert becomes(page, "canvas.map", before, other=False)
    page.wait_for_selector("#undo:disabled")
    # Another episode, other words: each is one step back.
    choose(page, "301_1")
    page.fill("#text", "walk straight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#current:has-text('Your own instruction: walk straight')")
    page.wait_for_url("**x=walk+straight**")
    page.go_back()
    page.wait_for_selector("#current:has-text('301_1')")
    page.wait_for_url("**e=301_1**")
    page.click("#undo")
    page.wait_for_selector("#current:has-text('302_0')")


def test_typed_words_are_asked_before_anybody_walks(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector(READY)
    for button in ("#walkon", "#toend"):
        page.fill("#text", f"walk to the chair {button}")
        page.click(button)
        page.wait_for_url(f"**chair+%23{button[1:]}**")  # these words are answered, not those before
        page.wait_for_selector("#message:has-text('the walk starts over with them')")
        page.wait_for_selector("[data-part=stepnote]:has-text('1 of 1')")
        assert "chair" in page.inner_text(".words")
        assert "off by" not in page.inner_text(".numbers")  # nobody showed where these words lead
    # Nothing is cut off without a word.
    page.fill("#text", "walk " * 300)
    page.click("text=Ask")
    page.wait_for_selector("#message.bad:has-text('at most 1000')")


def test_a_changed_word_is_not_scored_by_the_old_goal(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector(".numbers:has-text('off by')")
    assert "goal" in signs(page)
    page.locator(".word").first.click()
    page.fill(".edit", "lamp")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-sign=goal]", state="detached")
    assert "off by" not in page.inner_text(".numbers")


def test_doubtful_words_are_told_before_the_answer(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector(READY)
    doubts = {"notes": [], "doubts": [["pool", "room"]]}
    page.route("**/api/read", lambda route: route.fulfill(json=doubts))
    asked: list[str] = []
    page.on("request", lambda item: asked.append(item.post_data_json["text"]) if "/api/ask" in item.url else None)
    page.fill("#text", "Walk to the pool")
    page.click("text=Ask")
    page.wait_for_selector("#doubt:has-text('“pool”. Did you mean “room”?')")
    assert asked == []
    assert page.inner_text("#current").startswith("302_0")
    page.click("#doubt button:has-text('leave it out')")
    page.wait_for_selector("#current:has-text('Walk to the')")
    page.fill("#text", "Walk to the pool")
    page.click("text=Ask")
    page.click("#doubt button:has-text('Yes')")
    page.wait_for_selector("#current:has-text('Walk to the pool')")
    assert asked == ["Walk to the", "Walk to the pool"]


def test_the_legend_names_what_is_drawn(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0&t=2&f=1&k=1")
    page.wait_for_selector(READY)
    assert {"belief", "predicted", "goal", "guided", "start", "demonstrator", "sight", "unseen"} <= set(signs(page))
    assert {"likelihood", "heading", "agent"}.isdisjoint(signs(page))
    page.check("[data-show=arrows]")
    page.wait_for_selector("[data-sign=heading]")
    page.select_option("[data-part=layer]", "likelihood")
    page.wait_for_selector("[data-sign=likelihood]")
    assert {"belief", "heading"}.isdisjoint(signs(page))
    for name, gone in (("paths", "predicted"), ("graph", "candidate"), ("unseen", "unseen"), ("sight", "sight")):
        page.uncheck(f"[data-show={name}]")
        page.wait_for_selector(f"[data-sign={gone}]", state="detached")
    # The circle that "sure" is about is as large as it says.
    radii = page.evaluate(
        "() => { const { map } = Ghosts.shown_player.panes[0], found = [], arc = map.context.arc;"
        "map.context.arc = (...all) => { found.push(all[2] / map.scale); arc.apply(map.context, all); };"
        "map.show.paths = true; map.paint(); delete map.context.arc; return found; }"
    )
    assert any(abs(radius - 3.0) < 1e-6 for radius in radii)


def test_what_is_under_the_pointer(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0&t=2")
    page.wait_for_selector(READY)
    page.locator("canvas.map").scroll_into_view_if_needed()
    page.hover("canvas.map", position={"x": 300, "y": 200})
    page.wait_for_selector(".spot:has-text('% likely — click: look inside this cell')")
    # The wheel scrolls the page, over map and panorama.
    before, top = page.evaluate("Ghosts.shown_player.panes[0].map.scale"), page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    page.wait_for_function("top => scrollY > top", arg=top)
    assert page.evaluate("Ghosts.shown_player.panes[0].map.scale") == before
    page.mouse.wheel(0, -2000)
    page.wait_for_function("() => scrollY === 0")
    # A viewpoint from the list: what can be done there is said beside it, and the map stays where it is.
    lies = "scrollY + document.querySelector('canvas.map').getBoundingClientRect().top"
    before = page.evaluate(lies)
    page.focus("[data-part=places]")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".spot.pinned button:focus:has-text('Walk here')")
    assert page.evaluate(lies) == before
    # A cell by the keyboard.
    page.focus("canvas.map")
    with page.expect_response("**/api/cell"):
        page.keyboard.press("ArrowUp")
    first = page.evaluate("Ghosts.shown_player.panes[0].told.row")
    with page.expect_response("**/api/cell"):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("Ghosts.shown_player.panes[0].told.row") == first - 1
    page.wait_for_selector(".spot.pinned [role=status]:has-text('% likely')")
    assert page.inner_text("[data-part=filternote]") == "t = 2 of 4"  # arrow keys were the map's
    before = page.evaluate("Ghosts.shown_player.panes[0].map.scale")
    page.keyboard.press("+")
    assert page.evaluate("Ghosts.shown_player.panes[0].map.scale") > before


def test_the_outcome_waits_for_the_walk(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector(".line .curve[aria-label^='Best guess off by']")
    assert page.inner_text("[data-part=outcome]") == ""
    steps = int(page.inner_text("[data-part=stepnote]").split()[-1])
    assert page.locator(".line .curve").count() == 3
    box = page.locator(".line .curve").first.bounding_box()
    page.locator(".line .curve").first.click(position={"x": box["width"] - 4, "y": 30})  # scrubs to the end
    page.wait_for_selector(f"[data-part=stepnote]:has-text('{steps} of {steps}')")
    page.wait_for_selector("[data-part=outcome] .badge")
    truth = page.evaluate("Ghosts.shown_player.panes[0].map.frame.confidence")
    assert f"Sure: {100 * truth:.0f} % at step {steps}" == page.locator(".line .curve").first.get_attribute(
        "aria-label"
    )


def test_the_list_knows_how_walks_end(page: Any, address: str) -> None:
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector("#average:has-text('are followed to their goal')")
    arrived, total = (int(word) for word in page.inner_text("#average").replace(" of ", " ").split()[:2])
    page.click("#browse summary")
    for kind, count in (("arrived", arrived), ("missed", total - arrived)):
        page.select_option("[data-part=ended]", kind)
        page.wait_for_selector(f"[data-part=count]:has-text('{count} episode')")
    page.select_option("[data-part=ended]", "")
    page.select_option("[data-part=sort]", "worst")
    page.wait_for_selector("li:nth-child(2) .badge")
    page.fill("[data-part=find]", "301_1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#current:has-text('301_1')")


@pytest.mark.parametrize("where", ["viewer", "report"])
def test_printing_keeps_colours(page: Any, address: str, report: Path, where: str) -> None:
    """Bars over words, attention and legends are in the PDF without background graphics."""
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0" if where == "viewer" else report.as_uri())
    page.wait_for_selector(READY)
    tint = page.locator("table.attention td").first.evaluate("cell => getComputedStyle(cell).backgroundColor")
    data, colours = page.pdf(print_background=False), set[tuple[int, ...]]()
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        with suppress(zlib.error):
            for found in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg", zlib.decompress(part)):
                colours.add(tuple(round(255 * float(value)) for value in found))
    assert tuple(map(int, re.findall(r"\d+", tint)))[:3] in colours


def test_without_the_server_3d_says_so(desk: Any, address: str) -> None:
    page = desk.new_page()
    page.goto(f"{address}#w=combs&m=small&s=dev_unseen&e=302_0")
    page.wait_for_selector(READY)
    page.route("**/*", lambda route: route.abort())
    page.evaluate("Ghosts.shown_player.panes[0].scene.kind = 'house', Ghosts.shown_solid.show(true)")
    page.wait_for_selector("#message.bad:has-text('The server does not answer')")
    page.close()


def test_watching_a_run(page: Any, combs: Path, run: Path, agent: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copyfile(run, folder / "best.safetensors")
    rows = [{"iteration": k, "loss": 3.0 / k} for k in (10, 20)] + [{"iteration": 20, "success": 0.25}]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with Served(Library([combs], [], watch=[folder])) as served:
        page.goto(f"{served.address}#w=combs&m=mine&s=dev_unseen&e=300_0")
        page.wait_for_selector("#training svg[aria-label='loss: 0.150 at iteration 20']")
        page.wait_for_selector("#training svg[aria-label='success: 0.250 at iteration 20']")
        assert "worth" in page.inner_text(".numbers")  # the planner's
        # A few episodes, walked at each checkpoint, to choose from.
        page.wait_for_selector(".walks tr:nth-child(5) .badge")
        assert page.locator(".walks .badge").count() == 4
        shutil.copyfile(agent, tmp_path / "new")
        (tmp_path / "new").rename(folder / "best.safetensors")
        page.wait_for_selector("#message:has-text('mine: checkpoint of iteration 0.')")
        page.wait_for_selector(".numbers:has-text('probability')")  # the policy's
        assert page.inner_text("#current").startswith("300_0: ")
        page.wait_for_selector(".walks tr:nth-child(5) td:nth-child(3) .badge")
        name = page.locator(".walks button").last.inner_text()
        page.locator(".walks button").last.click()
        page.wait_for_selector(f"#message:has-text('Episode {name} ')")
        page.goto("about:blank")  # before the server goes, which it asks every few seconds


@pytest.mark.parametrize("dark", [False, True])
def test_everybody_can_use_it(page: Any, address: str, report: Path, dark: bool) -> None:
    """No serious violation by axe's rules, in the viewer and in a report."""
    axe = pytest.importorskip("axe_playwright_python", reason="accessibility is checked by axe (ghosts[dev])")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page.emulate_media(color_scheme="dark" if dark else "light")
    for where in (f"{address}#w=photos&m=pictured", report.as_uri()):
        page.goto(where)
        page.wait_for_selector(READY)
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        page.wait_for_selector(".episode")
        page.evaluate(script)
        found = page.evaluate("async () => (await axe.run()).violations")
        serious = [
            (item["id"], [node["html"] for node in item["nodes"]][:3])
            for item in found
            if item["impact"] in ("serious", "critical")
        ]
        assert serious == []


def test_a_phone(phone: Any, address: str) -> None:
    phone.goto(f"{address}#w=combs&m=small&o=agent&s=dev_unseen&e=300_0")
    phone.wait_for_selector(".numbers td:nth-child(3)")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    # Below each other, each as wide as the phone.
    boxes = boxes_at_rest(phone, "canvas.map")
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
    main(["report", "--data", str(photos), *runs, "--walk", "fixed", "--out", str(out), "--show", "3"])
    return out


@pytest.fixture(scope="module")
def library_of_photos(photos: Path, pictured: Path) -> Library:
    return Library([photos], [pictured])


def test_the_report_from_disk(page: Any, report: Path, library_of_photos: Library) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_selector(READY)
    page.wait_for_selector("button.episode")
    assert page.locator("button.episode").count() == 3
    assert page.inner_text("[data-part=stepnote]") == "8 of 8"  # opens where the walk ends
    first = page.inner_text("#title")
    name = page.evaluate("JSON.parse(document.getElementById('data').textContent).episodes[2].name")
    page.click(f".episode[data-episode='{name}']")
    page.wait_for_selector(f".episode[data-episode='{name}'][aria-current]")
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
    page.hover("canvas.pano", position={"x": 200, "y": 60})  # waits until the page's parts rest
    page.mouse.down()
    page.hover("canvas.pano", position={"x": 60, "y": 80})
    page.mouse.up()
    assert becomes(page, "canvas.pano", before)
    page.click(".drawn summary")
    last = page.inner_text("#title")
    page.keyboard.press("]")
    page.wait_for_function("told => document.getElementById('title').textContent === told", arg=first)
    page.locator("#related a").last.click()
    page.wait_for_function("told => document.getElementById('title').textContent === told", arg=last)
    page.click("[data-part=playfilter]")
    page.wait_for_selector("[data-part=filternote]:has-text('t = 4 of 4')")
    before = settled(page, "canvas.map")
    page.check("[data-show=photo]")
    assert becomes(page, "canvas.map", before)
    assert page.locator("svg[aria-label=calibration] polyline").count() == 2
    # The outcome first, and a list of all instructions to search and to sort.
    assert page.locator(".headline .big b").first.inner_text().endswith("predicted right")
    every = page.locator(".episode").count()
    assert every > 3
    page.select_option("#episodes [data-part=sort]", "worst")
    page.wait_for_selector("li:nth-child(1) .episode")
    off = page.locator(".episode small").evaluate_all(
        "all => all.map(x => +x.textContent.match(/predicted ([0-9.]+) m/)[1])"
    )
    assert off == sorted(off, reverse=True)
    page.fill("#episodes [data-part=find]", "no such words")
    page.wait_for_selector("[data-part=count]:has-text('0 episodes')")
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
    inspector = library.inspector("photos", "pictured")
    x_m, y_m = map(float, told["xy"])
    truth = inspector.cell(library.query(inspector, "val_unseen", told["id"], fixed=True), 5, 2, (x_m, y_m)).kernel
    np.testing.assert_allclose(np.array(told["values"]).reshape(told["shape"]), truth, rtol=0.05, atol=1e-5)


def test_the_report_on_a_phone(phone: Any, report: Path) -> None:
    phone.goto(report.as_uri())
    phone.wait_for_selector(READY)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    right = "all => Math.max(...all.map((part) => part.getBoundingClientRect().right))"
    assert phone.locator(".episode small, .episode span").evaluate_all(right) <= 390  # nothing of the list is cut off
    phone.fill("[data-part=steps]", "4")
    phone.wait_for_selector("[data-part=stepnote]:has-text('5 of 8')")
