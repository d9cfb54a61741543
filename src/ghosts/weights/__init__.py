"""Weights that come with the package, found by name wherever a run or a backbone is asked for (`docs/weights.md`)."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def shipped() -> dict[str, Path]:
    """Names and files."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.safetensors"))}


def resolve(path: Path) -> Path:
    """The shipped file of that name, where nothing of the user's has it; otherwise the path itself."""
    return path if path.exists() else shipped().get(str(path), path)
