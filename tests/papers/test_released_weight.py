"""The released code's composite weight: its plug-in likelihood, its limits, what it cannot tell."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import norm

from workbench.checks import Cancelled
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.several_sources.magnitude import CompositeWarning
from workbench.gp.models.several_sources.mr_gp import MRGP
from workbench.gp.models.several_sources.mr_gp_state import MRGPState
from workbench.papers.hamelijnck2019 import released_weight as module
from workbench.papers.hamelijnck2019.released_weight import PlugIn, ReleasedMRGP, released_weight

X = np.linspace(0, 8, 42)


def source(y, size, name):
    count = len(X) // size
    bags = Bags(torch.tensor(X)[:, None], torch.arange(count).repeat_interleave(size),
                torch.ones(len(X)).double(), count, Columns(("x",)))
    value = torch.tensor(y.reshape(count, size).mean(1))
    return Source(bags, Targets(value), "mean", "continuous", name)


def noisy(seed):
    return 5 * np.sin(X) ** 2 + 0.5 * np.random.default_rng(seed).standard_normal(len(X))


def state_of(*sources, **options):
    """A state, its free hyperparameters of the kernel, and what of the sources is seen."""
    state = MRGPState(MRGP(kernel="rbf", **options), list(sources))
    free = [item for item in state.kernel_items if not item.fixed]
    return state, free, [(part.x, part.operator) for part in state.sources]


def test_the_plug_in_likelihood_is_that_of_its_field():
    """Against dense algebra: m = K(x, z) L⁻ᵀ v, averaged by hand, one noise for both sources."""
    state, _, seen = state_of(source(noisy(0), 1, "points"), source(noisy(1), 3, "means"))
    state.hyperparameters["rbf.lengthscale"].set(0.2)       # well conditioned: no jitter
    found = PlugIn(state, seen)
    (term,), z = state.field.terms, found.field.inducing[0]
    with torch.no_grad():
        root = torch.linalg.cholesky(term(z, z)).numpy()
        field = term(state.sources.parts[0].x, z).numpy() @ np.linalg.solve(
            root.T, found.v.numpy()) + float(found.mean)
        sd, values = float(found.log_sd.exp()), [p.value.numpy() for p in state.sources]
        points, means = (float(one) for one in found())
    assert sd == pytest.approx(0.1 * np.std(np.concatenate(values)), rel=0.2)
    assert points == pytest.approx(norm.logpdf(values[0], field, sd).sum(), rel=1e-6)
    assert means == pytest.approx(
        norm.logpdf(values[1], field.reshape(-1, 3).mean(1), sd).sum(), rel=1e-6)


def test_a_source_that_is_there_twice_has_one_half():
    y = noisy(0)
    weight, g = released_weight(*state_of(source(y, 1, "a"), source(y, 1, "b")), epochs=30)
    assert g[0] == pytest.approx(g[1], rel=1e-9) and abs(g[0]) > 1e-3
    assert weight == pytest.approx(0.5, rel=1e-9)


@pytest.mark.slow
def test_it_tells_how_far_the_ascent_got_and_not_how_sources_depend():
    """Never below 1/2, and all over the place above it, for independent sources as for others."""
    found = {}
    for kind, second in (("dependent", 0), ("independent", 7)):
        sources = source(noisy(0), 1, "points"), source(noisy(second), 3, "means")
        found[kind] = [released_weight(*state_of(*sources), epochs=k)[0]
                       for k in range(20, 100, 20)]
    for weights in found.values():
        assert min(weights) >= 0.5 - 1e-12 and max(weights) > 1.2 * min(weights)


def test_the_model_takes_it_for_all_sources(monkeypatch):
    monkeypatch.setattr(module, "released_weight", partial(released_weight, epochs=40))
    sources = [source(noisy(0), 1, "points"), source(noisy(0), 3, "means")]
    fit = ReleasedMRGP(kernel="rbf").fit(sources)
    expected, g = released_weight(*state_of(*sources), epochs=40)
    assert list(fit.composite_weights.values()) == pytest.approx([expected] * 2)
    assert expected == pytest.approx((g**2).sum() / g.sum() ** 2)
    assert f"(released): points {expected:.3g}" in fit.history.notes[0]


def test_it_moves_what_is_free_and_stops_when_asked():
    state, free, seen = state_of(source(noisy(0), 1, "a"), source(noisy(0), 3, "b"),
                                 hyperparameters={"mean": 1.5})
    steps = []

    def stop(epoch, objective, fraction):
        steps.append(fraction)
        if epoch == 7:
            raise Cancelled

    stopped, _ = released_weight(state, free, seen, epochs=50, callback=stop)
    assert len(steps) == 7 and steps[-1] == pytest.approx(7 / 50)
    assert state.hyperparameters["mean"].report()["value"] == pytest.approx(1.5)
    again = state_of(source(noisy(0), 1, "a"), source(noisy(0), 3, "b"),
                     hyperparameters={"mean": 1.5})
    assert stopped == pytest.approx(released_weight(*again, epochs=7)[0], rel=1e-9)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_an_infinite_weight_is_told_and_not_taken(monkeypatch):
    monkeypatch.setattr(module, "released_weight",
                        lambda *_, **__: (float("inf"), np.array([1.0, -1.0])))
    with pytest.warns(CompositeWarning, match=r"the estimate is \[inf inf\]"):
        fit = ReleasedMRGP(kernel="rbf", max_steps=3).fit(
            [source(noisy(0), 1, "points"), source(noisy(0), 3, "means")])
    assert set(fit.composite_weights.values()) == {1.0}
