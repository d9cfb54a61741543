"""`ghosts episodes` and `ghosts runs` list what there is; a wrong name is answered before anything is read."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from crafted import respoilt
from ghosts.weights import shipped
from ghosts_sim.cli import main


def test_episodes_are_listed_and_found(combs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["episodes", "--data", str(combs), "--split", "train", "--scan", "comb3", "--find", "WAIT the", "--most", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["episode", "split", "building", "path", "instruction"]
    assert lines[1].startswith("30")
    assert " train      comb3 " in lines[1]
    assert "  2.3 m  " in lines[1] or "  6.9 m  " in lines[1]
    assert lines[2:] == ["8 of 120 episodes, 7 of them not shown (--most 0 shows all)"]
    main(["episodes", "--data", str(combs), "--most", "0"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "144 of 144 episodes"
    assert len(lines) == 146
    main(["episodes", "--data", str(combs), "--most", "0", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert all(line.endswith(item["instruction"]) for line, item in zip(lines[1:], told, strict=False))  # not cut
    assert len(told) == 144


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--split", "trian"], "unknown split 'trian' in"),
        (["--scan", "comb9"], "unknown scan 'comb9' in"),
        (["--most", "-1"], "--most must not be negative, got -1"),
    ],
)
def test_wrong_words_are_named(combs: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["episodes", "--data", str(combs), *words])
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("command", ["film", "belief", "report"])
def test_an_unknown_episode_is_answered_at_once(
    combs: Path, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ghosts.view.open", None)  # models are not even looked for
    out = tmp_path / {"film": "film.gif", "belief": "figures", "report": "report.html"}[command]
    with pytest.raises(SystemExit):
        main([command, "--data", str(combs), "--run", "nowhere", "--episode", "300_9", "--out", str(out)])
    told = capsys.readouterr().err
    assert "unknown episode '300_9' in" in told
    assert "; the nearest of 144 are 300_0, 300_1, 300_2" in told
    with pytest.raises(SystemExit):
        main([command, "--data", str(combs), "--run", "nowhere", "--episode", "9999_99", "--out", str(out)])
    assert re.search(r"; the nearest of 144 are \d+_0, ", capsys.readouterr().err)


def test_models_are_listed(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "none").mkdir()
    for name in ("best", "last"):
        file = tmp_path / "runs" / "mine" / f"{name}.safetensors"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(run.read_bytes())
    (tmp_path / "runs" / "broken.safetensors").write_bytes(b"x" * 20)
    main(["runs", "--folder", str(tmp_path / "runs")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    mine = [str(tmp_path / "runs" / "mine"), str(tmp_path / "runs" / "mine" / "last.safetensors")]
    models = [name for name in shipped() if name != "houses-backbone"]
    assert [line[0] for line in lines] == ["--run", *models, *mine, "--backbone", "houses-backbone"]
    main(["runs", "--folder", str(tmp_path / "runs"), "--json"])
    assert {item["name"] for item in json.loads(capsys.readouterr().out)} == {*shipped(), *mine}
    monkeypatch.setenv("COLUMNS", "60")
    main(["runs", "--folder", str(tmp_path / "none" / "..")])
    assert all(len(line) <= 60 or "/" in line for line in capsys.readouterr().out.splitlines())
    monkeypatch.setenv("COLUMNS", "400")
    by_name = {line[0]: " ".join(line[1:]) for line in lines}
    assert by_name["houses-agent"].startswith("houses-agent walks by itself images ")
    assert by_name["houses-improved"].startswith("houses-agent predicts goals images ")
    assert by_name["houses-backbone"] == "for ghosts tiles images"
    assert by_name[str(tmp_path / "runs" / "mine")] == "tiny predicts goals landmarks 0"
    respoilt(run, tmp_path / "runs" / "mine" / "last.safetensors", iteration="many")
    (tmp_path / "runs" / "mine" / "best.safetensors").unlink()
    os.mkfifo(tmp_path / "runs" / "mine" / "best.safetensors")
    with pytest.raises(SystemExit):
        main(["runs", "--folder", str(tmp_path / "runs")])
    told = capsys.readouterr()
    assert [line.split()[1:] for line in told.out.splitlines() if "mine" in line] == [["damaged"], ["damaged"]]
    assert f"{tmp_path}/runs/mine/best.safetensors: no checkpoint, or a damaged one; copy it again" in told.err
    main(["runs", "--folder", str(tmp_path / "none")])
    assert "yet; train one with: ghosts train goal --out" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["runs", "--folder", str(tmp_path / "nowhere")])
    assert "nowhere: no such folder; choose another --folder" in capsys.readouterr().err
