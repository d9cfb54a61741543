"""Fixtures of the commands' tests."""

from __future__ import annotations

from view_fixtures import agent, baseline, photos, run

__all__ = ["agent", "baseline", "photos", "run"]
