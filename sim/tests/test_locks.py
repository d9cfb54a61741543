"""Who writes to a folder is alone there; the system lets go when a process dies."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.files import atomic_path, remove_leftovers
from ghosts_sim.locks import in_turn, locked

HOLD = """
import sys, time
from pathlib import Path
from ghosts_sim.files import atomic_path
from ghosts_sim.locks import locked
folder = Path(sys.argv[1])
with locked(folder, "ghosts train"), atomic_path(folder / "a.txt") as temporary:
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_second_comer_is_told_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(DataError, match=rf"ghosts train is already at work here \(process {holder.pid} on "):
            locked(tmp_path, "ghosts train").__enter__()
        with locked(tmp_path, "ghosts train", part="-1"):
            pass
        # Its temporary file is no leftover while it lives.
        remove_leftovers(tmp_path)
        assert len(list(tmp_path.glob(".a.*"))) == 1
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()  # type: ignore[union-attr]
    with locked(tmp_path, "ghosts train"):
        remove_leftovers(tmp_path)
    assert not list(tmp_path.glob(".a.*"))


def test_turns_are_waited_for(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with in_turn(tmp_path):
            order.append("second")

    with in_turn(tmp_path):
        thread = Thread(target=second)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(code: int) -> None:
        def flock(descriptor: int, operation: int) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(fcntl, "flock", flock)

    refuse(errno.ENOLCK)
    with locked(tmp_path, "ghosts train"), in_turn(tmp_path), atomic_path(tmp_path / "a") as temporary:
        temporary.write_text("work goes on")
    assert (tmp_path / "a").read_text() == "work goes on"
    refuse(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        locked(tmp_path, "ghosts train").__enter__()
    with pytest.raises(OSError, match="Input/output"):
        in_turn(tmp_path).__enter__()


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        locked(tmp_path / "file" / "folder", "ghosts train").__enter__()


def test_nothing_is_left_and_nobody_is_alone_twice(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(40):
            with in_turn(tmp_path):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert not list(tmp_path.iterdir())
