"""Every bound against the true posterior: small problems on the swiss roll, sampled by MCMC.

    python benchmarks/posterior.py               # all problems, half an hour on one busy core
    python benchmarks/posterior.py --only roll

Writes data/results/posterior_bounds.csv (rates) and posterior_lengthscale.csv (hyperparameters and
profiles of objectives), each problem's in place of its own of before. The kernel is ``rbf``.

Of rates: ``error`` is the root mean square, over individuals, of the distance of the posterior mean
from MCMC's in MCMC's sds, ``bias`` its mean; ``sd_*`` the ratio of sds (median, 5 % and 95 % over
individuals); ``cover_*`` the share of true rates inside central intervals; ``mse`` and ``crps`` are
of the true rate, ``nll`` of individual counts at the mean rate. MCMC is at the same hyperparameters
where these are ``common`` (medians of its draws), else over its draws of hyperparameters. Of "many
bags", which are too many for MCMC, the bound ``monte-carlo`` takes its place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
from scipy.stats import gaussian_kde

import workbench as wb
from workbench.evaluation import coverage, crps
from workbench.evaluation.scoring import poisson_log_density
from workbench.gp.data.bags import Source, Targets
from workbench.gp.expectations import BOUNDS, DEFAULT_BOUND
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.predictive import Mixture
from workbench.labelled.source import to_source
from workbench.papers.law2018 import reference

RESULTS = Path(__file__).parents[1] / "data" / "results"
LEVELS, DRAWS = (0.7, 0.8, 0.9, 0.95), 1000
LENGTHSCALE, VARIANCE, LINKS = "rbf.lengthscale", "rbf.variance", ("exp", "square")
# Bag numbers, mean and sd of sizes, seeds.
PROBLEMS = {"roll": (30, 10, 5, 3), "sparse": (30, 10, 5, 2), "large bags": (18, 20, 8, 1),
            "many bags": (100, 35, 15, 1)}
# The distribution that the truth of "sparse" is drawn from: some six counts in a bag.
SPARSE = {"exp": {"mean": -0.8, VARIANCE: 0.6, LENGTHSCALE: 3.0},
          "square": {"mean": 0.7, VARIANCE: 0.2, LENGTHSCALE: 3.0}}
STEPS, WARMUP, SETTINGS = 600, 150, 16


@dataclass
class Problem:
    """Bags with totals, and what only scores see: true rates and counts of individuals (N,)."""

    name: str
    seed: int
    link: str
    source: Source
    truth: np.ndarray
    counts: np.ndarray

    @property
    def key(self) -> dict:
        """What identifies it in a table."""
        return {"problem": self.name, "seed": self.seed, "link": self.link,
                "individuals": len(self.truth), "bags": self.source.bags.count}

    def model(self, bound: str = "default", **options) -> VBAgg:
        """The model that is compared."""
        return VBAgg(kernel="rbf", link=self.link, bound=bound, overdispersion="none", nugget=0.0,
                     **options)


def problems(only: str) -> Iterator[Problem]:
    """Problems whose name holds ``only``, by seed and link."""
    for name, (bags, size, std, seeds) in PROBLEMS.items():
        for seed in range(seeds if only in name else 0):
            ds = wb.load("swiss-roll", n_bags=bags, mean_size=size, size_std=std, seed=seed)
            source = to_source(ds)
            for link in LINKS:
                problem = Problem(name, seed, link, source, ds["truth"].values,
                                  ds["individual_value"].values)
                yield sparse(problem) if name == "sparse" else problem


def sparse(problem: Problem) -> Problem:
    """The same bags with rates drawn from the model itself, and few counts."""
    state, rng = VariationalState(problem.model(), problem.source), np.random.default_rng(
        problem.seed)
    state.hyperparameters.fix(SPARSE[problem.link])
    with torch.no_grad():
        prior = state.field.prior(state.x, state.x).numpy() + 1e-9 * np.eye(len(state.x))
    f = SPARSE[problem.link]["mean"] + np.linalg.cholesky(prior) @ rng.standard_normal(len(prior))
    truth = state.link.psi(torch.as_tensor(f)).numpy()
    counts = rng.poisson(truth).astype(float)
    totals = np.bincount(problem.source.bags.membership.numpy(), counts)
    source = replace(problem.source, targets=Targets(torch.as_tensor(totals)))
    return replace(problem, source=source, truth=truth, counts=counts)


def row(problem: Problem, found, true, how: str, bound: str, seconds: float) -> dict:
    """Scores of a predictive distribution of rates beside the true posterior's."""
    mean, std = found.mean.numpy(), found.std.numpy()
    off = (mean - true.mean.numpy()) / true.std.numpy()
    ratio = np.quantile(std / true.std.numpy(), (0.05, 0.5, 0.95))
    draws = found.sample(DRAWS).numpy()
    inside = coverage(problem.truth, draws, LEVELS)
    nll = -poisson_log_density(problem.counts, np.tile(mean, (2, 1)))[0].mean()
    return {**problem.key, "hyperparameters": how, "bound": bound,
            "error": np.sqrt(np.mean(off**2)), "bias": off.mean(),
            **dict(zip(("sd_low", "sd_median", "sd_high"), ratio, strict=True)),
            **{f"cover_{100 * level:.0f}": float(share)
               for level, share in zip(LEVELS, inside, strict=True)},
            "mse": np.mean((mean - problem.truth)**2),
            "crps": float(np.mean(crps(problem.truth, draws))), "nll": nll, "seconds": seconds}


def values(fit) -> dict[str, float]:
    """Hyperparameters as plain numbers."""
    return {name: entry["value"] for name, entry in fit.hyperparameters.items()}


def compare(problem: Problem) -> tuple[list[dict], list[dict]]:
    """Rows on rates and rows on hyperparameters of one problem."""
    rates, hypers, source = [], [], problem.source
    names = [name for link, name in BOUNDS if link == problem.link]
    best, others = DEFAULT_BOUND[problem.link], [n for n in names if n != "monte-carlo"]

    def note(found, true, how: str, bound: str, started: float) -> None:
        rates.append(row(problem, found, true, how, bound, time.perf_counter() - started))

    started = time.perf_counter()
    joint = reference.sample(problem.model(), source, steps=STEPS, warmup=WARMUP, seed=1)
    true = joint.at()
    note(true, true, "drawn", "MCMC", started)
    chains = {name: chain.numpy() for name, chain in joint.hyperparameters.items()}
    for level in (0.05, 0.5, 0.95):
        hypers.append(problem.key | {"method": f"MCMC {level:.0%}", **{
            name: np.quantile(chain, level) for name, chain in chains.items()}})
    hypers[-2] |= {f"effective {name}": size for name, size in joint.effective.items()}

    def settings(method: str, found: dict[str, float]) -> None:
        hypers.append(problem.key | {"method": method, **found, **{
            f"below {name}": float(np.mean(chains[name] < found[name])) for name in chains}})

    # At common hyperparameters: only q differs.
    common, started = {name: float(np.median(chain)) for name, chain in chains.items()}, (
        time.perf_counter())
    fixed = reference.sample(problem.model(), source, common, steps=1000, warmup=100, seed=2).at()
    note(fixed, fixed, "common", "MCMC", started)
    for bound in names:
        started = time.perf_counter()
        note(problem.model(bound).condition(source, common).at(source.bags), fixed, "common",
             bound, started)

    # Every bound with the hyperparameters it learns, and averaged over them.
    learnt, averaged = {}, {}
    for bound in names:
        started = time.perf_counter()
        fit = problem.model(bound).fit(source)
        learnt[bound] = values(fit)
        note(fit.at(source.bags), true, "learnt", bound, started)
        settings(bound, learnt[bound])
    for bound in (best, "gamma", "jensen"):
        if bound in others:
            started = time.perf_counter()
            averaged[bound] = problem.model(bound, average=SETTINGS).fit(source)
            note(averaged[bound].at(source.bags), true, f"average={SETTINGS}", bound, started)

    # Hybrids: one bound's hyperparameters, another's q.
    def mixture(bound: str, weights, found: list[dict]) -> Mixture:
        model = problem.model(bound)
        return Mixture(torch.as_tensor(weights), [
            model.condition(source, each).at(source.bags) for each in found])

    for other, bound in (("jensen", best), (best, "jensen")):
        started = time.perf_counter()
        fit = problem.model(bound).condition(source, learnt[other])
        note(fit.at(source.bags), true, f"learnt by {other}", bound, started)
    fit, started = averaged["jensen"], time.perf_counter()
    note(mixture(best, fit.weights, [values(m) for m in fit.members]), true,
         f"average={SETTINGS} by jensen", best, started)
    drawn = np.linspace(0, STEPS - 1, SETTINGS).astype(int)
    for bound in (best, "jensen"):
        started = time.perf_counter()
        note(mixture(bound, np.full(SETTINGS, 1 / SETTINGS),
                     [{n: float(c[i]) for n, c in chains.items()} for i in drawn]), true,
             f"{SETTINGS} of MCMC's", bound, started)

    # Other priors of the lengthscale; the default's median is the first guess.
    guess = VariationalState(problem.model(), source).hyperparameters[LENGTHSCALE].report()["value"]
    for how, prior in (("prior log-normal, sigma 0.5", f"lognormal:{guess:.6f}:0.5"),
                       ("prior PC, P(< guess/2) = 5 %", f"pc:{guess / 2:.6f}:0.05")):
        started = time.perf_counter()
        fit = problem.model(best, priors={LENGTHSCALE: prior}).fit(source)
        note(fit.at(source.bags), true, how, best, started)
        settings(f"{best}, {how}", values(fit))
    more = integrated(problem, true, chains)
    rates, hypers = rates + more[0], hypers + more[1]
    if problem.seed == 0 and problem.name == "roll":
        hypers += profiles(problem, ["jensen", best, "monte-carlo"], chains[LENGTHSCALE])
    return rates, hypers


def integrated(problem: Problem, true, chains: dict) -> tuple[list[dict], list[dict]]:
    """Rows of the default bound with the mean integrated out instead of set to its best value.

    A constant term of ten link units stands for the flat prior of the mean, which q then has.
    """
    state, rates, hypers = VariationalState(problem.model(), problem.source), [], []
    bound = DEFAULT_BOUND[problem.link]
    held = {"mean": float(state.link.initial(problem.source.mean_rate)),
            "constant.variance": float((10 * state.scale)**2)}
    for average in (0, SETTINGS):
        started = time.perf_counter()
        fit = VBAgg(kernel="constant+rbf", link=problem.link, bound=bound, average=average,
                    overdispersion="none", nugget=0.0,
                    hyperparameters=held).fit(problem.source)
        how = "mean integrated" + (f", average={average}" if average else "")
        rates.append(row(problem, fit.at(problem.source.bags), true, how, bound,
                         time.perf_counter() - started))
        found = {name: values(fit)[name] for name in (VARIANCE, LENGTHSCALE)}
        if not average:
            hypers.append(problem.key | {"method": f"{bound}, {how}", **found, **{
                f"below {name}": float(np.mean(chains[name] < found[name])) for name in found}})
    return rates, hypers


def compare_many(problem: Problem) -> tuple[list[dict], list[dict]]:
    """As `compare`, for a problem too large for MCMC, beside the bound that comes nearest to it."""
    hypers, fits, best, source = [], {}, DEFAULT_BOUND[problem.link], problem.source
    for bound in ("monte-carlo", best, "jensen"):
        started = time.perf_counter()
        fits[bound] = problem.model(bound).fit(source), time.perf_counter() - started
        hypers.append(problem.key | {"method": bound} | values(fits[bound][0]))
    true = fits["monte-carlo"][0].at(source.bags)
    rates = [row(problem, fit.at(source.bags), true, "learnt", bound, seconds)
             for bound, (fit, seconds) in fits.items()]
    for other, bound in (("jensen", best), (best, "jensen")):
        started = time.perf_counter()
        fit = problem.model(bound).condition(source, values(fits[other][0]))
        rates.append(row(problem, fit.at(source.bags), true, f"learnt by {other}", bound,
                         time.perf_counter() - started))
    return rates, hypers


def profiles(problem: Problem, bounds: list[str], chain: np.ndarray) -> list[dict]:
    """Objective plus log priors over the lengthscale, the rest learnt, beside MCMC's log density.

    In nats below the top; MCMC's is of the marginal density of the logarithm, by a kernel estimate,
    where a profile is at the best setting of the others.
    """
    grid = np.exp(np.linspace(*np.log(np.quantile(chain, (0.01, 0.99))), 7))
    heights = {"MCMC": np.log(gaussian_kde(np.log(chain))(np.log(grid)))}
    prior = VariationalState(problem.model(), problem.source).hyperparameters[LENGTHSCALE].prior
    for bound in bounds:
        found = [problem.model(bound, inducing=60, hyperparameters={LENGTHSCALE: ell}).fit(
            problem.source) for ell in grid]
        with torch.no_grad():
            heights[bound] = np.array([
                fit.objective + float(fit.state.hyperparameters.log_prior())
                + float(prior.log_density(torch.tensor(ell)))
                for fit, ell in zip(found, grid, strict=True)])
    return [problem.key | {"method": f"profile {name}", LENGTHSCALE: ell, "height": h - top.max()}
            for name, top in heights.items() for ell, h in zip(grid, top, strict=True)]


def store(rows: list[dict], name: str) -> pd.DataFrame:
    """Write the rows of a problem in place of its stored ones; returns the whole table."""
    path, table = RESULTS / name, pd.DataFrame(rows)
    if path.exists():
        old, key = pd.read_csv(path), ["problem", "seed", "link"]
        again = pd.MultiIndex.from_frame(old[key]).isin(pd.MultiIndex.from_frame(table[key]))
        table = pd.concat([old[~again], table], ignore_index=True)
    table.to_csv(path, index=False, float_format="%.4g")
    return table


def main(only: str = "", threads: int = 1) -> None:
    """Measure, store after every problem, and print means over seeds."""
    torch.set_num_threads(threads)
    for problem in problems(only):
        rates, hypers = (compare_many if problem.name == "many bags" else compare)(problem)
        table = store(rates, "posterior_bounds.csv")
        found = store(hypers, "posterior_lengthscale.csv")
        print(problem.key, flush=True)
    by = ["problem", "link", "hyperparameters", "bound"]
    shown = table.drop(columns=["seed", "individuals", "bags"]).groupby(by, sort=False).mean()
    print(shown.round(3).to_string())
    print(found.drop(columns=["individuals", "bags"]).round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
