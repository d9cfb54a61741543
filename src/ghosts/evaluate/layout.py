"""Rows of text as a table, for a terminal and for a document."""

from __future__ import annotations

from collections.abc import Sequence


def text_rows(rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """Lines of a table; the first columns (`names`) are flush left, numbers flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < names else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def markdown_rows(rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """The same in Markdown; the first row is the header."""
    header, *rest = ([*row] for row in rows)
    rule = ["---"] * names + ["---:"] * (len(header) - names)
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rest)]


def with_notes(title: str, lines: Sequence[str], notes: Sequence[str]) -> str:
    """A Markdown table below its title, with notes after it."""
    return "\n".join([f"**{title}**", "", *lines, *(["", *notes] if notes else [])])
