"""The models as users see them: Dataset in, `Fit` out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import xarray as xr

from workbench import schema
from workbench.bagging import looked_at
from workbench.checks import ExtrapolationWarning, FitWarning
from workbench.labelled.fit import Fit
from workbench.labelled.mediated import MediatedFit
from workbench.labelled.several import Several, SourcesFit, to_sources
from workbench.labelled.source import to_source
from workbench.models.registry import MODELS

_ALL = 0.995            # share that is said to be everywhere
_MUCH = 0.5             # share of the individuals beyond the areas' range that is worth a warning
_FAR = 2.0              # times the sum of the data that fitted totals may add up to
_FEW = 10               # areas below which nothing can be tested; as in `wb.recover`


def warn_of_extrapolation(fit: Fit, stacklevel: int = 3) -> bool:
    """Warn where most of a map rests on covariates beyond what the areas' means span.

    Returns
    -------
    bool
        Whether there was anything to warn of.
    """
    much = fit.outside_share > _MUCH and fit.inner.state.source.kind == "count"
    if much:
        everywhere = "the map extrapolates everywhere: " if fit.outside_share > _ALL else ""
        warnings.warn(
            f"{everywhere}{fit.outside_share:.0%} of the individuals lie outside the range of area "
            f"means in some covariate, and {len(fit.inner.state.source.targets.value)} totals "
            "cannot test what the map says there: a split by population may be as good or better; "
            "wb.compare(ds) sets them against each other", ExtrapolationWarning,
            stacklevel=stacklevel)
    return much


def warn_of_few_areas(fit: Fit) -> None:
    """Warn where totals are too few to test what a map of counts says inside the areas."""
    state = fit.inner.state
    areas, used = len(state.source.targets.value), any(t.columns for t in state.field.terms)
    if areas < _FEW and used and state.source.kind == "count":
        warnings.warn(
            f"{areas} totals cannot test what a map says inside the areas: a "
            "split by population or a regression may be as good or better; wb.compare(ds) sets "
            "them against each other, wb.Auto() stays nearer to the split", FitWarning,
            stacklevel=3)


def warn_of_one_area(fit: Fit, stacklevel: int = 3) -> None:
    """Warn, and note, that one total says nothing of how a rate varies."""
    fit.inner.history.notes.append(
        "there is one area: its total says how high the rate is, nothing of where; every "
        "difference inside the map comes from the prior. Give the areas that it is made of, or "
        "use the flat map, wb.Constant()")
    warnings.warn(fit.notes[-1], FitWarning, stacklevel=stacklevel)


def warn_of_totals(fit: Fit, ds: xr.Dataset, stacklevel: int = 3) -> None:
    """Warn, and note, where all fitted totals of counts together are far from the data's."""
    counted = schema.kind(ds) == "count" and schema.aggregation(ds) == "sum"
    if fit.cancelled or not counted or "trials" in ds:
        return
    fitted, observed = float(fit.over(ds).mean.sum()), float(ds["value"].sum())
    if observed > 0 and not 1 / _FAR <= fitted / observed <= _FAR:
        fit.inner.history.notes.append(
            f"the fitted totals add up to {fitted:,.6g}, the data to {observed:,.6g}: do not use "
            "this map without knowing why. Try overdispersion='area', other covariates, or "
            "link='exp'; a total that is wrong by orders of magnitude does it, too")
        warnings.warn(fit.notes[-1], FitWarning, stacklevel=stacklevel)


class LabelledModel:
    """A model of the registry that takes bagged Datasets and returns a labelled `Fit`.

    Parameters
    ----------
    **options
        Options of the model; ``workbench models`` lists them with their help.
    """

    torch_model: type

    def __init__(self, **options):
        self._inner = self.torch_model(**options)

    def __repr__(self) -> str:
        return repr(self._inner)

    @property
    def name(self) -> str:
        """Registry name, such as ``vbagg``."""
        return self.torch_model.name

    @property
    def options(self):
        """The options as a frozen dataclass."""
        return self._inner.options

    def fit(self, ds: xr.Dataset, *, progress: bool = False, callback=None) -> Fit:
        """Learn from a bagged dataset.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; only covariates, coordinates, weights, membership and bag values are
            used, never ``truth`` or ``individual_value``.
        progress : bool
            Show a progress bar with objective and time left.
        callback : callable, optional
            ``callback(step, objective, fraction)`` after each step; it may raise
            `workbench.interrupt.Cancelled` to stop with the best state so far.

        Returns
        -------
        Fit
            Also when cancelled (``fit.cancelled``).
        """
        source = to_source(schema.check_learnable(ds))
        ds = looked_at(ds)
        fit = Fit(self._inner.fit(source, progress=progress, callback=callback), self, ds)
        if len(source.targets.value) == 1 and any(t.columns for t in fit.inner.state.field.terms):
            warn_of_one_area(fit)
        elif not warn_of_extrapolation(fit):
            warn_of_few_areas(fit)
        warn_of_totals(fit, ds)
        return fit

    def condition(self, ds: xr.Dataset, hyperparameters: Mapping) -> Fit:
        """Condition on a bagged dataset with every hyperparameter given and none trained.

        ``hyperparameters`` maps names to values in natural units, as `Fit.hyperparameters` gives.
        """
        return Fit(self._inner.condition(to_source(ds), hyperparameters), self, ds)


class EarlyStoppedModel(LabelledModel):
    """A model whose training may stop early, by bags that are held out."""

    def fit(self, ds: xr.Dataset, *, early_stop: xr.Dataset | None = None, progress: bool = False,
            callback=None) -> Fit:
        """Learn from a bagged dataset; other arguments and the return as of `LabelledModel.fit`.

        Parameters
        ----------
        early_stop : xr.Dataset, optional
            Other bags of the same kind: training by adam stops when their likelihood no longer
            improves, and the state in which it was best is kept.
        """
        held_out = None if early_stop is None else to_source(early_stop)
        source = to_source(schema.check_learnable(ds))
        ds = looked_at(ds)
        return Fit(self._inner.fit(source, early_stop=held_out, progress=progress,
                                   callback=callback), self, ds)


class MediatedModel(LabelledModel):
    """A model that can also learn from targets that belong to no bag."""

    def fit(self, ds: xr.Dataset, targets: xr.Dataset | None = None, *, progress: bool = False,
            callback=None) -> MediatedFit:
        """Learn from bags, and from their values or from targets that belong to none of them.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; with ``mediators`` if there are targets.
        targets : xr.Dataset, optional
            Targets with the same mediators (`workbench.targets_from_table`, `workbench.unmatch`);
            values of the bags are then not looked at.
        progress, callback
            As of `LabelledModel.fit`.
        """
        if targets is None:
            schema.check_learnable(ds)
        source = to_source(ds, targets)
        ds = looked_at(ds)
        inner = self._inner.fit(source, progress=progress, callback=callback)
        return MediatedFit(inner, self, ds, targets)

    def condition(self, ds: xr.Dataset, hyperparameters: Mapping,
                  targets: xr.Dataset | None = None) -> MediatedFit:
        """Condition with every hyperparameter given and none trained."""
        inner = self._inner.condition(to_source(ds, targets), hyperparameters)
        return MediatedFit(inner, self, ds, targets)


class MultiSourceModel(LabelledModel):
    """A model of one source or of several, with one task or several."""

    def fit(self, data: Several, *, trust: Mapping[str, float] | None = None,
            progress: bool = False, callback=None) -> SourcesFit:
        """Learn from a bagged dataset, or from several by name.

        Parameters
        ----------
        data : xr.Dataset, xr.DataTree or mapping of xr.Dataset
            Sources; the first is the one that predictions are asked of unless they say otherwise.
            ``value.attrs["task"]`` names the quantity of a source; a ``value`` (bag, task) holds
            several, NaN where missing.
        trust : mapping, optional
            Power of a source's likelihood, by name; multiplied with estimated composite weights.
        progress, callback
            As of `LabelledModel.fit`.
        """
        inner = self._inner.fit(to_sources(data, trust), progress=progress, callback=callback)
        return SourcesFit(inner, self, data)

    def condition(self, data: Several, hyperparameters: Mapping,
                  trust: Mapping[str, float] | None = None) -> SourcesFit:
        """Condition with every hyperparameter given and none trained."""
        inner = self._inner.condition(to_sources(data, trust), hyperparameters)
        return SourcesFit(inner, self, data)


def _public(name: str, inner: type) -> type[LabelledModel]:
    base = EarlyStoppedModel if inner.stops_early else LabelledModel
    base = MediatedModel if inner.mediated else base
    base = MultiSourceModel if inner.several else base
    return type(name, (base,), {
        "torch_model": inner, "__doc__": inner.__doc__, "__module__": "workbench",
    })


VBAgg = _public("VBAgg", MODELS["vbagg"])
Constant = _public("Constant", MODELS["constant"])
CentrePointGP = _public("CentrePointGP", MODELS["centre-point"])
AggregatedGP = _public("AggregatedGP", MODELS["aggregated-gp"])
CentroidGP = _public("CentroidGP", MODELS["gpr"])
IndependentBagsGP = _public("IndependentBagsGP", MODELS["bagg-gp"])
CMP = _public("CMP", MODELS["cmp"])
ShrinkageCMP = _public("ShrinkageCMP", MODELS["s-cmp"])
VarCMP = _public("VarCMP", MODELS["var-cmp"])
QuasiLikelihoodGP = _public("QuasiLikelihoodGP", MODELS["quasi-likelihood"])
Nystrom = _public("Nystrom", MODELS["nystrom"])
NeuralNetwork = _public("NeuralNetwork", MODELS["neural-network"])
BagPixel = _public("BagPixel", MODELS["bag-pixel"])
BagConstant = _public("BagConstant", MODELS["bag-constant"])
MRGP = _public("MRGP", MODELS["mr-gp"])
MRVBAgg = _public("MRVBAgg", MODELS["mr-vbagg"])
MRGPRN = _public("MRGPRN", MODELS["mr-gprn"])
CentrePointGPRN = _public("CentrePointGPRN", MODELS["centre-point-gprn"])
MRDGP = _public("MRDGP", MODELS["mr-dgp"])
MRCascade = _public("MRCascade", MODELS["mr-cascade"])

_FOUND = {one.torch_model.name: one for one in list(globals().values())
          if hasattr(one, "torch_model")}
BY_NAME = {name: _FOUND[name] for name in MODELS}       # in the order in which lists show them
