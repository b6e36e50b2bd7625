"""Options that models no longer have: what stored Specs may still say, and what replaces them.

A Spec that was stored with such an option is read as long as it asks for what is done today;
anything else is refused with the way that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from workbench.checks import InputError

_VARIATIONAL = ("vbagg", "centre-point", "constant")
_POINT = ("bag-pixel", "neural-network", "nystrom")
_COMPOSITE = ("mr-gp", "mr-gprn", "centre-point-gprn")
_TREE = ("mr-dgp", "mr-cascade")
_CONDITIONAL = ("cmp", "s-cmp", "var-cmp")


@dataclass(frozen=True)
class Retired:
    """An option, or some values of one, that models had and have no longer.

    Parameters
    ----------
    option : str
        Its name.
    models : tuple of str
        Registry names of the models that had it.
    instead : str
        What to do instead, as the end of a sentence.
    same : tuple or callable
        Values that ask for what is done today; or a function of the value and all options of the
        Spec that says whether they do.
    values : tuple
        Where the option itself is still there: the values of it that are not.
    """

    option: str
    models: tuple[str, ...]
    instead: str
    same: tuple | Callable[[object, Mapping], bool] = ()
    values: tuple = ()

    def concerns(self, model: str, option: str, value: object) -> bool:
        """Whether this is an option, or a value of an option, that the model had."""
        return (model in self.models and option == self.option
                and (not self.values or value in self.values))

    def changes_nothing(self, value: object, options: Mapping) -> bool:
        """Whether the model does today what the value asked for."""
        return self.same(value, options) if callable(self.same) else value in self.same

    def error(self, model: str) -> InputError:
        """The error that says what replaces it (raised by the caller)."""
        told = f"{self.option}={' or '.join(map(repr, self.values))}" if self.values else (
            self.option)
        return InputError(f"option {told} of {model} was removed: {self.instead}")


def _any_value(value: object, options: Mapping) -> bool:
    """Of options that did nothing, or only tuned what another one, itself retired, chose."""
    return True


def _as_many_as_steps(value: object, options: Mapping) -> bool:
    return value == options.get("max_steps", 450)


def _objective_of_today(value: object, options: Mapping) -> bool:
    """Q is what all but Normal observations are learnt by; E was refused where it is not known."""
    named = options.get("likelihood", "auto") not in ("auto", "normal")
    return value in ("auto", "likelihood") or (value == "quasi" and named)


_BY_DATA = ("leave it out; adam trains where there are early-stop bags or more than 100,000 "
            "individuals, l-bfgs elsewhere")
_NATURAL = ("leave it out; q is in closed form for Normal values with the identity link, and "
            "learnt by natural gradients inside L-BFGS elsewhere")
_AUTHORS = "leave it out; the penalty has the authors' "
_FIXED = "leave it out; it is always "

RETIRED = (
    Retired("trainer", _VARIATIONAL, _NATURAL, ("auto", "natural", "collapsed")),
    Retired("learning_rate", _VARIATIONAL, "leave it out; nothing is trained by adam", _any_value),
    Retired("epochs", _VARIATIONAL, "leave it out, or limit the search with max_steps", _any_value),
    Retired("batch", _VARIATIONAL, "leave it out; all bags are looked at at once", _any_value),
    Retired("trainer", _POINT, _BY_DATA, ("auto",)),
    Retired("epochs", _POINT, "write max_steps, which counts the epochs of adam too",
            _as_many_as_steps),
    Retired("batch", _POINT, _FIXED + "a tenth of the bags", (0,)),
    Retired("patience", _POINT, _FIXED + "10 epochs", (10,)),
    Retired("patience_from", _POINT, _FIXED + "a third of the epochs", (1 / 3,)),
    Retired("manifold_kernel", _POINT, _AUTHORS + "rbf kernel", ("rbf",)),
    Retired("manifold_features", _POINT, _AUTHORS + "500 random Fourier features", (500,)),
    Retired("manifold_individuals", _POINT, _AUTHORS + "20,000 individuals at most", (20_000,)),
    Retired("kernel", ("constant",), "leave it out; there is one rate everywhere", ("constant",)),
    Retired("inducing", ("constant",), "leave it out; a constant has no inducing inputs",
            _any_value),
    Retired("layout", ("constant",), "leave it out; a constant has no inducing inputs",
            _any_value),
    Retired("kernel", ("bag-constant", "neural-network", "bag-pixel"), "leave it out; the model "
            "has no kernel", ("none",)),
    Retired("elsewhere", ("bag-constant",), "leave it out; new bags get the mean rate with an "
            "ExtrapolationWarning, which warnings.simplefilter turns into an error",
            ("mean-rate",)),
    Retired("objective", ("quasi-likelihood",), "leave it out; it is E where the sample variances "
            "of Normal means are known, else Q", _objective_of_today),
    Retired("mean", ("quasi-likelihood",), "leave it out; it is that of the statistics, unless "
            "hyperparameters={'mean': ...} gives it", ("statistic",)),
    Retired("components", ("mr-gprn", "centre-point-gprn"), _FIXED + "one Gaussian", (1,)),
    Retired("sweeps", ("mr-gprn", "centre-point-gprn"),
            _FIXED + "as many rounds as gain something", (8,)),
    Retired("weights", ("mr-gprn", "centre-point-gprn"),
            "use weights='gp', or 'constant'", values=("positive",)),
    Retired("composite", _COMPOSITE, "use composite='lyddon' or 'ribatet'; the weight of the "
            "authors' code is in workbench.papers.hamelijnck2019.released_weight",
            values=("released",)),
    Retired("variability", _COMPOSITE, _FIXED + "that of the dependence between sources",
            ("dependence",)),
    Retired("score_blocks", _COMPOSITE, _FIXED + "the bags of the coarsest source", (0,)),
    Retired("deep_kernel", _TREE, "leave it out for rbf, or write the kernel in deep_inputs",
            ("rbf",)),
    Retired("lengthscales", ("mr-dgp",), _FIXED + "shared by the sources of a task", ("shared",)),
    Retired("mask", ("mr-dgp",), _FIXED + "the support of the source", ("support",)),
    Retired("gate", ("mr-dgp",), _FIXED + "tanh", ("tanh",)),
    Retired("gate_variance", ("mr-dgp",), _FIXED + "that of the latent function", ("latent",)),
    Retired("parents", ("mr-dgp",), _FIXED + "their average", ("average",)),
    Retired("ridge", ("cmp", "var-cmp"), "leave it out; the model s-cmp has the shrinkage ridge",
            ("per-point",)),
    Retired("ridge", ("s-cmp",), "leave it out; the model cmp has the ridge per point",
            ("shrinkage",)),
    Retired("mean", _CONDITIONAL, "leave it out; workbench.ConditionalMean has the paper's "
            "operator, which estimates it", ("known",)),
    Retired("trace", ("var-cmp",), "leave it out; the authors' diagonal trace is in "
            "workbench.papers.chau2021.diagonal_trace", ("true",)),
)


def refuse_retired(model: str, given: Mapping, choices: Mapping[str, Iterable] = {}) -> None:
    """Refuse options that a model no longer has.

    Parameters
    ----------
    model : str
        Registry name.
    given : mapping
        Options by name.
    choices : mapping, optional
        Of the options that the model has, their choices or None: what is among these is there, as
        with a variant of the model that kept it.

    Raises
    ------
    InputError
        Saying what replaces the first of them.
    """
    for option, value in given.items():
        found = retired_option(model, option, value)
        kept = option in choices and (not (found and found.values)
                                      or value in (choices[option] or ()))
        if found is not None and not kept:
            raise found.error(model)


def without_retired(model: str, options: Mapping) -> dict:
    """The options of a stored Spec less those that say what is done today anyway.

    Parameters
    ----------
    model : str
        Registry name.
    options : mapping
        As stored.

    Returns
    -------
    dict
        Options that the model has, or never had.

    Raises
    ------
    InputError
        On an option that was removed and asked for something else; the message says what to do.

    Examples
    --------
    >>> without_retired("vbagg", {"kernel": "rbf", "trainer": "natural"})
    {'kernel': 'rbf'}
    """
    kept = {}
    for option, value in options.items():
        found = retired_option(model, option, value)
        if found is None:
            kept[option] = value
        elif not found.changes_nothing(value, options):
            raise found.error(model)
    return kept


def retired_option(model: str, option: str, value: object = None) -> Retired | None:
    """What is known of an option that a model no longer has.

    Parameters
    ----------
    model : str
        Registry name.
    option : str
        Name of the option.
    value : object
        Its value, for options of which only some values were removed.

    Returns
    -------
    Retired or None
        None of an option that the model still has, or never had.
    """
    return next((one for one in RETIRED if one.concerns(model, option, value)), None)
