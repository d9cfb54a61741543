"""Scores: goal prediction (Table 1), navigation metrics, tables."""
