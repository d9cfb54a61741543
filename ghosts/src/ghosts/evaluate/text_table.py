"""Rows of text as a table, for a terminal and for a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDE = 100
"""Columns of a terminal that a table fits in."""


@dataclass(frozen=True)
class Table:
    """A table with its title above and notes below it."""

    title: str
    rows: list[list[str]]
    """The header first."""
    names: int
    """First columns, which hold names; numbers follow."""
    notes: list[str]

    def text(self) -> str:
        """For a terminal."""
        return "\n".join([self.title, *text_rows(self.rows, self.names), *self.notes])

    def markdown(self) -> str:
        """For a document."""
        below = ["", *self.notes] if self.notes else []
        return "\n".join([f"**{self.title}**", "", *markdown_rows(self.rows, self.names), *below])


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
