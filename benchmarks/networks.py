"""Models of several sources: how cost grows, and time beside the published recipe, in one run.

    python benchmarks/networks.py                  # all of it; half an hour
    python benchmarks/networks.py --parts growth   # MR-GPRN's cost in N, M, Q and P

growth: processor seconds of one evaluation of the bound with gradients, and of one round of
closed-form updates, as one of N (observations of three points), M (inducing inputs), Q (basis
functions) and P (tasks) grows, and the exponent over the last three sizes; the paper states
O((PQ + Q) N M²). recipe: MR-GPRN on
dependent-sources by Adam on the same bound, 0.01 for 5,000 epochs from the paper's start, beside
ours. exact: MR-GP in closed form, by the same recipe. deep: MR-DGP on biased-sources, and the
error there. One thread. Writes data/results/networks_speed.csv.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "networks_speed.csv"
EPOCHS = 5000
START = {"observations": 200, "inducing": 50, "latent": 1, "tasks": 1}
GROWTH = {"observations": (200, 400, 800, 1600, 3200), "inducing": (50, 100, 200, 400, 800, 1600),
          "latent": (1, 2, 4, 8), "tasks": (1, 2, 4, 8)}
MANY = {"inducing": {"observations": 600}}      # as many different inputs as inducing ones at least


def made(observations: int, tasks: int):
    """Means of three points of one function, for each task."""
    from workbench.gp.data.bags import Bags, Columns, Source, Targets

    rng, out = np.random.default_rng(0), []
    for task in range(tasks):
        x = np.sort(rng.uniform(0, 30, 3 * observations))
        y = (task + 1) * np.sin(x) + 0.1 * rng.standard_normal(len(x))
        bags = Bags(torch.tensor(x)[:, None], torch.arange(observations).repeat_interleave(3),
                    torch.ones(len(x)).double(), observations, Columns(("x",)))
        value = torch.tensor(y.reshape(-1, 3).mean(1))
        out.append(Source(bags, Targets(value), "mean", "continuous", f"s{task}", task=f"t{task}"))
    return out


def growth() -> list[dict]:
    """Seconds of an evaluation and of a round as one of the sizes grows."""
    from workbench.gp.models.several_sources import updates
    from workbench.gp.models.several_sources.gprn import MRGPRN
    from workbench.gp.models.several_sources.gprn_state import GPRNState

    rows = []
    for name, values in GROWTH.items():
        for value in values:
            at = START | MANY.get(name, {}) | {name: value}
            model = MRGPRN(kernel="rbf", inducing=at["inducing"], latent=at["latent"], compress=0)
            state = GPRNState(model, made(at["observations"], at["tasks"]))

            def evaluate(state=state):
                state.bound(state.full, state.q).backward()

            with torch.no_grad():
                projections = [state.projections(s) for s in state.full]

            def rounds(state=state, projections=projections):
                with torch.no_grad():
                    updates.optimise_q(state, state.full, projections, rounds=1)

            rows.append({"part": "growth", "of": name, "size": value,
                         "evaluation_seconds": clock(evaluate), "round_seconds": clock(rounds)})
            print(rows[-1], flush=True)
        last = pd.DataFrame(rows[-3:])
        for kind in ("evaluation", "round"):
            slope = np.polyfit(np.log(last["size"]), np.log(last[f"{kind}_seconds"]), 1)[0]
            rows[-1][f"{kind}_exponent"] = slope
    return rows


def clock(work, repeats: int = 3) -> float:
    """Least processor seconds of some repeats, after one that warms up."""
    work()
    found = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def adam(state, epochs: int) -> None:
    """The published recipe: Adam with step 0.01 on hyperparameters, means and roots together."""
    width = [len(field.q_mean) for field in state.fields]
    generator = torch.Generator().manual_seed(0)
    means = [torch.rand(m, generator=generator, dtype=torch.float64).requires_grad_()
             for m in width]
    roots = [(0.1 * torch.eye(m, dtype=torch.float64)).requires_grad_() for m in width]
    raws = [item.raw for item in state.hyperparameters.free]
    optimiser = torch.optim.Adam([*means, *roots, *raws], lr=0.01)
    for _ in range(epochs):
        optimiser.zero_grad()
        lower = [r.tril() for r in roots]
        q = [(m, r @ r.mT + 1e-8 * torch.eye(len(r), dtype=torch.float64))
             for m, r in zip(means, lower, strict=True)]
        (-state.bound(state.full, q)).backward()
        optimiser.step()
    state.q = [(m.detach(), c.detach()) for m, c in q]


def recipe(kind: str) -> list[dict]:
    """Ours and the published recipe on dependent-sources; the bound, error and seconds of each."""
    import workbench as wb
    from workbench.gp.models.several_sources.gprn import MRGPRN, MRGPRNFit
    from workbench.gp.models.several_sources.gprn_state import GPRNState
    from workbench.gp.models.several_sources.mr_gp import MRGP
    from workbench.gp.optimisation.training import History
    from workbench.labelled import to_sources

    tree = wb.load_sources("dependent-sources")
    sources, target = to_sources(tree), to_sources({"t": tree["target"].to_dataset()})[0].bags
    truth = torch.as_tensor(tree["target"]["truth"].values)
    rows, count = [], len(sources[1].bags.x)
    weights = "constant" if kind == "exact" else "gp"
    network = MRGPRN(kernel="rbf", weights=weights, inducing=count)

    def row(method, fit, started, cpu):
        prediction = fit.at(target)
        rows.append({
            "part": kind, "of": method, "seconds": time.perf_counter() - started,
            "processor_seconds": time.process_time() - cpu, "bound": fit.objective,
            "rmse": float((prediction.mean - truth).square().mean().sqrt()),
            "variance": float(prediction.variance.mean())})
        print(rows[-1], flush=True)

    started, cpu = time.perf_counter(), time.process_time()
    ours = MRGP(kernel="rbf") if kind == "exact" else network
    row("ours", ours.fit(sources), started, cpu)
    started, cpu = time.perf_counter(), time.process_time()
    state = GPRNState(network, sources)
    start = {i.name: 0.1 for i in state.hyperparameters if i.name.endswith("lengthscale")}
    for item in state.hyperparameters.free:
        if item.name in start:
            item.set(start[item.name])
        elif item.name.endswith("noise.variance"):
            item.set(0.01)
    adam(state, EPOCHS)
    row("published recipe", MRGPRNFit(network, state, History()), started, cpu)
    return rows


def deep() -> list[dict]:
    """MR-DGP on biased-sources with its defaults."""
    import workbench as wb

    tree = wb.load_sources("biased-sources")
    target = tree["target"].to_dataset()
    started, cpu = time.perf_counter(), time.process_time()
    fit = wb.make_model("mr-dgp", kernel="rbf").fit(tree)
    seconds = time.perf_counter() - started, time.process_time() - cpu
    error = fit.at(target).mean.values - target["value"].values
    rows = [{"part": "deep", "of": "mr-dgp", "seconds": seconds[0],
             "processor_seconds": seconds[1], "rmse": float(np.sqrt((error**2).mean()))}]
    print(rows, flush=True)
    return rows


PARTS = {"growth": growth, "recipe": lambda: recipe("recipe"), "exact": lambda: recipe("exact"),
         "deep": deep}


def main(parts: str = ",".join(PARTS)) -> None:
    """Measure the named parts and keep the others' rows."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    chosen = parts.split(",")
    table = pd.DataFrame([row for part in chosen for row in PARTS[part]()])
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        table = pd.concat([old[~old["part"].isin(chosen)], table])
    table.to_csv(RESULTS, index=False)
    print(table.to_string())


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    typer.run(main)
