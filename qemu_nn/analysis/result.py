"""The outputs that all results of commands have: a table as CSV, and all figures as JSON."""

from __future__ import annotations

from typing import Any

from .table import Table, json_text


class Result:
    """Result of a command, as a dictionary and as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as numbers, texts, lists and dictionaries."""
        raise NotImplementedError

    def json(self) -> str:
        """Return the result as JSON.

        Returns
        -------
        str
            One object, as to_dict() has it.
        """
        return json_text(self.to_dict())


class TableResult(Result):
    """Result of a command that has a table."""

    def table(self) -> Table:
        """Return the rows of the result."""
        raise NotImplementedError

    def csv(self) -> str:
        """Return the table as CSV.

        Returns
        -------
        str
            A line for each row, after one with the names of the columns.
        """
        return self.table().csv()
