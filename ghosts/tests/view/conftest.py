"""Fixtures of the pages' tests."""

from __future__ import annotations

from view_fixtures import agent, baseline, inspector, library, photos, pictured, record, run

__all__ = ["agent", "baseline", "inspector", "library", "photos", "pictured", "record", "run"]
