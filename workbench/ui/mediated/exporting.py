"""What can be taken away from a map, and the Python that makes it again."""

from __future__ import annotations

from workbench.ui.base.bands import HALF_95
from workbench.ui.base.session import file_stem
from workbench.ui.base.views.bundle import Bundle
from workbench.ui.mediated import messages
from workbench.ui.mediated.background import Answer
from workbench.ui.mediated.model import INDUCING, MEDIATED, NAMES
from workbench.ui.mediated.state import State
from workbench.ui.mediated.store import Store
from workbench.ui.mediated.worlds import SEED, TARGET, loaded


def bundle(store: Store) -> Bundle | None:
    """What can be taken away of a store; None while the map is that of a former setting."""
    answer, state = store.answer, store.state
    if answer is None or store.stale:
        return None
    held = answer.scores.get("coverage")
    scored = messages.scored(answer.model.kind, answer.scores["rmse"], held, answer.baseline,
                             answer.data.matched)
    told = (scored, *filter(None, [store.status]))
    model, unit = answer.model, answer.data.world.place.unit
    settings = {
        "fields": answer.data.world.title, "model": NAMES[model.kind],
        "side of the blocks": messages.quantity(state.block, unit),
        "unmatched": f"{100 * state.share:g} %", "kernel": model.grammar,
        "lengthscale over place": messages.quantity(model.lengthscale, unit),
        "kernel of the mediators": model.mediator_kernel, "ridge λ": f"{model.ridge:g}",
        "address": f"mediated?{state.query()}"}
    return Bundle(file_stem("mediated-map", store.subject),
                  f"{NAMES[model.kind]}: {answer.data.world.title}", told, settings,
                  lambda: program(answer, state), lambda: table(answer),
                  lambda: maps(answer),
                  caption=" ".join((f"{answer.data.world.title}.", *told)))


def table(answer: Answer):
    """Mean, ends of the 95 % interval and truth of every pixel."""
    import pandas as pd

    pixels = answer.data.pixels
    band = answer.posterior.columns(HALF_95)
    return pd.DataFrame({"x": pixels["x"].values, "y": pixels["y"].values, **band,
                         "truth": pixels["truth"].values})


def maps(answer: Answer):
    """The pixels with mean and sd, as a dataset that files of maps are written from."""
    found = answer.posterior
    kelvin = {"units": "K"}
    made = answer.data.pixels.assign(mean=("individual", found.mean, kelvin))
    if found.sd is not None:
        made = made.assign(std=("individual", found.sd, kelvin))
    return made.assign_attrs(title=answer.data.world.title, model=NAMES[answer.model.kind])


def program(answer: Answer, state: State) -> str:
    """Python that makes the map again, at the hyperparameters of the sliders."""
    from workbench.reporting.code import call, class_of

    data, model, world = answer.data, answer.model, answer.data.world
    dataset, options = loaded(*answer.setting.world)
    mediators = [name for part in answer.setting.mediator.split(".")
                 for name in (("x", "y") if part == "place" else (part,))]
    block = answer.setting.side * (world.place.thin if data.fine else 1)
    noisy = "" if not world.noise else (
        f"\nnoise = np.random.default_rng(({SEED}, {world.draw}))"
        f"\npixels[\"value\"] += {world.noise} * noise.standard_normal(pixels.sizes[\"bag\"])")
    split = ("bags, targets = pixels, None" if data.matched else
             f"bags, targets = wb.unmatch(pixels, {answer.setting.share!r}, "
             f"{answer.setting.split})")
    head = _head(call("wb.load", options, repr(dataset)), list(world.covariates), mediators,
                 data.fine, world.place.unit, block, noisy, split)
    if model.kind == "bilinear":
        return head + _BILINEAR
    mediated = model.kind in MEDIATED
    more = {"kernel": model.grammar, "noise": "constant"}
    if mediated:
        more |= {"mediator_kernel": model.mediator_kernel}
        more |= {"inducing": INDUCING} if model.kind == "var-cmp" else {}
    labels = [part.split("(")[0] for part in model.grammar.split("+")]
    if len(set(labels)) < len(labels):
        labels[1] += "_2"
    given = model.hyperparameters(labels, 0.0)
    del given["mean"]
    impute = "" if mediated or data.matched else (
        f"bags = wb.impute(bags, targets, {model.mediator_kernel!r})\n")
    seen = "targets" if mediated and not data.matched else "bags"
    condition = "bags, given, targets" if mediated else "bags, given"
    return head + f'''
{impute}given = {given!r}
given["mean"] = float({seen}["value"].mean())
model = {call(class_of(model.kind), more)}
fit = model.condition({condition})

found = fit.latent(pixels)
mean, sd = found.mean.values, found.std.values
table = pd.DataFrame({{"x": pixels["x"], "y": pixels["y"], "mean": mean,
                      "low": mean - {HALF_95} * sd, "high": mean + {HALF_95} * sd,
                      "truth": pixels["truth"]}})
'''


_BILINEAR = '''
from workbench.evaluation import bilinear_lapse

observed = pixels["value"].values.copy()
if targets is not None:
    observed[~np.isin(pixels["bag"], targets["target"])] = np.nan
mean = bilinear_lapse(pixels, values=observed).values
table = pd.DataFrame({"x": pixels["x"], "y": pixels["y"], "mean": mean, "low": np.nan,
                      "high": np.nan, "truth": pixels["truth"]})
'''
_FINE = '''row, column = ds["row"].values, ds["column"].values
x, y, truth = ds["x"].values, ds["y"].values, ds["truth"].values
seen, block_of = ds["covariates"], ds["membership"].values'''
_THIN = '''means = wb.summarise(ds)       # blocks of this dataset are the pixels of the map
row, column = ds["block_row"].values, ds["block_column"].values
x, y, truth = ds["bag_x"].values, ds["bag_y"].values, ds["value"].values
seen, block_of = means["covariates"], np.arange(truth.size)'''


def _head(load: str, covariates: list[str], mediators: list[str], fine: bool, unit: str,
          block: int, noisy: str, split: str) -> str:
    """Fields on an even grid, cut into blocks, and the blocks split into bags and targets."""
    fields = [name for name in mediators if name not in ("x", "y")]
    return f'''import numpy as np
import pandas as pd
import workbench as wb

ds = {load}
{_FINE if fine else _THIN}
columns = {{"x": np.linspace(x.min(), x.max(), column.max() + 1)[column],
           "y": np.linspace(y.max(), y.min(), row.max() + 1)[row], {TARGET!r}: truth}}
columns |= {{name: seen.sel(covariate=name).values for name in {covariates!r}}}
columns |= {{name: ds["mediators"].sel(mediator=name).values[block_of]
            for name in {[name for name in fields if name not in covariates]!r}}}
fields = pd.DataFrame(columns).set_index(["y", "x"]).to_xarray().sortby("y", ascending=False)
for axis in ("x", "y"):
    fields[axis].attrs["units"] = {unit!r}

rows, across = (fields.sizes[axis] // {block} * {block} for axis in ("y", "x"))
pixels = wb.bag_blocks(fields.isel(y=slice(rows), x=slice(across)), {TARGET!r},
                       {tuple(covariates)!r}, {mediators!r}, {block}){noisy}
{split}
'''
