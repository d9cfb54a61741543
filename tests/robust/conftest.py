"""Fixtures of what is spoilt here."""

from __future__ import annotations

from view_fixtures import agent, combs, photos, run

__all__ = ["agent", "combs", "photos", "run"]
