from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from ghosts.config import TrainConfig
from ghosts.train.log import keep_rows, logging
from ghosts.train.trainer import StopRequest
from ghosts_sim.errors import DataError, MissingExtraError

CONFIG = TrainConfig(iterations=7, batch=4, log_every=3)


def rows_of(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_are_means_of_their_iterations(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.jsonl"
    with logging(CONFIG, Fabric(accelerator="cpu", devices=1), path, 0, torch.zeros(0)) as log:
        for iteration in range(7):
            log.add(iteration, torch.tensor(float(iteration)), 0.1 * iteration)
            if iteration == 3:
                assert log.pending().tolist() == [3.0]
                log.scored(4, {"val success": 0.25})
    rows = rows_of(path)
    assert [(row["iteration"], row.get("loss")) for row in rows] == [(3, 1.0), (4, None), (6, 4.0), (7, 6.0)]
    assert rows[1]["val success"] == 0.25
    assert rows[2]["learning_rate"] == pytest.approx(0.5)
    assert all(row["episodes_per_s"] > 0 and 0 <= row["waiting"] <= 1 for row in rows if "loss" in row)


def test_a_resumed_row_covers_the_iterations_before(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"iteration": 3, "loss": 1.0}\n{"iteration": 6, "loss": 9.0}\n{"iteration": 5, "score": 1}\n{"iter'
    )
    with logging(CONFIG, Fabric(accelerator="cpu", devices=1), path, 4, torch.tensor([8.0])) as log:
        assert rows_of(path) == [{"iteration": 3, "loss": 1.0}]
        log.add(4, torch.tensor(4.0), 0.1)
        log.add(5, torch.tensor(0.0), 0.1)
    assert [(row["iteration"], row["loss"]) for row in rows_of(path)] == [(3, 1.0), (6, 4.0)]


@pytest.mark.parametrize(
    "text",
    [
        '{"iteration": 3}\nx\n{"iteration": 6}\n',
        '{"iteration": 3}\n{"iteration": "4"}\n',
        '{"iteration": 3}\n[3]\n',
        '{"iteration": 3}\u2028{"iteration": 4}\u2028',
    ],
)
def test_a_damaged_log_is_kept_and_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=r"log\.jsonl, line [12]: not a row of a log.*move the file elsewhere"):
        keep_rows(path, 5)
    assert path.read_text() == text


def test_a_row_that_is_there_twice(tmp_path: Path) -> None:
    row, scores = '{"iteration": 3, "loss": 1.0}\n', '{"iteration": 3, "SPL": 0.5}\n'
    path = tmp_path / "log.jsonl"
    path.write_text(row + scores + scores)  # scored again after the last row, where a run went on
    keep_rows(path, 5)
    path.write_text(row + row)
    with pytest.raises(DataError, match=r"log\.jsonl, line 2: iteration 3 after iteration 3; move the file"):
        keep_rows(path, 5)


def test_a_loss_that_is_not_finite_is_an_error(tmp_path: Path) -> None:
    with logging(CONFIG, Fabric(accelerator="cpu", devices=1), tmp_path / "log", 0, torch.zeros(0)) as log:
        log.add(0, torch.tensor(float("nan")), 0.1)  # no row is due yet
        log.add(1, torch.tensor(1.0), 0.1)
        with pytest.raises(DataError, match="became nan by iteration 3"):
            log.add(2, torch.tensor(1.0), 0.1)


def test_tensorboard(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    fabric = Fabric(accelerator="cpu", devices=1)
    with logging(CONFIG, fabric, tmp_path / "log.jsonl", 0, torch.zeros(0), tensorboard=True) as log:
        for iteration in range(3):
            log.add(iteration, torch.tensor(2.0), 0.5)
        log.scored(3, {"val success": 0.75})
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(item.step, item.value) for item in events.Scalars("loss")] == [(3, 2.0)]
    assert [(item.step, item.value) for item in events.Scalars("val/success")] == [(3, 0.75)]


def test_tensorboard_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    fabric = Fabric(accelerator="cpu", devices=1)
    with (
        pytest.raises(MissingExtraError, match=r"--tensorboard needs tensorboard.*'./ghosts\[log\]'"),
        logging(CONFIG, fabric, tmp_path / "log.jsonl", 0, torch.zeros(0), tensorboard=True),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted_the_second_raises(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.asked
        os.kill(os.getpid(), number)
        assert stop.asked
        assert "stopping after this iteration" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_other_threads_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def enter() -> None:
        with StopRequest() as stop:
            seen.append((stop.asked, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [(False, True)]
