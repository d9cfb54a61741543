"""Fixtures of what is spoilt here."""

from __future__ import annotations

from view_fixtures import agent, baseline, inspector, library, photos, record, run

__all__ = ["agent", "baseline", "inspector", "library", "photos", "record", "run"]
