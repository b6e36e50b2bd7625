"""Failed arithmetic is never silent: jitter, ends of ranges, what is left of a variance."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import workbench
from tests.gp import made
from workbench.checks import ApproximationWarning, InputError, WorkbenchWarning
from workbench.gp.expectations import samples
from workbench.gp.models.exact.closed_form import posterior_std
from workbench.gp.models.several_sources.tree import places
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.numerics import linalg
from workbench.gp.numerics.linalg import (
    FactorisationError,
    JitterWarning,
    NegativeVarianceWarning,
    cholesky,
    factor,
    floored,
    left,
    watched_jitter,
)
from workbench.gp.optimisation.convergence import doubtful
from workbench.gp.optimisation.hyperparameters import HyperparameterSet, scalar_hyperparameter
from workbench.gp.optimisation.training import maximise

# Where a matrix may be factorised by other means, and what becomes of a failure there.
OWN = {
    "gp/numerics/linalg.py": "is the one place",
    "gp/optimisation/acceleration.py": "nothing is proposed",
    "gp/optimisation/natural_gradient.py": "the step is not taken",
    "gp/expectations/samples.py": "batches; the jitter is reported",
    "gp/models/several_sources/tree/places.py": "batches; the jitter is reported",
    "gp/models/exact/closed_form.py": "numpy; at most 1e-8, then an error",
    "gp/models/vbagg/proposal.py": "numpy; a sum with a positive definite matrix",
    "gp/sampling/density.py": "jax; NaN, which a Markov chain rejects",
    "evaluation/baselines/kriging.py": "numpy; an error that says what to do",
    "ui/granularity/exporting.py": "text of a program",
}


def like(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_every_factorisation_reports_or_refuses():
    root = Path(workbench.__file__).parent
    raw = re.compile(r"cholesky_ex\(|linalg\.cholesky\(|cho_factor\(|dpotrf\(|psd_safe")
    found = {str(file.relative_to(root)) for file in root.rglob("*.py") if raw.search(
        file.read_text(encoding="utf-8")) and "papers" not in file.parts}
    assert found == set(OWN)


def test_jitter_of_batches_is_reported():
    covariance = like([1.0, 1.0], [1.0, 1.0]) - 3e-5 * torch.eye(2).double()
    with pytest.warns(JitterWarning, match="residual covariance inside a bag needed jitter"):
        samples._cholesky(covariance[None], 1.0)
    with pytest.warns(JitterWarning, match="GP inside a bag needed jitter"):
        places._root(covariance[None, None], torch.ones(1, 2).double())


def test_a_matrix_without_root_is_named():
    with pytest.raises(FactorisationError, match="the covariance of q is not positive definite"):
        factor(-torch.eye(2).double(), "covariance of q")


def test_the_largest_jitter_is_remembered_where_it_is_watched():
    near = torch.ones(3, 3).double() - 1e-5 * torch.eye(3).double()
    with pytest.warns(JitterWarning), watched_jitter() as found:
        cholesky(near, "first")
        cholesky(near - 1e-4 * torch.eye(3).double(), "second")
    assert found.largest == pytest.approx(1e-3) and "the second needed jitter" in found.told
    with watched_jitter() as found:
        cholesky(torch.eye(2).double())
    assert found.largest == 0 and not found.told


class Slope:
    """An objective of one hyperparameter, by way of a matrix that may need jitter."""

    def __init__(self, value):
        self.item = scalar_hyperparameter("rbf.variance", 1.0, "", None, like(0.0))
        self.items, self._value = HyperparameterSet([self.item]), value

    def __call__(self, pulse):
        return self._value(self.item.raw).sum()


def test_a_hyperparameter_that_ended_at_its_bound_is_noted_with_its_value_and_a_remedy():
    for sign, side, number in ((1, "upper", "7.2e+10"), (-1, "lower", "1.39e-11")):
        slope = Slope(lambda raw, sign=sign: sign * 0.01 * raw)
        (note,) = doubtful(maximise(slope, slope.items).notes)
        assert f"the {side} one, at {number}" in note
        assert "fix rbf.variance or give it a prior" in note
    bowl = Slope(lambda raw: -(raw - 1.0).square())
    assert not maximise(bowl, bowl.items).notes


def test_jitter_at_the_best_point_is_noted_but_not_that_on_the_way():
    alike = torch.ones(2, 2).double() - 3e-5 * torch.eye(2).double()

    def jittered_above(level):
        def value(raw):
            if float(raw.detach()) > level:
                cholesky(alike, "inducing covariance")
            return -(raw - 1.0).square()
        return Slope(value)

    with pytest.warns(JitterWarning):
        everywhere = jittered_above(-9)
        (note,) = doubtful(maximise(everywhere, everywhere.items).notes)
    assert "needed jitter 1e-04" in note and "use fewer inducing inputs" in note
    with pytest.warns(JitterWarning):
        beyond = jittered_above(1.5)
        start = beyond.item
        start.set(20.0)
        assert not doubtful(maximise(beyond, beyond.items).notes)


def test_a_fit_says_in_its_notes_that_it_needed_jitter(monkeypatch):
    source = made.counts(made.bags((4, 3, 6, 2, 5, 4)), scale=2.0)
    model = VBAgg(kernel="rbf", inducing=20)
    values = model.starting_values(source)
    assert not doubtful(model.condition(source, values).history.notes)
    monkeypatch.setattr(linalg, "TOLD", 1e-9)
    with pytest.warns(JitterWarning):
        fit = model.condition(source, values)
    assert len(doubtful(fit.history.notes)) == 1


def test_more_explained_than_there_is_is_reported():
    assert posterior_std(np.ones(2), np.array([1 + 1e-9, 0.75])).tolist() == [0.0, 0.5]
    with pytest.warns(ApproximationWarning, match="1 of 2 posterior variances are negative"):
        posterior_std(np.ones(2), np.array([1.5, 0.75]))


def test_a_negative_variance_is_reported_and_rounding_is_not():
    assert left(like(1.0, 1.0), like(1 + 1e-9, 0.75)).tolist() == [0.0, 0.25]
    with pytest.warns(NegativeVarianceWarning, match="1 of 2 .* worst -5.0e-01 .*fix a larger"):
        assert left(like(1.0, 1.0), like(1.5, 0.5)).tolist() == [0.0, 0.5]
    with pytest.warns(NegativeVarianceWarning):
        assert floored(like(-0.1, 2.0), like(1.0, 1.0), 1e-12).tolist() == [1e-12, 2.0]


def test_a_summary_says_what_a_fit_lacks_and_what_to_do(monkeypatch):
    ds = workbench.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    monkeypatch.setattr(linalg, "TOLD", 1e-9)
    monkeypatch.setattr(linalg, "JITTER", 1e-7)
    with pytest.warns(WorkbenchWarning):
        fit = workbench.VBAgg(kernel="matern32", inducing=12, max_steps=2).fit(ds)
    told = fit.summary()
    assert "NOT converged" in told and "raise max_steps" in told
    jitter, = (line for line in told.split("\n") if "needed jitter" in line)
    assert jitter.startswith("note: ") and "use fewer inducing inputs" in jitter


def test_kriging_of_a_system_without_solution_says_what_to_look_for():
    from workbench.evaluation.baselines.kriging import _factor

    with pytest.raises(InputError, match="two areas lie on one another"):
        _factor(-np.eye(3), np.zeros(3))
