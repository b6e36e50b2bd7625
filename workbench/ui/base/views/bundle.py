"""What can be taken away from a page: files of numbers, a report, a program and a notebook."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ui.base import messages
from workbench.ui.base.views.text import table as table_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

PICTURES = "<!-- pictures -->"          # that the browser replaces by those of the page
MAPS = {".tif": "GeoTIFF", ".gpkg": "GeoPackage", ".nc": "NetCDF"}
_ROWS = 20                              # of a table that a report shows
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>
body {{font: 15px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; margin: 0 auto;
  max-width: 74rem; padding: 1.5rem;}}
h1 {{font-size: 1.6rem; line-height: 1.25;}} h2 {{font-size: 1.15rem; margin-top: 2rem;}}
.wb-scroll {{overflow-x: auto;}} table {{border-collapse: collapse; font-size: .9rem;}}
th, td {{padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #ddd; text-align: right;}}
th:first-child {{text-align: left;}} img {{max-width: 100%; margin: .3rem .6rem .3rem 0;}}
.settings td {{text-align: left; overflow-wrap: anywhere; min-width: 12rem;}}
pre {{background: #f6f6f6; border: 1px solid #e2e2e2; padding: .7rem .9rem; overflow-x: auto;
  font-size: .85em;}}
</style></head><body>
<h1>{title}</h1>
{told}
<h2>Pictures</h2>
{pictures}
<h2>Settings</h2>
<div class="settings">{settings}</div>
<h2>Numbers</h2>
{numbers}
<h2>Python that computes the same numbers</h2>
<pre>{program}</pre>
</body></html>
"""


@dataclass(frozen=True)
class Bundle:
    """What can be taken away from what a page shows at present.

    Parameters
    ----------
    stem : str
        How the files are called.
    title : str
        Of report and notebook.
    told : tuple of str
        What the page says in words, its status included.
    settings : mapping of str to str
        Choices by their labels.
    code : callable
        Writes the Python that makes ``table`` again; blocks between empty lines become cells.
    table : callable
        Makes the numbers as a DataFrame.
    maps : callable or None
        Makes the map as a dataset with coordinates, where there is one.
    kinds : tuple of str
        Suffixes, of `MAPS`, of the files that the map can be written to.
    caption : str
        Stands below pictures: what they leave unsaid, such as that nothing was fitted.
    page : callable or None
        Makes a report of the app's own; None for one of words, pictures, settings and numbers.
    """

    stem: str
    title: str
    told: tuple[str, ...]
    settings: Mapping[str, str]
    code: Callable[[], str]
    table: Callable[[], pd.DataFrame]
    maps: Callable[[], xr.Dataset] | None = field(default=None)
    kinds: tuple[str, ...] = (".tif", ".gpkg")
    caption: str = ""
    page: Callable[[], str] | None = None

    @property
    def program(self) -> str:
        """The Python that makes the numbers again."""
        return self.code()

    def csv(self) -> io.StringIO:
        """The numbers as a table, with every digit."""
        return io.StringIO(self.table().to_csv(index=False))

    def file(self, suffix: str) -> io.BytesIO:
        """The map as a file of one of the types in `MAPS`.

        Parameters
        ----------
        suffix : str
        """
        from workbench.geo import write

        with tempfile.TemporaryDirectory() as folder:
            path = write(self.maps(), Path(folder) / f"{self.stem}{suffix}")
            return io.BytesIO(path.read_bytes())

    def notebook(self) -> str:
        """The program as a notebook, a cell for each block."""
        from workbench.checks import package

        nbformat = package("nbformat", extra="notebooks")
        v4 = nbformat.v4
        said = "\n\n".join([f"# {self.title}", *map(_plain, self.told)])
        cells = [v4.new_markdown_cell(said)]
        cells += [v4.new_code_cell(block) for block in self.program.strip().split("\n\n")]
        cells += [v4.new_code_cell("table")]
        for k, cell in enumerate(cells):
            cell["id"] = f"cell-{k}"
        return nbformat.writes(v4.new_notebook(cells=cells, metadata={"kernelspec": {
            "name": "python3", "display_name": "Python 3", "language": "python"}})) + "\n"

    def report(self) -> str:
        """One page of HTML without scripts; pictures are still to be put where `PICTURES` is."""
        if self.page is not None:
            return self.page()
        numbers = self.table()
        shown = numbers.head(_ROWS)
        rows = [([f"{value:.6g}" if isinstance(value, float) else str(value) for value in row], "")
                for row in shown.itertuples(index=False)]
        cut = messages.rows_shown(len(shown), len(numbers))
        return _PAGE.format(
            title=escape(self.title), pictures=PICTURES, program=escape(self.program),
            told="".join(f"<p>{escape(text)}</p>" for text in self.told),
            settings=table_of(("setting", "value"), [
                (pair, "") for pair in self.settings.items()]),
            numbers=table_of([str(name) for name in shown.columns], rows)
            + (f"<p>{escape(cut)}</p>" if cut else ""))


def places(ds: xr.Dataset) -> tuple[str, ...]:
    """Suffixes of the files of maps that can hold the individuals of a dataset.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, or a map made from one.
    """
    from workbench.geo.layers import MOST_PIXELS

    raster = "row" in ds.coords and "grid_transform" in ds.attrs
    drawn = "individual_geometry" in ds.coords or (
        raster and ds.sizes["individual"] <= MOST_PIXELS)
    return ((".tif",) if raster else ()) + ((".gpkg",) if drawn else ())


def _plain(text: str) -> str:
    return escape(text, quote=False).replace("*", "\\*").replace("_", "\\_")
