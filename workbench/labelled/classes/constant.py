"""`Constant`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from workbench.gp.likelihoods.noise import AREA
from workbench.gp.models.vbagg.model import Constant as Inner
from workbench.labelled.candidates import VALUES_DECIDE, options_of_values
from workbench.labelled.classes.base import LabelledModel
from workbench.labelled.source import Converted


class Constant(LabelledModel):
    """One rate everywhere, but for effects of areas: the baseline everything is compared with.

    Means, and sums that are no counts, leave open how much individuals differ. Unless noise,
    nugget, another likelihood or link, or a hyperparameter is given, it is the flat candidate of
    `workbench.Auto`, its link, too: individuals have a nugget, and what areas differ by is their
    own. As noise of individuals it would be larger by the root of their number, and their
    intervals as much too wide. Beside a nugget that is given, or learnt, it is the areas' own, too.

    Parameters
    ----------
    transform : {"standardise", "yeo-johnson"}, default "standardise"
        What is done to covariates first.
    extrapolation : {"linear", "clamp"}, default "linear"
        Covariates beyond the range of area means: used as they are, or clamped.
    hyperparameters : mapping, optional
        Hyperparameters to fix, by name, in natural units.
    initial : mapping, optional
        Hyperparameters to start from, by name, in natural units.
    priors : mapping, optional
        Priors by hyperparameter: none, lognormal:MEDIAN:SIGMA or pc:VALUE:PROBABILITY.
    max_steps : int, default 100
        Most evaluations of the objective; from 1 to 100,000.
    tolerance : float, default 1e-06
        Relative change that counts as converged; from 0 to 1.
    seed : int, default 0
        Seed of inducing inputs and subsamples; from 0 to 2,147,483,647.
    dtype : {"float64", "float32"}, default "float64"
        Floating point type.
    device : str, default "cpu"
        Torch device, such as cpu or cuda.
    noise : {"auto", "constant", "size", "weight", "known", "area", "fay-herriot"}, default "auto"
        Variance of an observation: constant σ²; by size, N_a individuals, σ²/N_a of a mean, N_a σ²
        of a sum; by weight, with W_a / mean W for N_a; area, as size, but shared by individuals;
        known V_a; fay-herriot, V_a + a learnt τ²; auto is this with V_a or size.
    likelihood : str, default "auto"
        Distribution of a bag's observation; auto is binomial for positives out of trials, Poisson
        for other counts, else Normal; one of "auto", "poisson", "negative-binomial", "normal",
        "exponential", "binomial".
    link : {"auto", "identity", "exp", "square", "logit", "probit"}, default "auto"
        From the Gaussian process to the rate; auto is logit for positives out of trials, identity
        if continuous values are negative, else exp.
    bound : str, default "default"
        How E log η is obtained: moment or jensen (exp), taylor (-lowrank), gamma or jensen
        (square), moment (logit, probit); monte-carlo is the reference for all; one of "default",
        "gaussian", "moment", "jensen", "monte-carlo", "taylor", "taylor-lowrank", "gamma".
    overdispersion : {"auto", "none", "area"}, default "auto"
        area: an iid Gaussian effect of each area on the link scale, its std learnt (of positives
        out of trials in up to 2,000 areas its variance, persistent.variance, and the effect is
        kept; in more it has its prior also where it was seen); auto is area for Poisson counts and
        for positives in one period, else none.
    persistence : {"auto", "none", "area"}, default "auto"
        Of areas with values in several periods: area, an iid Gaussian effect that each keeps in all
        of them, its variance learnt; auto is area for up to 500 areas, unless overdispersion is
        none.
    nugget : float or str, default "auto"
        Std of individual white noise in f on the link scale: a number, or learn; auto is learn for
        Poisson counts, and for positives out of trials where areas of several individuals keep
        effects, else 0; from 0 to 10.
    compress : int, default 40
        Most clusters per area while hyperparameters are learnt on more than 4,000 individuals; 0
        uses all; from 0 to 1,000,000.
    average : int or str, default 0
        Most settings of the hyperparameters that predictions are averaged over, weighted by their
        posterior; draws end when they are worth a third as many; 0 uses the best setting alone;
        auto ends when they are worth 12, allows 8 for each hyperparameter, at least 32, and is 0
        with more than 12, or where (settings + 3 x hyperparameters) x features x individuals
        (clusters with compress; not fewer than features) is above 40 million; from 0 to 1,000.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> fit = wb.Constant().fit(ds)
    >>> float(fit.at(ds, area_effect=False).mean.std().round(6))        # one rate everywhere
    0.0
    """

    torch_model = Inner

    def __init__(self, *, transform: str = "standardise", extrapolation: str = "linear",
                 hyperparameters: Mapping | None = None, initial: Mapping | None = None,
                 priors: Mapping | None = None, max_steps: int = 100, tolerance: float = 1e-06,
                 seed: int = 0, dtype: str = "float64", device: str = "cpu", noise: str = "auto",
                 likelihood: str = "auto", link: str = "auto", bound: str = "default",
                 overdispersion: str = "auto", persistence: str = "auto",
                 nugget: float | str = "auto", compress: int = 40, average: int | str = 0) -> None:
        self._set(locals())

    def _for_values(self, data: Converted, given: Mapping | None = None) -> Self:
        """The model with the options that values that are no counts ask for, if none is chosen."""
        options = self.options
        if any(getattr(options, name) not in usual for name, usual in VALUES_DECIDE.items()) or (
                options.hyperparameters or options.initial or options.priors):
            return self
        if options.link == "exp" and float(data.ds["value"].min()) <= 0:
            return self                     # no logarithm says how much these differ
        told = None if given is None else {self.name: {"hyperparameters": given}}
        found = options_of_values(data, told, options.link)
        if options.nugget != "auto":        # what individuals differ by is known, or learnt
            differ = "noise_variance" not in data.ds and (
                options.nugget == "learn" or float(options.nugget) > 0)
            found = {name: found[name] for name in ("link", "likelihood") if name in found} | (
                {"noise": AREA} if found and differ else {})
        return type(self)(**self.get_params() | found)
