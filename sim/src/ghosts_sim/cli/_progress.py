"""How far a command is and how long it will take, on the terminal; silent where nobody watches (a pipe, a log)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

Report = Callable[[int, int], None]
"""Called with what is done and with all there is to do."""


def columns() -> tuple[ProgressColumn, ...]:
    """Columns of a progress bar: what is done, how far it is, how long it will take."""
    return TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()


@contextmanager
def shown_progress(what: str, *, shown: bool = True) -> Iterator[Report]:
    """A line with a bar for as long as the block runs; it leaves nothing behind. Of several processes one shows it."""
    console = Console(stderr=True)
    with Progress(*columns(), console=console, transient=True, disable=not (shown and console.is_terminal)) as progress:
        bar = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
