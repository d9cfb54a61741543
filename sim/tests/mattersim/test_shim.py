"""The module `MatterSim`: installed, found, replaced and removed; programs of both times run on it unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ghosts_sim.cli import mattersim as command
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.mattersim import shim
from makers import SCAN, viewpoint_id

NEWER = f"""
import sys
import MatterSim
sim = MatterSim.Simulator()
sim.setNavGraphPath(sys.argv[1].encode())
sim.setRenderingEnabled(None)
for name, *values in (
    ("BatchSize", -1), ("BatchSize", 2.0), ("CacheSize", "9"), ("Seed", 2**31), ("CameraVFOV", "1"),
    ("DepthEnabled", "False"), ("NavGraphPath", 3), ("CameraResolution", 640.0, 480),
):
    try:
        print("accepted", name, getattr(sim, "set" + name)(*values))
    except TypeError:
        pass
sim.initialize()
for wrong in (
    lambda: sim.newEpisode({SCAN!r}, "", 0, 0), lambda: sim.newEpisode([{SCAN!r}], [""], 0, 0),
    lambda: sim.makeAction([0.0], [0], [0]), lambda: sim.makeAction([-1], [0], [0]), lambda: sim.makeAction(0, 0, 0),
    lambda: sim.newEpisode([{SCAN!r}], [{viewpoint_id(0)!r}], ["0"], [0]),
    lambda: sim.newEpisode([{SCAN!r}], [{viewpoint_id(0)!r}], {{0: 1.0}}, [0]),
    lambda: sim.newEpisode([{SCAN!r}], [{viewpoint_id(0)!r}], [0], b"0"),
):
    try:
        wrong()
    except TypeError as error:
        print(error)
sim.newEpisode([{SCAN!r}], [{viewpoint_id(1)!r}], (0.5,), [0])
print(sim.getState()[0].location.viewpointId, MatterSim.cbf.__name__, MatterSim.ViewPoint.__module__)
"""
OLDER = f"""
import sys
import MatterSim
sim = MatterSim.Simulator()
sim.setNavGraphPath(sys.argv[1])
sim.setRenderingEnabled(False)
sim.init()
for wrong in (lambda: sim.newEpisode([{SCAN!r}], [""], [0], [0]), lambda: sim.makeAction(0.0, 0, 0)):
    try:
        wrong()
    except TypeError as error:
        print(error)
sim.newEpisode({SCAN!r}, {viewpoint_id(1)!r}, 0, 0)
print(sim.getState().location.point, MatterSim.SimState.__module__)
"""


def run(program: str, folder: Path, root: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    words = [sys.executable, "-c", program, str(root / "connectivity")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_programs_of_both_times_run_unchanged(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    folder.mkdir()
    assert shim.find(folder) == shim.Found(None, None)
    path = shim.install(2, folder)
    assert shim.find(folder) == shim.Found(path, 2)
    said = run(NEWER, folder, root)
    assert said[0].startswith(f"MatterSim: scanId must be a list with an entry for each environment, got {SCAN!r}")
    assert "ghosts mattersim --install-shim --version 1" in said[0]
    assert said[1].startswith("MatterSim: heading must be a list")
    assert "float" in said[2]
    assert said[3] == "MatterSim: an index must not be negative, got -1 in environment 0"
    assert said[4].startswith("MatterSim: index must be a list")
    assert "str" in said[5]
    assert said[6].startswith("MatterSim: heading must be a list with an entry for each environment, got {0: 1.0}")
    assert said[7].startswith("MatterSim: elevation must be a list with an entry for each environment, got b'0'")
    assert said[8:] == [f"{viewpoint_id(1)} cbf ghosts_sim.mattersim.batch"]
    assert shim.install(1, folder) == path
    assert shim.find(folder) == shim.Found(path, 1)
    said = run(OLDER, folder, root)
    assert said[0].startswith("MatterSim: scanId must be a text, got")
    assert "float" in said[1]
    assert said[2:] == ["[0.5, 2.0, 1.5] ghosts_sim.mattersim.v1"]
    assert shim.remove(folder) == path
    assert shim.remove(folder) is None
    assert not list(folder.glob("**/*.py*"))


def test_another_module_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "MatterSim.py"
    real.write_text("class Simulator: pass\n")
    for act in (lambda: shim.install(2, tmp_path), lambda: shim.remove(tmp_path)):
        with pytest.raises(DataError, match=r"MatterSim\.py: .*stays as it is"):
            act()
    assert real.read_text() == "class Simulator: pass\n"
    elsewhere = tmp_path / "packages"
    elsewhere.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(DataError, match="another MatterSim is installed"):
        shim.install(2, elsewhere)
    real.unlink()
    (tmp_path / "MatterSim").mkdir()
    with pytest.raises(DataError, match="another MatterSim is installed"):
        shim.install(2, elsewhere)


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(DataError, match=r"packages cannot be written here; .*python -m venv"):
        shim.install(2, tmp_path)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shim, "site_packages", lambda: tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for words, said in (
        ([], "import MatterSim: no such module; to have it import ghosts: ghosts mattersim --install-shim"),
        (["--install-shim", "--version", "1"], "the older interface (one simulator, plain values) of ghosts"),
        (["--install-shim"], "the newer interface (a batch, lists) of ghosts"),
        ([], f"of ghosts ({tmp_path / 'MatterSim.py'})"),
        (["--remove-shim"], f"removed {tmp_path / 'MatterSim.py'}"),
        (["--remove-shim"], "there was no shim to remove"),
    ):
        command.main(words)
        assert said in capsys.readouterr().out
    with pytest.raises(ConfigError, match="not both"):
        command.main(["--install-shim", "--remove-shim"])
    with pytest.raises(SystemExit):
        command.main(["--version", "4"])
    assert "invalid choice" in capsys.readouterr().err
    command.main(["--install-shim"])
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "MatterSim.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "build"))  # as PYTHONPATH does
    command.main([])
    assert f"{tmp_path / 'build' / 'MatterSim.py'}, which is not of this package" in capsys.readouterr().out
