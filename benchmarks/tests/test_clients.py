"""The script that runs other people's programs, on a program of our own."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from forked import Forked

SCRIPT = Path(__file__).parents[1] / "clients" / "run_clients.py"
DRIVER = """
import cv2, MatterSim
cv2.namedWindow("view")
sim = MatterSim.Simulator()
sim.setCameraResolution(32, 24)
sim.initialize()
sim.newRandomEpisode(["1LXtFkjw3qL"])
while cv2.waitKey(1) != ord("q"):
    sim.makeAction([0], [0.3], [0])
    cv2.imshow("view", sim.getState()[0].rgb)
"""


def run(*words: str) -> tuple[int, str]:
    """Status and output of the script; what it starts is started."""

    def script() -> None:
        sys.argv = [str(SCRIPT), *words]
        sys.path.insert(0, str(SCRIPT.parent))
        runpy.run_path(str(SCRIPT), run_name="__main__")

    process = Forked(script)
    status = process.end()
    return status, process.output() + process.errors()


def test_a_table_of_programs(tmp_path: Path) -> None:
    for name, code in (("works", DRIVER), ("fails", DRIVER.replace("[0.3]", "0.3")), ("build", "")):
        (tmp_path / name / "src" / "driver").mkdir(parents=True)
        (tmp_path / name / "src" / "driver" / "driver.py").write_text(code)
    (tmp_path / "build" / "MatterSim.py").write_text(
        "from ghosts_sim.mattersim import Simulator as S\nclass Simulator(S):\n"
        "    def makeAction(self, i, h, e): super().makeAction(i, [2 * h[0]], e)\n"
    )
    status, said = run("--driver", str(tmp_path / "works"))
    assert status == 0, said
    assert "| driver with a window | 2 | yes |  | windows:" in said
    status, said = run("--driver", str(tmp_path / "fails"))
    assert status == 1
    assert "| no: TypeError: MatterSim: heading must be a list" in said
    status, said = run("--driver", str(tmp_path / "works"), "--against", str(tmp_path / "build"))
    assert status == 1
    assert "| yes | no: off by" in said
