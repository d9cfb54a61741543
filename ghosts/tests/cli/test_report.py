"""`ghosts report`, `ghosts film` and `ghosts belief` on a small world."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="figures need ghosts[viz]")

from ghosts.view.record_json import from_json, to_json
from ghosts_sim.cli import main
from ghosts_sim.files import read_json, write_json


def test_an_evaluation(combs: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    main(["report", "--data", str(combs), "--run", str(run), "--out", str(out), "--examples", "6", "--show", "3"])
    assert "3 episodes" in capsys.readouterr().out
    page = out.read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [episode["note"].split(",")[0] for episode in data["episodes"]] == ["best", "worst", "middling"]
    assert "Goal prediction on the fixed walks of 6 instructions" in page
    # The model walked by itself, and what the page says first is what the walks say.
    assert {episode["models"][0]["walked_by"] for episode in data["episodes"]} == {"small"}
    ends = {item["name"]: item["left_m"] for item in data["list"]}
    assert len(ends) == 6
    assert f"<b>{sum(end < 3 for end in ends.values())} of 6 arrived</b> <span>small, walking by itself" in page
    for episode in data["episodes"]:
        assert episode["models"][0]["frames"][-1]["left_m"] == pytest.approx(ends[episode["name"]], abs=0.01)
        assert episode["note"].endswith(f"{ends[episode['name']]:.1f} m off")


def test_the_fixed_walk_is_an_option(combs: Path, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    where = ["--data", str(combs), "--run", str(run), "--walk", "fixed"]
    main(["report", *where, "--out", str(out), "--examples", "2", "--show", "1"])
    page = out.read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    record = from_json(data["episodes"][0]["models"][0])
    assert (record.walked_by, len(record.walk)) == ("fixed walk", 8)
    assert "% predicted right</b> <span>small, led along the fixed walks of 2 instructions" in page
    main(["belief", *where, "--episode", record.instr_id, "--out", str(tmp_path / "figures")])
    assert from_json(read_json(tmp_path / "figures" / "episode.json")).walk == record.walk
    main(["belief", *where[:4], "--episode", record.instr_id, "--out", str(tmp_path / "figures")])
    assert from_json(read_json(tmp_path / "figures" / "episode.json")).own_walk


def test_models_side_by_side(combs: Path, run: Path, agent: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    both = ["--run", str(run), "--run", str(agent), "--baseline", "--examples", "4", "--show", "3"]
    main(["report", "--data", str(combs), *both, "--out", str(out)])
    page = out.read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    for episode in data["episodes"]:
        assert [item["model"] for item in episode["models"]] == ["small", "agent", "hand-coded"]
        assert len({tuple(item["walk"]) for item in episode["models"]}) == 1
        assert [item["motion"] is not None for item in episode["models"]] == [True, True, False]
        assert [item["frames"][0]["choice"]["by"] for item in episode["models"]] == ["planner", "policy", "mass"]
    assert data["episodes"][2]["note"].startswith("differ by")
    assert [item["walked_by"] for item in data["episodes"][0]["models"]] == ["small"] * 3


def test_one_file_under_two_names_is_said(
    combs: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin, out = tmp_path / "twin.safetensors", tmp_path / "report.html"
    twin.symlink_to(run)
    both = ["--run", str(run), "--run", str(twin)]
    main(["report", "--data", str(combs), *both, "--episode", "301_2", "--out", str(out)])
    line = "small' is the same file as small: they believe the same"
    assert line in capsys.readouterr().out
    assert html.escape(line) in out.read_text(encoding="utf-8").split("</main>")[0]


def test_chosen_episodes_and_records(
    combs: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--data", str(combs), "--run", str(run)]
    figures = tmp_path / "figures"
    kinds = ["--kind", "png", "--kind", "pdf"]
    main(["belief", *where, "--episode", "302_0", "--out", str(figures), *kinds, "--step", "1"])
    names = {path.name for path in figures.iterdir()}
    assert names == {f"{name}.{kind}" for name in ("belief", "attention", "inside") for kind in ("png", "pdf")} | {
        "episode.json"
    }
    record = from_json(read_json(figures / "episode.json"))
    assert record.instr_id == "302_0"
    stored = str(figures / "episode.json")
    out = tmp_path / "chosen.html"
    main(["report", *where, "--episode", "301_2", "--record", stored, "--out", str(out)])
    data = json.loads(out.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])
    assert [episode["name"] for episode in data["episodes"]] == ["301_2", "episode 302_0"]
    frame = data["episodes"][1]["models"][0]["frames"][0]
    assert frame["goal_xy_m"] == list(record.frames[0].goal_xy_m)
    # A record needs no model.
    main(["report", "--data", str(combs), "--record", stored, "--out", str(out)])
    page = out.read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [episode["name"] for episode in data["episodes"]] == ["episode 302_0"]
    assert "<title>Ghosts: small on combs</title>" in page
    # Nor a data root, where it has the plan of its building.
    main(["report", "--record", stored, "--out", str(out)])
    page = out.read_text(encoding="utf-8")
    alone = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert "combs, recorded episodes" in page
    assert alone == data
    bare = tmp_path / "bare.json"
    write_json(bare, to_json(replace(record, scene=None)))
    for arguments, told in (
        (["--record", str(bare)], f"{bare}, field 'scene': the record has no plan of its building; name the root"),
        (["--record", stored, "--episode", "301_2"], "no data root: name --data ROOT (only --record FILE"),
        ([], "no data root: name --data ROOT"),
    ):
        with pytest.raises(SystemExit):
            main(["report", *arguments, "--out", str(out)])
        assert told in capsys.readouterr().err
    lost = replace(record, scene=None, walk=("nowhere", *record.walk[1:]))
    write_json(bare, to_json(lost))
    with pytest.raises(SystemExit):
        main(["report", "--data", str(combs), "--record", str(bare), "--out", str(out)])
    assert f"building {record.scan} of this data root lacks a viewpoint (got 'nowhere')" in capsys.readouterr().err
    for more, told in (
        (["--episode", "301_2"], "no model to show; name --run RUN"),
        (["--figures", str(figures)], "--figures needs --run RUN, to photograph the viewer, got"),
    ):
        with pytest.raises(SystemExit):
            main(["report", "--data", str(combs), "--record", stored, *more, "--out", str(out)])
        assert told in capsys.readouterr().err
    two = tmp_path / "two.json"
    write_json(two, [to_json(record), to_json(replace(record, model="other"))])
    main(["report", *where, "--record", str(two), "--out", str(out)])
    data = json.loads(out.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])
    assert [item["model"] for item in data["episodes"][0]["models"]] == ["small", "other"]
    assert data["episodes"][0]["note"] == "record of small and other"


def test_a_film_is_silent(combs: Path, baseline: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither ffmpeg nor its library says a word."""
    pytest.importorskip("imageio_ffmpeg", reason="an MP4 needs ghosts[viz]")
    out = tmp_path / "film.mp4"
    main(["film", "--data", str(combs), "--run", str(baseline), "--out", str(out)])
    assert out.read_bytes()[4:8] == b"ftyp"
    told = capfd.readouterr()
    assert told.err == ""
    assert told.out.count("\n") == 1


def test_a_film_of_two_models(combs: Path, baseline: Path, tmp_path: Path) -> None:
    """Of models without filter steps, which have one picture an agent step."""
    out = tmp_path / "film.gif"
    main(["film", "--data", str(combs), "--run", str(baseline), "--run", str(baseline), "--out", str(out)])
    assert out.read_bytes()[:6] == b"GIF89a"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["report", "--out", "x.pdf"], "a report is written as .html or .htm; end --out in .html"),
        (["film", "--out", "x.avi"], "a film is written as .mp4 or .gif"),
        (["report", "--split", "nowhere"], "unknown split 'nowhere'"),
        (["report", "--episode", "nobody"], "unknown episode 'nobody'"),
        (["belief", "--out", "x", "--step", "99", "--walk", "fixed"], "--step must lie in 1..8"),
    ],
)
def test_wrong_words_are_named(
    combs: Path, run: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([arguments[0], "--data", str(combs), "--run", str(run), *arguments[1:]])
    assert stop.value.code in (1, 2)
    assert told in capsys.readouterr().err
