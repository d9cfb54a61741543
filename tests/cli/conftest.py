"""Fixtures of the commands' tests."""

from __future__ import annotations

from view_fixtures import combs, photos, run

__all__ = ["combs", "photos", "run"]
