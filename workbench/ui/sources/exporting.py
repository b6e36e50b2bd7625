"""What can be taken away from the line and from the city, and the Python that makes it again."""

from __future__ import annotations

from workbench.ui.base.bands import HALF_95
from workbench.ui.base.session import file_stem
from workbench.ui.base.views.bundle import Bundle
from workbench.ui.sources import background, city_models, messages
from workbench.ui.sources import city as cities
from workbench.ui.sources.line import PLACES, Shown
from workbench.ui.sources.state import CITY_KERNELS, KERNELS, LINE
from workbench.ui.sources.store import Store

_ROOM = 96
_SOURCE = '''

def source(low, high, points, size, values):
    """A source: means of ``size`` consecutive of equally spaced points."""
    step = (high - low) / (points - 1)
    first = low + step * size * np.arange(len(values))
    table = pd.DataFrame({"value": values, "from": first - step / 2,
                          "to": first + (size - 0.5) * step})
    return wb.bag_boxes(table, "value", {"position": ("from", "to")}, nodes=size, rule="midpoint")

'''


def bundle(store: Store) -> Bundle | None:
    """What can be taken away of the tab that is open; None while there is nothing."""
    if store.state.tab == LINE:
        return None if store.answer is None else of_line(store)
    return None if store.city.hour is None else of_city(store)


def of_line(store: Store) -> Bundle:
    """The posteriors on the line."""
    answer, state = store.answer, store.state
    told = messages.line_headline(answer.scores, answer.weight, store.estimate)
    fitted = "fitted" if store.learnt is not None else "set by hand, not fitted"
    settings = {"hyperparameters": fitted, "kernel": _title(KERNELS, answer.model.kernel),
                "lengthscale": f"{answer.model.lengthscale:.4g}",
                "prior sd": f"{answer.model.variance**0.5:.4g}",
                "composite weight φ": f"{answer.weight:g}", "address": f"sources?{state.query()}"}
    return Bundle(file_stem("sources-line", store.subject), messages.LINE_SHORT, (told,), settings,
                  lambda: line_program(store),
                  lambda: line_table(store))


def line_table(store: Store):
    """Truth, posterior means and ends of 95 % intervals along the line."""
    import pandas as pd

    answer = store.answer
    columns = {"x": answer.world.places, "truth": answer.world.known}
    bands = dict(answer.bands)
    if store.experts is not None and store.fresh:
        bands["mr_dgp"] = store.experts.band
    for name, band in bands.items():
        columns |= band.columns(HALF_95, (name, f"{name}_low", f"{name}_high"))
    return pd.DataFrame(columns)


def line_program(store: Store) -> str:
    """Python that computes the posteriors on the line again."""
    world, model, weight = store.answer.world, store.answer.model, store.answer.weight
    names = [f"source {k}" for k in range(1, len(world.sources) + 1)]
    made = "\n".join(f"    {name!r}: {_source(shown)}," for name, shown in zip(
        names, world.sources, strict=True))
    given = {"mean": model.mean, f"{model.kernel}.variance": model.variance,
             f"{model.kernel}.lengthscale": model.lengthscale}
    noise = {name: float(sd**2) for name, sd in zip(names, model.noise, strict=True)}
    low, high = world.span
    experts = "" if store.experts is None or not store.fresh else (
        f"\n\ndeep = wb.MRDGP(kernel={model.kernel!r}, inducing={background.INDUCING}, "
        f"max_steps={background.STEPS},\n                joint_steps={background.STEPS}, "
        f"samples={background.SAMPLES})"
        '.fit(sources)\nadd("mr_dgp", deep)')
    return f'''import numpy as np
import pandas as pd
import workbench as wb
{_SOURCE}
sources = {{
{made}
}}

given = {given!r}
noise = {noise!r}       # variances
at = np.linspace({low!r}, {high!r}, {PLACES})
places = wb.bag_boxes(pd.DataFrame({{"x": at, "value": 0.0}}), "value", {{"position": ("x", "x")}})
table = pd.DataFrame({{"x": at}})

def add(name, fit):
    """Posterior mean and ends of the 95 % interval."""
    found = fit.at(places)
    mean, sd = found.mean.values, found.std.values
    table[name], table[name + "_low"], table[name + "_high"] = (
        mean, mean - {HALF_95} * sd, mean + {HALF_95} * sd)

def posterior(seen, weight):
    """The posterior under the product of likelihoods to a power."""
    told = {{f"{{name}}.noise.variance" if len(seen) > 1 else "noise.variance": noise[name]
            for name in seen}}
    return wb.MRGP(kernel={model.kernel!r}).condition(
        {{name: sources[name] for name in seen}}, given | told, trust=dict.fromkeys(seen, weight))

add("alone", posterior(["source 1"], 1.0))
add("product", posterior(list(sources), 1.0))
add("composite", posterior(list(sources), {weight!r})){experts}
'''


def _source(shown: Shown) -> str:
    design = shown.design
    values = [float(value) for value in shown.values]
    return (f"source({design.low!r}, {design.high!r}, {design.points}, {design.size},\n"
            f"        {_wrapped(values)})")


def _wrapped(values: list[float]) -> str:
    lines, line = [], ""
    for value in values:
        if len(line) > _ROOM:
            lines.append(line)
            line = ""
        line += f"{value!r}, "
    return "[" + "\n         ".join([*lines, line.rstrip(", ")]) + "]"


def of_city(store: Store) -> Bundle:
    """The map of the hour."""
    hour, key = store.city.hour, store.city.hour.fitted.key
    name, when = messages.MODELS[key.model], messages.clock(hour.hour)
    told = (messages.city_headline(name, " and ".join(key.seen), hour.fitted, when),
            messages.city_verdict(hour.fitted)[0] + ".")
    settings = {
        "model": name, "sources": ", ".join(key.seen), "satellite cells": f"{key.cell:g} km",
        "kernel": _title(CITY_KERNELS, key.kernel),
        "lengthscale over place": f"{key.reach:g} km" if key.reach else "fitted",
        "city": f"draw {key.city}, {key.stations} stations, 2 × {key.hours} h",
        "fit": messages.learnt_in(hour.fitted), "address": f"sources?{store.state.query()}"}
    return Bundle(f"no2-city-{key.city}-hour-{hour.hour}",
                  f"NO₂ over a synthetic city, {when}", told, settings,
                  lambda: city_program(store), lambda: city_maps(store)[_COLUMNS].to_dataframe()
                  .reset_index(drop=True)[["x", "y", *_COLUMNS]], lambda: city_maps(store))


_COLUMNS = ["mean", "std", "reading_std", "truth"]


def city_maps(store: Store):
    """The map of the hour as a dataset with coordinates in km, and the truth beside it."""
    import workbench as wb

    hour = store.city.hour
    grid = wb.city_map(cities.options(*hour.fitted.key.place), hour.hour, cities.SPACING)
    maps = hour.fitted.fit.to_dataset(grid)
    reading = maps["std"].copy(data=hour.total).assign_attrs(long_name="std of a reading")
    return maps.assign(reading_std=reading, truth=grid["truth"]).assign_attrs(
        title=f"Predicted NO2, {messages.clock(hour.hour)}",
        status=messages.learnt_in(hour.fitted), address=f"sources?{store.state.query()}")


def city_program(store: Store) -> str:
    """Python that fits the model of the city again and maps the hour."""
    from workbench.reporting.code import call

    hour, key = store.city.hour, store.city.hour.fitted.key
    name, options = city_models.options(key)
    stopped = "# The fit of the page was cancelled; this one goes on to its end.\n" if (
        hour.fitted.cancelled) else ""
    load = call("wb.load_sources", cities.options(*key.place), repr("simulated-city"))
    return f'''import numpy as np

import workbench as wb

tree = {load}
sources = {{name: tree["sources"][name].to_dataset() for name in {key.seen!r}}}

{stopped}model = {call(f"wb.{name}", options)}
fit = model.fit(sources)
print(fit.summary())

grid = wb.city_map(tree, hour={hour.hour}, spacing={cities.SPACING})
maps = fit.to_dataset(grid).assign(truth=grid["truth"])
noise = fit.noise_std(grid).values      # of a station's reading
maps["reading_std"] = maps["std"].copy(data=np.hypot(maps["std"].values, noise))
columns = ["mean", "std", "reading_std", "truth"]
table = maps[columns].to_dataframe()[["x", "y", *columns]]
'''


def _title(known: dict, value: str) -> str:
    return next(title for title, name in known.items() if name == value)
