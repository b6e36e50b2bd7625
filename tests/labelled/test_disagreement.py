"""Sources of one task that do not measure the same: what is said, and when nothing is."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import ConvergenceWarning, FitWarning
from workbench.cli import app
from workbench.gp.models.several_sources.agreement import disagreements
from workbench.labelled import to_sources
from workbench.labelled.disagreement import DISAGREE, told

ABOUT = {"aggregation": "mean", "kind": "continuous", "units": "ug/m3", "task": "no2"}


def bagged(places, members, value, **about) -> xr.Dataset:
    count = len(value)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((len(places), 0))),
         "weight": ("individual", np.ones(len(places))), "membership": ("individual", members),
         "value": ("bag", value, ABOUT | about)},
        {"individual": np.arange(len(places)), "bag": np.arange(count).astype(str),
         "x": ("individual", places[:, 0]), "y": ("individual", places[:, 1]),
         "covariate": np.array([], dtype=str), "covariate_units": ("covariate", np.array([], str))})


def sources(seed=0, offset=0.0, scale=1.0, away=0.0, swing=1.0, **about) -> dict[str, xr.Dataset]:
    """Forty stations in a square of cells, whose satellite shows ``offset + scale * f``."""
    rng = np.random.default_rng(seed)
    waves, phases = rng.normal(size=(30, 2)) / 0.4, rng.uniform(0, 2 * np.pi, 30)
    size = rng.normal(size=30) / np.sqrt(15)

    def field(places):
        return 10 + swing * np.cos(places @ waves.T + phases) @ size

    stations = rng.uniform(size=(40, 2))
    nodes = (np.arange(12) + 0.5) / 12
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1).reshape(-1, 2)
    members = (grid * 4).astype(int) @ [4, 1]
    order = np.argsort(members, kind="stable")
    grid, members = grid[order], members[order]
    means = np.bincount(members, field(grid)) / 9
    seen = offset + scale * means + 0.1 * rng.normal(size=16)
    return {"stations": bagged(stations, np.arange(40),
                               field(stations) + 0.2 * rng.normal(size=40)),
            "satellite": bagged(grid + away, members, seen, **about)}


def found(given) -> list:
    return list(disagreements(to_sources(given), {}))


@pytest.mark.parametrize("seed", range(8))
def test_unbiased_sources_agree_and_biased_ones_do_not(seed):
    assert not found(sources(seed))
    assert not found(sources(seed, offset=3.0, away=5.0))       # nowhere together
    assert not found(sources(seed, offset=3.0, task="pm10"))    # not taken for the same
    low, = found(sources(seed, offset=-3.0))
    assert (low.finer, low.coarser) == ("stations", "satellite") and low.of_level
    assert low.level == pytest.approx(3.0, abs=4 * low.level_error)


@pytest.mark.parametrize("level", [0.0, 5.0])
def test_sources_along_a_line_whose_other_coordinate_never_changes(level):
    """As in a small part of a city, whose stations lie in one street."""
    along = np.linspace(0, 10, 60)
    places = np.stack([along, np.full(60, level)], -1)
    value = np.sin(along)
    means = value.reshape(20, 3).mean(1)
    for offset, count in ((0.0, 0), (2.0, 1)):
        given = {"stations": bagged(places, np.arange(60), value + offset),
                 "satellite": bagged(places, np.repeat(np.arange(20), 3), means)}
        assert len(found(given)) == count


def test_a_source_that_shows_changes_reduced_is_found_either_way_round():
    strong = sources(1, scale=0.3, offset=7.0, swing=5.0)
    swapped = dict(reversed(strong.items()))
    for given in (strong, swapped):
        one, = found(given)
        assert one.of_slope and one.slope == pytest.approx(1 / 0.3, rel=0.3)
    weak, = found(sources(1, scale=4.0, offset=-30.0, swing=5.0))
    assert weak.of_slope and weak.slope < 0.5


def test_a_fit_says_so_in_data_units_with_what_to_do():
    quick, biased = {"kernel": "rbf", "max_steps": 2, "tolerance": 0.1}, sources(offset=-3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.warns(FitWarning, match=DISAGREE):
            fit = wb.MRGP(**quick).fit(biased)
        fair = wb.MRGP(**quick).fit(sources())
        with pytest.warns(FitWarning, match=DISAGREE):
            wb.MRVBAgg(**quick, inducing=10, links=dict.fromkeys(biased, "identity")).fit(biased)
        with pytest.warns(FitWarning, match=DISAGREE):
            wb.MRGPRN(**quick, inducing=10).fit(biased)
        mapped = wb.MRDGP(**quick, inducing=10, joint_steps=0, samples=8).fit(biased)
    note, = (n for n in fit.notes if n.startswith(DISAGREE))
    assert "'stations' lies 2.98" in note and "ug/m3 above 'satellite'" in note
    assert "wb.MRDGP" in note and "trust=" in note and note in fit.summary()
    for quiet in (fair, mapped):
        assert not any(n.startswith(DISAGREE) for n in quiet.notes)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_the_command_line_says_so(tmp_path):
    files = []
    for name, ds in sources(offset=-3.0).items():
        ds.to_netcdf(tmp_path / f"{name}.nc")
        files.append(f"{name}={tmp_path / name}.nc")
    done = CliRunner().invoke(app, [
        "combine", *files, "--at", str(tmp_path / "stations.nc"), "--model", "mr-gp", "--kernel",
        "rbf", "--max-steps", "2", "--out", str(tmp_path / "map.nc")])
    assert done.exit_code == 0, done.output
    assert DISAGREE in done.output


def test_sources_under_links_of_their_own_are_not_compared():
    given = to_sources(sources(offset=3.0))
    assert not list(disagreements(given, {"stations": "exp", "satellite": "identity"}))
    assert list(disagreements(given, {"stations": "exp", "satellite": "exp"}))


def test_a_slope_and_no_units_in_words():
    facts = SimpleNamespace(finer="a", coarser="b", pairs=20, of_level=False, of_slope=True,
                            slope=1.5, slope_error=0.1)
    assert "'a' changes by 1.5 where 'b' changes by one (standard error 0.1), at 20" in told(
        facts, "")
