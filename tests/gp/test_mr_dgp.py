"""MR-DGP and MR-CASCADE: weights, variances, bounds and q against slow formulas; identities."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import Cancelled, InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.exact.bagged_gp import AggregatedGP
from workbench.gp.models.several_sources.tree import joint as joint_module
from workbench.gp.models.several_sources.tree.cascade import MRCascade, resolution_order
from workbench.gp.models.several_sources.tree.draws import Draws
from workbench.gp.models.several_sources.tree.joint import Joint, rested_on
from workbench.gp.models.several_sources.tree.mixture import hierarchy
from workbench.gp.models.several_sources.tree.mr_dgp import MRDGP
from workbench.gp.models.several_sources.tree.support import in_support, keep_bags
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.optimisation import search
from workbench.gp.predictive import Normal

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

LINE = Columns(("x",), (0,), ("",))


def line(name, x, y, size, task="value"):
    """A source on a line, of means over ``size`` consecutive points."""
    count = len(x) // size
    bags = Bags(torch.as_tensor(x[:, None]), torch.arange(count).repeat_interleave(size),
                torch.ones(len(x)).double(), count, LINE)
    return Source(bags, Targets(torch.as_tensor(y.reshape(count, size).mean(1))), "mean",
                  "continuous", name, task=task)


def points(x, size=1):
    return line("new", np.asarray(x, dtype=float), np.zeros(len(x)), size).bags


def biased(count=24):
    """A short form of the paper's biased observation processes."""
    rng = np.random.default_rng(0)

    def wave(x, scale):
        return scale * (5 * np.sin(x)**2 + 0.1 * rng.normal(size=len(x)))

    x0, x1, x2 = np.linspace(6, 13, count), np.linspace(-2, 10, 60), np.linspace(10, 16, 50)
    return [line("hi", x0, wave(x0, 1.0), 1), line("lo1", x1, wave(x1, 0.5), 5),
            line("lo2", x2, wave(x2, 0.3), 5)]


OPTIONS = dict(inducing=25, max_steps=40, tolerance=1e-4, samples=32, joint_steps=0)


@pytest.fixture(scope="module")
def sources():
    return biased()


@pytest.fixture(scope="module")
def fit(sources):
    return MRDGP(**OPTIONS).fit(sources)


@pytest.fixture(scope="module")
def two_tasks(sources):
    rng = np.random.default_rng(3)
    hi, lo1, _ = sources
    x = np.linspace(0, 14, 30)
    other = [line("no2", x, 2 + np.sin(x)**2 + 0.05 * rng.normal(size=30), 1, "no2"),
             line("no2 coarse", np.linspace(-2, 16, 40),
                  4 + 2 * np.sin(np.linspace(-2, 16, 40))**2, 2, "no2")]
    return [hi, lo1, *other]


@pytest.fixture(scope="module")
def two_task_fit(two_tasks):
    return MRDGP(**OPTIONS | {"max_steps": 15, "tolerance": 1e-2}).fit(two_tasks)


def test_draws_are_standard_normals_and_depend_on_nothing_else():
    draws = Draws(32, 3, 2)
    like = torch.zeros(()).double()
    wide = torch.cat([draws(0, 20, like), draws(1, 20, like)], 1)
    torch.testing.assert_close(wide.mean(0), torch.zeros(40).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(wide.square().mean(0), torch.ones(40).double())
    assert torch.equal(Draws(32, 3, 2)(1, 4, like), draws(1, 20, like)[:, :4])
    correlation = wide.mT @ wide / 32 - torch.eye(40).double()
    assert correlation.abs().max() < 0.75 and correlation.square().mean() < 2 / 32
    assert not torch.equal(draws(0, 1, like), Draws(32, 4, 2)(0, 1, like))
    assert torch.equal(draws.part(slice(4, 9))(0, 3, like), draws(0, 3, like)[4:9])


def test_hierarchy():
    known = torch.rand(3, 50, generator=torch.Generator().manual_seed(0)).double()
    shares = torch.stack(hierarchy(list(known)))
    a, b, c = known
    expected = torch.stack([a, (1 - a) * b, (1 - a) * (1 - b) * c, (1 - a) * (1 - b) * (1 - c)])
    torch.testing.assert_close(shares, expected)


def test_weights_are_shares_and_do_not_depend_on_the_batch(fit, sources):
    other = MRDGP(**OPTIONS).condition(sources, fit.hyperparameters)
    x = points(np.linspace(-20, 30, 101))
    weights = other.expert_weights(x)
    assert weights.shape == (3, 101) and other.expert_names() == ("hi", "lo1", "lo2")
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(0), torch.ones(101).double())
    alone = torch.cat([other.expert_weights(points(x.x[i:i + 1, 0])) for i in range(0, 101, 25)], 1)
    torch.testing.assert_close(alone, weights[:, ::25])
    inside = other.expert_weights(points([8.1, 1.0, 15.0]))
    assert inside[0, 0] > 0.6 and inside[1, 1] > 0.6 and inside[2, 2] > 0.3
    assert inside[0, 1] < 0.05 and inside[0, 2] < 0.05


@pytest.mark.parametrize("factor", [1e-4, 1e3])
def test_weights_have_no_unit(factor, fit, sources):
    scaled = [replace(s, targets=Targets(s.targets.value * factor)) for s in sources]
    values = {}
    for name, item in fit.hyperparameters.items():
        power = 2 if name.endswith("variance") else int(
            name.endswith(("mean", "deep.rbf.lengthscale")))
        values[name] = item["value"] * factor**power
    other, x = MRDGP(**OPTIONS).condition(scaled, values), points(np.linspace(-3, 17, 30))
    torch.testing.assert_close(other.expert_weights(x), fit.expert_weights(x), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(other.at(x).mean / factor, fit.at(x).mean, rtol=1e-3, atol=1e-3)


def test_predictions_do_not_depend_on_the_batch(fit):
    together = points(np.linspace(-3, 17, 60), 4)
    ragged = Bags(together.x[:9], torch.tensor([0] * 4 + [1] * 5), torch.ones(9).double(), 2, LINE)
    one = Bags(together.x[:4], torch.zeros(4).long(), torch.ones(4).double(), 1, LINE)
    for law, part in ((fit.over(together), slice(0, 1)), (fit.over(ragged), slice(0, 1))):
        torch.testing.assert_close(law.mean[part], fit.over(one).mean)
        torch.testing.assert_close(law.variance[part], fit.over(one).variance)
    law = fit.at(together)
    torch.testing.assert_close(law.mean[30:], fit.at(points(together.x[30:, 0])).mean)
    assert law.quantile([0.1, 0.9]).shape == (2, 60)


def gaussian(field, x):
    """Mean and covariance of a field at inputs (..., n, D), from its definition."""
    phi = field.project(x.reshape(-1, x.shape[-1])).features.reshape(*x.shape[:-1], -1)
    prior = sum(t(x, x) for t in field.terms)
    return (field.mean + phi @ field.q_mean,
            prior - phi @ phi.mT + phi @ field.q_covariance @ phi.mT)


def brute_force(fit, x, weight, count, generator):
    """Weighted sums over one bag of independent draws of the whole tree (count,)."""
    z, mixture = fit.state.transform(x), fit.state.tops[0]
    beta = mixture.weights(z)
    white = torch.eye(len(x)).double() * 1e-9

    def normal(mean, covariance):
        noise = torch.as_tensor(generator.standard_normal((count, len(x), 1)))
        return mean + (torch.linalg.cholesky(covariance + white) @ noise)[..., 0]

    bases = [normal(*gaussian(fit.state.of_source[name].field, z)) for name in mixture.names]
    total = beta[0] * bases[0]
    for share, expert, base in zip(beta[1:], mixture.experts[1:], bases[1:], strict=True):
        value = (base - expert.centre) / expert.spread
        inputs = torch.cat([value[..., None], z.expand(count, *z.shape)], -1)
        total = total + share * normal(*gaussian(expert.field, inputs))
    return total @ weight


@pytest.mark.slow
@pytest.mark.parametrize("deep", ["linear", "f,x"])
def test_variance_is_that_of_the_whole_tree(deep, fit, sources):
    """Law of total variance: Σ β² v inside draws, plus that of the means between draws."""
    options = OPTIONS | {"samples": 512, "deep_inputs": deep, "max_steps": 60, "tolerance": 1e-2}
    model = MRDGP(**options)
    tree = model.condition(sources, fit.hyperparameters) if deep == "linear" else model.fit(sources)
    x = torch.tensor([[5.6], [5.9], [6.3]]).double()
    bags = Bags(x, torch.zeros(3).long(), torch.tensor([1.0, 2.0, 1.0]).double(), 1, LINE)
    law = tree.over(bags)
    count = 20_000
    with torch.no_grad():
        draws = brute_force(tree, x, bags.weight / 4, count, np.random.default_rng(0))
    error = draws.std() / count**0.5
    assert abs(law.mean[0] - draws.mean()) < 4 * error + 0.02 * draws.std()
    kurtosis = ((draws - draws.mean()) / draws.std()).pow(4).mean()
    assert abs(law.variance[0] / draws.var() - 1) < 4 * ((kurtosis - 1) / count)**0.5 + 0.04


@torch.no_grad()
def test_bound_of_a_deep_gp_is_its_expected_log_likelihood(fit):
    node = fit.state.groups[-1][0]
    field, seen, copies = node.field, node.observed, node.copies
    x = node.geometry.x.reshape(copies, -1, 2)
    rng = np.random.default_rng(1)
    y, variance = seen.source.targets.value, seen.noise()
    root = torch.linalg.cholesky(field.q_covariance)
    kl = torch.distributions.kl_divergence(
        torch.distributions.MultivariateNormal(field.q_mean, field.q_covariance),
        torch.distributions.MultivariateNormal(torch.zeros_like(field.q_mean),
                                               torch.eye(len(field.q_mean)).double()))
    values = []
    for _ in range(400):
        v = field.q_mean + root @ torch.as_tensor(rng.standard_normal(len(root)))
        sample = x[rng.integers(copies)]
        projection = field.project(sample)
        f = (projection.offset + projection.features @ v + projection.residual.sqrt()
             * torch.as_tensor(rng.standard_normal(len(sample))))
        values.append(float(torch.distributions.Normal(f, variance.sqrt()).log_prob(y).sum()))
    expected, error = np.mean(values) - float(kl), np.std(values) / 400**0.5
    assert float(node.bound()) == pytest.approx(expected, abs=4 * error)


def test_closed_form_q_is_the_best_one(fit):
    for node in fit.state.nodes:
        field = node.field
        mean, covariance = field.q_mean, field.q_covariance
        try:
            field.q_mean = mean.clone().requires_grad_()
            field.q_covariance = covariance.clone().requires_grad_()
            value = node.bound()
            assert value.item() == pytest.approx(node.evidence().item(), abs=1e-5)
            field.q_mean = mean.clone().requires_grad_()
            field.q_covariance = covariance.clone().requires_grad_()
            given = field.q_mean, field.q_covariance
            slopes = torch.autograd.grad(node.bound(), given)
        finally:
            field.set_q(mean, covariance)
        # In units of q itself: how much a whole standard deviation in any direction would gain.
        root = torch.linalg.cholesky(covariance)
        assert (root.mT @ slopes[0]).abs().max() < 1e-3
        assert (root.mT @ slopes[1] @ root).abs().max() < 1e-3


@pytest.mark.parametrize("model", [MRDGP, MRCascade])
def test_one_source_is_its_base_gp(model):
    source = made.continuous(made.bags((4, 3, 6, 2, 5, 4)))
    values = {"mean": 1.2, "matern32.variance": 0.4, "matern32.lengthscale": 30.0,
              "noise.variance": 0.02}
    new = made.bags((3, 2), seed=8)
    few, all_ = 8, 100
    ours = {k: model(kernel="matern32", inducing=k).condition(source, values) for k in (few, all_)}
    exact = AggregatedGP(kernel="matern32", noise="constant").condition(source, values)
    sparse = VBAgg(kernel="matern32", noise="constant", likelihood="normal", link="identity",
                   inducing=few).condition(source, values)
    for theirs, mine in ((exact, ours[all_]), (sparse, ours[few])):
        for asked in ("at", "over"):
            a, b = getattr(theirs, asked)(new), getattr(mine, asked)(new)
            assert isinstance(b, Normal)
            torch.testing.assert_close(a.mean, b.mean, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(a.variance, b.variance, rtol=1e-4, atol=1e-5)
        assert mine.objective == pytest.approx(theirs.objective, abs=1e-3)
        torch.testing.assert_close(mine.noise_std(new), theirs.state.noise.std(new))


def test_bias_is_undone(fit, sources):
    """Far from the target's data the experts map the biased sources back to its scale."""
    x = np.linspace(-1.5, 15.5, 80)
    truth = torch.as_tensor(5 * np.sin(x)**2)
    law = fit.at(points(x))
    error = (law.mean - truth).square().mean().sqrt()
    alone = (fit.at(points(x), source="hi").mean - truth).square().mean().sqrt()
    lower, upper = law.interval(0.95)
    assert error < 0.5 and alone > 2 * error
    assert ((truth > lower) & (truth < upper)).double().mean() > 0.85
    biased_field = fit.at(points(x[:20]), source="lo1").mean
    assert (biased_field / truth[:20])[truth[:20] > 3].mean() == pytest.approx(0.5, abs=0.1)


def test_fits_agree_and_hyperparameters_go_back_in(fit, sources):
    again, x = MRDGP(**OPTIONS).fit(sources), points(np.linspace(-3, 17, 20))
    assert again.hyperparameters == fit.hyperparameters
    assert again.history.objective == fit.history.objective
    assert torch.equal(again.at(x).mean, fit.at(x).mean)
    back = MRDGP(**OPTIONS).condition(sources, fit.hyperparameters)
    torch.testing.assert_close(back.at(x).mean, fit.at(x).mean, rtol=1e-4, atol=1e-4)
    assert back.objective == pytest.approx(fit.objective, abs=1e-3)
    with pytest.raises(InputError, match="missing: hi.mean"):
        MRDGP(**OPTIONS).condition(sources, {})


def test_sources_are_simulated_on_their_own_scale(fit):
    x = points([1.0, 1.6, 2.0])
    target = fit.simulate_individuals(x, None, 4000, 0)
    coarse = fit.simulate_individuals(x, None, 4000, 0, source="lo1")
    torch.testing.assert_close(target.mean(0), fit.at(x).mean, atol=0.15, rtol=0)
    torch.testing.assert_close(coarse.mean(0), fit.at(x, source="lo1").mean, atol=0.1, rtol=0)
    spread = (fit.at(x).variance + fit.noise_std(x).square()).sqrt()
    torch.testing.assert_close(target.std(0), spread, rtol=0.1, atol=0)
    assert fit.simulate_bags(points(np.arange(6.0), 3), None, 5, 0).shape == (5, 2)
    assert torch.isfinite(fit.log_density(torch.ones(3).double(), x, None, "individual", 10,
                                          0)).all()


def test_two_tasks(two_task_fit):
    fit, x = two_task_fit, points(np.linspace(-1, 15, 12))
    assert fit.tasks == ("value", "no2") and fit.expert_names() == ("hi", "lo1", "no2")
    assert fit.expert_names("no2") == ("no2", "no2 coarse")
    weights = fit.expert_weights(x)
    torch.testing.assert_close(weights.sum(0), torch.ones(12).double())
    torch.testing.assert_close(fit.expert_weights(x, "no2"), torch.full((2, 12), 0.5).double())
    own = fit.expert(x, "no2").mean
    assert abs(own.mean() - 2.5) < 1.5
    inside = fit.at(x, task="no2").mean[2:-2]
    assert inside.min() > 1.5 and inside.max() < 3.5
    assert fit.at(x, source="no2 coarse").mean[2:-2].min() > 3
    for name in ("hi.mean", "value.rbf.lengthscale", "no2.task.rbf.lengthscale",
                 "no2 coarse.deep.noise.variance"):
        assert name in fit.hyperparameters


def test_three_tasks_share_what_the_target_leaves(sources):
    tasks = [replace(s, task=s.name) for s in sources]
    options = OPTIONS | {"max_steps": 3, "tolerance": 0.1, "inducing": 10}
    with pytest.warns(UserWarning, match="not converged"):
        fit = MRDGP(**options).fit(tasks)
    weights = fit.expert_weights(points(np.linspace(-5, 20, 30)))
    torch.testing.assert_close(weights.sum(0), torch.ones(30).double())
    torch.testing.assert_close(weights[1], weights[2])


def test_deep_gps_learn_where_their_source_is(fit, sources):
    hi, lo1, lo2 = (s.bags.x[:, 0] for s in sources)
    kept = {n.name: n.observed.source.bags.x[:, 0] for n in fit.state.nodes}
    # Bags of lo1 are 1.02 apart, those of lo2 0.61: half of it beyond either end.
    torch.testing.assert_close(kept["lo1.deep"], hi[hi <= 10 + 0.51])
    torch.testing.assert_close(kept["lo2.deep"], hi[hi >= 10 - 0.31])


def test_support_has_any_shape():
    """Bags on a ring hold no support in the middle, though it is inside their range."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    columns = Columns(("x", "y"), (0, 1), ("", ""))

    def at(table):
        n = len(table)
        return Bags(torch.as_tensor(table), torch.arange(n), torch.ones(n).double(), n, columns)

    ring = at(np.stack([np.cos(angle), np.sin(angle)], 1))
    asked = at(np.array([[0.0, 0.0], [1.0, 0.05], [0.0, 1.1], [1.4, 0.0]]))
    assert in_support(asked, asked.x, ring, ring.x).tolist() == [
        False, True, True, False]
    pair = replace(asked, membership=torch.tensor([0, 0, 1, 1]), count=2)
    assert in_support(pair, pair.x, ring, ring.x).tolist() == [True, True]
    one = replace(ring, membership=torch.zeros(24).long(), count=1)
    assert in_support(asked, asked.x, one, one.x).tolist() == [True, True, True, True]


def test_kept_bags_keep_their_values():
    source = made.continuous(made.bags((3, 5, 1, 4)), known=[0.1, 0.2, 0.3, 0.4])
    kept = keep_bags(source, torch.tensor([False, True, False, True]))
    assert kept.bags.sizes.tolist() == [5, 4] and kept.bags.names == ("b1", "b3")
    assert kept.targets.noise_variance.tolist() == [0.2, 0.4]
    whole = OPERATORS["mean"](source.bags)(source.bags.x[:, 0])
    torch.testing.assert_close(OPERATORS["mean"](kept.bags)(kept.bags.x[:, 0]), whole[[1, 3]])


def test_what_cannot_be(sources, fit):
    hi, lo1, _ = sources
    far = replace(lo1, name="far", bags=replace(lo1.bags, x=lo1.bags.x + 100))
    with pytest.raises(InputError, match="source 'hi' where 'far' has individuals"):
        MRDGP(**OPTIONS).fit([hi, far])
    with pytest.raises(InputError, match="'parrot'"):
        MRDGP(deep_inputs="parrot").fit(sources)
    with pytest.raises(InputError, match="samples"):
        MRDGP(samples=33)
    x = points([1.0])
    for call, message in ((lambda: fit.at(x, task="valu"), "task 'valu' .* did you mean 'value'"),
                          (lambda: fit.at(x, source="lo3"), "choose from hi, lo1, lo2"),
                          (lambda: fit.expert(x, "lo3"), "did you mean"),
                          (lambda: fit.at(points([1.0, 2.0]), source="lo9"), "source 'lo9'")):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize("noise", ["size", "weight", "known"])
def test_every_noise(noise, sources):
    known = [replace(s, targets=replace(s.targets, noise_variance=torch.full_like(
        s.targets.value, 0.02))) for s in sources]
    tree = MRDGP(**OPTIONS | {"noise": noise, "max_steps": 60, "tolerance": 1e-2}).fit(known)
    assert torch.isfinite(tree.at(points([0.0, 8.0])).mean).all()
    assert torch.isfinite(tree.noise_std(known[0].bags)).all()
    assert tree.simulate_bags(known[0].bags, None, 3, 0).shape == (3, known[0].bags.count)


def test_kernels_of_deep_gps_in_the_grammar(sources):
    tree = MRDGP(**OPTIONS | {"deep_inputs": "linear(parent)+matern32(inputs)", "tolerance": 1e-2}
                 ).fit(sources)
    assert "lo1.deep.linear.variance" in tree.hyperparameters
    assert torch.isfinite(tree.at(points([0.0, 8.0])).mean).all()


@pytest.mark.slow
def test_all_gps_at_once_learn_more(sources):
    options = OPTIONS | {"inducing": 12, "max_steps": 60, "tolerance": 1e-5, "samples": 16}
    first = MRDGP(**options).fit(sources)
    with pytest.warns(UserWarning, match="raise joint_steps"):
        both = MRDGP(**options | {"joint_steps": 20}).fit(sources)
    assert both.objective > first.objective + 1
    assert both.history.objective[-1] > first.history.objective[-1]
    # The lower GPs have learnt from the target: their own data alone fit a little worse.
    before, after = (t.state.of_source["lo1"] for t in (first, both))
    assert not torch.allclose(before.field.q_mean, after.field.q_mean)


@pytest.fixture(scope="module")
def together(sources):
    """All GPs learnt at once, until that ends by itself."""
    options = OPTIONS | {"inducing": 10, "max_steps": 60, "tolerance": 1e-6, "samples": 8}
    return MRDGP(**options | {"joint_steps": 300, "deep_inputs": "f"}).fit(sources)


@pytest.fixture(scope="module")
def two_together(two_tasks):
    """The same of two tasks: what rests on them sees mixtures of their experts."""
    options = OPTIONS | {"inducing": 8, "max_steps": 10, "tolerance": 1e-2, "samples": 8}
    return MRDGP(**options | {"joint_steps": 3, "deep_inputs": "f"}).fit(two_tasks)


#: Fits, and how many GPs others rest on in them.
JOINT = pytest.mark.parametrize("fit_of, count", [("together", 2), ("two_together", 4)])


def test_learning_all_gps_at_once_converges(together, sources):
    assert together.history.converged and not together.history.notes
    options = OPTIONS | {"inducing": 10, "max_steps": 60, "tolerance": 1e-6, "samples": 8}
    before = MRDGP(**options | {"deep_inputs": "f"}).fit(sources).history.objective
    assert together.history.objective[:len(before)] == pytest.approx(before)
    with torch.no_grad():
        reached = together.objective + float(together.state.hyperparameters.log_prior())
    assert reached == pytest.approx(max(together.history.objective[len(before):]), abs=1e-3)


@JOINT
def test_no_other_q_of_a_parent_has_a_higher_objective(fit_of, count, request):
    state, generator = request.getfixturevalue(fit_of).state, torch.Generator().manual_seed(1)
    joint, parents = Joint(state.nodes, state.draws), rested_on(state.nodes)
    assert len(set(parents)) == count
    with torch.no_grad():
        best = float(joint._sum(0, lambda: None))
        for node in set(parents):
            mean, covariance = node.field.q_mean, node.field.q_covariance
            root = torch.linalg.cholesky(covariance)
            for size in (0.3, 0.03):
                for _ in range(5):
                    step = torch.randn(len(mean), generator=generator).to(mean)
                    turn = torch.randn(*covariance.shape, generator=generator).to(mean)
                    factor = root @ (torch.eye(len(mean)).to(mean) + 0.1 * size * turn)
                    node.field.set_q(mean + size * root @ step, factor @ factor.mT)
                    assert float(joint._sum(0, lambda: None)) < best + 1e-3
            node.field.set_q(mean, covariance)


@pytest.mark.parametrize("fit_of, name", [
    ("together", "lo1.deep.rbf.lengthscale"), ("together", "lo2.rbf.variance"),
    ("two_together", "no2.noise.variance"), ("two_together", "no2.rbf.variance"),
    ("two_together", "hi.rbf.variance")])
def test_the_gradient_at_the_best_q_is_that_of_the_profiled_objective(fit_of, name, request):
    state = request.getfixturevalue(fit_of).state
    joint = Joint(state.nodes, state.draws)
    start, kept = joint.items.vector(), joint.q()

    def value(vector, backward=False):
        joint.items.assign(vector)
        joint._best, joint._start = -np.inf, kept
        found = joint.evaluate(lambda: None)
        if backward:
            found.backward()
        return float(found.detach())

    place = [item.name for item in joint.items.free].index(name)
    away = start.copy()
    away[place] += 0.3                  # at the optimum the gradient is zero
    for item in joint.items.free:
        item.raw.grad = None
    value(away, backward=True)
    gradient, step = joint.items.gradient()[place], np.zeros_like(start)
    step[place] = 0.05
    numeric = (value(away + step) - value(away - step)) / 0.1
    assert abs(gradient) > 0.1 and gradient == pytest.approx(numeric, rel=0.05)
    joint.items.assign(start)
    joint.put(kept)


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_cancelled_joint_step_leaves_a_whole_tree(at_the_end, sources, monkeypatch):
    held, made = [], Joint.__init__

    def remember(self, nodes, draws):
        made(self, nodes, draws)
        held.append(self.items.free)

    def stop(step, objective, fraction):
        # Within an evaluation no gradients of hyperparameters are computed.
        if held and (fraction == 1.0 or not at_the_end) and not held[0][0].raw.requires_grad:
            raise Cancelled

    monkeypatch.setattr(search, "PULSE_SECONDS", 0.0)
    monkeypatch.setattr(joint_module, "_PULSE_SECONDS", 0.0)
    monkeypatch.setattr(Joint, "__init__", remember)
    options = OPTIONS | {"inducing": 8, "max_steps": 10, "tolerance": 1e-2, "samples": 8}
    tree = MRDGP(**options | {"joint_steps": 50}).fit(sources, callback=stop)
    assert tree.history.cancelled and len(held) == 1
    assert torch.isfinite(tree.at(points([0.0, 8.0])).mean).all()
    assert all(item.raw.requires_grad for item in held[0])


def test_cancelled_fits_answer(sources):
    seen, stop = made.cancelling(4)
    tree = MRDGP(**OPTIONS).fit(sources, callback=stop)
    assert tree.history.cancelled and len(seen) == 4
    assert torch.isfinite(tree.at(points([0.0, 8.0])).mean).all()
    fractions = []
    MRDGP(**OPTIONS | {"tolerance": 1e-2}).fit(
        sources, callback=lambda step, objective, fraction: fractions.append(fraction))
    assert fractions == sorted(fractions) and 0 < fractions[0] and fractions[-1] <= 1


def test_cascade_is_a_chain_from_the_coarsest(two_tasks, sources):
    tree = MRCascade(**OPTIONS | {"max_steps": 60, "tolerance": 1e-2}).fit(sources)
    assert [node.name for node in tree.state.nodes] == ["lo2", "lo1", "hi"]
    hi, lo1, lo2 = (tree.state.of_source[n] for n in ("hi", "lo1", "lo2"))
    assert hi.parent is lo1 and lo1.parent is lo2 and len(lo1.observed.x) == 60
    x = points(np.linspace(6.5, 12.5, 20))
    error = tree.at(x).mean - torch.as_tensor(5 * np.sin(x.x[:, 0].numpy())**2)
    assert error.square().mean().sqrt() < 0.4
    with pytest.raises(InputError, match="a chain without a mixture"):
        tree.expert_weights(x)
    chain = resolution_order(MRCascade().condition(
        sources[:1], {"mean": 1.0, "rbf.variance": 1.0, "rbf.lengthscale": 1.0,
                      "noise.variance": 0.1}).state.sources)
    assert [part.name for part in chain] == ["hi"]


def test_totals_of_counts_are_simulated_as_totals():
    counts = made.counts(made.bags((4, 3, 6, 2, 5, 4)), scale=2.0)
    rates = replace(made.continuous(made.bags((4, 3, 6, 2, 5, 4))), name="rates")
    tree = MRDGP(**OPTIONS | {"tolerance": 1e-2}).fit([counts, rates])
    new = made.bags((3, 2), seed=8)
    totals = tree.simulate_bags(new, None, 4000, 0)
    spread = (tree.over(new).variance + tree.noise_std(new).square()).sqrt()
    error = totals.mean(0) / new.totals - OPERATORS["mean"](new)(tree.at(new).mean)
    assert (error.abs() < 4 * spread / 4000**0.5 + 0.02 * spread).all()


def test_single_precision(fit, sources):
    values = {k: max(v["value"], 2e-3) if k.endswith("noise.variance") else v["value"]
              for k, v in fit.hyperparameters.items()}
    new = points(np.linspace(-1, 15, 15), 5)
    single, double = (MRDGP(**OPTIONS, dtype=d).condition(sources, values).over(new)
                      for d in ("float32", "float64"))
    assert single.mean.dtype == torch.float32
    torch.testing.assert_close(single.mean.double(), double.mean, atol=0.05, rtol=0)
    torch.testing.assert_close(single.std.double(), double.std, atol=0.05, rtol=0.1)


def test_draws_are_the_same_in_whatever_order_and_thread_they_are_asked_for():
    like = torch.zeros((), dtype=torch.float64)
    known = Draws(16, 0, 3)
    first = {variable: known(variable, 20, like) for variable in (0, 1, 2)}
    turned = Draws(16, 0, 3)
    for variable in (2, 0, 1):
        torch.testing.assert_close(turned(variable, 20, like), first[variable], rtol=0, atol=0)
    assert np.array_equal(turned.learnt(), known.learnt()) and len(known.learnt()) == 60
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            shared = Draws(16, 0, 1)
            for one in pool.map(lambda _, draws=shared: draws(0, 200, like), range(4)):
                torch.testing.assert_close(one, Draws(16, 0, 1)(0, 200, like), rtol=0, atol=0)
