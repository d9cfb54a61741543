"""Weights that come with the package, found by name wherever a run or a backbone is asked for (`docs/weights.md`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ghosts_sim.errors import DataError
from ghosts_sim.limits import open_file

FOLDER = Path(__file__).parent
FILTERS = {"houses-improved": "houses-agent", "landmarks-improved": "landmarks-agent"}
"""An agent's filter was frozen while its policy learned: its file also holds the goal predictor of this name."""

_LONGEST_HEAD = 100_000_000
"""Bytes; safetensors refuses longer ones too."""
WORDS = FOLDER / "words.safetensors"
"""Word vectors (`words.vectors`). This and the next two files are data, not weights."""
THESAURUS = FOLDER / "thesaurus.safetensors"
"""Words of about the same meaning (`words.thesaurus`)."""
WORD_ORDER = FOLDER / "word-order.safetensors"
"""Which words follow which (`words.stand_ins`)."""


def shipped() -> dict[str, Path]:
    """Names and files."""
    data = (WORDS, THESAURUS, WORD_ORDER)
    files = {file.stem: file for file in sorted(FOLDER.glob("*.safetensors")) if file not in data}
    return files | {name: files[agent] for name, agent in FILTERS.items() if agent in files}


def resolve(path: Path) -> Path:
    """The shipped file of that name, unless the user has a file of that name; otherwise the path itself."""
    return path if path.exists() else shipped().get(str(path), path)


def only_filter(path: Path) -> bool:
    """Whether this names a shipped goal predictor: of the file it is in, the agent's policy is not meant."""
    return str(path) in FILTERS and not path.exists()


def read_about(file: Path) -> dict[str, Any] | None:
    """What a checkpoint says of itself, from the head of the file alone; None where it is no checkpoint."""
    try:
        with open_file(file) as opened:
            head = json.loads(opened.read(min(int.from_bytes(opened.read(8), "little"), _LONGEST_HEAD)))
        about = json.loads(head["__metadata__"]["about"])
    except (DataError, OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return about if isinstance(about, dict) else None
