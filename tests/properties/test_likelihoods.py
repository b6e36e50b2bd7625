"""Every likelihood under every link that goes with it, of odd data: finite answers or an error."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.properties.test_fits import DTYPES, FITS, KERNELS, LENGTHSCALES, answers, check, one_area
from tests.properties.worlds import bagged
from workbench.checks import InputError
from workbench.gp.likelihoods import LIKELIHOODS
from workbench.gp.likelihoods.links import LINKS

#: Which kinds of data each likelihood is for.
OF = {"poisson": "count", "negative-binomial": "count", "normal": "continuous",
      "exponential": "positive", "binomial": "survey"}
PAIRS = [(name, link) for name, kind in LIKELIHOODS.items() for link in kind.links]


def test_no_likelihood_and_no_link_is_left_out():
    assert set(OF) == set(LIKELIHOODS) and {link for _, link in PAIRS} == set(LINKS)


def test_a_survey_of_nobody_is_refused_in_words():
    ds = one_area(False).assign(
        value=("bag", [0.0], {"kind": "count", "aggregation": "mean"}), trials=("bag", [0.0]))
    with pytest.raises(InputError, match="nobody was tested in any of the 1 bags"):
        wb.VBAgg().fit(ds)


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
    ds = draw(bagged(kind))
    if link == "logit":         # a billion trials take a minute there; probit has them, too
        ds = ds.assign({name: ds[name].clip(max=1000) for name in ("value", "trials")})
    return ds, wb.VBAgg(
        likelihood=likelihood, link=link, kernel=kernel, dtype=draw(DTYPES), max_steps=1,
        hyperparameters=fixed, inducing=draw(st.sampled_from([1, 5])), overdispersion=area)


@pytest.mark.slow
@settings(FITS, max_examples=2)
@pytest.mark.parametrize(("likelihood", "link"), PAIRS)
@given(data=st.data())
def test_likelihoods_under_their_links(likelihood, link, data):
    ds, model = data.draw(cases(likelihood, link))
    maps = answers(model, ds)
    assume(maps is not None)
    check(maps, ds, adds_up=likelihood != "binomial")
