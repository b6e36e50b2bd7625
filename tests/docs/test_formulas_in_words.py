"""What pages and help say in formulas is what is computed."""

import dataclasses

import pytest
import torch

from tests.docs.pages import said
from tests.gp import made
from workbench.gp.data.bags import Columns
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.kernels.grammar import build, parse
from workbench.gp.likelihoods.noise import noise_factor
from workbench.gp.likelihoods.variance_functions import VARIANCE_FUNCTIONS
from workbench.gp.models.registry import MODELS

COLUMNS = Columns(("x", "y", "height"), (0, 1), ("km", "km", "m"))


def test_columns_of_a_name_without_parentheses():
    assert "alone, as here, of the coordinates x and y" in said("howto")
    (alone,) = parse("linear", COLUMNS)
    linear, rbf = parse("linear+rbf", COLUMNS)
    assert alone[0].columns == (0, 1, 2) and linear[0].columns == rbf[0].columns == (2,)


def test_the_periodic_kernel():
    assert "exp(−2 sin²(πd/p)/ℓ), a product over its columns" in said("howto")
    x = torch.tensor([[0.0, 0, 0], [0.3, 0, 0.5]], dtype=torch.float64)
    (term,) = build("periodic(coordinates)", COLUMNS, x)
    found = {name.rsplit(".", 1)[-1]: (raw, constraint) for name, raw, constraint
             in term.kernel.named_parameters_and_constraints()}
    with torch.no_grad():
        for name, value in (("raw_lengthscale", 0.7), ("raw_period_length", 1.9)):
            raw, constraint = found[name]
            raw.fill_(float(constraint.inverse_transform(torch.tensor(value).double())))
    sine = torch.sin(torch.pi * torch.tensor(0.3) / 1.9)
    ratio = term(x, x)[0, 1] / term(x, x)[0, 0]
    assert float(ratio) == pytest.approx(float((-2 * sine**2 / 0.7).exp()), rel=1e-6)


def help_of(model: str, option: str) -> str:
    return {one.name: one for one in dataclasses.fields(MODELS[model].options_type)}[
        option].metadata["help"]


def test_noise_by_size_and_by_weight():
    assert "by weight, with W_a / mean W for N_a" in help_of("aggregated-gp", "noise")
    bags = made.bags((2, 3, 5))
    relative = bags.totals / 7.0
    for aggregation, power in (("sum", 1), ("mean", -1)):
        torch.testing.assert_close(noise_factor("weight", bags, aggregation, 7.0), relative**power)
        torch.testing.assert_close(noise_factor("size", bags, aggregation, 7.0),
                                   torch.tensor([2.0, 3, 5]).to(relative)**power)


def test_half_an_event():
    assert "(0 to ½/n, of proportions p to (pn + ½)/(n + 1))" in help_of(
        "quasi-likelihood", "boundary")
    n = torch.tensor([8.0])
    assert float(VARIANCE_FUNCTIONS["poisson"].half_an_event(0 * n, n)) == 0.5 / 8
    assert float(VARIANCE_FUNCTIONS["bernoulli"].half_an_event(n / n, n)) == pytest.approx(8.5 / 9)


def test_standardised_columns():
    assert "root mean square of theirs" in said("howto")
    bags = made.bags((4, 6))
    found, where = fit_inputs(bags), list(bags.columns.coordinates)
    own = bags.x.std(0, unbiased=False)
    own[where] = own[where].square().mean().sqrt()
    torch.testing.assert_close(found.scale, own)
