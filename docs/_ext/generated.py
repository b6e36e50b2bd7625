"""Pages that are made when the site is built: copies of the notebooks, lists of public names."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PRIVATE = ("application/javascript", "application/vnd.holoviews_load.v0+json",
           "application/vnd.holoviews_exec.v0+json")
#: Public modules that users call, beside the names of `workbench` itself.
MODULES = {
    "workbench.bagging": "Individuals into bags, bags into larger bags",
    "workbench.datasets": "Datasets by name",
    "workbench.comparison": "Models beside each other",
    "workbench.evaluation": "Scores, folds, recovery",
    "workbench.geo": "Polygons and rasters",
    "workbench.granularity": "How coarse is too coarse",
    "workbench.plots": "Maps and charts",
    "workbench.preflight": "Data checked before a fit",
}
#: Names of `workbench` by what a reader wants of them; a test holds that none is missing.
GROUPS = {
    "Data": [
        "load", "load_sources", "read", "write", "to_raster", "bag_polygons", "bag_children",
        "grid_areas", "bag_points", "bag_in_parts", "condense", "at_period", "in_period",
        "polygon_places", "child_places", "raster_places", "open_rasters", "distance_to", "slope",
        "bag_grid", "bag_blocks", "bag_along", "bag_boxes", "grid_places", "merge", "merge_to",
        "from_summaries", "summarise", "as_singleton_bags", "move_to_centres", "add_mediators",
        "targets_from_table", "targets_from_grid", "unmatch", "sources_from_tables",
        "sources_from_series", "sources_from_london_air", "city_map", "city_outlines", "subset"],
    "Models": [
        "Auto", "VBAgg", "AggregatedGP", "QuasiLikelihoodGP", "Constant", "CentrePointGP",
        "CentroidGP", "IndependentBagsGP", "CMP", "ShrinkageCMP", "VarCMP", "MRGP", "MRVBAgg",
        "MRGPRN", "CentrePointGPRN", "MRDGP", "MRCascade", "Nystrom", "NeuralNetwork", "BagPixel",
        "BagConstant", "ConditionalMean", "make_model", "impute", "tune", "Fit",
        "load_fit"],
    "Maps": ["write_blocks", "aggregate", "with_weight", "explain", "ranks"],
    "Checks": [
        "check", "Check", "evaluate", "cross_validate", "recover", "rehearse", "compare",
        "compare_engines", "table", "rescale_to_totals"],
    "Runs": ["Spec", "SmoothSpec", "MediateSpec", "CombineSpec", "AggregateSpec", "EnginesSpec",
             "PredictSpec", "RehearseSpec", "run", "report", "notebook", "InputError",
             "Cancelled"],
}


def _shown(output: dict) -> bool:
    data = output.get("data", {})
    return not any(kind in data for kind in PRIVATE)


def copy_notebooks(target: Path) -> None:
    """Copy notebooks without the scripts in their outputs, which ask for other machines."""
    target.mkdir(exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        for cell in book["cells"]:
            if "outputs" in cell:
                cell["outputs"] = [output for output in cell["outputs"] if _shown(output)]
        text = json.dumps(book, ensure_ascii=False).replace("(../data/", "(../../data/")
        _write(target / path.name, text)


def deprecated(thing) -> bool:
    """Whether a docstring begins with the word, as those of former names do."""
    return (getattr(thing, "__doc__", None) or "").startswith("Deprecated")


def documented(module) -> list[str]:
    """Public names of a module that are in the reference: all but the deprecated ones.

    Parameters
    ----------
    module : module
        With ``__all__``.

    Returns
    -------
    list of str
        Those whose docstring does not begin with "Deprecated".
    """
    return [name for name in module.__all__ if not deprecated(getattr(module, name))]


def _write(path: Path, text: str) -> None:
    # an unchanged page is not built again
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _listing(module: str, names: list[str]) -> list[str]:
    return ["", f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated",
            "   :nosignatures:", "", *(f"   {name}" for name in names), ""]


def write_reference(target: Path) -> None:
    """The lists of the API reference: by task for `workbench`, by module for the rest."""
    import workbench

    lines = ["The package", "===========", "", "``import workbench as wb``; names are imported on "
             "first use.", ""]
    known, listed = set(documented(workbench)), set()
    for group, names in GROUPS.items():
        there = [name for name in names if name in known]
        listed.update(there)
        lines += [group, "-" * len(group), *_listing("workbench", there)]
    rest = sorted(known - listed)
    if rest:
        lines += ["Others", "------", *_listing("workbench", rest)]
    _write(target / "workbench.rst", "\n".join(lines))
    for name, title in MODULES.items():
        module = importlib.import_module(name)
        own = [n for n in sorted(documented(module), key=str.lower) if n not in known]
        shared = [n for n in documented(module) if n in known]
        lines = [title, "=" * len(title), "", f"``{name}``.", ""]
        if shared:
            links = ", ".join(f":py:obj:`workbench.{n}`" for n in sorted(shared, key=str.lower))
            lines += [f"Also here, as names of ``workbench``: {links}.", ""]
        lines += _listing(name, own) if own else []
        _write(target / f"{name.partition('.')[2]}.rst", "\n".join(lines))


def remove_stale(pages: Path, api: Path) -> None:
    """Remove the pages of names that no list has any more, left by an earlier build."""
    listed = set()
    for listing in api.glob("*.rst"):
        module = ""
        for line in listing.read_text(encoding="utf-8").splitlines():
            if ".. currentmodule::" in line:
                module = line.rpartition(" ")[2]
            listed.add(f"{module}.{line.strip()}")
    for page in pages.glob("*.rst"):
        if page.stem not in listed:
            page.unlink()


def _generate(app, config):
    copy_notebooks(DOCS / "notebooks")
    write_reference(DOCS / "api")
    remove_stale(DOCS / "api" / "generated", DOCS / "api")


def _skip(app, what, name, thing, skip, options):
    return True if deprecated(thing) else None


def setup(app):
    """Generate before Sphinx looks for pages, and autosummary for names."""
    app.connect("config-inited", _generate)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
