"""Maps and charts of disaggregations: labelled data in, HoloViews out, nothing computed."""

from workbench.checks.moved import moved
from workbench.plots.area_maps import area_picture
from workbench.plots.calibration import pit_histogram, reliability_curve
from workbench.plots.city import city_maps, city_scale, station_series
from workbench.plots.engines import engines
from workbench.plots.fields import field_panel, field_scales
from workbench.plots.images import save_html, save_png
from workbench.plots.intervals import rank_intervals, total_intervals
from workbench.plots.maps import value_map
from workbench.plots.marks import marked_areas, pixel_lines
from workbench.plots.mediators import mediators
from workbench.plots.notebook import notebook
from workbench.plots.outlines import simplified
from workbench.plots.panels import disaggregation_panel, map_scales
from workbench.plots.rehearsal import rank_curves, rehearsal_coverage, rehearsal_picture
from workbench.plots.residuals import moran_scatter, residual_variogram
from workbench.plots.scales import ColourScale, colour_scale, observed_rate, rate_unit
from workbench.plots.scores import observed_vs_predicted, score_bars
from workbench.plots.sources import expert_weights, source_bands
from workbench.plots.still import StillMap, still_map, still_maps
from workbench.plots.still_areas import still_areas, still_moran, still_variogram
from workbench.plots.still_charts import still_coverage, still_predicted
from workbench.plots.stored import map_picture
from workbench.plots.support import covariate_support

__all__ = [
    "ColourScale",
    "StillMap",
    "area_picture",
    "city_maps",
    "city_scale",
    "colour_scale",
    "covariate_support",
    "disaggregation_panel",
    "engines",
    "expert_weights",
    "field_panel",
    "field_scales",
    "map_picture",
    "map_scales",
    "marked_areas",
    "mediators",
    "moran_scatter",
    "notebook",
    "observed_rate",
    "observed_vs_predicted",
    "pit_histogram",
    "pixel_lines",
    "rank_curves",
    "rank_intervals",
    "rate_unit",
    "rehearsal_coverage",
    "rehearsal_picture",
    "reliability_curve",
    "residual_variogram",
    "save_html",
    "save_png",
    "score_bars",
    "simplified",
    "source_bands",
    "station_series",
    "still_areas",
    "still_coverage",
    "still_map",
    "still_maps",
    "still_moran",
    "still_predicted",
    "still_variogram",
    "total_intervals",
    "value_map",
]

__getattr__ = moved(__name__, {
    "contraction": "workbench.papers.hamelijnck2019.plots.contraction",
    "full_bayes": "workbench.papers.hamelijnck2019.plots.full_bayes",
    "convergence_rates": "workbench.papers.chau2021.plots.convergence_rates",
})
