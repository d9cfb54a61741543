"""Experiments as checkpoints hold them, those of older versions too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ghosts.config import Experiment, from_dict
from ghosts.methods import method, methods
from ghosts.methods.retired import without_retired
from ghosts_sim.errors import ConfigError, DataError

_WALKING = ("own_actions", "policy_weight", "true_beliefs", "freeze_filter", "fresh_policy")
"""Settings of training that older versions kept under `navigation`."""


def read_experiment(values: Any, path: Path) -> Experiment:
    """The experiment that a checkpoint describes.

    Args:
        values: from its description.
        path: of the checkpoint, for messages.

    Raises:
        DataError: its method is not installed, or its settings are unknown.
    """
    values = modernised(values, path)
    if not isinstance(values, dict) or not isinstance(values.get("method"), str):
        raise DataError("expected an object that names its method", file=path, field="experiment", value=values)
    if values["method"] not in methods():
        hint = f"install the package that brings it (installed: {', '.join(methods())})"
        raise DataError("a method that is not installed", file=path, field="method", value=values["method"], hint=hint)
    kinds = {kind.purpose: kind for kind in method(values["method"]).experiments.values()}
    if not isinstance(values.get("purpose"), str) or values["purpose"] not in kinds:
        expected = f"expected {' or '.join(kinds)}"
        raise DataError(expected, file=path, field="purpose", value=values.get("purpose"), hint="copy the file again")
    settings = {name: value for name, value in values.items() if name not in ("method", "purpose")}
    try:
        return from_dict(kinds[values["purpose"]], settings, "experiment")
    except ConfigError as error:
        hint = "it was written by another version; train again or use the version that wrote it"
        raise DataError(f"settings this version does not know ({error})", file=path, hint=hint) from None


def modernised(values: Any, path: Path) -> Any:
    """An experiment's values as this version writes them. Those that no older version wrote stay as they are.

    Raises:
        DataError: it used an idea that this version no longer has.
    """
    if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
        return values
    values = without_retired(values, path)
    if "method" in values:
        return values
    model, train = dict(values["model"]), dict(values.get("train") or {})
    data = {"observation": values.get("observation", "landmarks"), "landmarks": values.get("landmarks") or {}}
    shared = {name: model[name] for name in ("language", "mapper") if name in model}
    acting = values.get("navigation")
    if isinstance(acting, dict):
        train |= {name: acting[name] for name in _WALKING if name in acting}
        step_limit = {"step_limit": acting["step_limit"]} if "step_limit" in acting else {}
    if "speaker" in values:
        found = {"method": "speaker", "purpose": "speaker", "model": {**shared, "speaker": values["speaker"]}}
    elif isinstance(acting, dict) and acting.get("agent") == "seq2seq":
        model = {**shared, "decoder": acting.get("seq2seq") or {}, **step_limit}
        train = {name: value for name, value in train.items() if name not in _WALKING[1:]}
        found = {"method": "seq2seq", "purpose": "vln", "model": model}
    elif isinstance(acting, dict) and acting.get("agent", "filter") == "filter":
        model = {**model, "planner": acting.get("planner") or {}, **step_limit}
        found = {"method": "ghost", "purpose": "vln", "model": model}
    elif values.get("kind") == "lingunet":
        found = {"method": "lingunet", "purpose": "goal", "model": {**shared, "heat": values.get("baseline") or {}}}
    elif acting is None and values.get("kind") == "filter":
        found = {"method": "ghost", "purpose": "goal", "model": model}
    else:
        return values
    return {**found, "name": values.get("name"), "train": train, "data": data}
