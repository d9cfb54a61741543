"""`ghosts prepare` and all that follows: from raw files to a trained and evaluated model."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import ghosts_sim.matterport.prepare as whole_release
from checks import unchecked
from ghosts.data import tile_maker
from ghosts.data.tile_maker import TileMaker
from ghosts.data.tile_store import TileSettings, read_tiles
from ghosts.mapping.backbone import ResNetBackbone
from ghosts.run.doctor import diagnose
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.types import Intrinsics
from matterport.release import SCAN, ReleaseConfig, Shot, make_shots, write_graph, write_release


def write_episodes(folder: Path, shots: list[Shot]) -> None:
    names = [shot.viewpoint for shot in shots]
    positions = np.array([shot.position_m for shot in shots])
    folder.mkdir()
    for split, number in (("train", 10), ("val_seen", 20)):
        records = []
        for back in (False, True):
            length = float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())
            texts = ["Walk past the ball and stop.", "Go to the passage.", "Turn around and go on."]
            path = names[::-1] if back else names
            record = {"scan": SCAN, "path_id": number + back, "path": path, "heading": 0.5, "distance": length}
            records.append(record | {"instructions": texts})
        (folder / f"R2R_{split}.json").write_text(json.dumps(records), encoding="utf-8")


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Zip files of a scan, graphs and episodes."""
    folder = tmp_path_factory.mktemp("downloads")
    shots = make_shots(ReleaseConfig(), 2)
    write_release(folder / "v1" / "scans", ReleaseConfig(), shots, zipped=True)
    write_graph(folder / "connectivity", shots)
    write_episodes(folder / "r2r", shots)
    return folder


def prepare(downloads: Path, root: Path, *more: str) -> None:
    sources = ["--raw", str(downloads), "--connectivity", str(downloads / "connectivity")]
    episodes = ["--r2r", str(downloads / "r2r")]
    main(["prepare", *sources, *episodes, "--out", str(root), "--faces", "96", "--workers", "1", *more])


@pytest.fixture(scope="module")
def made(downloads: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `prepare` makes of them; nobody changes it."""
    folder = tmp_path_factory.mktemp("made") / "root"
    prepare(downloads, folder)
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy of it, as whoever made it would find it again."""
    return Path(shutil.copytree(made, tmp_path / "root"))


def with_small_views(
    root: DataRoot, model: ResNetBackbone, settings: TileSettings, device: torch.device, batch: int
) -> TileMaker:
    """A sweep's views of a quarter of the pixels: with all of them, the ResNet takes most of the test's time."""
    return TileMaker(
        root, model, replace(settings, camera=Intrinsics(160, 128, settings.camera.vfov_rad)), device, batch
    )


def test_from_zip_files_to_a_trained_model(downloads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tiles by a ResNet-34 (random weights), two iterations of `paper` (map and episodes shrunk for time), scores and
    a report."""
    pytest.importorskip("matplotlib", reason="the report needs ghosts[viz]")
    root, run = tmp_path / "root", tmp_path / "run"
    prepare(downloads, root)
    text = capsys.readouterr().out
    assert "2 panoramas of 1 scans, 2 to make here" in text
    assert "R2R train: 2 of 2 paths" in text
    assert "(2 panoramas): it is bottom-left" in text
    summary = json.loads((root / "prepare.json").read_text())
    row = summary["scans"][SCAN]
    assert (row["panoramas"], row["prepared"], summary["missing"]) == (2, 2, {})
    assert row["holes_after"] < row["holes_before"] < 0.2
    assert row["agreement"] > 0.99
    assert row["graph_turn_deg"] < 0.01

    torch.manual_seed(0)
    save_file(ResNetBackbone().resnet.state_dict(), tmp_path / "resnet.safetensors")
    weights = ["--backbone", str(tmp_path / "resnet.safetensors")]
    capsys.readouterr()
    with unchecked(), patch.object(tile_maker, "TileMaker", with_small_views):
        main(["tiles", "--data", str(root), *weights, "--device", "cpu", "--batch", "1"])
    text = capsys.readouterr().out
    assert "1 of 1 buildings to make: about 0 MB, at most " in text
    assert text.index("buildings to make") < text.index("1 buildings made")
    stored = read_tiles(root / "tiles" / "tiles.safetensors")
    assert stored.settings.channels == 768
    assert [len(building.viewpoints) for building in stored.buildings] == [2]
    tasks = {task.name: task.ready for task in diagnose(root).tasks}
    assert tasks == {
        "simulator with pictures": True,
        "training, landmarks-filter": False,
        "training, houses-filter": False,
        "training, paper": True,
        "navigation, paper-agent": True,
        "viewer, houses-agent": False,
        "report, houses-agent": False,
        "evaluation, houses-agent": False,
    }

    # The preset has 96 × 96 cells and 6 viewpoints per episode, which takes half a minute on two cores.
    small = ["--model.mapper.rows", "16", "--model.mapper.cols", "16", "--train.agent-steps", "2"]
    steps = ["--train.iterations", "2", "--train.evaluate-every", "2", "--train.log-every", "1"]
    places = ["--data", str(root), "--out", str(run)]
    select = ["--select", "val_seen", "--device", "cpu"]
    with pytest.raises(SystemExit, match="1"):
        main(["train", "goal", "--preset", "paper", *places, "--device", "cpu", *small, *steps])
    assert "too few training buildings to hold one out as dev_unseen" in capsys.readouterr().err
    main(["train", "goal", "--preset", "paper", *places, *select, *small, *steps])
    losses = [json.loads(line)["loss"] for line in (run / "log.jsonl").read_text().splitlines() if '"loss"' in line]
    assert len(losses) == 2
    assert np.isfinite(losses).all()
    main(["eval", "goal", "--run", str(run), "--data", str(root), "--out", str(tmp_path / "table"), "--device", "cpu"])
    scores = json.loads((tmp_path / "table" / "goal.json").read_text())
    assert "val_seen" in scores["splits"]
    assert "paper" in json.dumps(scores["experiments"])

    page = tmp_path / "report.html"
    few = ["--split", "val_seen", "--examples", "3", "--show", "3", "--no-pictures"]
    main(["report", "--data", str(root), "--run", str(run), "--out", str(page), *few])
    shown = json.loads(page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])["episodes"]
    assert [episode["note"].split(",")[0] for episode in shown] == ["best", "worst", "middling"]
    assert "the fixed walks of 3 instructions" in page.read_text(encoding="utf-8")


def test_a_second_run_makes_nothing_and_a_lost_file_is_made_again(
    downloads: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = DataRoot(root).panoramas()
    name = DataRoot(root).graph(SCAN).ids[1]
    store.paths(SCAN, name)[0].unlink()
    assert not diagnose(root).healthy
    capsys.readouterr()
    prepare(downloads, root, "--scan", SCAN)
    assert "2 panoramas of 1 scans, 1 to make here" in capsys.readouterr().out
    assert diagnose(root).healthy
    prepare(downloads, root)
    assert "2 panoramas of 1 scans, 0 to make here" in capsys.readouterr().out


def test_what_the_doctor_advises_repairs_a_damaged_file(downloads: Path, root: Path) -> None:
    colour, depth, _ = DataRoot(root).panoramas().paths(SCAN, DataRoot(root).graph(SCAN).ids[0])
    whole = colour.read_bytes(), depth.read_bytes()
    colour.write_bytes(b"")
    depth.write_bytes(whole[1][:-300])
    findings = [item for item in diagnose(root).findings if item.level == "wrong"]
    assert {item.problem for item in findings} == {"the file is empty", "truncated PNG (its end is missing)"}
    [advice] = {item.next for item in findings}
    assert advice == f"ghosts prepare --raw SCANS --out {root} --scan {SCAN} --faces 96 --again"
    main([str(downloads) if word == "SCANS" else word for word in f"{advice} --workers 1".split()[1:]])
    assert diagnose(root).healthy
    assert (colour.read_bytes(), depth.read_bytes()) == whole


def test_an_origin_that_contradicts_the_images_is_told(
    downloads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(downloads, tmp_path / "root", "--origin", "top-left")
    assert "warning: --origin top-left contradicts the images; leave it out" in capsys.readouterr().out
    findings = diagnose(tmp_path / "root").findings
    assert any("agree on only" in item.problem and "without --origin" in item.next for item in findings)


def test_a_share_of_the_work(
    downloads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank, made in (("1", 1), ("0", 1)):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        prepare(downloads, tmp_path / "root")
        summary = json.loads((tmp_path / "root" / "prepare.json").read_text())
        if rank == "1":
            assert list(summary["missing"].values()) == ["not made yet"]
            assert len(list((tmp_path / "root" / "scans").rglob("*.png"))) == made
    assert summary["missing"] == {}
    assert summary["scans"][SCAN]["prepared"] == 2


def test_a_damaged_file_does_not_end_the_other_processes(
    downloads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """torchrun ends all when one fails: each exits 0, and the summary keeps why, whoever writes it last."""
    root = tmp_path / "root"
    monkeypatch.setenv("WORLD_SIZE", "2")
    with monkeypatch.context() as patch:
        patch.setattr(whole_release, "make_panorama", broken)
        patch.setenv("RANK", "1")
        prepare(downloads, root)
    assert "damaged on purpose" in capsys.readouterr().err
    prepare(downloads, root)
    assert "1 panoramas of other processes are not made yet" in capsys.readouterr().out
    [problem] = json.loads((root / "prepare.json").read_text())["missing"].values()
    assert problem == "damaged on purpose"


def broken(*arguments: object) -> None:
    raise DataError("damaged on purpose")


def test_a_root_grows_scan_by_scan(downloads: Path, root: Path, tmp_path: Path) -> None:
    """What it has of another scan stays: graphs, paths and the summary."""
    graph = (root / "connectivity" / f"{SCAN}_connectivity.json").read_text()
    (root / "connectivity" / "other_connectivity.json").write_text(graph)
    with (root / "connectivity" / "scans.txt").open("a") as file:
        file.write("other\n")
    more = json.loads((downloads / "r2r" / "R2R_train.json").read_text())
    source = tmp_path / "r2r"
    source.mkdir()
    (source / "R2R_val_unseen.json").write_text(json.dumps([{**more[0], "scan": "other"}]))
    summary = json.loads((root / "prepare.json").read_text())
    summary["scans"]["other"], summary["missing"]["other/a"] = {"panoramas": 1, "prepared": 0}, "lost"
    (root / "prepare.json").write_text(json.dumps(summary))
    prepare(downloads, root, "--scan", SCAN, "--r2r", str(source))
    assert (root / "connectivity" / "scans.txt").read_text().split() == sorted([SCAN, "other"])
    assert len(json.loads((root / "r2r" / "R2R_val_unseen.json").read_text())) == 1
    after = json.loads((root / "prepare.json").read_text())
    assert set(after["scans"]) == {SCAN, "other"}
    assert after["missing"] == {"other/a": "lost"}


def test_a_damaged_zip_is_told_and_the_rest_is_made(
    downloads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(downloads / "v1" / "scans", raw)
    (raw / "other").mkdir()
    (raw / "other" / "undistorted_depth_images.zip").write_bytes(b"PK and no more")
    with pytest.raises(SystemExit, match="1"):
        main(["prepare", "--raw", str(raw), "--out", str(tmp_path / "root"), "--faces", "32", "--workers", "1"])
    text = capsys.readouterr().out
    assert "left out:" in text
    assert "not a zip file, or not a whole one; download it again" in text.replace("\n", " ")
    assert json.loads((tmp_path / "root" / "prepare.json").read_text())["scans"][SCAN]["prepared"] == 2


def test_errors_name_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        ([], "name --raw FOLDER"),
        (["--raw", str(tmp_path / "none")], "no such folder or zip file"),
        (["--raw", str(tmp_path)], "give --raw the folder that holds the scans"),
        (["--raw", str(tmp_path), "--faces", "3"], "--faces must lie in 16..2048"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["prepare", *arguments])
        assert stop.value.code == 1
        assert message in capsys.readouterr().err


def test_a_panorama_that_lacks_files_is_told(
    downloads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = ("matterport_skybox_images", "undistorted_camera_parameters")
    sources = [word for kind in kinds for word in ("--raw", str(downloads / "v1" / "scans" / SCAN / f"{kind}.zip"))]
    with pytest.raises(SystemExit) as stop:
        main(["prepare", *sources, "--out", str(tmp_path / "root"), "--workers", "1"])
    assert stop.value.code == 1
    assert "_d0_0.png and 17 more missing" in capsys.readouterr().out
