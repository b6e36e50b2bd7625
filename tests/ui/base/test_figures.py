"""Charts whose numbers are read as they are written."""

import pytest
from bokeh.models import ColorBar, CustomJSTickFormatter, LogTickFormatter

from workbench.ui.base.views import figures
from workbench.ui.base.views.line_charts import DistanceCurves

SAID = f"([ticks]) => ticks.map(tick => {{ {figures._WRITTEN} }})"


@pytest.mark.ui
def test_ticks_are_written_as_one_reads_numbers(page):
    page.goto("about:blank")
    for ticks, expected in [
            ([0, 50_000, 100_000, 150_000], ["0", "50,000", "100,000", "150,000"]),
            ([-2_000, 0, 2_000], ["\u22122,000", "0", "2,000"]), ([0, 0.2, 1], ["0", "0.2", "1"]),
            ([0.1 + 0.2], ["0.3"]), ([3.7612, 54.5, 105.1], ["3.76", "54.5", "105.1"]),
            ([0.003, 0.01, 0.1, 1], ["0.003", "0.01", "0.1", "1"]),
            ([0, 2e-5, 4e-5], ["0", "0.00002", "0.00004"]), ([2e12], ["2,000,000,000,000"]),
            ([-0.2, -0.1, -5.5e-17, 0.1], ["\u22120.2", "\u22120.1", "0", "0.1"]),
            ([1e9, 1.0001e9, 1.0002e9], ["1,000,000,000", "1,000,100,000", "1,000,200,000"]),
            ([1e16, 1.00001e16], ["10000000000000000", "10000100000000000"]),
            ([1e-12, 1.00001e-12], ["1e\u221212", "1.00001e\u221212"]), ([0.0], ["0"]),
            ([-0.0], ["0"]), ([-1, 5.5e-17, 1], ["\u22121", "0", "1"]),
            ([1.5, 300, 30_000], ["1.5", "300", "30,000"])]:
        assert page.evaluate(SAID, [ticks]) == expected, ticks


def test_all_charts_write_numbers_so_and_logarithms_as_powers():
    curves = DistanceCurves("Correlation", "k", 80, {"k": {}}, {})
    curves.push(200_000.0, 30_000.0, "distance (m)", k=lambda r: r)
    bar = figures.colour_bar(figures.colours("viridis"), 100)
    assert isinstance(bar, ColorBar)
    for written in (curves.figure.xaxis[0], curves.figure.yaxis[0], bar):
        assert isinstance(written.formatter, CustomJSTickFormatter)
    log = figures.chart("", "x", "y", 100, 100, x_axis_type="log")
    assert isinstance(log.xaxis[0].formatter, LogTickFormatter)
    assert isinstance(log.yaxis[0].formatter, CustomJSTickFormatter)
