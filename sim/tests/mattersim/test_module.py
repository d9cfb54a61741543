"""The module `MatterSim`: programs of both times run on it unchanged, and no other one is hidden in silence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import MatterSim
from ghosts_sim.cli import mattersim as command
from ghosts_sim.mattersim import either
from makers import SCAN, viewpoint_id

SOURCE = Path(either.__file__).parents[2]
"""Where the module is."""

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


def run(program: str, root: Path, *folders: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), *sys.path])}
    words = [sys.executable, "-W", "always", "-c", program, str(root / "connectivity")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines() + done.stderr.splitlines()


def test_programs_since_2019_run_unchanged(root: Path) -> None:
    said = run(NEWER, root)
    assert said[0].startswith(f"MatterSim: scanId must be a list with an entry for each environment, got {SCAN!r}")
    assert "of programs that call init() instead of initialize()" in said[0]
    assert said[1].startswith("MatterSim: heading must be a list")
    assert "float" in said[2]
    assert said[3] == "MatterSim: an index must not be negative, got -1 in environment 0"
    assert said[4].startswith("MatterSim: index must be a list")
    assert "str" in said[5]
    assert said[6].startswith("MatterSim: heading must be a list with an entry for each environment, got {0: 1.0}")
    assert said[7].startswith("MatterSim: elevation must be a list with an entry for each environment, got b'0'")
    assert said[8:] == [f"{viewpoint_id(1)} cbf ghosts_sim.mattersim.building"]


def test_programs_of_2018_run_unchanged(root: Path) -> None:
    said = run(OLDER, root)
    assert said[0].startswith("MatterSim: scanId must be a text, got")
    assert "float" in said[1]
    assert said[2:] == ["[0.5, 2.0, 1.5] ghosts_sim.mattersim.building"]


def graphs(root: Path) -> MatterSim.Simulator:
    """A simulator that has not been told yet which it is."""
    sim = MatterSim.Simulator()
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setRenderingEnabled(False)
    sim.setCameraResolution(width=64, height=48)
    assert sim.setElevationLimits(-0.2, 0.2)
    sim.setSeed(3)
    return sim


def test_the_first_call_that_tells_decides(root: Path) -> None:
    newer: list[Callable[[MatterSim.Simulator], object]] = [
        lambda sim: sim.initialize(),
        lambda sim: sim.setBatchSize(1),
        lambda sim: sim.newRandomEpisode([SCAN]),
        lambda sim: sim.newEpisode((SCAN,), np.array([viewpoint_id(0)]), [0], [0]),
    ]
    for tell in newer:
        sim = graphs(root)
        assert sim.getState() == []
        sim.close()
        tell(sim)
        sim.newEpisode([SCAN], [viewpoint_id(1)], [0], [-1.0])
        (state,) = sim.getState()
        assert (state.location.x, state.elevation) == (0.5, -0.2)
    older: list[Callable[[MatterSim.Simulator], object]] = [
        lambda sim: sim.init(),
        lambda sim: sim.newEpisode(SCAN, viewpoint_id(0), 0, 0),
    ]
    for tell in older:
        sim = graphs(root)
        tell(sim)
        sim.newEpisode(SCAN.encode(), viewpoint_id(1), 0, -1.0)
        state = sim.getState()
        assert (state.location.point[0], state.elevation) == (0.5, -0.2)
        assert isinstance(state, MatterSim.SimState)
        assert isinstance(state.location, MatterSim.ViewPoint)
    with pytest.raises(RuntimeError, match="newEpisode must be called before makeAction"):
        graphs(root).makeAction([0], [0], [0])
    with pytest.raises(ValueError, match="Invalid action index: 0"):
        graphs(root).makeAction(0, 0, 0)


def test_each_interface_has_its_own_default_folder_of_images(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "data" / "v1").mkdir(parents=True)
    (root / "data" / "v1" / "scans").symlink_to(root / "scans")
    monkeypatch.chdir(root)
    newer, older = MatterSim.Simulator(), MatterSim.Simulator()
    newer.newEpisode([SCAN], [viewpoint_id(1)], [0.3], [0])
    older.newEpisode(SCAN, viewpoint_id(1), 0.3, 0)
    np.testing.assert_array_equal(newer.getState()[0].rgb, older.getState().rgb)


def test_a_subclass_may_override_anything(root: Path) -> None:
    class Other(MatterSim.Simulator):
        def newEpisode(self, batch: list[str]) -> None:
            super().newEpisode([SCAN], batch, [0], [0])

        def initialize(self) -> None:
            raise AssertionError("never called")

    sim = Other()
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setRenderingEnabled(False)
    sim.newRandomEpisode([SCAN])
    sim.newEpisode([viewpoint_id(2)])
    assert sim.getState()[0].location.ix == 2
    assert "Rendered 0 frames" in sim.timingInfo()


def test_another_module_is_not_hidden_in_silence(tmp_path: Path, root: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    (build / "MatterSim.py").write_text("print('the original')")
    assert run("import MatterSim", root, build) == ["the original"]  # who is first is imported
    appended = f"import sys; sys.path.append({str(build)!r}); import MatterSim; print(MatterSim.Simulator)"
    said = run(appended, root)
    assert said[0] == "<class 'ghosts_sim.mattersim.either.Simulator'>"
    assert f"not used: {build / 'MatterSim.py'} (to use it, put it first on PYTHONPATH)" in said[1]
    (build / "MatterSim.py").unlink()
    (build / "MatterSim").mkdir()
    assert len(run(appended, root)) == 1  # an empty folder hides nothing


def test_its_other_name(root: Path) -> None:
    from Matterport3DSimulator import MatterSim as same

    assert same.Simulator is MatterSim.Simulator


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "path", [str(SOURCE)])
    command.main([])
    assert capsys.readouterr().out == f"import MatterSim: {SOURCE / 'MatterSim.py'}, of ghosts-sim\n"
    (tmp_path / "MatterSim.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(SOURCE)])  # as PYTHONPATH does
    command.main([])
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"import MatterSim: {tmp_path / 'MatterSim.py'}, not of ghosts-sim"
    assert second.startswith("hidden by it: ")
    monkeypatch.setattr(sys, "path", [])
    command.main([])
    assert "no such module; pip install ghosts-sim brings it" in capsys.readouterr().out
