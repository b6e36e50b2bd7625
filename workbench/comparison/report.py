"""A comparison as plain text and as one self-contained HTML page."""

from __future__ import annotations

import json
from html import escape
from string import Template

import numpy as np
import pandas as pd
import xarray as xr

BETTER, WORSE, UNSURE, BASE, FAILED, ALONE = (
    "better", "worse", "within error", "simple map", "failed", "not compared")
_MARKS = {BETTER: "▼", WORSE: "▲", UNSURE: "≈", BASE: "●", FAILED: "×", ALONE: "–"}
_FRAGMENT = Template("""<div class="wb-comparison"><style>
.wb-comparison { font: 15px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
  max-width: 74rem; margin: 0 auto; padding: 1.25rem 1.5rem; }
.wb-comparison h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .2rem; }
.wb-comparison h2 { font-size: 1.1rem; margin: 2rem 0 .1rem; }
.wb-comparison p { margin: .3rem 0; }
.wb-comparison .small { color: #555; font-size: .9em; }
.wb-comparison .verdict { border-left: 5px solid #0072B2; background: #f2f6fa;
  padding: .8rem 1.1rem; margin: 1rem 0; font-size: 1.05rem; }
.wb-comparison .scroll { overflow-x: auto; }
.wb-comparison table { border-collapse: collapse; margin: .6rem 0; width: 100%;
  font-size: .9rem; }
.wb-comparison th, .wb-comparison td { padding: .35rem .45rem; text-align: right;
  border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; background: none; }
.wb-comparison th { font-weight: 600; border-bottom: 2px solid #888; vertical-align: bottom; }
.wb-comparison th:nth-child(2) { min-width: 6rem; }
.wb-comparison th:first-child, .wb-comparison td:first-child { text-align: left; }
.wb-comparison td { white-space: nowrap; }
.wb-comparison th.group, .wb-comparison td.mark { text-align: left; }
.wb-comparison tr.used td:first-child { font-weight: 700; }
.wb-comparison .better { color: #0072B2; font-weight: 600; }
.wb-comparison .worse, .wb-comparison .failed { color: #A34700; }
.wb-comparison .unsure { color: #555; }
.wb-comparison dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem;
  font-size: .9em; }
.wb-comparison dt { color: #555; } .wb-comparison dd { margin: 0; overflow-wrap: anywhere; }
.wb-comparison svg { vertical-align: middle; }
</style>
<h1>Which model should draw the map?</h1>
<p class="small">$title</p>
<div class="verdict">$sentence</div>
$partial$tests
$notes
<h2>How it was made</h2>
<dl>$how</dl>
</div>""")
_PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Comparison of models: $title</title></head>
<body style="margin:0">$body</body></html>
""")


def judged(data: xr.Dataset, test: str) -> pd.DataFrame:
    """Models of one test, best first, each with its standing towards the simple map.

    Parameters
    ----------
    data : xr.Dataset
        Of a `Comparison`.
    test : str
        One of its tests.

    Returns
    -------
    pd.DataFrame
        The scores, and ``difference``, ``lower``, ``upper`` from the simple map, ``standing``,
        ``error``, ``note`` and ``seconds``.
    """
    at, main = data.sel(test=test), data.attrs["headline"]
    frame = at["scores"].to_pandas().sort_values(main, na_position="last")
    base = data.attrs["baseline"]
    for name in ("difference", "lower", "upper"):
        frame[name] = at[name].sel(other=base, score=main).to_series()[frame.index]
    for name in ("error", "note", "seconds"):
        frame[name] = at[name].to_series()[frame.index]
    frame["standing"] = [_standing(row, main, name == base) for name, row in frame.iterrows()]
    return frame


def _standing(row: pd.Series, main: str, base: bool) -> str:
    if np.isnan(row[main]):
        return FAILED
    if base or np.isnan(row["difference"]):
        return BASE if base else ALONE
    return BETTER if row["upper"] < 0 else WORSE if row["lower"] > 0 else UNSURE


def as_text(data: xr.Dataset) -> str:
    """Tables, the verdict, notes and settings of a `Comparison` as plain text."""
    base, parts = data.attrs["baseline"], []
    for test in map(str, data["test"].values):
        frame = judged(data, test)
        shown = pd.DataFrame(index=frame.index.rename(None))
        for name in map(str, data["score"].values):
            shown[_head(data, name)] = [_figure(name, v) for v in frame[name]]
        shown.insert(1, f"minus {base} (95 % interval)",
                     [_gap(row) for _, row in frame.iterrows()])
        shown.insert(2, "", list(frame["standing"]))
        parts.append(f"{_heading(data, test)}\n{shown.to_string()}")
        parts[-1] += "".join(f"\n  {line}" for line in _said(frame))
    parts.append(data.attrs["sentence"])
    if data.attrs["partial"]:
        parts.append(f"Incomplete: {data.attrs['partial']}.")
    if data.attrs["notes"]:
        parts.append("\n".join(f"- {note}" for note in data.attrs["notes"].split("\n")))
    parts.append("\n".join(f"{name}: {told}" for name, told in _how(data)))
    return "\n\n".join(parts)


def as_html(data: xr.Dataset, whole: bool) -> str:
    """The same as HTML: one page, or the part of it for notebooks.

    Parameters
    ----------
    data : xr.Dataset
        Of a `Comparison`.
    whole : bool
        Whether it is a page of its own or a part of one.

    Returns
    -------
    str
        HTML.
    """
    title = f"{data.attrs.get('title', 'Data without a title')}: {data.attrs['areas']:,} areas, " \
            f"{data.attrs['individuals']:,} individuals"
    notes = data.attrs["notes"].split("\n") if data.attrs["notes"] else []
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    partial = data.attrs["partial"]
    body = _FRAGMENT.substitute(
        title=escape(title), sentence=escape(data.attrs["sentence"]),
        partial=f"<p class='failed'>× Incomplete: {escape(partial)}.</p>" if partial else "",
        tests="\n".join(_section(data, str(test)) for test in data["test"].values),
        notes=f"<h2>What to know</h2><ul>{listed}</ul>" if notes else "",
        how="".join(f"<dt>{escape(name)}</dt><dd>{escape(told)}</dd>"
                    for name, told in _how(data)))
    return _PAGE.substitute(title=escape(title), body=body) if whole else body


def _section(data: xr.Dataset, test: str) -> str:
    frame, base = judged(data, test), escape(data.attrs["baseline"])
    names = [str(name) for name in data["score"].values]
    ends = frame[["lower", "upper", "difference"]].to_numpy(dtype=float)
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    reach = float(ends.min()), float(ends.max())
    head = "<th>{}</th>".format
    heads = [head("model"), head(_head(data, names[0])),
             f"<th class='group' colspan='3'>minus that of {base}, 95 % interval</th>",
             *(head(_head(data, name)) for name in names[1:])]
    rows = []
    for model, row in frame.iterrows():
        kind = {BETTER: "better", WORSE: "worse", FAILED: "worse"}.get(row["standing"], "unsure")
        cells = [f"<td>{escape(str(model))}</td>", f"<td>{_figure(names[0], row[names[0]])}</td>",
                 f"<td>{_gap(row)}</td>", f"<td>{_whisker(row, reach)}</td>",
                 f"<td class='mark {kind}'>{_MARKS[row['standing']]} {row['standing']}</td>",
                 *(f"<td>{_figure(name, row[name])}</td>" for name in names[1:])]
        used = " class='used'" if model == data.attrs["recommended"] else ""
        rows.append(f"<tr{used}>{''.join(cells)}</tr>")
    said = "".join(f"<p class='small'>{escape(line)}</p>" for line in _said(frame))
    return (f"<h2>{escape(_heading(data, test))}</h2><div class='scroll'><table><thead><tr>"
            f"{''.join(heads)}</tr></thead><tbody>{''.join(rows)}"
            f"</tbody></table></div>{said}")


def _whisker(row: pd.Series, reach: tuple[float, float], width: int = 104) -> str:
    """The difference from the simple map and its interval, drawn with a broken line at zero."""
    if row["standing"] in (BASE, FAILED, ALONE) or not np.isfinite(row["difference"]):
        return ""
    colour = {BETTER: "#0072B2", WORSE: "#A34700"}.get(row["standing"], "#555")
    span = reach[1] - reach[0] or 1.0

    def at(value: float) -> float:
        return 6 + (width - 12) * (value - reach[0]) / span

    line = ""
    if np.isfinite(row["lower"]) and np.isfinite(row["upper"]):
        line = (f"<line x1='{at(row['lower']):.1f}' x2='{at(row['upper']):.1f}' y1='9' y2='9' "
                f"stroke='{colour}' stroke-width='2'/>")
    filled = colour if row["standing"] != UNSURE else "#fff"
    return (f"<svg width='{width}' height='18' role='img' aria-label='{_gap(row)}'>"
            f"<line x1='{at(0):.1f}' x2='{at(0):.1f}' y1='0' y2='18' stroke='#999' "
            f"stroke-dasharray='3 2'/>{line}<circle cx='{at(row['difference']):.1f}' cy='9' r='4' "
            f"fill='{filled}' stroke='{colour}' stroke-width='2'/></svg>")


def _heading(data: xr.Dataset, test: str) -> str:
    at = data.sel(test=test)
    phrase, unit, cluster = (str(at[name].item()) for name in ("phrase", "unit", "cluster"))
    within = "" if unit == cluster else f" in {float(at['clusters']):,.0f} {cluster}"
    return f"{phrase[0].upper()}{phrase[1:]}: {int(at['units']):,} {unit}{within}"


def _head(data: xr.Dataset, name: str) -> str:
    return str(data["score_title"].sel(score=name).item())


def _figure(name: str, value: float) -> str:
    if np.isnan(value):
        return "–"
    if name.startswith("coverage"):
        return f"{100 * value:.0f} %"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def _gap(row: pd.Series) -> str:
    if row["standing"] in (BASE, FAILED, ALONE):
        return ""
    if not np.isfinite(row["lower"]):
        return f"{row['difference']:+.3g}"
    digits = max(0, 1 - int(np.floor(np.log10(max(row["upper"] - row["lower"], 1e-12)))))
    low, middle, high = (f"{row[n]:+,.{digits}f}" for n in ("lower", "difference", "upper"))
    return f"{middle} ({low} to {high})".replace("-", "−")


def _said(frame: pd.DataFrame) -> list[str]:
    failed = [f"{name}: {row['error']}" for name, row in frame.iterrows() if row["error"]]
    return failed + [f"{name}: {row['note']}" for name, row in frame.iterrows() if row["note"]]


def _how(data: xr.Dataset) -> list[tuple[str, str]]:
    settings, versions, models = (json.loads(data.attrs[name])
                                  for name in ("settings", "versions", "models"))
    rows = [("source", data.attrs["source"])] if "source" in data.attrs else []
    rows += [("settings", ", ".join(f"{k} {_plain(v)}" for k, v in settings.items()
                                    if v is not None))]
    rows += [(f"model {name}", told) for name, told in models.items()]
    title = str(data["score_title"].sel(score=data.attrs["headline"]).item())
    rows += [("scores", f"lower is better; {title} decides; coverage should be at its nominal "
              "level; intervals of paired differences are Student's t over areas, blocks or "
              "groups"),
             ("time to fit", f"{float(data['seconds'].sum()):.3g} s in all"),
             ("versions", ", ".join(f"{k} {v}" for k, v in versions.items()))]
    return rows


def _plain(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list) else str(value)
