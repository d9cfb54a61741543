"""The precision of networks: float32 on a CPU unless half is asked for by name and works; never the process's end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from ghosts import precision, processor
from ghosts.precision import choose_precision, half_problem, network_type, networks_in
from ghosts_sim.cli import main
from ghosts_sim.errors import UnknownNameError
from landmark_world import make_landmark_root
from shared import shared_object
from trainings import small_options

CPU, GPU = torch.device("cpu"), torch.device("cuda")
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
FELL_BACK = "ghosts: half precision does not work on this processor ({}); the networks run in float32\n"
SMALL = small_options(log_every=1)


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither what another test found nor what it said counts here, or the other way round."""
    monkeypatch.setattr(precision, "half_problem", half_problem)
    for remembered in (half_problem, precision._say):
        remembered.cache_clear()
    yield
    for remembered in (half_problem, precision._say):
        remembered.cache_clear()


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine on which half precision ends the process."""
    monkeypatch.setattr(precision, "_TRIAL", KILLED)
    return monkeypatch


@pytest.mark.parametrize(
    ("asked", "device", "chosen"),
    [
        ("auto", CPU, "32-true"),
        ("32-true", CPU, "32-true"),
        ("auto", GPU, "bf16-mixed"),
        ("bf16-mixed", GPU, "bf16-mixed"),
        ("32-true", GPU, "32-true"),
    ],
)
def test_what_needs_no_trial(monkeypatch: pytest.MonkeyPatch, asked: str, device: torch.device, chosen: str) -> None:
    monkeypatch.setattr(precision, "half_problem", None)  # must not be called
    assert choose_precision(asked, device) == chosen  # type: ignore[arg-type]
    half = chosen == "bf16-mixed"
    assert network_type(asked, device) == (torch.bfloat16 if half else torch.float32)  # type: ignore[arg-type]


def test_an_unknown_precision_is_refused() -> None:
    # Past the type check that tests add: a config read from a file is not type-checked.
    unchecked = getattr(choose_precision, "__wrapped__", choose_precision)
    with pytest.raises(UnknownNameError, match="unknown precision 'bf16'; choose one of 32-true, auto, bf16-mixed"):
        unchecked("bf16", CPU)


def test_half_precision_by_name_on_this_cpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trial itself; where it succeeds, a network really runs in bfloat16, else the fallback is told."""
    monkeypatch.setattr(precision, "half_problem", lambda: shared_object("half precision", half_problem))
    problem = precision.half_problem()
    with networks_in("bf16-mixed", CPU):
        found = torch.nn.Linear(8, 8)(torch.ones(1, 8)).dtype
    told = capsys.readouterr().err
    if problem is None:
        assert found == torch.bfloat16
        assert ("AMX" in told) == processor.amx_forbidden
    else:
        assert found == torch.float32
        assert told == FELL_BACK.format(problem)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (KILLED, "a trial of it ended in SIGILL"),
        ("raise RuntimeError('could not create a primitive')", "torch failed in a trial of it"),
        ("pass", None),
    ],
)
def test_what_a_trial_tells(monkeypatch: pytest.MonkeyPatch, code: str, problem: str | None) -> None:
    monkeypatch.setattr(precision, "_TRIAL", code)
    assert half_problem() == problem


def test_no_trial_no_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert half_problem() == "it could not be tried: FileNotFoundError"


def test_a_torch_that_may_have_chosen_amx_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "amx_forbidden", True)
    monkeypatch.setattr(processor, "too_late", True)
    assert str(half_problem()).startswith("torch was imported before ghosts")


def test_doing_without_amx_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(processor, "amx_forbidden", True)
    monkeypatch.setattr(processor, "too_late", False)
    monkeypatch.setattr(precision, "_TRIAL", "pass")
    assert [choose_precision("bf16-mixed", CPU) for _ in range(2)] == ["bf16-mixed"] * 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "AMX" in told


def test_one_process_of_several_tells(trial: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    trial.setenv("LOCAL_RANK", "1")
    assert choose_precision("bf16-mixed", CPU) == "32-true"
    assert capsys.readouterr().err == ""


def test_commands_on_a_cpu_without_half_precision(
    trial: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked for it by name they work in float32 and say so in one line; by default there is nothing to say."""
    root, lines = make_landmark_root(tmp_path / "root"), {}
    told = FELL_BACK.format("a trial of it ended in SIGILL")
    for name in ("32-true", "auto", "bf16-mixed"):
        precision._say.cache_clear()
        out = tmp_path / name
        main(["train", "goal", *SMALL, "--data", str(root), "--out", str(out), "--train.precision", name])
        assert capsys.readouterr().err.count(told) == (name == "bf16-mixed")
        rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        lines[name] = [row["loss"] for row in rows if "loss" in row]
    assert lines["auto"] == lines["bf16-mixed"] == lines["32-true"]
    tables = []
    for half in ([], ["--half"]):
        precision._say.cache_clear()
        run = ["--run", str(tmp_path / "auto"), "--device", "cpu", "--data", str(root), "--split", "val_seen"]
        main(["eval", "goal", *run, "--examples", "4", *half])
        printed = capsys.readouterr()
        tables.append(printed.out)
        assert printed.err.count(told) == len(half)
    assert tables[0] == tables[1]
