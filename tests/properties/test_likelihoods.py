"""Every likelihood under every link that goes with it, of odd data: finite answers or an error."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.properties.test_fits import DTYPES, FITS, KERNELS, LENGTHSCALES, answers, check
from tests.properties.worlds import bagged
from workbench.gp.likelihoods import LIKELIHOODS
from workbench.gp.likelihoods.links import LINKS

#: Which kinds of data each likelihood is for.
OF = {"poisson": "count", "negative-binomial": "count", "normal": "continuous",
      "exponential": "positive", "binomial": "survey"}
PAIRS = [(name, link) for name, kind in LIKELIHOODS.items() for link in kind.links]


def test_no_likelihood_and_no_link_is_left_out():
    assert set(OF) == set(LIKELIHOODS) and {link for _, link in PAIRS} == set(LINKS)


@st.composite
def cases(draw, likelihood: str, link: str):
    """A dataset that a likelihood is for, and a model with it."""
    kind = OF[likelihood]
    if link != "identity" and kind == "continuous":
        kind = "positive"
    kernel, lengthscale = draw(KERNELS), draw(LENGTHSCALES)
    fixed = {} if lengthscale is None or kernel not in ("matern32", "rbf") else {
        f"{kernel}.lengthscale": lengthscale}
    area = draw(st.sampled_from(["auto", "area", "none"])) if likelihood == "poisson" else "auto"
    return draw(bagged(kind)), wb.VBAgg(
        likelihood=likelihood, link=link, kernel=kernel, dtype=draw(DTYPES), max_steps=3,
        hyperparameters=fixed, inducing=draw(st.sampled_from([1, 10])), overdispersion=area)


@pytest.mark.slow
@settings(FITS, max_examples=2)
@pytest.mark.parametrize(("likelihood", "link"), PAIRS)
@given(data=st.data())
def test_likelihoods_under_their_links(likelihood, link, data):
    ds, model = data.draw(cases(likelihood, link))
    maps = answers(model, ds)
    assume(maps is not None)
    check(maps, ds, adds_up=likelihood != "binomial")
