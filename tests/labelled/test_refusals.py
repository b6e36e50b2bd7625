"""Options of the wrong type or place end in one clear error, not in a traceback from below."""

import pytest

import workbench as wb


@pytest.mark.parametrize(("options", "message"), [
    (dict(max_steps="10"), "option max_steps a whole number, got '10'"),
    (dict(inducing=2.5), "option inducing a whole number or 'auto', got 2.5"),
    (dict(tolerance="small"), "option tolerance a number"),
    (dict(kernel=5), "option kernel a name or a gpytorch kernel"),
    (dict(device="nowhere"), "a torch device that is there, got 'nowhere'"),
    (dict(hyperparameters=3), "option hyperparameters a mapping"),
])
def test_options_of_the_wrong_type(options, message):
    with pytest.raises(wb.InputError, match=message):
        wb.VBAgg(**options)


@pytest.mark.parametrize(("options", "message"), [
    (dict(priors={"rbf.lengthscale": 5}), "prior 5 of rbf.lengthscale is not understood"),
    (dict(hyperparameters={"rbf.lengthscale": "abc"}), "must be a number or a list of numbers"),
    (dict(hyperparameters={"mean": 1000.0}), "the fit cannot start.*not finite"),
    (dict(hyperparameters={"mean": 1000.0, "rbf.lengthscale": 1.0, "rbf.variance": 1.0}),
     "the fit cannot start.*not finite"),
    (dict(hyperparameters={"mean": 1000.0}, overdispersion="none", nugget=0.0),
     "the fit cannot start.*not finite"),
])
def test_values_that_cannot_be_used(options, message):
    ds = wb.load("swiss-roll", n_bags=4, mean_size=10, size_std=4)
    with pytest.raises(wb.InputError, match=message):
        wb.VBAgg(kernel="rbf", inducing=5, **options).fit(ds)
