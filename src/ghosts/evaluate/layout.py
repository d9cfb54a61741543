"""Rows of text as a table, for a terminal and for a document."""

from __future__ import annotations

from collections.abc import Sequence

WIDE = 100
"""Columns of a terminal that a table fits in."""


def text_rows(rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """Lines of a table; the first columns (`names`) are flush left, numbers flush right.

    Columns beyond `WIDE` characters go below, with the names again; rows that are empty there are left out.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    blocks: list[list[int]] = [[]]
    room = WIDE - sum(width + 2 for width in widths[:names]) + 2
    left = room
    for column, width in enumerate(widths[names:], names):
        if blocks[-1] and width + 2 > left:
            blocks.append([])
            left = room
        blocks[-1].append(column)
        left -= width + 2
    lines: list[str] = []
    for number, block in enumerate(blocks):
        lines += [""] if number else []
        for row in rows:
            if number == 0 or any(row[column] not in ("", "–") for column in block):
                cells = [row[column].ljust(widths[column]) for column in range(names)]
                lines.append("  ".join([*cells, *(row[column].rjust(widths[column]) for column in block)]).rstrip())
    return lines


def markdown_rows(rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """The same in Markdown; the first row is the header."""
    header, *rest = ([*row] for row in rows)
    rule = ["---"] * names + ["---:"] * (len(header) - names)
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rest)]


def with_notes(title: str, lines: Sequence[str], notes: Sequence[str]) -> str:
    """A Markdown table below its title, with notes after it."""
    return "\n".join([f"**{title}**", "", *lines, *(["", *notes] if notes else [])])
