"""How a model's own walks of a split end: a fair sample, walked in the background, to open on and to compare with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ghosts.data.examples import Example, evenly
from ghosts.view.inspector import Inspector
from ghosts_sim.errors import GhostsError
from ghosts_sim.types import SUCCESS_M

MOST = 60
"""Instructions that are walked, evenly spaced; a walk takes about a third of a second."""
PAUSE_S = 0.1
"""Between two walks, for those who look at something."""
TRIES = 8
"""Walks before a page opens on an instruction that is missed."""
EXAMPLES = 4
"""One of them may be the one that is shown."""


@dataclass(eq=False)
class Ends:
    """The walks of one model in some episodes; a thread walks them once somebody asks."""

    inspector: Inspector
    examples: list[Example]
    left_m: dict[str, float | None] = field(default_factory=dict)
    """By episode, of those walked so far."""

    def __post_init__(self) -> None:
        self.examples = evenly(self.examples, MOST)
        self._more, self._started = threading.Condition(), False

    def _walk(self) -> None:
        for example in self.examples:
            if not threading.main_thread().is_alive():
                return  # the program ends, and may not do so under a computation
            try:
                query = self.inspector.query(example)
                left_m = self.inspector.frame(query, len(query.walk) - 1).left_m
            except GhostsError:
                left_m = None  # a page that opens it is told why
            with self._more:
                self.left_m[example.instr_id] = left_m
                self._more.notify_all()
            time.sleep(PAUSE_S)

    def start(self) -> None:
        """Walk, unless that is done or under way."""
        with self._more:
            if not self._started:
                self._started = True
                threading.Thread(target=self._walk, daemon=False).start()

    def wait(self, enough: Callable[[], bool]) -> None:
        """Until it is enough, or all have been walked."""
        self.start()
        with self._more:
            self._more.wait_for(lambda: enough() or len(self.left_m) == len(self.examples))

    def arrived(self, example: Example) -> bool:
        """Whether a walk is known to have arrived."""
        left_m = self.left_m.get(example.instr_id)
        return left_m is not None and left_m < SUCCESS_M

    @property
    def first(self) -> str:
        """The first episode that arrives, among the first few; empty where none does."""
        return next((item.instr_id for item in self.examples[:TRIES] if self.arrived(item)), "")

    def told(self) -> dict[str, Any]:
        """For a page, as plain JSON values."""
        good = sorted((item for item in self.examples if self.arrived(item)), key=lambda item: len(item.text))
        return {
            "total": len(self.examples),
            "walked": len(self.left_m),
            "arrived": len(good),
            "first": self.first,
            "examples": [{"instr_id": item.instr_id, "text": item.text} for item in good[:EXAMPLES]],
        }
