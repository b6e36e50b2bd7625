"""Slips in data that can be used: each is told once, in words, and no dataset of ours trips one."""

import json
import os
import warnings

import geopandas
import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.reference import country
from workbench.bagging import like_means, looked_at, oddities
from workbench.checks import DataWarning, ExtrapolationWarning, FitWarning, named_as_flags
from workbench.comparison import cross_validate
from workbench.pipeline import run as pipeline
from workbench.pipeline.spec import Spec


@pytest.fixture
def ds() -> xr.Dataset:
    """Twenty areas of twenty-five places with about a thousand people each."""
    rng = np.random.default_rng(0)
    made = country(bags=20, size=25)
    people = rng.lognormal(7, 0.5, made.sizes["individual"])
    made["weight"] = ("individual", people, {"units": "persons"})
    totals = np.bincount(made["membership"].values, people)
    counts = rng.poisson(0.02 * totals * rng.lognormal(0, 0.3, 20))
    made["value"] = ("bag", counts.astype(float), {**made["value"].attrs, "units": "cases"})
    assert oddities(made) == []
    return made


def with_values(ds, values):
    return ds.assign(value=("bag", np.asarray(values), ds["value"].attrs))


def with_covariate(ds, name, values):
    table = np.column_stack([ds["covariates"].values, values])
    names = [*ds["covariate"].values, name]
    keep = ds.drop_dims("covariate")
    return keep.assign(covariates=(("individual", "covariate"), table)).assign_coords(
        covariate=names)


def only(found: list[str], *words: str) -> None:
    assert len(found) == 1, found
    assert all(word in found[0] for word in words), found[0]


def placed(ds, longitude, **about):
    """The dataset at places of these longitudes."""
    return ds.assign_coords(x=("individual", longitude, {"units": "degree"}),
                            y=("individual", np.linspace(-20, -15, longitude.size))).assign_attrs(
                                about)


def test_both_sides_of_the_antimeridian(ds):
    rng, size = np.random.default_rng(0), ds.sizes["individual"]
    east = rng.uniform(171, 189, size)              # Fiji, in one piece
    fiji = np.where(east > 180, east - 360, east)
    for about in ({"crs": "EPSG:4326"}, {}):
        assert oddities(placed(ds, east, **about)) == []
        only(oddities(placed(ds, fiji, **about)), "both ends are taken to be 359.", "+lon_0=180",
             "add 360 to the negative longitudes", "-r sum -ot Float32 for people")
    with pytest.warns(DataWarning, match="add 360 to the negative longitudes"):
        wb.Constant().fit(placed(ds, fiji, crs="EPSG:4326"))
    greenwich = rng.uniform(-8, 8, size) % 360
    only(oddities(placed(ds, greenwich, crs="EPSG:4326")), "subtract 360 from the longitudes from",
         "+lon_0=0 ")
    around = np.linspace(-180, 180, size)           # all around: nothing is empty
    assert oddities(placed(ds, around, crs="EPSG:4326")) == []
    assert oddities(placed(ds, fiji, crs="EPSG:32760")) == []       # metres


def test_counts_above_the_population(ds):
    ds["weight"] = ds["weight"].copy(data=ds["weight"].values / 1000)
    only(oddities(ds), "20 of 20 areas have more cases than persons", "in thousands")
    ds["weight"].attrs["units"] = "km²"        # more cases than square kilometres are no slip
    assert oddities(ds) == []


def test_small_polygons_are_told_of_options_that_they_have(ds):
    """`bag_children` takes units by column, and has no rasters to warp."""
    shapes = np.full(ds.sizes["individual"], None, dtype=object)
    small = ds.assign_coords(individual_geometry=("individual", shapes))
    few = (small["weight"] / 1000).assign_attrs(units="persons", long_name="people")
    only(oddities(small.assign(weight=few)), "in persons per polygon and not per area",
         "say so by units={'people': 'UNITS'}")
    with named_as_flags():
        only(oddities(small.assign(weight=few)), "say so by --units people=UNITS")
    fiji = np.where(np.arange(ds.sizes["individual"]) % 2, 179.0, -179.0)
    (told,) = oddities(placed(small, fiji, crs="EPSG:4326"))
    assert told.endswith("NEW.gpkg OLD.gpkg, or GeoDataFrame.to_crs in Python")
    assert "gdalwarp" not in told


def test_codes_are_told_of_what_their_data_have(ds):
    """`classes` is an option of what is read from rasters, of polygons and of points."""
    codes = np.random.default_rng(2).choice([11, 22, 31, 40, 52], ds.sizes["individual"])
    coded = with_covariate(ds, "cover", codes)
    only(oddities(coded), "each class but one, as classes='cover' does of a raster")
    with named_as_flags():
        only(oddities(coded), "as --classes cover does of a raster")
    shapes = np.full(ds.sizes["individual"], None, dtype=object)
    (told,) = oddities(coded.assign_coords(individual_geometry=("individual", shapes)))
    assert "as columns of the polygons, in Python by pandas.get_dummies(polygons['cover']" in told
    assert "classes=" not in told and "bag_polygons" not in told


def test_rates_as_counts(ds):
    rng = np.random.default_rng(1)
    only(oddities(with_values(ds, rng.uniform(0.5, 40, 20))), "20 of 20", "rates or percentages",
         "aggregation='mean'")
    # Estimated counts are not whole either, but they grow with the population.
    assert oddities(with_values(ds, 0.01 * ds["value"].values + 0.01)) == []


def test_rates_that_grow_with_the_population_by_less_than_it(ds):
    """The share of graduates is higher in large towns: ranks agree, and it is no count."""
    rng = np.random.default_rng(1)
    people = ds["weight"].values * rng.lognormal(0, 1.0, 20)[ds["membership"].values]
    ds["weight"] = ds["weight"].copy(data=people)
    totals = np.bincount(ds["membership"].values, people)
    shares = 10 * (totals / totals.max()) ** 0.3 * rng.lognormal(0, 0.2, 20)
    only(oddities(with_values(ds, shares)), "20 of 20", "in proportion to the weight")
    estimates = 0.0123 * totals * rng.lognormal(0, 0.5, 20)     # of cases, that are not whole
    assert estimates.max() < 1000 and oddities(with_values(ds, estimates)) == []


def test_temperatures_are_no_counts_though_cells_are_larger_where_it_is_warm(ds):
    cell = np.cos(np.radians(np.linspace(0, 70, 20)))       # of a grid in degrees
    weight = cell[ds["membership"].values]
    warm = 240 + 60 * cell + np.random.default_rng(0).normal(0, 2, 20)
    for weights in (weight, 0.02 * weight + 1):
        ds["weight"] = ds["weight"].copy(data=weights).assign_attrs(units="km²")
        only(oddities(with_values(ds, warm)), "20 of 20", "in proportion to the weight")


def test_means_as_counts(ds):
    rng = np.random.default_rng(1)
    people = ds["weight"].values * rng.lognormal(0, 1.0, 20)[ds["membership"].values]   # towns
    ds["weight"] = ds["weight"].copy(data=people)
    totals = np.bincount(ds["membership"].values, people)
    incomes = np.round(30_000 * rng.lognormal(0, 0.1, 20))      # whole, and above the population
    only(oddities(with_values(ds, incomes)), "hardly differ between areas", "means or rates",
         "say aggregation='mean'")
    assert oddities(with_values(ds, rng.poisson(0.02 * totals).astype(float))) == []
    ds["weight"].attrs["units"] = "km²"        # wards of as many people each are no slip
    assert oddities(with_values(ds, incomes)) == []


def test_means_as_counts_where_no_population_is_given(ds):
    """Incomes of US states beside km²: areas of very different size, values nearly alike."""
    rng = np.random.default_rng(1)
    ground = ds["weight"].values * rng.lognormal(0, 2.0, 20)[ds["membership"].values]
    ds["weight"] = ds["weight"].copy(data=ground).assign_attrs(units="km²")
    total = np.bincount(ds["membership"].values, ground)
    assert np.log(total).std() > 1
    incomes = np.round(40_000 * rng.lognormal(0, 0.14, 20))
    only(oddities(with_values(ds, incomes)), "hardly differ between areas", "whose sizes in km²",
         "only where borders were drawn to have as many people each", "say aggregation='mean'")
    made = ds.assign(value=ds["value"].assign_attrs(kind="continuous"))
    only(oddities(with_values(made, incomes + 0.5)), "look like means", "say aggregation='mean'")
    # Ones and twos of what is rare, and counts at points of unlike exposure.
    assert oddities(with_values(ds, rng.integers(1, 3, 20).astype(float))) == []
    exposed = ds.assign(weight=ds["weight"].assign_attrs(units="exposure"))
    assert oddities(with_values(exposed, np.full(20, 30.0))) == []
    # People and deaths of tracts and districts hardly follow their size: 0.35 of its spread.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        counts = np.round(4000 * rng.lognormal(0, 0.36 * np.log(total).std(), 20))
        if np.log(counts).std() > 0.2 * np.log(total).std():
            assert oddities(with_values(ds, counts)) == [], seed
    with pytest.warns(DataWarning, match="hardly differ between areas"):
        looked_at(with_values(ds, incomes))


def test_areas_drawn_to_have_as_many_people_each_are_named_beside_means():
    """Constituencies: their residents are as alike as incomes, and their events are by chance."""
    drawn = "only where borders were drawn to have as many people each, as of constituencies"
    for seed in range(8):
        rng = np.random.default_rng(seed)
        ground = rng.permutation(np.geomspace(8, 12_000, 60))
        made = xr.Dataset(
            {"membership": ("individual", np.arange(60)),
             "weight": ("individual", ground, {"units": "km²"}),
             "covariates": (("individual", "covariate"), rng.normal(size=(60, 1)))},
            coords={"bag": [f"area {k}" for k in range(60)], "covariate": ["height"]})

        def found(value, kind, made=made):
            attrs = {"kind": kind, "aggregation": "sum", "units": "1"}
            return oddities(made.assign(value=("bag", np.asarray(value, float), attrs)))

        for kind, *of in (("count", "hardly differ", "look like means or rates (counts are"),
                          ("continuous", "do not grow with", "as temperatures are (sums are")):
            residents = np.round(72_000 * rng.lognormal(0, 0.05, 60))
            votes = np.round(residents * rng.uniform(0.5, 0.75, 60))
            for value in (residents, votes):
                only(found(value, kind), *of, drawn)
            for rate in (14, 30, 200):              # counts of one expectation, each
                assert found(rng.poisson(rate, 60), kind) == [], (seed, rate)
            # Means are no such counts: incomes per head, and temperatures, whole or not.
            for value in (np.round(30_000 * rng.lognormal(0, 0.14, 60)), rng.normal(15, 3, 60),
                          np.round(rng.normal(288, 5, 60)), rng.normal(288, 5, 60)):
                assert len(found(value, kind)) == 1, (seed, kind)
    persons = made.assign(weight=made["weight"].assign_attrs(units="persons"))
    alike = ("bag", rng.poisson(14, 60).astype(float), {"kind": "count", "aggregation": "sum"})
    only(oddities(persons.assign(value=alike)), "whose persons differ far more")     # no such drawn


@pytest.mark.slow
@pytest.mark.parametrize("name", ["korea", "italy", "us-unemployment"])
def test_real_counts_beside_the_size_of_their_areas_are_no_means(name):
    """As they would come without a population: the least share is that of Korea, 0.44."""
    try:
        ds = wb.load(name)
    except (ImportError, wb.InputError) as error:
        assert "WORKBENCH_REQUIRE_DATA" not in os.environ, error
        pytest.skip(str(error))
    areas = geopandas.GeoSeries(ds["bag_geometry"].values, crs=ds.attrs["crs"]).to_crs("EPSG:6933")
    people = np.bincount(ds["membership"].values, ds["weight"].values)
    for value in (ds["value"].values.astype(float), people):
        share = np.log(value).std() / np.log(areas.area.values).std()
        assert share > 2 * like_means._ALIKE
        assert like_means.even(_in_km2(ds), value, areas.area.values / 1e6) == []


def _in_km2(ds):
    return ds.assign(weight=ds["weight"].assign_attrs(units="km²"))


def test_whole_rates_as_counts(ds):
    """Cases per 100,000: they differ between areas, and not as their populations do."""
    rng = np.random.default_rng(1)
    people = ds["weight"].values * rng.lognormal(0, 1.0, 20)[ds["membership"].values]
    ds["weight"] = ds["weight"].copy(data=1e4 * people)
    totals = np.bincount(ds["membership"].values, 1e4 * people)
    rates = rng.lognormal(6, 0.3, 20)
    only(oddities(with_values(ds, rates.round())), "do not grow with the persons of their areas",
         "rates, or like cases of what is far more frequent in small places",
         "say aggregation='mean'")
    for power in (0, -0.3, -0.5):           # rates fall as places grow, cases still grow
        for seed in range(10):
            rng = np.random.default_rng(seed)
            falling = rng.lognormal(6, 0.4, 20) * (totals / totals.mean()) ** power
            cases = np.maximum(rng.poisson(totals * falling / 1e5), 1.0)
            assert oddities(with_values(ds, cases)) == [], (power, seed)


def test_means_as_continuous_totals(ds):
    rng = np.random.default_rng(1)
    areas = np.array([f"area {number}" for number in range(60)])
    total = rng.lognormal(5, 1, 60)
    attrs = {"kind": "continuous", "aggregation": "sum", "units": "K"}
    made = xr.Dataset(
        {"value": ("bag", rng.normal(285, 5, 60), attrs),
         "membership": ("individual", np.arange(60)),
         "weight": ("individual", total, {"units": "km²"}),
         "covariates": (("individual", "covariate"), rng.normal(size=(60, 1)))},
        coords={"bag": areas, "covariate": ["height"]})
    only(oddities(made), "do not grow with the km² of their areas", "aggregation='mean'")
    persons = made.assign(weight=made["weight"].assign_attrs(units="persons"))
    # They differ too much to be told beside km².
    for warm in (rng.normal(15, 4, 60), np.round(rng.normal(2, 5, 60))):
        found = oddities(persons.assign(value=("bag", warm, attrs)))
        only(found, "do not grow with the persons", "look like means, as temperatures are")
        assert oddities(made.assign(value=("bag", warm, attrs))) == []
    # Totals, of one sign and of both; products that have nothing to do with
    # the size of regions, or of tracts of as many people each.
    for value in (total * rng.lognormal(0, 1, 60), total * rng.normal(0, 1, 60),
                  rng.lognormal(8, 1, 60), rng.lognormal(8, 0.2, 60)):
        assert oddities(made.assign(value=("bag", value, attrs))) == []
    for seed in range(20):      # forests have nothing to do with people, or shun them
        rng = np.random.default_rng(seed)
        forest = rng.lognormal(3, 1, 60) * (total / 150) ** rng.choice([0, -0.3])
        assert oddities(persons.assign(value=("bag", forest, attrs))) == []
    assert oddities(made.assign(value=("bag", made["value"].values, {**attrs, "aggregation": "mean"}
                                       ))) == []


def test_amounts_as_counts(ds):
    """Products of regions in euros: an inhabitant has more than one."""
    money = 1e5 * ds["value"].values
    ds["weight"] = ds["weight"].copy(data=1e6 * ds["weight"].values)
    assert oddities(with_values(ds, money)) == []
    money *= 1.1e8 / np.median(money)
    only(oddities(with_values(ds, money.round())), "100,000,000 or more", "look like amounts",
         "say kind='continuous'")
    ds["value"].attrs["kind"] = "continuous"
    assert oddities(with_values(ds, money.round())) == []


def test_truth_values(ds):
    only(oddities(with_values(ds, ds["value"].values > ds["value"].values.mean())),
         "true and false")


def test_thousands_separators(ds):
    counts = np.arange(20) * 1237 + 611
    split = np.where(counts >= 1000, counts / 1000, counts)
    ds["weight"] = ds["weight"].copy(data=1e3 * ds["weight"].values)
    assert oddities(with_values(ds, counts.astype(float))) == []
    only(oddities(with_values(ds, split)), "19 of 20", "three decimals", "1.848", "12,345")


def test_one_total_like_no_other(ds):
    values = ds["value"].values.copy()
    values[3] = values.sum() * 10
    ds["weight"] = ds["weight"].copy(data=1e3 * ds["weight"].values)
    only(oddities(with_values(ds, values)), f"area {str(ds['bag'].values[3])!r}", "decimal point")


def test_covariates_that_say_nothing_or_too_much(ds):
    rng, count = np.random.default_rng(2), ds.sizes["individual"]
    only(oddities(with_covariate(ds, "flat", np.full(count, 3.7))), "'flat' is the same everywhere")
    first = ds["covariates"].values[:, 0]
    only(oddities(with_covariate(ds, "again", 3 - 2 * first)), "'again' (-1.00000)",
         "nearly the same")
    shares = rng.dirichlet([2, 3, 4], count)
    three = ds
    for name, values in zip(("forest", "field", "town"), shares.T, strict=True):
        three = with_covariate(three, name, values)
    only(oddities(three), "'forest', 'field', 'town' are together linearly dependent")
    codes = rng.choice([11, 22, 31, 40, 52], count)
    only(oddities(with_covariate(ds, "landcover", codes)), "'landcover' is whole numbers",
         "zeros and ones")
    assert oddities(with_covariate(ds, "coast", rng.integers(0, 2, count))) == []
    assert oddities(with_covariate(ds, "altitude", rng.integers(0, 900, count))) == []


SETS = ["korea", "italy", "us-unemployment", "simulated-country", "swiss-roll",
        "swiss-roll-heights", "simulated-climate", "madagascar", "california-households",
        "california-housing"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_no_false_alarm(name):
    try:
        found = wb.load(name)
    except (ImportError, wb.InputError) as error:       # a package or downloaded data are absent
        needed = name in ("simulated-country", "swiss-roll", "swiss-roll-heights")
        assert not needed and "WORKBENCH_REQUIRE_DATA" not in os.environ, error
        pytest.skip(str(error))
    assert oddities(found) == []


def slipped(ds):
    return with_covariate(ds, "flat", np.ones(ds.sizes["individual"]))


def told(caught) -> list[str]:
    return [str(w.message) for w in caught if w.category is DataWarning]


def test_a_fit_tells_once_and_its_map_carries_it(ds):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = wb.Constant().fit(slipped(ds))
    only(told(caught), "'flat'")
    assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
    assert "'flat'" in fit.to_dataset(slipped(ds)).attrs["sanity"]
    assert wb.Constant().fit(ds).to_dataset(ds).attrs["sanity"] == "none"


def test_folds_do_not_tell_again(ds):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = cross_validate(wb.Constant(), slipped(ds), folds=3, samples=20)
    only(told(caught), "'flat'")
    assert not (result["note"].values != "").any()


def test_a_run_keeps_it_in_the_record_of_treatments(ds, tmp_path):
    path = wb.write(slipped(ds), tmp_path / "slipped.nc")
    with pytest.warns(DataWarning, match="'flat'"):
        maps = pipeline.run(Spec(str(path), model="constant"))
    assert "look at this: covariate 'flat' is the same everywhere" in maps.attrs["treatments"]
    assert json.loads(maps.attrs["spec"])["model"] == "constant"


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_total_that_is_wrong_by_orders_of_magnitude_is_no_effect_of_its_area(ds):
    value = ds["value"].copy()
    value[3] *= 1000
    with pytest.warns(FitWarning, match="a total that is wrong by orders of magnitude does it"):
        wb.Constant().fit(ds.assign(value=value))


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_fitted_totals_far_from_the_data_are_said(ds):
    # A rate of one, fifty times the data's, that nothing may move.
    held = {"mean": 0.0, "constant.variance": 1e-8, "area.std": 0.1, "nugget.std": 0.1}
    with pytest.warns(FitWarning, match="fitted totals add up to .* the data to"):
        fit = wb.Constant(hyperparameters=held).fit(ds)
    assert any("fitted totals add up" in note for note in fit.notes)
    assert not any("add up" in note for note in wb.Constant().fit(ds).notes)


def test_totals_that_effects_of_areas_make_up_for_are_said_to_be_so(ds):
    """The map of these areas adds up to the data; what is off are places outside them."""
    rate = float(np.log(ds["value"].sum() / ds["weight"].sum()))
    held = {"mean": rate, "constant.variance": 1e-8, "area.std": 1.5, "nugget.std": 0.1}
    with pytest.warns(FitWarning, match="without the effects of areas expected totals add up to"):
        fit = wb.Constant(hyperparameters=held).fit(ds)
    assert float(fit.over(ds).mean.sum()) == pytest.approx(float(ds["value"].sum()), rel=0.3)
    assert not any(note.startswith("the fitted totals") for note in fit.notes)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
@pytest.mark.parametrize("model", [
    wb.VBAgg(inducing=6, max_steps=3), wb.Auto(effort="quick", workers=1),
    wb.AggregatedGP(max_steps=3)])
def test_one_area_is_said(ds, model):
    with pytest.warns(FitWarning, match="there is one area: its total gives the level of the rate"):
        fit = model.fit(wb.subset(ds, [0]))
    assert "there is one area" in fit.summary()
    assert not any("there is one area" in note for note in model.fit(wb.subset(ds, [0, 1])).notes)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_extrapolation_everywhere_is_said(ds):
    # Means of 25 draws span less than a draw does: hardly anyone is inside in thirty covariates.
    rng = np.random.default_rng(3)
    for k in range(30):
        ds = with_covariate(ds, f"noise{k}", rng.normal(size=ds.sizes["individual"]))
    with pytest.warns(ExtrapolationWarning, match="the map extrapolates everywhere: 100% of"):
        wb.VBAgg(inducing=6, max_steps=3).fit(ds)


def test_merged_areas_are_looked_at_anew(ds, tmp_path):
    slip = ds["value"].values.copy()
    slip[0] *= 1_000
    ds = with_values(ds, slip).assign_coords(half=("bag", np.where(np.arange(20) < 10, "a", "b")))
    from workbench import geo

    geo.write(ds.assign_attrs(sanity="none"), tmp_path / "areas.nc")        # as if it were fine
    with pytest.warns(DataWarning):
        found = pipeline.data_of(Spec(dataset=str(tmp_path / "areas.nc"), areas=15))
    assert found.attrs["sanity"] != "none"


def test_a_crs_that_nobody_knows_is_not_in_degrees(ds):
    x = np.linspace(0, 30, ds.sizes["individual"])
    x[-3:] += 270                       # a gap of more than 180
    for crs, told in (("local grid", False), ("EPSG:4326", True)):
        said = oddities(placed(ds, x, crs=crs))
        assert any("around the globe" in one for one in said) == told
