"""The script that runs other people's programs, on a program of our own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("run_clients.py")
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


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)


def test_a_table_of_programs(tmp_path: Path) -> None:
    for name, code in (("works", DRIVER), ("fails", DRIVER.replace("[0.3]", "0.3")), ("build", "")):
        (tmp_path / name / "src" / "driver").mkdir(parents=True)
        (tmp_path / name / "src" / "driver" / "driver.py").write_text(code)
    (tmp_path / "build" / "MatterSim.py").write_text(
        "from ghosts.mattersim import Simulator as S\nclass Simulator(S):\n"
        "    def makeAction(self, i, h, e): super().makeAction(i, [2 * h[0]], e)\n"
    )
    done = run("--driver", str(tmp_path / "works"))
    assert done.returncode == 0, done.stderr
    assert "| driver with a window | 2 | yes |  | windows:" in done.stdout
    done = run("--driver", str(tmp_path / "fails"))
    assert done.returncode == 1
    assert "| no: TypeError: MatterSim: heading must be a list" in done.stdout
    done = run("--driver", str(tmp_path / "works"), "--against", str(tmp_path / "build"))
    assert done.returncode == 1
    assert "| yes | no: off by" in done.stdout
