"""The example of a method of one's own: installed, it trains, is scored and shown, and nothing else knows of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghosts.run.load import load_run
from ghosts.view.library import Library
from ghosts_sim.cli import main
from landmark_world import make_landmark_root


@pytest.mark.usefixtures("installed")
def test_it_trains_is_scored_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, out = make_landmark_root(tmp_path / "root"), tmp_path / "run"
    small = ["--train.iterations", "3", "--train.batch", "4", "--select-examples", "2", "--model.mapper.rows", "32"]
    small += ["--model.mapper.cols", "32", "--model.reach", "2", "--device", "cpu", "--threads", "0"]
    main(["train", "goal", "--preset", "my-method", "--data", str(root), "--out", str(out), *small])
    run = load_run(out)
    assert (run.method.name, run.experiment.model.reach) == ("my_method", 2)  # type: ignore[attr-defined]
    capsys.readouterr()
    main(["eval", "goal", "--run", str(out), "--data", str(root), "--split", "val_seen", "--device", "cpu"])
    assert "my-method" in capsys.readouterr().out
    inspector = Library([root], [out]).inspector("root", "run")
    example = inspector.data.examples("val_seen")[0]
    frame = inspector.record(inspector.query(example, fixed=True)).frames[-1]
    assert frame.beliefs.sum((1, 2, 3)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.usefixtures("installed")
def test_its_help_offers_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["train", "goal", "--preset", "my-method", "--help"])
    text = capsys.readouterr().out
    assert "--model.reach" in text
    assert "--model.filter.motion.kernel" in text
    assert "--model.filter.motion.hidden" not in text
