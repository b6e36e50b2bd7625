"""Tables of `auto` where little is known: simulated surveys, means of areas, and place alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tables import RESULTS, digits, percent, pick, stored


@stored("surveys", "surveys.csv", command="python benchmarks/surveys.py")
def surveys() -> pd.DataFrame:
    """Errors of pixels by the way of mapping a survey, means over seeds."""
    raw = pd.read_csv(RESULTS / "surveys.csv").query("kind != 'noise'")
    both = raw.groupby(["kind", "method"], sort=False)[
        ["rmse", "crps", "cover_50", "cover_95", "processor"]].mean()
    both.index = both.index.map(": ".join)
    return pick(both, None, {
        "RMSE": ("rmse", digits(3)), "CRPS": ("crps", digits(4)),
        "50 % intervals cover, %": ("cover_50", percent), "95 %": ("cover_95", percent),
        "processor s": ("processor", digits(0))}, "map: method")


@stored("surveys-noise", "surveys.csv", command="python benchmarks/surveys.py")
def surveys_noise() -> pd.DataFrame:
    """What `auto` says where one share holds everywhere."""
    raw = pd.read_csv(RESULTS / "surveys.csv").query("kind == 'noise'")
    both = raw.groupby("areas").agg(trials=("seed", "size"), surely=("surely", "sum"),
                                    flat=("flat", "mean"), rmse=("rmse", "mean"))
    return pick(both, None, {
        "surveys": ("trials", digits(0)), '"surely" better than one share': ("surely", digits(0)),
        "weight of the flat map": ("flat", digits(2)), "RMSE": ("rmse", digits(3))}, "areas")


@stored("survey-effects", "survey_effects.csv", command="python benchmarks/survey_effects.py")
def survey_effects() -> pd.DataFrame:
    """Time and coverage of fits to surveyed places, by what is done with their effects."""
    raw = pd.read_csv(RESULTS / "survey_effects.csv")
    table = raw.groupby(["places", "effects"], sort=False)[
        ["processor", "effect_std", "known", "new"]].mean()
    table.index = [f"{places:,}: effects {how}" if how != "none" else f"{places:,}: no effects"
                   for places, how in table.index]
    return pick(table, None, {
        "processor, s": ("processor", digits(1)), "sd of effects": ("effect_std", digits(2)),
        "95 % cover, surveyed places, %": ("known", percent),
        "others, %": ("new", percent)}, "places")


@stored("detail", "detail.csv", command="python benchmarks/detail.py")
def detail() -> pd.DataFrame:
    """Error, coverage and time of maps by the number of inducing inputs, means over seeds."""
    raw = pd.read_csv(RESULTS / "detail.csv")
    table = raw.groupby(["kind", "bags", "inducing"])[["processor", "error", "cover"]].mean()
    named = {"counts": "counts in {:,} areas: {}", "survey": "survey of {:,} places: {}"}
    default = raw[raw["asked"] == "auto"].groupby(["kind", "bags"])["inducing"].first()
    table.index = [named[kind].format(bags, taken)
                   + (" (default)" if default[kind, bags] == taken else "")
                   for kind, bags, taken in table.index]
    return pick(table, None, {
        "processor, s": ("processor", digits(1)), "error": ("error", digits(3)),
        "95 % cover, %": ("cover", percent)}, "totals: inducing inputs")


@stored("means", "means.csv", command="python benchmarks/means.py")
def means() -> pd.DataFrame:
    """Auto on area means beside other nuggets and the other link, by dataset."""
    raw = pd.read_csv(RESULTS / "means.csv")
    wide = raw.pivot(index="case", columns="model", values=["crps", "cover"])
    wide.columns = [f"{score} {model}" for score, model in wide.columns]
    own = raw[raw["model"] == "auto"].set_index("case")
    table = wide.join(own[["gain", "link", "ratio"]]).loc[list(dict.fromkeys(raw["case"]))]
    nuggets = {"auto": "auto", "nugget learnt": "learnt", "identity, no nugget": "none"}
    return pick(table, None, {
        "gain, nats": ("gain", digits(1)), "link": ("link", str), "ratio": ("ratio", digits(1)),
        **{f"95 % cover, {said}": (f"cover {name}", percent) for name, said in nuggets.items()},
        **{f"CRPS, {said}": (f"crps {name}", digits(2))
           for name, said in (nuggets | {"other link": "other link"}).items()}}, "data")


def _change(value: float) -> str:
    return f"{round(value):+d}" if round(value) else "0"


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """With the names of places as they are written."""
    index = table.index.str.replace("us-unemployment", "US unemployment", regex=False)
    for name in ("North Carolina", "St. Louis", "Korea", "Italy", "California"):
        index = index.str.replace(name.lower(), name, regex=False)
    return table.set_axis(index.str.replace(r"^us\b", "US", regex=True))


@stored("place-alone", "place_alone.csv", command="python benchmarks/place_alone.py")
def place_alone() -> pd.DataFrame:
    """Auto on counts without covariates under two priors of effects, means over regions."""
    raw = pd.read_csv(RESULTS / "place_alone.csv")
    raw["log"] = np.log(raw["CRPS"])
    wide = raw.pivot_table(index="case", columns="model", values=["log", "cover 95%"],
                           sort=False)
    table = pd.DataFrame({f"cover {name}": wide["cover 95%", name]
                          for name in ("auto", "apart", "split")})
    table["members"] = raw.groupby("case", sort=False)["members"].mean()
    for other in ("apart", "split"):
        table[f"beside {other}"] = 100 * np.expm1(wide["log", "auto"] - wide["log", other])
    said = {"auto": "auto", "apart": "priors apart", "split": "population split"}
    return pick(_named(table), None, {
        "individuals of an area": ("members", lambda v: f"{v:.0f}"),
        **{f"95 % cover, {title}": (f"cover {name}", percent) for name, title in said.items()},
        **{f"CRPS beside {said[name]}, %": (f"beside {name}", _change)
           for name in ("apart", "split")}}, "counts without covariates")


@stored("over-time", "over_time.csv", command="python benchmarks/over_time.py")
def over_time() -> pd.DataFrame:
    """Means over made countries: maps of one year, and of three with and without persistence."""
    raw = pd.read_csv(RESULTS / "over_time.csv")
    table = raw.groupby(["case", "model"], sort=False)[["error", "coverage", "seconds"]].mean()
    table.index = table.index.map("; ".join)
    return pick(table, None, {"squared error of the log rate": ("error", digits(3)),
                              "95 % cover": ("coverage", percent),
                              "processor, s": ("seconds", digits(1))}, "districts; learnt from")


@stored("panels", "panels.csv", command="python benchmarks/panels.py")
def panels() -> pd.DataFrame:
    """VBAgg of place over several years under two priors of nuggets, means over regions."""
    raw = pd.read_csv(RESULTS / "panels.csv")
    raw["log"] = np.log(raw["CRPS"])
    wide = raw.pivot_table(index="case", columns="model", values=["log", "cover 95%"], sort=False)
    said = {"by effects": "by effects", "apart": "priors apart", "split": "population split"}
    table = pd.DataFrame({f"cover {name}": wide["cover 95%", name] for name in said})
    for other in ("apart", "split"):
        table[f"beside {other}"] = 100 * np.expm1(wide["log", "by effects"] - wide["log", other])
    first = raw.drop_duplicates("case").set_index("case")
    table["years"] = first["years"].reindex(table.index)
    return pick(_named(table), None, {
        "years": ("years", lambda v: f"{v:.0f}"),
        **{f"95 % cover, {title}": (f"cover {name}", percent) for name, title in said.items()},
        **{f"CRPS beside {said[name]}, %": (f"beside {name}", _change)
           for name in ("apart", "split")}}, "counts of several years")


@stored("shares", "shares.csv", command="python benchmarks/shares.py")
def shares() -> pd.DataFrame:
    """VBAgg of place on positives out of trials with and without a nugget, means over regions."""
    raw = pd.read_csv(RESULTS / "shares.csv")
    raw["log"] = np.log(raw["CRPS"])
    wide = raw.pivot_table(index="case", columns="model", values=["log", "cover 95%"], sort=False)
    said = {"learnt": "nugget learnt", "none": "without", "split": "the area's share"}
    table = pd.DataFrame({f"cover {name}": wide["cover 95%", name] for name in said})
    for other in ("none", "split"):
        table[f"beside {other}"] = 100 * np.expm1(wide["log", "learnt"] - wide["log", other])
    return pick(_named(table), None, {
        **{f"95 % cover, {title}": (f"cover {name}", percent) for name, title in said.items()},
        **{f"CRPS beside {said[name]}, %": (f"beside {name}", _change)
           for name in ("none", "split")}}, "positives out of trials")


@stored("rehearsed", "rehearsed.csv", command="python benchmarks/rehearsed.py")
def rehearsed() -> pd.DataFrame:
    """Madagascar's truths under two priors: coverage, skill by cells, and what is learnt."""
    raw = pd.read_csv(RESULTS / "rehearsed.csv").set_index(["priors", "part", "name"])
    out = {}
    for title, priors in (("default priors", "default"), ("priors apart", "apart")):
        one, column = raw.loc[priors], {}
        for name, said in (("areas", "districts"), ("individuals", "pixels")):
            row = one.loc[("cover", name)]
            column[f"95 % intervals cover of {said}, %"] = (
                f"{100 * row['value']:.1f} ({100 * row['lower']:.1f} to {100 * row['upper']:.1f})")
        for name in one.loc["skill"].index:
            if name in ("individuals", "areas") or name.startswith("1/"):
                cells = name.replace("an area", "a district").replace("areas", "districts").replace(
                    "individuals", "pixels")
                column[f"median skill of {cells} (truths with 0.5 or more)"] = (
                    f"{one.loc[('skill', name), 'value']:.2f} "
                    f"({one.loc[('reached', name), 'value']:.0f})")
        for name in one.loc["learnt"].index:
            if name != "mean":
                row = one.loc[("learnt", name)]
                column[f"error of the log of {name} (bias)"] = (
                    f"{row['value']:.2f} ({row['lower']:+.2f})")
        out[title] = column
    return pd.DataFrame(out).rename_axis("six truths")


@stored("averages", "averages.csv", command="python benchmarks/averages.py")
def averages() -> pd.DataFrame:
    """Nats below the best by kind and number of inducing variables, and the time of two of them."""
    raw = pd.read_csv(RESULTS / "averages.csv")
    below = raw.pivot_table(index=["case", "kind"], columns=["variables", "asked"],
                            values="below", sort=False)
    seconds = raw[raw["asked"] == 100].pivot_table(index=["case", "kind"], columns="variables",
                                                   values="seconds", sort=False)
    out = pd.DataFrame({f"{count} {kind}": below[kind, count].map("{:.3g}".format)
                        for kind in ("points", "averages") for count in (25, 100, 500)})
    for kind in ("points", "averages"):
        out[f"100 {kind}, s"] = seconds[kind].map("{:.1f}".format)
    out.index = out.index.map(": ".join)
    return out.rename_axis("case")


@stored("fitted-averages", "fitted_averages.csv", command="python benchmarks/fitted_averages.py")
def fitted_averages() -> pd.DataFrame:
    """What VBAgg learns by values at points and by averages: bounds, errors, coverage, time."""
    raw = pd.read_csv(RESULTS / "fitted_averages.csv")
    wide = raw.pivot_table(index=["case", "kind", "link"], columns="inducing", sort=False, values=[
        "start", "objective", "rmse", "cover", "lengthscale", "seconds"])
    ways = ("held", "averages")
    table = pd.DataFrame({f"{name} {way}": wide[name, way] for name in ("rmse", "cover", "seconds")
                          for way in ways})
    table["before"] = wide["start", "averages"] - wide["start", "held"]
    table["nats"] = wide["objective", "averages"] - wide["objective", "held"]
    table["shorter"] = wide["lengthscale", "averages"] / wide["lengthscale", "held"]
    table.index = [", ".join(one).replace("inside", "covariates inside") for one in table.index]
    said = dict(zip(ways, ("points", "averages"), strict=True))
    return pick(table, None, {
        "nats gained": ("nats", digits(1)), "nats gained before learning": ("before", digits(1)),
        **{f"RMSE, {said[way]}": (f"rmse {way}", digits(3)) for way in ways},
        **{f"95 % cover, {said[way]}": (f"cover {way}", percent) for way in ways},
        "lengthscale, times": ("shorter", digits(2)),
        **{f"{said[way]}, s": (f"seconds {way}", digits(1)) for way in ways}}, "case")


@stored("chosen", "chosen.csv", command="python benchmarks/chosen.py")
def chosen() -> pd.DataFrame:
    """What auto finds by averages, by points, and by the best of both."""
    raw = pd.read_csv(RESULTS / "chosen.csv")
    wide = raw.pivot_table(index="case", columns="inducing", sort=False,
                           values=["points", "rmse", "crps", "cover", "seconds"])
    said = {"averages": "averages", "held": "points", "best": "best"}
    table = pd.DataFrame({f"{name} {way}": wide[name, way] for name in ("crps", "rmse", "cover",
                                                                       "seconds")
                          for way in said} | {"points": wide["points", "best"]})
    table.index = [one.replace("inside", "covariates inside") for one in table.index]
    shown = {"CRPS": ("crps", digits(3)), "RMSE": ("rmse", digits(3)),
             "95 % cover": ("cover", percent), "s": ("seconds", digits(0))}
    return pick(table, None, {"points": ("points", percent), **{
        f"{head}, {said[way]}": (f"{name} {way}", shape)
        for head, (name, shape) in shown.items() for way in said}}, "case")


@stored("few-individuals", "few_individuals.csv", command="python benchmarks/few_individuals.py")
def few_individuals() -> pd.DataFrame:
    """Draws of individuals of areas that have few, by auto and with noise of individuals."""
    raw = pd.read_csv(RESULTS / "few_individuals.csv")
    raw["case"] = raw["case"] + ", " + raw["areas"].astype(str) + ": " + raw["noise"]
    columns = {"CRPS": ("crps", digits(3)), "50 % cover": ("cover 50", percent),
               "95 % cover": ("cover 95", percent), "width of 95 %": ("width", digits(1))}
    shown = {f"{head}{more}": (f"{name}{which}", shape)
             for which, more in (("", ""), (" kept", ", means kept"))
             for head, (name, shape) in columns.items()}
    return pick(raw.set_index("case"), None, {"members": ("members", digits(1)), **shown}, "case")
