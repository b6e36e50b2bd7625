"""Published values of larger areas: tables that cannot be read as such are refused, not guessed."""

import pandas as pd
import pytest

import workbench as wb
from tests.geo.files import areas, height, people, table
from workbench.checks import InputError
from workbench.preflight.areas import parents


@pytest.fixture(scope="module")
def ds():
    return wb.bag_polygons(areas(**table().drop(columns="code")), height(), people(), "cases",
                           id="code", labels={"region": "region"})


def published(**columns) -> pd.DataFrame:
    sums = table().groupby("region")["cases"].sum()
    return pd.DataFrame({"region": sums.index, "cases": sums.to_numpy()} | columns)


def test_values_are_of_the_column_that_is_called_as_those_of_the_areas(ds):
    assert parents(ds, "region", published()) == []
    years = published()[["region"]].assign(year=2020, cases=published()["cases"])
    assert parents(ds, "region", years) == []
    one = published().rename(columns={"cases": "published"})
    assert parents(ds, "region", one) == []
    with pytest.raises(InputError, match="several columns of numbers, year, n; call that of the val"
                       "ues 'cases'"):
        parents(ds, "region", years.rename(columns={"cases": "n"}))


def test_tables_that_say_something_else_are_refused(ds):
    with pytest.raises(InputError, match=r"1 parents have several rows \(first: \['north'\]\)"):
        parents(ds, "region", pd.concat([published(), published().iloc[:1].assign(cases=1)]))
    with pytest.raises(InputError, match="no parent has a value"):
        parents(ds, "region", published(cases=[float("nan")] * 2))
    with pytest.raises(InputError, match="'cases' of the table of parents does not hold num.*'4,"):
        parents(ds, "region", published(cases=["4,791", "3,002"]))
    some = published().assign(cases=[float("nan"), published()["cases"].iloc[1]])
    (found,) = parents(ds, "region", some)
    assert found.code == "parent-unmatched" and found.where == ("north",)
