"""Texts in observations that pass through the shared memory of Gymnasium's asynchronous vector environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium import spaces
from gymnasium.vector.utils import read_from_shared_memory


class SharedText(spaces.Text):
    """A text that is read whenever somebody looks at it. Gymnasium (1.3) reads texts in shared memory only once, before
    any was written, so that they stay blank."""


class _Texts(Sequence[str]):
    """The texts of several environments, as they are now; a copy of them is a tuple, as Gymnasium has it."""

    def __init__(self, space: SharedText, memory: Any, count: int) -> None:
        self._read = lambda: tuple(read_from_shared_memory.dispatch(spaces.Text)(space, memory, count))

    def __getitem__(self, number: Any) -> Any:
        return self._read()[number]

    def __len__(self) -> int:
        return len(self._read())

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return self._read()


@read_from_shared_memory.register(SharedText)
def _read_later(space: SharedText, shared_memory: Any, n: int = 1) -> _Texts:
    return _Texts(space, shared_memory, n)
