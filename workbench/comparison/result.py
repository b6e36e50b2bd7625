"""What a comparison found: scores, tables, the verdict, as text, HTML and files."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import xarray as xr

from workbench.checks import choose
from workbench.comparison.report import as_html, as_text
from workbench.outputs import write_bytes


class Comparison:
    """Scores of models by several tests, their paired differences, and the verdict in words.

    Made by `workbench.compare`.

    Parameters
    ----------
    data : xr.Dataset
        ``scores`` (test, model, score); ``difference`` (test, model, other, score) of their means
        over the units that all models predicted, its standard error ``difference_error`` over
        independent clusters (areas, blocks, groups) and the ends ``lower`` and ``upper`` of its
        95 % interval (Student's t); ``seconds`` of fitting, ``error`` and ``note`` (test, model):
        what failed, what fits warned of; ``units``, ``clusters`` (test). All scores but coverage
        are better where lower. Attributes: recommended, sentence, notes, settings, versions.
    details : dict of str to xr.Dataset
        The result of each test as `workbench.cross_validate`, `workbench.recover` and
        `workbench.comparison.score_individuals` return it.
    """

    def __init__(self, data: xr.Dataset, details: dict[str, xr.Dataset] | None = None) -> None:
        self.data, self.details = data, dict(details or {})

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return as_html(self.data, whole=False)

    @property
    def scores(self) -> xr.DataArray:
        """Mean scores (test, model, score)."""
        return self.data["scores"]

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return self.data.attrs["sentence"]

    @property
    def recommended(self) -> str:
        """Name of the model to use; empty if nothing could be compared."""
        return self.data.attrs["recommended"]

    def table(self, test: str | None = None) -> pd.DataFrame:
        """One row per test and model, best first: scores, paired differences, intervals.

        Parameters
        ----------
        test : str, optional
            One test alone, such as "recovered"; by default all.

        Returns
        -------
        pd.DataFrame
            Differences and their 95 % intervals are of the first score, from the best model and
            from the simple map; coverage is in per cent. A model that failed has no scores.
        """
        known = [str(t) for t in self.data["test"].values]
        if test is not None:
            choose("test", test, known)
            return self._one(test)
        return pd.concat({name: self._one(name) for name in known}, names=["test", "model"])

    def to_text(self) -> str:
        """Tables, the verdict, what is left out and how it was made, as plain text.

        Returns
        -------
        str
            Several paragraphs.
        """
        return as_text(self.data)

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained page, also written to ``path`` if given.

        Parameters
        ----------
        path : path, optional
            File to write.

        Returns
        -------
        str
            The page.
        """
        page = as_html(self.data, whole=True)
        if path is not None:
            write_bytes(path, page)
        return page

    def to_netcdf(self, path: str | Path) -> None:
        """Write scores, and the results of each test as groups of the file.

        Parameters
        ----------
        path : path
            File to write.
        """
        content = io.BytesIO()
        self.data.to_netcdf(content, engine="h5netcdf")
        for name, one in self.details.items():
            one.to_netcdf(content, group=name, mode="a", engine="h5netcdf")
        write_bytes(path, content.getbuffer())

    @classmethod
    def read(cls, path: str | Path) -> Comparison:
        """Read what `to_netcdf` wrote.

        Parameters
        ----------
        path : path
            File from `to_netcdf`.

        Returns
        -------
        Comparison
            With its details.
        """
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            data = stored.load()
        details = {}
        for test in data["test"].values:
            with xr.open_dataset(path, group=str(test), engine="h5netcdf") as stored:
                details[str(test)] = stored.load()
        return cls(data, details)

    def _one(self, test: str) -> pd.DataFrame:
        data, main = self.data.sel(test=test), self.data.attrs["headline"]
        frame = data["scores"].to_pandas()
        frame = frame.sort_values(main, na_position="last")
        titles = data["score_title"].to_series()
        percent = [name for name in frame if name.startswith("coverage")]
        frame[percent] *= 100
        frame.columns = [f"{titles[n]} (%)" if n in percent else titles[n] for n in frame]
        base = self.data.attrs["baseline"]
        for word, other in (("best", frame.index[0]), (base, base)):
            at = data.sel(other=other, score=main)
            for name, head in (("difference", ""), ("lower", ", low"), ("upper", ", high")):
                frame[f"difference from {word}{head}"] = at[name].to_series()[frame.index]
        frame["seconds"] = data["seconds"].to_series()[frame.index]
        frame["failed"] = data["error"].to_series()[frame.index]
        frame.index.name = "model"
        return frame
