"""What every registered model must do: the same calls, shapes, errors, and round trips."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.likelihoods.preserving import Groups
from workbench.gp.models.registry import MODELS
from workbench.gp.predictive import Predictive

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    # New bags are predicted here; that bag-constant warns of them has a test of its own.
    "ignore:.*bag-constant knows nothing of them:workbench.checks.ExtrapolationWarning")

OPTIONS = {"inducing": 12, "max_steps": 100, "tolerance": 1e-3, "boundary": "half"}


def make(name, **extra):
    allowed = {f.name for f in fields(MODELS[name].options_type)}
    return MODELS[name](**{k: v for k, v in (OPTIONS | extra).items() if k in allowed})


@pytest.fixture(scope="module", params=MODELS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags((4, 3, 6, 2, 5, 4)), scale=2.0)


@pytest.fixture(scope="module")
def fit(name, source):
    return make(name).fit(source)


@pytest.fixture(scope="module")
def new():
    return made.bags((3, 2), seed=8)


def test_shapes_and_finite_answers(fit, new):
    for law, n in ((fit.latent(new), 5), (fit.at(new), 5), (fit.over(new), 2),
                   (fit.at(new, torch.tensor([-1, -1]), True), 5),
                   (fit.over(new, torch.tensor([-1, -1]), True), 2)):
        assert isinstance(law, Predictive)
        assert law.mean.shape == law.variance.shape == law.cdf(1.0).shape == (n,)
        assert law.quantile([0.1, 0.5, 0.9]).shape == (3, n)
        for values in (law.mean, law.variance, law.quantile([0.1, 0.9]), law.sample(3)):
            assert torch.isfinite(values).all()
        assert (law.variance >= 0).all()
        assert law.mean.dtype == torch.float64
    assert fit.simulate_bags(new, None, 7, 0).shape == (7, 2)
    assert fit.simulate_individuals(new, None, 7, 0).shape == (7, 5)
    same = fit.simulate_individuals(new, None, 7, 0)
    assert torch.equal(same, fit.simulate_individuals(new, None, 7, 0))
    assert isinstance(fit.coefficients(), dict)
    assert np.isfinite(fit.objective)


def test_sums_over_groups_keep_the_totals(fit, source):
    of = torch.arange(len(source.bags.x)) % 3
    pairs, of = torch.unique(3 * source.bags.membership + of, return_inverse=True)
    groups, y = Groups(of, len(pairs)), source.targets.value
    try:
        fit.preserve(source.bags, None, y, 2, 0)
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            fit.preserve_sums(source.bags, None, y, groups, 40, 0)
        return
    drawn = fit.preserve_sums(source.bags, None, y, groups, 40, 0)
    assert drawn.shape == (40, len(pairs)) and torch.isfinite(drawn).all()
    totals = torch.zeros(40, len(y)).double().index_add(1, pairs // 3, drawn)
    torch.testing.assert_close(totals, y.expand(40, -1))
    assert torch.equal(drawn, fit.preserve_sums(source.bags, None, y, groups, 40, 0))


def test_hyperparameters_go_back_in(name, fit, source, new):
    again = make(name).condition(source, fit.hyperparameters)
    assert again.hyperparameters == {
        k: {"value": pytest.approx(v["value"], rel=1e-9), "unit": v["unit"]}
        for k, v in fit.hyperparameters.items()}
    torch.testing.assert_close(again.at(new).mean, fit.at(new).mean, rtol=2e-3, atol=2e-3)
    assert again.objective == pytest.approx(fit.objective, abs=5e-3)


def test_two_fits_with_one_seed_agree_to_the_bit(name, fit, source, new):
    again = make(name).fit(source)
    assert again.hyperparameters == fit.hyperparameters
    assert again.history.objective == fit.history.objective
    assert torch.equal(again.at(new).mean, fit.at(new).mean)


def test_missing_and_unknown_hyperparameters(name, source):
    model = make(name)
    with pytest.raises(InputError, match="needs a value; missing: mean"):
        model.condition(source, {})
    with pytest.raises(InputError, match="hyperparameter 'maen' is unknown; did you mean 'mean'"):
        model.condition(source, {"maen": 1.0})
    with pytest.raises(InputError, match="did you mean 'mean'"):
        make(name, hyperparameters={"meen": 1.0}).fit(source)
    with pytest.raises(InputError, match="mean must be finite"):
        make(name, hyperparameters={"mean": float("nan")}).fit(source)
    with pytest.raises(InputError, match="did you mean 'mean'"):
        make(name, initial={"meen": 1.0}).fit(source)
    with pytest.raises(InputError, match="did you mean 'mean'"):
        make(name, priors={"meen": "none"}).fit(source)


def test_options_are_checked(name):
    kind = MODELS[name]
    with pytest.raises(InputError, match="did you mean 'transform'"):
        kind(transfrom="standardise")
    with pytest.raises(InputError, match="did you mean 'yeo-johnson'"):
        kind(transform="yeo-jonson")
    with pytest.raises(InputError, match=r"max_steps in \[1"):
        kind(max_steps=0)
    for entry in fields(kind.options_type):
        assert {"help", "choices", "bounds", "unit"} <= set(entry.metadata)
    assert repr(kind()) == f"{kind.__name__}()"
    assert "max_steps=3" in repr(kind(max_steps=3))
    assert kind.name == name and kind.summary and kind.paper


def test_fixed_stays_fixed_and_initial_is_only_a_start(name, source):
    fixed = make(name, hyperparameters={"mean": 2.345}).fit(source)
    assert fixed.hyperparameters["mean"]["value"] == pytest.approx(2.345, rel=1e-12)
    started = make(name, initial={"mean": 2.345}, max_steps=100).fit(source)
    assert started.hyperparameters["mean"]["value"] != pytest.approx(2.345, rel=1e-9)


def test_wrong_columns_are_refused(fit):
    wrong = made.bags((3, 2), covariates=2, seed=8)
    with pytest.raises(InputError, match="3 input columns.*4"):
        fit.at(wrong)


def test_trained_positions_must_match_the_bags():
    source = made.counts(made.bags())
    fit = MODELS["vbagg"](overdispersion="area", inducing=8, hyperparameters={
        "mean": 3.0, "matern32.variance": 0.1, "matern32.lengthscale": 40.0, "area.std": 0.2,
    }).fit(source)
    with pytest.raises(InputError, match=r"one entry per bag \(4\), got 3"):
        fit.at(source.bags, torch.tensor([0, 1, 2]), True)


@pytest.mark.parametrize("options, message", [
    (dict(likelihood="negative-binomial", overdispersion="area"), "already is overdispersed"),
    (dict(nugget="lern"), "nugget a number, 'learn' or 'auto'"),
    (dict(link="identity", likelihood="poisson"), "needs positive rates"),
    (dict(likelihood="normal", link="identity", overdispersion="area"), "is for counts"),
    (dict(bound="taylor"), "use moment or jensen"),
    (dict(kernel="matern33"), "did you mean"),
])
def test_options_that_do_not_go_together(options, message, source):
    with pytest.raises(InputError, match=message):
        MODELS["vbagg"](**options).fit(source)


def test_means_are_no_counts(source):
    with pytest.raises(InputError, match="needs bag totals"):
        MODELS["vbagg"]().fit(replace(source, aggregation="mean"))


EXTREMES = {
    "large counts": lambda s: replace(s, targets=replace(s.targets, value=s.targets.value * 1e6)),
    "zero counts": lambda s: replace(s, targets=replace(
        s.targets, value=torch.cat([torch.zeros(5), torch.ones(1)]).double())),
    "tiny weights": lambda s: replace(s, bags=replace(s.bags, weight=s.bags.weight * 1e-9)),
    "constant covariate": lambda s: replace(s, bags=replace(
        s.bags, x=torch.cat([torch.full((24, 1), 0.1).double(), s.bags.x[:, 1:]], 1))),
    "all rows equal": lambda s: replace(s, bags=replace(
        s.bags, x=torch.ones_like(s.bags.x) * 0.1)),
    "duplicate rows": lambda s: replace(s, bags=replace(
        s.bags, x=s.bags.x[torch.arange(24) // 2])),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREMES)
@pytest.mark.parametrize("options", [
    {"kernel": "linear+matern32"}, {"kernel": "linear+matern32", "overdispersion": "area"},
    {"kernel": "matern32", "link": "square"}], ids=["exp", "area", "square"])
def test_extreme_data_give_finite_answers(case, options, source):
    data = EXTREMES[case](source)
    fit = MODELS["vbagg"](inducing=40, max_steps=100, tolerance=1e-2, **options).fit(data)
    law = fit.at(data.bags, torch.arange(6), True)
    for values in (law.mean, law.variance, law.quantile([0.025, 0.975]),
                   fit.over(data.bags).quantile([0.025, 0.975]),
                   fit.simulate_bags(data.bags, torch.arange(6), 5, 0)):
        assert torch.isfinite(values).all()
    assert np.isfinite(fit.objective)


@pytest.mark.parametrize("sizes", [(1,), (5,)])
@pytest.mark.parametrize("name", MODELS)
def test_one_bag(name, sizes):
    data = made.counts(made.bags(sizes))
    fit = make(name).fit(data)
    low, high = fit.at(data.bags).quantile([0.1, 0.9])
    assert torch.isfinite(low).all() and torch.isfinite(high).all() and (low <= high).all()


def test_a_point_without_prior_variance_has_quantiles():
    """At the mean covariate a linear term has no variance at all."""
    bags = made.bags((2, 3), coordinates=False)
    fit = MODELS["vbagg"](kernel="linear").condition(
        replace(made.counts(made.bags((2, 3)), scale=1.0), bags=bags),
        {"mean": 1.0, "linear.variance": 0.3})
    x = fit.state.transform.shift[None]
    law = fit.at(replace(bags, x=x, membership=torch.tensor([0]), weight=torch.ones(1).double(),
                         count=1, names=("n",)))
    assert law.quantile([0.1, 0.9]).flatten().tolist() == pytest.approx([np.e, np.e])


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    {}, {"overdispersion": "area"}, {"link": "square"}, {"nugget": 0.2},
    {"likelihood": "normal", "link": "identity"}, {"likelihood": "negative-binomial"}],
    ids=str)
def test_float32_stays_float32_and_close(options, source, new):
    fits = [MODELS["vbagg"](inducing=12, kernel="linear+matern32", tolerance=1e-2, dtype=d,
                            **options).fit(source) for d in ("float64", "float32")]
    law = fits[1].at(new, torch.tensor([-1, -1]), True)
    assert law.mean.dtype == torch.float32
    assert torch.isfinite(law.quantile([0.1, 0.9])).all()
    again = MODELS["vbagg"](inducing=12, kernel="linear+matern32", dtype="float32", **options
                            ).condition(source, fits[0].hyperparameters)
    torch.testing.assert_close(again.at(new).mean.double(), fits[0].at(new).mean, rtol=0.02,
                               atol=0.02)
