"""Sample quasi-likelihoods: identities with other models, table 4 by differences, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from tests.gp import made
from workbench.checks import Cancelled, FitWarning, InputError, named_as_flags
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.likelihoods.variance_functions import VARIANCE_FUNCTIONS, custom
from workbench.gp.models.registry import MODELS
from workbench.gp.predictive import LogNormal, Normal, ProbitNormal, Samples

QUASI = MODELS["quasi-likelihood"]
KERNELS = {"rbf": lambda s: RBF(s), "matern12": lambda s: Matern(s, nu=0.5),
           "matern32": lambda s: Matern(s, nu=1.5)}


def summary(seed=0, areas=25, likelihood="normal", spread=True) -> Source:
    """Random centres, counts and statistics of a likelihood."""
    rng = np.random.default_rng(seed)
    z, n = rng.uniform(0, 10, (areas, 2)), rng.integers(1, 40, areas).astype(float)
    f = np.sin(z[:, 0]) + 0.3 * z[:, 1] - 1.5
    value = {
        "normal": lambda: f + rng.normal(0, 1.3 / np.sqrt(n)),
        "laplace": lambda: f + rng.normal(0, 1.3 / np.sqrt(n)),
        "poisson": lambda: (rng.poisson(n * np.exp(f)) + 1) / n,
        "bernoulli": lambda: (rng.binomial(n.astype(int), stats.norm.cdf(f)) + 0.5) / (n + 1),
    }[likelihood]()
    columns = Columns(("x", "y"), (0, 1), ("km", "km"))
    bags = Bags(torch.as_tensor(z), torch.arange(areas), torch.as_tensor(n), areas, columns,
                tuple(f"a{i}" for i in range(areas)))
    s2 = torch.as_tensor(rng.gamma(3, 0.5, areas)) if spread else None
    statistic = {"laplace": "median", "bernoulli": "proportion"}.get(likelihood, "mean")
    return Source(bags, Targets(torch.as_tensor(value), None, s2), "mean", "continuous", "made",
                  attributes={"statistic": statistic})


def places(count=40, seed=5) -> Bags:
    x = np.random.default_rng(seed).uniform(0, 10, (count, 2))
    return Bags(torch.as_tensor(x), torch.arange(count), torch.ones(count, dtype=torch.float64),
                count, Columns(("x", "y"), (0, 1), ("km", "km")))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("likelihood", VARIANCE_FUNCTIONS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_posterior_is_scikit_learns_with_alpha_the_variances(kernel, likelihood, seed):
    source, new = summary(seed, likelihood=likelihood), places()
    law = VARIANCE_FUNCTIONS[likelihood]
    theta = {f"{kernel}.variance": 1.7, f"{kernel}.lengthscale": 2.3, "mean": 0.4}
    theta |= {"noise.variance": 0.9} if law.scaled else {}
    fit = QUASI(kernel=kernel, likelihood=likelihood, nugget=0.15).condition(
        source, theta | {"nugget.std": 0.15})
    y = {"identity": lambda v: v, "exp": np.log, "probit": stats.norm.ppf}[law.link.name](
        source.targets.value.numpy())
    n = source.bags.weight.numpy()
    v = {"normal": lambda: 0.9 + 0 * y, "laplace": lambda: 0.9 + 0 * y,
         "poisson": lambda: np.exp(-y),
         "bernoulli": lambda: stats.norm.cdf(y) * stats.norm.sf(y) / stats.norm.pdf(y)**2,
         }[likelihood]() / n
    peer = GaussianProcessRegressor(
        ConstantKernel(1.7) * KERNELS[kernel](2.3), alpha=v + 0.15**2, optimizer=None).fit(
            source.bags.x.numpy(), y - 0.4)
    mean, std = peer.predict(new.x.numpy(), return_std=True)
    got = fit.latent(new)
    np.testing.assert_allclose(got.mean, mean + 0.4, atol=1e-8)
    np.testing.assert_allclose(got.std, std, atol=1e-8)
    extra = 0.0
    if likelihood == "normal":      # sample variances are there: E, not Q
        s2 = source.targets.sample_variance.numpy()
        extra = (-n / 2 * np.log(2 * np.pi * 0.9) - n * s2 / 1.8
                 + 0.5 * np.log(2 * np.pi * 0.9 / n)).sum()
    assert fit.objective == pytest.approx(peer.log_marginal_likelihood_value_ + extra, abs=1e-7)


def test_e_of_means_is_the_evidence_of_all_observations_at_the_centres():
    """E from means, variances and counts equals the complete evidence with moved inputs."""
    rng = np.random.default_rng(0)
    z, n = rng.uniform(0, 5, 6), rng.integers(1, 9, 6)
    members = np.repeat(np.arange(6), n)
    y = np.sin(z)[members] + rng.normal(0, 0.7, n.sum())
    mean = np.bincount(members, y) / n
    s2 = np.bincount(members, (y - mean[members])**2) / n
    columns = Columns(("x",), (0,), ("km",))
    bags = Bags(torch.as_tensor(z[:, None]), torch.arange(6), torch.as_tensor(n).double(),
                6, columns)
    source = Source(bags, Targets(*(torch.as_tensor(v) if v is not None else None
                                    for v in (mean, None, s2))), "mean", "continuous")
    fit = QUASI(kernel="matern32", nugget=0.0).condition(
        source, {"mean": 0.2, "matern32.variance": 1.2, "matern32.lengthscale": 1.5,
                 "noise.variance": 0.6})
    gram = 1.2 * Matern(1.5, nu=1.5)(z[members][:, None]) + 0.6 * np.eye(n.sum())
    assert fit.objective == pytest.approx(
        stats.multivariate_normal(np.full(n.sum(), 0.2), gram).logpdf(y), abs=1e-8)
    without = replace(source, targets=replace(source.targets, sample_variance=None))
    by_q = QUASI(kernel="matern32", nugget=0.0).condition(without, fit.hyperparameters)
    gram = 1.2 * Matern(1.5, nu=1.5)(z[:, None]) + np.diag(0.6 / n)
    assert by_q.objective == pytest.approx(
        stats.multivariate_normal(np.full(6, 0.2), gram).logpdf(mean), abs=1e-8)


@pytest.mark.parametrize(("name", "statistic"), [
    ("normal", 0.7), ("poisson", 0.3), ("poisson", 7.0), ("bernoulli", 0.2), ("bernoulli", 0.9)])
def test_variances_are_inverse_observed_informations(name, statistic):
    """Table 4 by second differences of the log likelihood of n observations at its maximum."""
    n, law = 20.0, VARIANCE_FUNCTIONS[name]

    def log_likelihood(f):
        return n * {
            "normal": lambda: -0.5 * (statistic - f)**2,
            "poisson": lambda: statistic * f - np.exp(f),
            "bernoulli": lambda: (statistic * stats.norm.logcdf(f)
                                  + (1 - statistic) * stats.norm.logsf(f)),
        }[name]()

    value = torch.tensor([statistic], dtype=torch.float64)
    f, h = float(law.observed(value)), 1e-4
    slope = (log_likelihood(f + h) - log_likelihood(f - h)) / (2 * h)
    curvature = (log_likelihood(f + h) - 2 * log_likelihood(f) + log_likelihood(f - h)) / h**2
    assert slope == pytest.approx(0, abs=1e-5)          # assumption 5.3: the mode
    assert float(law.variance(value) / n) == pytest.approx(-1 / curvature, rel=1e-4)


def test_medians_of_laplace_observations_have_the_variance_that_is_claimed():
    rng, n, b = np.random.default_rng(0), 4001, 1.7
    medians = np.median(rng.laplace(0, b, (4000, n)), axis=1)
    # The bias of finite n is of order 1/√n; sampling adds 2 % (one standard error).
    assert medians.var() * n == pytest.approx(b**2, rel=0.08)


def test_every_point_its_own_area_is_plain_gp_regression():
    source = made.continuous(made.bags((1,) * 12, weights=False))
    options = dict(kernel="matern32", hyperparameters={"mean": 0.3})
    peer = MODELS["aggregated-gp"](noise="constant", **options).fit(source)
    ours = QUASI(nugget=0.0, **options).fit(source)
    new = made.bags((4, 3), seed=9)
    for name, entry in peer.hyperparameters.items():
        assert ours.hyperparameters[name]["value"] == pytest.approx(entry["value"], rel=2e-2)
    again = QUASI(nugget=0.0, **options).condition(source, peer.hyperparameters)
    torch.testing.assert_close(again.latent(new).mean, peer.latent(new).mean)
    torch.testing.assert_close(again.latent(new).std, peer.latent(new).std)
    torch.testing.assert_close(again.over(new).mean, peer.over(new).mean)
    torch.testing.assert_close(again.over(new).std, peer.over(new).std)


def test_a_named_likelihood_and_its_function_are_one():
    source, new = summary(likelihood="poisson"), places()
    theta = {"mean": 0.4, "rbf.variance": 1.0, "rbf.lengthscale": 2.0}
    named = QUASI(kernel="rbf", likelihood="poisson", nugget=0.0).condition(source, theta)
    own = QUASI(kernel="rbf", likelihood="custom", link="exp", variance=lambda f: (-f).exp(),
                nugget=0.0).condition(source, theta)
    torch.testing.assert_close(own.at(new).mean, named.at(new).mean)
    assert own.objective == pytest.approx(named.objective)


def test_hyperparameters_of_a_known_law_are_found():
    """Sigma by E from sample variances, and a lengthscale of the right size."""
    rng, m = np.random.default_rng(3), 150
    z = np.sort(rng.uniform(0, 40, m))
    f = np.linalg.cholesky(2.0 * RBF(3.0)(z[:, None]) + 1e-8 * np.eye(m)) @ rng.normal(size=m)
    n = rng.integers(5, 60, m)
    draws = [rng.normal(f[i], 1.5, n[i]) for i in range(m)]
    columns = Columns(("x",), (0,), ("km",))
    bags = Bags(torch.as_tensor(z[:, None]), torch.arange(m), torch.as_tensor(n).double(),
                m, columns)
    mean, s2 = (torch.as_tensor([take(d) for d in draws]).double() for take in (np.mean, np.var))
    source = Source(bags, Targets(mean, None, s2), "mean", "continuous")
    fit = QUASI(kernel="rbf", tolerance=1e-9).fit(source)
    got = {k: v["value"] for k, v in fit.hyperparameters.items()}
    assert fit.history.converged
    assert got["noise.variance"] == pytest.approx(1.5**2, rel=0.1)
    assert abs(np.log(got["rbf.lengthscale"] / 3.0)) < 0.4
    inside = np.abs(fit.latent(bags).mean.numpy() - f) < 1.96 * fit.latent(bags).std.numpy()
    assert 0.88 < inside.mean() <= 1.0


@pytest.mark.slow
def test_iterative_solvers_agree_with_cholesky():
    """Q to a nat or two, its slopes to a few percent, the same in every evaluation; and the map."""
    source = summary(areas=300, spread=False)
    theta = {"mean": 0.4, "matern32.variance": 1.0, "matern32.lengthscale": 2.0,
             "noise.variance": 0.8, "nugget.std": 0.3}
    options = dict(nugget="learn")
    found, slopes = {}, {}
    for solver in ("cholesky", "iterative"):
        fit = QUASI(solver=solver, **options).condition(source, theta)
        found[solver] = fit.objective
        fit.state.evidence().backward()
        slopes[solver] = np.array([float(item.raw.grad) for item in fit.state.hyperparameters
                                   if item.name != "mean"])
    assert found["iterative"] == pytest.approx(found["cholesky"], abs=2.0)
    assert abs(found["cholesky"]) > 50
    np.testing.assert_allclose(slopes["iterative"], slopes["cholesky"], rtol=0.1, atol=1.0)
    again = QUASI(solver="iterative", **options).condition(source, theta)
    assert again.objective == found["iterative"]
    fits = [QUASI(solver=s, nugget="learn", tolerance=1e-5).fit(source)
            for s in ("cholesky", "iterative")]
    a, b = (fit.latent(places()).mean for fit in fits)
    assert float((a - b).abs().max()) < 0.1 * float(a.std())


def test_a_start_far_away_ends_at_an_optimum():
    """Raw units of thousands, everything started at one: huge first gradients must not stop it."""
    source = summary(areas=60)
    scaled = replace(source, targets=Targets(1e3 * source.targets.value, None,
                                             1e6 * source.targets.sample_variance))
    names = ["rbf.variance", "rbf.lengthscale", "noise.variance"]
    far = QUASI(kernel="rbf", initial=dict.fromkeys(names, 1.0),
                priors=dict.fromkeys(names, "none"), max_steps=500).fit(scaled)
    fit = QUASI(kernel="rbf").condition(scaled, far.hyperparameters)
    for item in fit.state.hyperparameters:
        item.raw.grad = None
    fit.state.evidence().backward()
    slopes = [abs(float(item.raw.grad)) for item in fit.state.hyperparameters
              if item.name in names]
    assert far.history.converged and max(slopes) < 1.0


def test_intervals_of_new_areas_hold_when_areas_differ():
    """Counts with white noise between areas: held-out areas at the level that is claimed."""
    rng = np.random.default_rng(0)
    z, n = rng.uniform(0, 20, 240), np.full(240, 400.0)
    f = np.sin(z) + 0.6 * rng.normal(size=240)
    y = rng.poisson(n * np.exp(f)) / n
    columns = Columns(("x",), (0,), ("km",))

    def part(where):
        bags = Bags(torch.as_tensor(z[where, None]), torch.arange(len(where)),
                    torch.as_tensor(n[where]), len(where), columns)
        return Source(bags, Targets(torch.as_tensor(y[where])), "mean", "continuous")

    train, test = part(np.arange(120)), part(np.arange(120, 240))
    fit = QUASI(kernel="rbf", likelihood="poisson", nugget="learn").fit(train)
    assert fit.hyperparameters["nugget.std"]["value"] == pytest.approx(0.6, rel=0.2)
    drawn = fit.simulate_bags(test.bags, None, 2000, 0)
    low, high = (drawn.quantile(q, 0) for q in (0.05, 0.95))
    inside = ((low <= test.targets.value) & (test.targets.value <= high)).double().mean()
    assert abs(float(inside) - 0.9) < 3 * np.sqrt(0.09 / 120)
    scores = fit.log_density(test.targets.value, test.bags, None, "bag", 500, 0)[0]
    assert float(scores.mean()) > -7.5      # of counts of some 400, without the noise below -50


def test_weights_that_are_no_numbers_of_observations_are_named():
    source = summary()
    small = replace(source, bags=replace(source.bags, weight=source.bags.weight / 100))
    fit = QUASI(kernel="rbf").fit(small)
    assert "25 of 25 areas have a total weight below one" in fit.history.notes[0]
    trials = replace(source.bags, trials=torch.tensor([5.0] * 24 + [0.0]).double())
    counts = torch.tensor([2.0] * 24 + [0.0]).double()
    with pytest.raises(InputError, match=r"1 areas have no trials.*first: a24"):
        QUASI().fit(Source(trials, Targets(counts), "mean", "count"))


@pytest.mark.parametrize(("likelihood", "law"), [
    ("normal", Normal), ("poisson", LogNormal), ("bernoulli", ProbitNormal)])
def test_laws_and_simulations_agree(likelihood, law):
    source, new = summary(likelihood=likelihood), places(3)
    fit = QUASI(kernel="rbf", likelihood=likelihood).fit(source)
    at = fit.at(new)
    assert isinstance(at, law)
    drawn = fit.simulate_individuals(new, None, 40_000, 1)
    torch.testing.assert_close(drawn.mean(0), at.mean, rtol=0.06, atol=0.03)
    whole = replace(new, membership=torch.zeros(3, dtype=torch.int64), count=1, names=("all",))
    over = fit.over(whole)
    assert isinstance(over, Normal if likelihood == "normal" else Samples)
    assert float(over.mean) == pytest.approx(float(at.mean.mean()), rel=0.05, abs=0.02)
    assert float(over.variance) <= float(at.variance.mean()) * 1.1
    many = replace(new, weight=torch.full((3,), 1e9, dtype=torch.float64))
    spread = fit.simulate_bags(many, None, 4000, 1).var(0)
    # With n → ∞ the parameter alone is left.
    torch.testing.assert_close(spread, fit.at(many).variance, rtol=0.15, atol=1e-4)


@pytest.mark.parametrize("likelihood", ["poisson", "bernoulli"])
def test_means_over_places_are_those_of_the_places_with_the_variance_that_is_known(likelihood):
    """Of bags of several places: no error of Monte Carlo where moments have a closed form."""
    fit = QUASI(kernel="rbf", likelihood=likelihood, nugget=0.4).condition(
        summary(likelihood=likelihood), {"mean": 0.2, "rbf.variance": 1.5, "rbf.lengthscale": 2.0,
                                         "nugget.std": 0.4})
    new = places(7)
    bags = replace(new, membership=torch.tensor([0, 0, 0, 1, 1, 1, 2]), count=3,
                   weight=torch.arange(1.0, 8.0, dtype=torch.float64), names=("a", "b", "c"))
    share = torch.zeros(3, 7, dtype=torch.float64)
    share[bags.membership, torch.arange(7)] = bags.weight
    share /= share.sum(1, keepdim=True)
    over = fit.over(bags)
    torch.testing.assert_close(over.mean, share @ fit.at(bags).mean, rtol=1e-10, atol=0)
    drawn = fit.draw_totals(bags, None, 40_000, 0)
    torch.testing.assert_close(over.std, drawn.std(0), rtol=0.08, atol=0)
    scaled = over.scaled(torch.tensor([2.0, 3.0, 4.0]).double()).select([2, 0])
    torch.testing.assert_close(scaled.mean, over.mean[[2, 0]] * torch.tensor([4.0, 2.0]).double())
    torch.testing.assert_close(scaled.std, over.std[[2, 0]] * torch.tensor([4.0, 2.0]).double())
    if likelihood == "poisson":
        mean, covariance = fit.state.field.joint(fit.state.transform(new.x[:3]), 0.4**2)
        rate = (mean + covariance.diagonal() / 2).exp() * share[0, :3]
        exact = (rate[:, None] * rate * covariance.expm1()).sum()
        assert float(over.variance[0]) == pytest.approx(float(exact), rel=1e-10)


def test_the_nugget_belongs_to_rates_and_not_to_f():
    """As its help says: under exp expected rates have the factor exp(nugget²/2)."""
    source, new = summary(likelihood="poisson"), places(4)
    fit = QUASI(kernel="rbf", likelihood="poisson", nugget=0.5).condition(
        source, {"mean": 0.2, "rbf.variance": 1.5, "rbf.lengthscale": 2.0, "nugget.std": 0.5})
    f = fit.latent(new)
    torch.testing.assert_close(fit.at(new).mean, (f.mean + f.variance / 2 + 0.125).exp())
    assert "which predictions have" in QUASI.options_type.__dataclass_fields__[
        "nugget"].metadata["help"]


def test_covariances_of_rates_have_the_closed_forms_of_their_links():
    from workbench.gp.likelihoods.links import LINKS
    root = torch.tensor([[0.4, 0.0], [0.2, 0.3]], dtype=torch.float64)
    mean = torch.tensor([0.5, -0.8], dtype=torch.float64)
    f = mean + torch.randn(400_000, 2, generator=torch.Generator().manual_seed(0),
                           dtype=torch.float64) @ root.mT
    for link in LINKS.values():
        if link.upper == 1:
            assert link.covariance(mean, root @ root.mT) is None
        else:
            torch.testing.assert_close(link.covariance(mean, root @ root.mT),
                                       link.psi(f).mT.cov(), rtol=0.02, atol=1e-3)


def test_white_noise_of_an_area_is_known_from_its_statistic():
    """Of f + ε: the prior's variance added for new areas, the joint Gaussian for trained ones."""
    source, nugget, sigma2 = summary(spread=False), 0.6, 0.8
    theta = {"mean": 0.3, "rbf.variance": 1.2, "rbf.lengthscale": 2.0, "noise.variance": sigma2,
             "nugget.std": nugget}
    fit = QUASI(kernel="rbf", nugget="learn").condition(source, theta)
    z, n, y = (v.numpy() for v in (source.bags.x, source.bags.weight, source.targets.value))
    gram = 1.2 * RBF(2.0)(z)
    whole, inverse = gram + nugget**2 * np.eye(25), np.linalg.inv(
        gram + nugget**2 * np.eye(25) + np.diag(sigma2 / n))
    mean = 0.3 + whole @ inverse @ (y - 0.3)
    variance = np.diag(whole - whole @ inverse @ whole)
    known = fit.over(source.bags, torch.arange(25), area_effect=True)
    np.testing.assert_allclose(known.mean, mean, atol=1e-8)
    np.testing.assert_allclose(known.variance, variance, atol=1e-8)
    new = fit.over(source.bags, torch.full((25,), -1), area_effect=True)
    # A rate has the white noise's prior in it, f alone has not.
    latent = fit.latent(source.bags)
    np.testing.assert_allclose(new.variance, latent.variance + nugget**2, atol=1e-9)
    np.testing.assert_allclose(new.mean, latent.mean, atol=1e-9)
    np.testing.assert_allclose(fit.over(source.bags).variance, new.variance, atol=1e-9)
    # A bag of two places shares one effect.
    pair = Bags(source.bags.x[:2], torch.zeros(2, dtype=torch.int64), torch.ones(2).double(), 1,
                source.bags.columns)
    both = fit.over(pair, torch.tensor([-1]), area_effect=True)
    alone = fit.draw_latent(pair, 40_000, 3).mean(1).var()
    assert float(both.variance) == pytest.approx(float(alone) + nugget**2, rel=0.03)
    drawn = fit.simulate_bags(source.bags, torch.full((25,), -1), 20_000, 0)
    np.testing.assert_allclose(drawn.var(0), new.variance.numpy() + sigma2 / n, rtol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["normal", "poisson", "bernoulli", "laplace"])
def test_log_densities_are_densities(likelihood):
    """They add or integrate to one over all observations of one place."""
    source, new = summary(likelihood=likelihood), places(1)
    new = replace(new, weight=torch.full((1,), 7.0, dtype=torch.float64))
    fit = QUASI(kernel="rbf", likelihood=likelihood).fit(source)
    grid = {"poisson": torch.arange(400.0, dtype=torch.float64) / 7,
            "bernoulli": torch.arange(8.0, dtype=torch.float64) / 7}.get(
                likelihood, torch.linspace(-15, 15, 601, dtype=torch.float64))
    step = 1.0 if likelihood in ("poisson", "bernoulli") else 0.05
    total = 0.0
    for y in grid:
        rows = fit.log_density(y[None], new, None, "bag", 2000, 0)
        total += step * float(rows.logsumexp(0).exp() / len(rows))
    assert total == pytest.approx(1.0, abs=5e-3)


def test_ends_of_the_range_are_refused_or_treated_by_name():
    source = summary(likelihood="poisson")
    value = source.targets.value.clone()
    value[[2, 5]] = 0.0
    source = replace(source, targets=Targets(value))
    with pytest.raises(InputError, match=r"2 of 25 areas.*first: a2, a5.*boundary='half'"):
        QUASI(likelihood="poisson").fit(source)
    half = QUASI(likelihood="poisson", boundary="half").fit(source)
    assert "moved inside by half an event: a2, a5" in half.history.notes[0]
    n = source.bags.weight[[2, 5]]
    torch.testing.assert_close(half.state.observed[[2, 5]], (0.5 / n).log())
    with pytest.warns(FitWarning, match="2 of 25 areas.*left out, by their outcome.*wb.VBAgg"):
        dropped = QUASI(likelihood="poisson", boundary="drop").fit(source)
    assert "2 of 25 areas" in dropped.history.notes[0] and len(dropped.state.observed) == 23
    kept = [i for i in range(25) if i not in (2, 5)]
    less = Bags(source.bags.x[kept], torch.arange(23), source.bags.weight[kept], 23,
                source.bags.columns)
    alone = QUASI(likelihood="poisson").condition(
        Source(less, Targets(value[kept]), "mean", "continuous"), dropped.hyperparameters)
    torch.testing.assert_close(alone.latent(places()).mean, dropped.latent(places()).mean)
    shares = VARIANCE_FUNCTIONS["bernoulli"].half_an_event(
        torch.tensor([0.0, 0.4, 1.0]), torch.tensor([9.0, 5.0, 4.0]))
    torch.testing.assert_close(shares, torch.tensor([0.05, 0.4, 0.9]))


@pytest.mark.parametrize(("options", "change", "message"), [
    (dict(likelihood="poisson"), dict(value=-1.0), "statistics from 0.*first -1 in area 'a3'"),
    (dict(likelihood="bernoulli"), dict(value=1.2), "statistics from 0 to 1.*first 1.2"),
    (dict(likelihood="laplace"), {}, "each area's mean, but the laplace likelihood"),
    (dict(likelihood="custom", variance=lambda f: -f.exp()), {}, "not positive and finite"),
    (dict(likelihood="custom", variance=lambda f: 2.0), {}, "one number per area"),
])
def test_what_is_refused(options, change, message):
    source = summary()
    if "value" in change:
        value = source.targets.value.abs() / 10
        value[3] = change["value"]
        source = replace(source, targets=Targets(value))
    with pytest.raises(InputError, match=message):
        QUASI(**options).fit(source)


@pytest.mark.parametrize(("options", "message"), [
    (dict(likelihood="custom"), "needs variance"), (dict(nugget="often"), "nugget a number"),
    (dict(variance=torch.exp), "belong to likelihood='custom'"),
    (dict(likelihood="poison"), "did you mean 'poisson'"),
])
def test_options_that_contradict(options, message):
    with pytest.raises(InputError, match=message):
        QUASI(**options)


def test_a_custom_function_must_be_one():
    with pytest.raises(InputError, match="must be a function"):
        custom(1.0, "exp")
    with pytest.raises(InputError, match="did you mean"):
        custom(torch.exp, "expp")


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["normal", "poisson"])
def test_many_areas_are_learnt_from_a_part_first_and_end_at_the_same_optimum(
        likelihood, monkeypatch):
    source, new = summary(areas=600, likelihood=likelihood), places()
    led = QUASI(kernel="matern32").fit(source)
    monkeypatch.setattr("workbench.gp.models.summaries.model._PILOT", 10_000)
    alone = QUASI(kernel="matern32").fit(source)
    assert led.history.converged and alone.history.converged
    assert len(led.history.objective) < 0.7 * len(alone.history.objective)
    assert led.objective == pytest.approx(alone.objective, abs=2e-2)
    torch.testing.assert_close(led.latent(new).mean, alone.latent(new).mean, rtol=0, atol=0.01)
    torch.testing.assert_close(led.latent(new).variance, alone.latent(new).variance,
                               rtol=0.02, atol=1e-6)


@pytest.mark.parametrize("when", ["search", "curvature"])
def test_a_fit_that_is_cancelled_on_a_part_of_the_areas_ends_there(when, monkeypatch):
    source, told = summary(areas=600), []

    def callback(step, objective, fraction):
        told.append(fraction)
        if when == "search" and step == 3:
            raise Cancelled("enough")

    def interrupted(*given):
        raise KeyboardInterrupt

    if when == "curvature":
        monkeypatch.setattr("workbench.gp.optimisation.pilot._hessian", interrupted)
    fit = QUASI(kernel="matern32").fit(source, callback=callback)
    assert fit.history.cancelled and not fit.history.converged
    assert told == sorted(told) and len(told) == len(fit.history.objective) and told[-1] <= 0.5
    assert any("cancelled after" in note for note in fit.history.notes)
    start, name = QUASI(kernel="matern32").starting_values(source), "matern32.lengthscale"
    assert fit.hyperparameters[name]["value"] != pytest.approx(start[name]["value"], rel=1e-3)
    assert torch.isfinite(fit.at(places()).mean).all()


def test_a_part_that_cannot_be_fitted_leaves_the_start_as_it_was():
    from workbench.gp.numerics.linalg import FactorisationError
    from workbench.gp.optimisation.pilot import pilot

    model = QUASI(kernel="rbf")
    items = model.fit(summary()).state.hyperparameters
    before = items.vector()

    def fails():
        raise FactorisationError("indefinite")

    assert pilot(fails, fails, items, 0.25) == (None, None)
    assert (items.vector() == before).all() and len(before) > 1


def test_the_refusal_names_the_exact_model_and_the_flags():
    source = summary(likelihood="bernoulli")
    value = source.targets.value.clone()
    value[3] = 0.0
    source = replace(source, targets=Targets(value))
    told = "both make the map too high.*positives and trials, wb.VBAgg of wb.bag_points"
    with pytest.raises(InputError, match=told):
        QUASI(likelihood="bernoulli").fit(source)
    with named_as_flags(), pytest.raises(InputError, match="--boundary half.*--points.*--trials"):
        QUASI(likelihood="bernoulli").fit(source)
    # One of 25 areas is too few for a warning, which would be an error here.
    dropped = QUASI(likelihood="bernoulli", boundary="drop").fit(source)
    assert "1 of 25 areas" in dropped.history.notes[0]
