"""How long the viewer takes to answer: typed instructions that nobody asked before, over HTTP, as processor time.

Processor time of the whole process (server and client), so that a busy machine does not count; the browser's drawing is
left out.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import islice, product
from typing import Any

from ghosts.view.images import Served
from ghosts.view.library import Library
from ghosts_sim.errors import ConfigError, GhostsError

QUESTIONS = 50
_TURNS = ("turn left", "turn right", "turn around", "go straight")
_THINGS = ("sofa", "table", "bed", "stairs", "kitchen", "door", "window", "plant")


@dataclass(frozen=True)
class Latency:
    """Processor time of one kind of answer, over all questions."""

    what: str
    median_s: float
    worst_s: float
    questions: int


def measure_viewer(library: Library, questions: int = QUESTIONS) -> list[Latency]:
    """Ask the first model that reads the first world, at the starts of its episodes.

    Args:
        library: what is shown.
        questions: how many; each is asked once, then a step further, then for a cell.

    Raises:
        ConfigError: no model reads the world.
    """
    pairs = library.pairs()
    if not pairs:
        raise ConfigError(f"none of these models can read this world:{library.why_not()}")
    world, model = pairs[0]
    inspector = library.inspector(world, model)
    examples = inspector.data.examples(library.splits(inspector)[0])
    taken: dict[str, list[float]] = {"first belief": [], "a further step": [], "a cell's kernel": []}
    with Served(library) as served:
        for number, text in enumerate(islice(_texts(), questions + 1)):
            example = examples[number % len(examples)]
            graph = inspector.root.graph(example.scan)
            there = next(iter(graph.neighbours(example.start)), example.start)
            walk = [graph.ids[row] for row in (example.start, there)]
            body = {"world": world, "model": model, "scan": example.scan, "text": text, "heading_rad": 0.0}
            x_m, y_m = graph.position_m[example.start, :2].tolist()
            asked: dict[str, list[tuple[str, dict[str, Any]]]] = {
                "first belief": [("ask", {"walk": walk[:1]}), ("frame", {"walk": walk[:1], "step": 0})],
                "a further step": [("frame", {"walk": walk, "step": 1})],
                "a cell's kernel": [("cell", {"walk": walk, "step": 1, "filter_step": 1, "x_m": x_m, "y_m": y_m})],
            }
            for what, requests in asked.items():
                if what == "a cell's kernel" and not inspector.has_filter:
                    continue
                since = time.process_time()
                for path, more in requests:
                    _post(served.port, path, {**body, **more})
                if number:  # the first warms up: threads, caches of convolutions
                    taken[what].append(time.process_time() - since)
    return [Latency(what, statistics.median(times), max(times), len(times)) for what, times in taken.items() if times]


def _texts() -> Iterator[str]:
    """Instructions, no two alike."""
    for there, turn, here in product(_THINGS, _TURNS, _THINGS):
        yield f"{turn} at the {here}, then walk past the {there} and stop."


def _post(port: int, path: str, body: dict[str, Any]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        data = json.dumps(body).encode()
        connection.request("POST", f"/api/{path}", data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise GhostsError(f"the viewer answered {answer.status} to /api/{path}: {text[:200].decode()}")
    finally:
        connection.close()
