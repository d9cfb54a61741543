"""Fixtures of the commands' tests."""

from __future__ import annotations

from view_fixtures import agent, baseline, combs, photos, run

__all__ = ["agent", "baseline", "combs", "photos", "run"]
