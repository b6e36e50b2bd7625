"""Summaries of bagged data and of tables: statistics, centres, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
import shapely
import torch
from scipy import stats
from typer.testing import CliRunner

import workbench as wb
from workbench import schema
from workbench.bagging import bag_grid, from_summaries, from_table, rebag, summarise
from workbench.checks import DataWarning, InputError
from workbench.cli import app
from workbench.labelled import to_source


def points(seed=0, rows=60, kind="continuous", aggregation="mean", weight=None) -> object:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"e": rng.uniform(0, 10, rows), "n": rng.uniform(0, 5, rows),
                          "height": rng.normal(size=rows), "v": rng.gamma(2, 1, rows),
                          "yes": rng.integers(0, 2, rows), "people": rng.integers(1, 9, rows)})
    return from_table(table, ["height"], "yes" if kind == "yes" else "v", x="e", y="n",
                      weight=weight, aggregation=aggregation,
                      kind="continuous" if kind == "yes" else kind,
                      units={"e": "km", "n": "km", "v": "mm"})


def test_means_variances_counts_and_centres():
    ds = bag_grid(points(), (4, 2))
    out = summarise(ds)
    frame = pd.DataFrame({"b": ds["membership"].values, "v": ds["individual_value"].values,
                          "x": ds["x"].values, "h": ds["covariates"].values[:, 0]}).groupby("b")
    np.testing.assert_allclose(out["value"], frame["v"].mean())
    np.testing.assert_allclose(out["sample_variance"], frame["v"].var(ddof=0))
    np.testing.assert_allclose(out["weight"], frame.size())
    np.testing.assert_allclose(out["x"], frame["x"].mean())
    np.testing.assert_allclose(out["covariates"].values[:, 0], frame["h"].mean())
    assert out["value"].attrs["statistic"] == "mean" and out["x"].attrs["units"] == "km"
    assert (out["bag"].values == ds["bag"].values).all() and "bag_geometry" in out.coords
    source = to_source(out)
    torch.testing.assert_close(source.targets.sample_variance,
                               torch.as_tensor(out["sample_variance"].values))


def test_centres_of_cells():
    ds = bag_grid(points(), size=2.5, extent=((0, 10), (0, 5)))
    out = summarise(ds, location="geometry")
    assert set(out["x"].values) <= {1.25, 3.75, 6.25, 8.75}
    assert set(out["y"].values) <= {1.25, 3.75}
    np.testing.assert_allclose(
        out["x"], shapely.get_x(shapely.centroid(ds["bag_geometry"].values)))


def test_medians_and_proportions():
    ds = bag_grid(points(), (3, 2))
    out = summarise(ds, "median")
    for b in range(ds.sizes["bag"]):
        values = ds["individual_value"].values[ds["membership"].values == b]
        assert out["value"].values[b] == np.median(values)
    assert "sample_variance" not in out and schema.statistic(out) == "median"
    yes = bag_grid(points(kind="yes"), (3, 2))
    out = summarise(yes, "proportion")
    assert ((out["value"] >= 0) & (out["value"] <= 1)).all()
    fit = wb.QuasiLikelihoodGP(kernel="rbf(coordinates)", boundary="half").fit(out)
    assert fit.inner.state.likelihood.name == "bernoulli"
    assert ((fit.at(yes).mean > 0) & (fit.at(yes).mean < 1)).all()


@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_totals_become_rates_at_the_centre_of_population():
    ds = rebag(points(kind="count", aggregation="sum", weight="people"),
               np.arange(60) // 10, list("abcdef"))
    out = summarise(ds)
    total = np.bincount(ds["membership"], ds["individual_value"])
    people = np.bincount(ds["membership"], ds["weight"])
    np.testing.assert_allclose(out["value"], total / people)
    np.testing.assert_allclose(out["weight"], people)
    np.testing.assert_allclose(
        out["x"], np.bincount(ds["membership"], ds["weight"] * ds["x"]) / people)
    assert "sample_variance" not in out
    np.testing.assert_allclose(summarise(ds.drop_vars("individual_value"))["value"], out["value"])
    # The model itself takes areas at their centres: the two ways are one.
    theta = dict(kernel="rbf(coordinates)", likelihood="poisson", max_steps=20, nugget=0.0)
    ours = wb.QuasiLikelihoodGP(**theta).fit(out)
    direct = wb.QuasiLikelihoodGP(**theta).condition(ds, ours.hyperparameters)
    np.testing.assert_allclose(direct.at(ds).mean, ours.at(ds).mean, rtol=1e-9)
    np.testing.assert_allclose(direct.over(out).mean, ours.over(out).mean * people, rtol=1e-9)


@pytest.mark.parametrize(("make", "message"), [
    (lambda ds: summarise(ds, "mode"), "statistic 'mode'"),
    (lambda ds: summarise(ds, location="middle"), "location 'middle'"),
    (lambda ds: summarise(ds.drop_vars("individual_value"), "median"), "individual values"),
    (lambda ds: summarise(ds, "proportion"), "0 or 1"),
    (lambda ds: summarise(ds.assign(weight=2 * ds["weight"]), "median"), "counts each observation"),
    (lambda ds: summarise(ds.drop_vars("bag_geometry"), location="geometry"), "needs polygons"),
])
def test_summaries_that_cannot_be(make, message):
    with pytest.raises(InputError, match=message):
        make(bag_grid(points(), (3, 2)))


def table(**change) -> pd.DataFrame:
    frame = pd.DataFrame({"east": [0.0, 1.0, 2.0, 0.5], "north": [0.0, 0.5, 0.2, 1.0],
                          "mean": [1.0, 2.0, 1.5, 0.7], "n": [5, 9, 3, 12],
                          "s2": [0.2, 0.3, 0.1, 0.5], "district": list("abcd")})
    for name, value in change.items():
        frame[name] = frame[name].astype(object)
        frame.loc[2, name] = value
    return frame


COLUMNS = dict(x="east", y="north", variance="s2", name="district", units={"east": "km"})


def test_a_missing_variance_of_one_observation_is_zero():
    """The evidence is then that of all observations, those that are alone among them."""
    rng = np.random.default_rng(0)
    z, n = rng.uniform(0, 5, (5, 2)), np.array([1, 4, 1, 7, 2])
    members = np.repeat(np.arange(5), n)
    y = np.sin(z[members, 0]) + rng.normal(0, 0.7, n.sum())
    mean = np.bincount(members, y) / n
    spread = np.bincount(members, (y - mean[members])**2) / n
    given = pd.DataFrame({"mean": mean, "n": n, "x": z[:, 0], "y": z[:, 1],
                          "s2": np.where(n == 1, np.nan, spread)})
    with pytest.warns(DataWarning, match=r"2 areas of one .*row 0.*by \(count - 1\) / count"):
        ds = from_summaries(given, "mean", "n", x="x", y="y", variance="s2")
    np.testing.assert_allclose(ds["sample_variance"], spread, atol=1e-12)
    fit = wb.QuasiLikelihoodGP(kernel="rbf(coordinates)", nugget=0.0).condition(ds, {
        "mean": 0.2, "rbf.variance": 1.2, "rbf.lengthscale": 1.5, "noise.variance": 0.6})
    gap = z[members][:, None] - z[members][None]
    gram = 1.2 * np.exp(-0.5 * (gap**2).sum(-1) / 1.5**2) + 0.6 * np.eye(n.sum())
    assert fit.objective == pytest.approx(
        stats.multivariate_normal(np.full(n.sum(), 0.2), gram).logpdf(y), abs=1e-7)
    with pytest.raises(InputError, match="1 areas of more than one observation.*row 1"):
        from_summaries(given.assign(s2=[0, np.nan, 0, 1, 1]), "mean", "n", x="x", y="y",
                       variance="s2")


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_a_table_of_summaries(kind, tmp_path):
    given = table()
    if kind == "csv":
        given.to_csv(path := tmp_path / "areas.csv", index=False)
    elif kind == "parquet":
        given.to_parquet(path := tmp_path / "areas.parquet")
    ds = from_summaries(given if kind == "frame" else path, "mean", "n", **COLUMNS)
    assert list(ds["bag"].values) == list("abcd")
    np.testing.assert_allclose(ds["value"], given["mean"])
    np.testing.assert_allclose(ds["weight"], given["n"])
    np.testing.assert_allclose(ds["sample_variance"], given["s2"])
    fit = wb.QuasiLikelihoodGP(kernel="rbf", max_steps=20).fit(ds)
    assert fit.inner.state.exact and "noise.variance" in fit.hyperparameters
    assert np.isfinite(fit.to_dataset(ds)["mean"]).all()


@pytest.mark.parametrize(("change", "message"), [
    (dict(n=0.5), r"count below one, the first in row 2 \(0.5\)"),
    (dict(mean=np.nan), "'mean' has 1 values that are missing.*row .2"),
    (dict(s2=-1.0), "sample variances are missing or negative.*'c'"),
    (dict(mean="high"), "'mean', which must hold numbers"),
    (dict(east=0.0, north=0.0), "2 areas share their centre.*row 0"),
    (dict(district="a"), "must be unique"),
])
def test_tables_that_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        from_summaries(table(**change), "mean", "n", **COLUMNS)


@pytest.mark.parametrize(("options", "message"), [
    (dict(statistic="men", count="n", x="east", y="north"), "lacks columns .'men'"),
    (dict(statistic="mean", count="n"), "needs a centre"),
    (dict(statistic="mean", count="n", x="east"), "both x and y"),
    (dict(statistic="mean", count="n", x="east", y="north", is_a="proportion"),
     "proportions are not between"),
    (dict(statistic="mean", count="n", x="east", y="north", is_a="mode"), "is_a 'mode'"),
])
def test_columns_that_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        from_summaries(table(), **options)


def test_files_that_are_refused(tmp_path):
    with pytest.raises(InputError, match="is not a file"):
        from_summaries(tmp_path / "none.csv", "mean", "n", x="east", y="north")
    (tmp_path / "areas.pickle").write_text("")
    with pytest.raises(InputError, match="kind of file '.pickle'"):
        from_summaries(tmp_path / "areas.pickle", "mean", "n", x="east", y="north")


def test_cells_of_a_given_size():
    ds = bag_grid(points(), size=2.5, extent=((0, 10), (0, 5)))
    assert ds.sizes["bag"] <= 8
    column = np.floor(ds["x"].values / 2.5).astype(int)
    row = np.floor(ds["y"].values / 2.5).astype(int)
    named = [f"r{r}c{c}" for r, c in zip(row, column, strict=True)]
    assert (ds["bag"].values[ds["membership"].values] == named).all()
    for options, message in (
        (dict(size=1.0, extent=((0, 5), (0, 5))), "outside the extent"), ({}, "either cells or"),
        (dict(cells=3, size=1.0), "either cells or"), (dict(size=-1.0), "must be positive"),
    ):
        with pytest.raises(InputError, match=message):
            bag_grid(points(), **options)


THETA = {"mean": 0.5, "matern32.variance": 1.4, "matern32.lengthscale": 2.5, "noise.variance": 0.8}


def test_moved_complete_data_have_the_summaries_posterior_and_evidence():
    """Normal likelihood: E and posterior of summaries are those of points at the centres."""
    ds = bag_grid(points(rows=80), (4, 2)).isel(covariate=slice(0, 0))
    moved = wb.as_singleton_bags(wb.move_to_centres(ds))
    assert moved.sizes["bag"] == 80
    theta = dict(kernel="matern32", nugget=0.0)
    ours = wb.QuasiLikelihoodGP(**theta).condition(summarise(ds), THETA)
    theirs = wb.AggregatedGP(kernel="matern32", noise="constant").condition(moved, THETA)
    assert ours.objective == pytest.approx(theirs.objective, abs=1e-6)
    np.testing.assert_allclose(ours.at(ds).mean, theirs.at(ds).mean, atol=1e-8)
    np.testing.assert_allclose(ours.at(ds).std, theirs.at(ds).std, atol=1e-6)
    # Summarised VI with an inducing input at every centre is the same once more.
    vi = wb.VBAgg(kernel="matern32", link="identity", inducing=8, noise="constant", compress=0)
    vi = vi.condition(moved, THETA)
    np.testing.assert_allclose(vi.latent(ds).mean, ours.latent(ds).mean, atol=1e-4)
    np.testing.assert_allclose(vi.latent(ds).std, ours.latent(ds).std, atol=1e-3)
    assert vi.objective == pytest.approx(ours.objective, abs=1e-2)


def test_in_cells_of_one_nothing_moves():
    ds = wb.as_singleton_bags(bag_grid(points(rows=30), (3, 2)))
    np.testing.assert_array_equal(wb.move_to_centres(ds)["x"], ds["x"])
    ours, complete = summarise(ds), wb.as_singleton_bags(ds)
    np.testing.assert_array_equal(ours["value"], complete["value"])


def test_moving_to_centres_of_cells():
    ds = bag_grid(points(), size=2.5, extent=((0, 10), (0, 5)))
    moved = wb.move_to_centres(ds, "geometry")
    np.testing.assert_allclose(moved["x"] % 2.5, 1.25)
    np.testing.assert_array_equal(moved["individual_value"], ds["individual_value"])
    assert np.abs(moved["x"] - ds["x"]).max() <= 1.25


def test_a_grid_of_places_is_a_raster():
    ds = from_summaries(table(), "mean", "n", **COLUMNS)
    places = wb.grid_places(ds, cells=40)
    assert places.sizes["individual"] == 40 * places.attrs["grid_shape"][0]
    assert float(places["x"].min()) < 0 and float(places["x"].max()) > 2
    np.testing.assert_allclose(np.unique(np.diff(np.unique(places["x"]))), 0.055, rtol=1e-6)
    maps = wb.QuasiLikelihoodGP(kernel="rbf", max_steps=20).fit(ds).to_dataset(places)
    raster = wb.to_raster(maps, "mean")
    assert raster["y"].values[0] > raster["y"].values[-1]       # north is up
    row, column = 7, 11
    one = int(np.flatnonzero((places["row"] == row) & (places["column"] == column))[0])
    assert float(raster[row, column]) == pytest.approx(float(maps["mean"][one]))
    assert float(raster["x"][column]) == pytest.approx(float(places["x"][one]))
    assert float(raster["y"][row]) == pytest.approx(float(places["y"][one]))
    with pytest.raises(InputError, match="not known on a new grid"):
        wb.grid_places(summarise(bag_grid(points(), 3)))


def test_maps_of_a_table_from_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lon": rng.uniform(0, 10, 30), "lat": rng.uniform(0, 8, 30),
                          "n": rng.integers(5, 50, 30)})
    frame["m"] = np.sin(frame["lon"]) + rng.normal(0, 1 / np.sqrt(frame["n"]))
    frame.to_csv(tmp_path / "areas.csv", index=False)
    command = ["smooth", str(tmp_path / "areas.csv"), "--statistic", "m", "--count", "n", "--x",
               "lon", "--y", "lat", "--cells", "20", "--quiet", "--out"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "map.nc"), "--threshold", "0.5"])
    assert done.exit_code == 0, done.output
    assert "matern32.lengthscale" in done.output and "converged" in done.output
    maps = wb.read(tmp_path / "map.nc")
    assert {"mean", "std", "exceedance"} <= set(maps.data_vars) and maps.attrs["areas"] == 30
    assert not {"value", "bag_mean", "bag_std", "bag_quantile"} & set(maps)
    for extra, message in ((["--is-a", "mode"], "is_a 'mode'"),
                           (["--likelihood", "poisson"], "statistics from 0"),
                           (["--variance", "s2"], "lacks columns")):
        bad = CliRunner().invoke(app, [*command, str(tmp_path / "map.nc"), *extra])
        assert bad.exit_code == 2 and message in bad.output


@pytest.mark.parametrize("change, extra, message", [
    ({"lat": 95.0}, ["--crs", "EPSG:4326"], "1 of 12 latitudes lie beyond 90 degrees, the first in "
                                            "row 3 (95)"),
    ({"lat": 95.0}, [], "latitudes lie beyond 90"),             # the column's name says degrees
    ({"lon": 412_000.0}, ["--crs", "EPSG:4326"], "longitudes lie beyond 360"),
    ({}, ["--crs", "EPSG:9999999"], "--crs EPSG:9999999 is not a known coordinate reference"),
    ({}, ["--variance", "s2"], "(columns separated by semicolons)"),
])
def test_smooth_refuses_what_lies_nowhere(tmp_path, change, extra, message):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lon": rng.uniform(0, 10, 12), "lat": rng.uniform(0, 8, 12), "n": 20,
                          "m": rng.normal(size=12)})
    for column, value in change.items():
        frame.loc[3, column] = value
    frame.to_csv(tmp_path / "areas.csv", index=False, sep=";")
    command = ["smooth", str(tmp_path / "areas.csv"), "--statistic", "m", "--count", "n", "--x",
               "lon", "--y", "lat", "--out", str(tmp_path / "map.nc"), *extra]
    bad = CliRunner().invoke(app, command)
    assert bad.exit_code == 2 and message in bad.output, bad.output
    if change == {"lat": 95.0}:
        frame.loc[3, "lat"] = 5.0
        frame.iloc[[3]].to_csv(tmp_path / "areas.csv", index=False, sep="\t")
        alone = CliRunner().invoke(app, command)
        assert alone.exit_code == 2 and "has one area" in alone.output


def test_smooth_names_the_separator_it_found(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lon": rng.uniform(0, 10, 12), "lat": rng.uniform(0, 8, 12), "n": 20,
                          "m": rng.normal(size=12)})
    for mark, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        frame.to_csv(tmp_path / "areas.csv", index=False, sep=mark)
        done = CliRunner().invoke(app, [
            "smooth", str(tmp_path / "areas.csv"), "--statistic", "m", "--count", "n", "--x", "lon",
            "--y", "lat", "--cells", "5", "--crs", "EPSG:4326", "--out", str(tmp_path / "map.nc")])
        assert done.exit_code == 0, done.output
        assert f"read 12 areas from areas.csv (columns separated by {word})" in done.stderr
    assert wb.read(tmp_path / "map.nc")["x"].attrs["units"] == "degree"
    frame.assign(m=frame["m"].map("{:.3f}".format).str.replace(".", ",")).to_csv(
        tmp_path / "comma.csv", index=False, sep=";")
    with pytest.raises(InputError, match="write points for decimal commas"):
        wb.from_summaries(tmp_path / "comma.csv", "m", "n", x="lon", y="lat")
    for first, said in (("1,790", r"remove the thousands separators \('1,790' in row 0\)"),
                        ("1,798", r"remove the commas if they separate thousands \('1,798' in row"),
                        ("1 798", "remove the thousands separators, which are blanks")):
        thousands = frame.assign(n=[first, *frame["n"].astype(str)[1:]])
        with pytest.raises(InputError, match=said):
            wb.from_summaries(thousands, "m", "n", x="lon", y="lat")


def test_degrees_and_variances_of_medians_are_pointed_out():
    frame = pd.DataFrame({"lon": [8.0, 9, 10], "lat": [50.0, 51, 52], "n": 20, "m": [1.0, 2, 3],
                          "s2": 1.0})
    given = dict(statistic="m", count="n", x="lon", y="lat")
    with pytest.warns(DataWarning, match="one of longitude is 70 km here, one of latitude 111 km"):
        wb.from_summaries(frame, **given)
    metres = frame.rename(columns={"lon": "x", "lat": "y"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wb.from_summaries(frame.assign(lat=[0.0, 1, 2]), **given)       # near the equator
        wb.from_summaries(frame.assign(lat=1e5 * frame["lat"]), **given)        # no degrees
        plane = dict(given, x="x", y="y")
        wb.from_summaries(metres, **plane, variance="s2")
    with pytest.warns(DataWarning, match="'s2' is not used: .* a mean is, not a median"):
        wb.from_summaries(metres, **plane, variance="s2", is_a="median")


def test_summaries_of_summaries():
    """Merged summaries are the summary of the union: variances within and between are pooled."""
    ds = bag_grid(points(rows=90), (4, 2))
    coarse = bag_grid(points(rows=90), (2, 1))
    fine = summarise(ds)
    half = [f"r0c{int(name.split('c')[1]) // 2}" for name in fine["bag"].values]
    merged = wb.merge(fine.assign_coords(half=("bag", half)), "half")
    again, direct = summarise(merged), summarise(coarse)
    for name in ("value", "sample_variance", "weight", "x"):
        np.testing.assert_allclose(again[name], direct[name], err_msg=name)
    np.testing.assert_allclose(summarise(fine)["sample_variance"], fine["sample_variance"])
    medians = summarise(ds, "median")
    assert schema.statistic(summarise(medians, "median")) == "median"
    with pytest.raises(InputError, match="values are their median; a mean needs"):
        summarise(medians)
    with pytest.raises(InputError, match="medians of areas are not enough"):
        wb.merge(medians.assign_coords(half=("bag", half)), "half")


def test_numbers_that_are_text_are_read():
    given = table().astype({"n": str, "mean": str})
    ds = from_summaries(given, "mean", "n", **COLUMNS)
    np.testing.assert_allclose(ds["weight"], [5, 9, 3, 12])
    for bad, message in (([1, 2], "expected a DataFrame"), (given.rename(columns={"s2": "n"}),
                                                            "these repeat: ..n")):
        with pytest.raises(InputError, match=message):
            from_summaries(bad, "mean", "n", x="east", y="north")


@pytest.mark.parametrize("likelihood", ["normal", "poisson", "binomial"])
def test_complete_and_summarised_vi_under_each_likelihood(likelihood):
    """Sparse variational GPs on points, and on points at their centres: both find the pattern."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"e": rng.uniform(0, 10, 300), "n": rng.uniform(0, 5, 300)})
    f = np.sin(frame["e"])
    frame["v"] = {"normal": lambda: rng.normal(f, 0.5), "poisson": lambda: rng.poisson(np.exp(f)),
                  "binomial": lambda: rng.binomial(1, 1 / (1 + np.exp(-2 * f)))}[likelihood]()
    kind = "continuous" if likelihood == "normal" else "count"
    sums = "sum" if likelihood == "poisson" else "mean"
    ds = bag_grid(from_table(frame, [], "v", x="e", y="n", aggregation=sums, kind=kind), (20, 10))
    complete, moved = wb.as_singleton_bags(ds), wb.as_singleton_bags(wb.move_to_centres(ds))
    if likelihood == "binomial":        # Bernoulli: one trial each
        complete, moved = (d.assign(trials=("bag", np.ones(300))) for d in (complete, moved))
    link = {"normal": "identity", "poisson": "exp", "binomial": "logit"}[likelihood]
    truth = np.sin(complete["x"].values)
    for data in (complete, moved):
        fit = wb.VBAgg(kernel="rbf", inducing=30, likelihood=likelihood, link=link).fit(data)
        found = fit.latent(complete).mean.values
        assert fit.converged and np.corrcoef(found, truth)[0, 1] > 0.85


def test_centres_of_polygons_and_of_their_people():
    """Districts of a simulated country: the outline's centroid, and where its population lives."""
    ds = wb.load("simulated-country", pixels=600, districts=20, regions=5, provinces=2, smallest=5)
    people, outline = summarise(ds), summarise(ds, location="geometry")
    centroid = shapely.centroid(ds["bag_geometry"].values)
    np.testing.assert_allclose(outline["x"], shapely.get_x(centroid))
    weight = ds["weight"].groupby(ds["membership"])
    lived = (ds["weight"] * ds["y"]).groupby(ds["membership"]).sum() / weight.sum()
    np.testing.assert_allclose(people["y"], lived)
    assert np.abs(people["x"] - outline["x"]).max() > 0.1       # not the same thing
    np.testing.assert_allclose(people["value"].values * people["weight"].values, ds["value"])
