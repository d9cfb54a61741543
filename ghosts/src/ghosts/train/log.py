"""What a training run reports: a progress line, a log (one JSON object per line), and TensorBoard on request."""

from __future__ import annotations

import itertools
import json
import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from lightning_fabric import Fabric
from rich.progress import Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor

from ghosts.config import OptimiserConfig
from ghosts_sim.errors import DataError, MissingExtraError
from ghosts_sim.files import is_finite, parse_json, read_text, unwritable, write_text

_ASIDE = "move the file elsewhere; the same command then goes on with a new log"


def keep_rows(path: Path, iteration: int) -> None:
    """Cut a log back to an iteration: what came after it will be written again, and a half-written line is dropped.

    A new run renames a log that it finds, under the first free number.

    Raises:
        DataError: a line before the last is no row of a log.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    if iteration == 0:
        numbers = (path.with_suffix(f".{number}{path.suffix}") for number in itertools.count(1))
        path.rename(next(free for free in numbers if not free.exists()))
        return
    *lines, half = read_text(path).split("\n")
    lines += [half] if half.count('"iteration"') > 1 else []  # no half row, but a log without ends of lines
    kept: list[str] = []
    before = 0.0
    for number, line in enumerate(lines, 1):
        try:
            row = parse_json(line, path)
        except DataError:
            row = None
        done = row.get("iteration") if isinstance(row, dict) else None
        if not is_finite(done):
            raise DataError("not a row of a log", file=path, record=f"line {number}", value=line, hint=_ASIDE)
        if "loss" in row and done <= before:
            problem = f"iteration {done} after iteration {before}"
            raise DataError(problem, file=path, record=f"line {number}", hint=_ASIDE)
        before = done if "loss" in row else before
        if done <= iteration:
            kept.append(line)
    if half or len(kept) < len(lines):
        write_text(path, "".join(f"{line}\n" for line in kept))


def tensorboard_writer(folder: Path, start: int) -> Any:
    """A TensorBoard writer that hides what an earlier, interrupted run wrote after iteration `start`.

    Raises:
        MissingExtraError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("tensorboard", "log", "--tensorboard") from None
    # Its thread keeps what the system says, and the next row raises it; the traceback would be printed at once.
    threading.excepthook = lambda told: None if told.exc_type is OSError else threading.__excepthook__(told)
    return SummaryWriter(str(folder), purge_step=start + 1)


class Log:
    """Rows of a run. All processes call it in step, since losses are averaged over them; the first one writes.

    Args:
        config: how often to log.
        fabric: the processes.
        path: file to append to.
        losses: of earlier iterations that no row covers yet.
        bar: the progress line; None in other processes.
        writer: TensorBoard's; None without it.
    """

    def __init__(
        self,
        config: OptimiserConfig,
        fabric: Fabric,
        path: Path,
        losses: Float[Tensor, " n"],
        bar: Progress | None = None,
        writer: Any = None,
    ) -> None:
        self._config, self._fabric, self._path, self._bar, self._writer = config, fabric, path, bar, writer
        self._losses = list(losses.to(fabric.device).unbind())
        self._before = len(self._losses)
        self._since, self._waited_s = time.perf_counter(), 0.0

    def add(self, iteration: int, loss: Float[Tensor, ""], rate: float) -> None:
        """Count an iteration; the loss stays on its device until a row is due.

        Raises:
            DataError: a row is due and its loss is not finite.
        """
        self._losses.append(loss)
        config, done = self._config, iteration + 1
        if not done % config.log_every or done == config.iterations:
            self._row(done, rate)

    def _row(self, done: int, rate: float) -> None:
        config = self._config
        mean = float(self.pending().mean())
        elapsed = time.perf_counter() - self._since
        rate_s = (len(self._losses) - self._before) * config.batch / elapsed
        row = {
            "iteration": done,
            "loss": mean,
            "learning_rate": rate,
            "episodes_per_s": rate_s,
            "waiting": self._waited_s / elapsed,
        }
        self._write(row)
        if self._bar is not None:
            text = f"loss {mean:7.3f}  {rate_s:6.0f} episodes/s"
            self._bar.update(self._bar.task_ids[0], completed=done, description=text)
        self._losses, self._before = [], 0
        self._since, self._waited_s = time.perf_counter(), 0.0
        if not math.isfinite(mean):
            raise DataError(f"loss or gradient became {mean} by iteration {done}", hint="lower --train.learning-rate")

    def check(self, done: int, rate: float) -> Float[Tensor, " n"]:
        """Losses that no row covers yet; called before they are saved, or when an iteration has failed.

        Raises:
            DataError: they are not finite; a row says so.
        """
        losses = self.pending()
        if not losses.isfinite().all():
            self._row(done, rate)
        return losses

    def scored(self, iteration: int, scores: dict[str, float]) -> None:
        """Log an evaluation; its time does not count as training."""
        self._write({"iteration": iteration, **scores})
        if self._bar is not None:
            text = "  ".join(f"{name} {value:.3f}" for name, value in scores.items())
            self._bar.console.print(f"iteration {iteration}: {text}")
        self._since = time.perf_counter()

    def pending(self) -> Float[Tensor, " n"]:
        """Losses that no row covers yet, averaged over the processes."""
        if not self._losses:
            return torch.zeros(0)
        stacked = torch.stack(self._losses)
        if self._fabric.world_size == 1:
            return stacked
        return torch.as_tensor(self._fabric.all_reduce(stacked, reduce_op="mean"))

    def timed(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Hand batches on, counting the time spent waiting for them."""
        source = iter(batches)
        while True:
            begin = time.perf_counter()
            batch = next(source, None)
            self._waited_s += time.perf_counter() - begin
            if batch is None:
                return
            yield batch

    def _write(self, row: dict[str, Any]) -> None:
        if not self._fabric.is_global_zero:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")
            if self._writer is not None:
                for name, value in row.items():
                    if name != "iteration":
                        self._writer.add_scalar(name.replace(" ", "/"), value, row["iteration"])
        except OSError as error:
            raise unwritable(self._path, error) from None


@contextmanager
def logging(
    config: OptimiserConfig,
    fabric: Fabric,
    log: Path,
    start: int,
    losses: Float[Tensor, " n"],
    *,
    tensorboard: bool = False,
) -> Iterator[Log]:
    """The log of a run; see `Log`."""
    if not fabric.is_global_zero:
        yield Log(config, fabric, log, losses)
        return
    writer = tensorboard_writer(log.parent / "tensorboard", start) if tensorboard else None
    keep_rows(log, start)
    columns = TextColumn("{task.description}"), *Progress.get_default_columns()[1:2]
    try:
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as bar:
            bar.add_task("training", total=config.iterations, completed=start)
            yield Log(config, fabric, log, losses, bar, writer)
    finally:
        if writer is not None:
            writer.close()
