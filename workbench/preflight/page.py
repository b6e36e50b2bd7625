"""A check as HTML: one page without other files, or a part of one."""

from __future__ import annotations

from html import escape
from string import Template

from workbench.bagging.findings import ERROR, NOTE, WARNING, Finding
from workbench.preflight.text import figure, listed

_MARKS = {ERROR: "×", WARNING: "▲", NOTE: "·"}
_FRAGMENT = Template("""<div class="wb-check"><style>
.wb-check { font: 15px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
  max-width: 80rem; margin: 0 auto; padding: 1.25rem 1.5rem; }
.wb-check h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .4rem; }
.wb-check h2 { font-size: 1.1rem; margin: 1.6rem 0 .1rem; }
.wb-check p { margin: .3rem 0; }
.wb-check .told { border-left: 5px solid $colour; background: #f5f5f5; padding: .6rem 1rem;
  margin: .8rem 0; }
.wb-check .scroll { overflow-x: auto; }
.wb-check table { border-collapse: collapse; margin: .6rem 0; font-size: .9rem; }
.wb-check table.findings { width: 100%; }
.wb-check th, .wb-check td { padding: .4rem .55rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid #ddd; background: none; overflow-wrap: anywhere; }
.wb-check th { font-weight: 600; border-bottom: 2px solid #888; }
.wb-check .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.wb-check table.findings td:nth-child(3) { min-width: 8em; }
.wb-check td.kind { white-space: nowrap; font-weight: 600; }
.wb-check .error { color: #A3003F; } .wb-check .warning { color: #8A4B00; }
.wb-check .note { color: #555; }
.wb-check .effect { color: #555; }
.wb-check code { font-size: .95em; }
.wb-check details summary { cursor: pointer; }
</style>
<h1>Check of $title</h1>
<p class="told">$summary$cost</p>
$findings
$totals
</div>""")
_PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Check of $title</title></head>
<body style="margin:0">$body</body></html>
""")
_HEADS = ("", "how many", "where", "what, and what will happen", "how to fix")
_LISTED = 12            # names before the others are folded


def as_html(check, whole: bool) -> str:
    """The table of findings, totals and the cost of a fit as HTML.

    Parameters
    ----------
    check : Check
        What was found.
    whole : bool
        Whether it is a page of its own or a part of one.

    Returns
    -------
    str
        HTML.
    """
    head = "".join(f"<th{' class=number' if place == 1 else ''}>{name}</th>"
                   for place, name in enumerate(_HEADS))
    rows = "\n".join(map(_row, check.findings))
    findings = (f"<div class='scroll'><table class='findings'><thead><tr>{head}</tr></thead><tbody>"
                f"{rows}</tbody></table></div>" if check.findings else "")
    cost = f"<br>{escape(check.cost())}" if check.cost() else ""
    body = _FRAGMENT.substitute(
        title=escape(check.title), summary=escape(check.summary()), cost=cost, findings=findings,
        totals=_totals(check.totals), colour="#2C7A4B" if check.ok else "#A3003F")
    return _PAGE.substitute(title=escape(check.title), body=body) if whole else body


def _row(finding: Finding) -> str:
    count = "" if finding.count is None else f"{finding.count:,}"
    effect = f"<div class='effect'>{escape(finding.effect)}</div>" if finding.effect else ""
    return (f"<tr><td class='kind {finding.severity}'>{_MARKS[finding.severity]} "
            f"{finding.severity}</td><td class='number'>{count}</td>"
            f"<td>{_where(finding.where)}</td><td>{escape(finding.what)}{effect}</td>"
            f"<td>{escape(finding.told)}</td></tr>")


def _where(names: tuple[str, ...]) -> str:
    """Names, of which many are folded away."""
    if len(names) <= _LISTED:
        return escape(", ".join(names))
    return (f"<details><summary>{escape(listed(names, 3))}</summary>"
            f"{escape(', '.join(names))}</details>")


def _totals(totals) -> str:
    if totals is None:
        return ""
    head = "".join(f"<th class='number'>{escape(name)}</th>" for name in totals.columns)
    rows = "".join(
        f"<tr><td>{escape(str(name))}</td>"
        + "".join(f"<td class='number'>{figure(value)}</td>" for value in row) + "</tr>"
        for name, row in zip(totals.index, totals.to_numpy(), strict=True))
    return (f"<h2>Totals before and after</h2><table><thead><tr><th></th>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>")
