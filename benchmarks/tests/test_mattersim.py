"""The drop-in is measured alone and in turn with another module; what fails is named. Never how fast it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from checks import unchecked
from forked import Forked
from ghosts_benchmarks import mattersim, mattersim_worker
from ghosts_benchmarks.mattersim import measure_mattersim
from ghosts_sim.errors import DataError, UnknownNameError

KINDS = {"start": 3, "preload": 2, "preload depth": 2, "jumps": 2}
"""Rows of work that has several."""
OURS = "from ghosts_sim.mattersim import Simulator\n"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buildings of a few viewpoints with small pictures."""
    small = {"VIEWPOINTS": 25, "LARGEST": 26, "FACE_PX": 16, "SMALL_PX": 16, "PICTURES": 2, "BUILDINGS": 3, "ROUNDS": 2}
    for name, value in small.items():
        monkeypatch.setattr(mattersim, name, value)


def module(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "MatterSim.py").write_text(text)
    return folder


class Worker(Forked):
    """What is started to measure, forked: of a dozen, each imports the same for a quarter of a second."""

    def __init__(self, words: list[str], env: dict[str, str], **pipes: object) -> None:
        (listen, said), (told, say) = os.pipe(), os.pipe()
        self.args = words

        def work() -> None:
            for end in (said, told):
                os.close(end)  # its input would never end
            sys.stdin, sys.stdout = os.fdopen(listen), os.fdopen(say, "w")
            sys.modules.pop("MatterSim", None)
            mattersim_worker.main(*words[2:])

        super().__init__(work, **env)
        for end in (listen, say):
            os.close(end)
        self.stdin, self.stdout = os.fdopen(said, "w"), os.fdopen(told)

    def wait(self) -> int:
        """As of a process that was started."""
        return self.end()


def test_every_row_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mattersim.subprocess, "Popen", Worker)
    with unchecked():  # what is forked is no `Popen`
        rows = list(measure_mattersim(0.01))
    assert [row.name for row in rows] == [name for name in mattersim._ROWS for _ in range(KINDS.get(name, 1))]
    assert {row.unit for row in rows} == {"frames/s", "steps/s", "s", "MB"}
    assert all(row.ours > 0.0 for row in rows if row.unit != "MB")
    assert all(row.original is None and row.ratio is None for row in rows)


def test_two_modules_take_turns(tmp_path: Path) -> None:
    other = module(tmp_path / "other", OURS)
    turn, start, memory, first = measure_mattersim(0.02, other, ("turn", "start"))
    assert turn.original is not None
    assert turn.ratio is not None
    assert turn.ratio > 0.0
    assert turn.cpu_ratio is not None
    assert turn.cpu_ratio > 0.0
    assert (start.unit, memory.unit, first.unit) == ("s", "MB", "s")
    assert first.original is None
    assert start.ratio == pytest.approx(start.original / start.ours)  # how many times as fast


def test_what_cannot_be_measured_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no module MatterSim here; --against takes the folder of a build"):
        next(measure_mattersim(0.01, tmp_path))
    with pytest.raises(UnknownNameError, match=r"unknown row 'tern'.*turn"):
        next(measure_mattersim(0.01, work=("tern",)))
    broken = module(tmp_path / "broken", "raise RuntimeError('EGL error 0x3001')")
    with pytest.raises(DataError, match=r"broken: the simulator failed: RuntimeError: EGL error 0x3001"):
        next(measure_mattersim(0.01, broken, ("turn",)))
    dying = module(tmp_path / "dying", OURS + "import os\nSimulator.makeAction = lambda *_: os._exit(3)\n")
    with pytest.raises(DataError, match="status 3"):
        next(measure_mattersim(0.01, dying, ("discretised",)))
