"""The outputs that all results of commands have: a table as CSV, and all figures as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Union

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

    def to_csv(self, path: Union[str, Path]) -> None:
        """Write the table as a CSV file.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        Error
            It cannot be written.
        """
        self.table().to_csv(path)

    def to_pandas(self) -> Any:
        """Return the table as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
            The rows of table(), with values as JSON has them.

        Raises
        ------
        Error
            pandas is missing.
        """
        return self.table().to_pandas()

    def to_parquet(self, path: Union[str, Path]) -> None:
        """Write the table as a Parquet file, by pyarrow.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        Error
            pyarrow is missing, or the file cannot be written.
        """
        self.table().to_parquet(path)
