"""Fixtures of the pages' tests."""

from __future__ import annotations

from view_fixtures import baseline, combs, library, mind, photos, pictured, record, run

__all__ = ["baseline", "combs", "library", "mind", "photos", "pictured", "record", "run"]
