"""Fits in files: every model comes back as it was, and what is no fit is refused in words."""

import io
import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.labelled.small_fits import learnt, made
from workbench import checks
from workbench.checks import InputError
from workbench.gp.models.registry import ENTRIES
from workbench.gp.models.vbagg import design
from workbench.labelled import candidates, data_hash
from workbench.labelled.stored.archive import FACTS, TENSORS, read_archive, write_archive
from workbench.labelled.stored.datasets import decode, encode

# Few steps do not converge, and few areas warn, which is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
FIXTURES = Path(__file__).parents[1] / "fixtures"


def same(one, other, tolerance=1e-10):
    for a, b in ((one.mean, other.mean), (one.std, other.std)):
        size = float(np.abs(a).mean()) + 1e-12
        assert float(np.abs(a - b).max()) < tolerance * size


def alike(fit, again, new):
    """Everything that can be asked of a fit has the same answer."""
    assert type(again) is type(fit) and repr(again) == repr(fit)
    for ds in (fit.data, new):
        same(fit.at(ds), again.at(ds))
        same(fit.latent(ds), again.latent(ds))
        same(fit.over(ds), again.over(ds))
    same(fit.at(fit.data, area_effect=True), again.at(again.data, area_effect=True))
    assert again.hyperparameters == fit.hyperparameters
    assert again.summary() == fit.summary()
    assert again.history == fit.history and again.notes == fit.notes
    one, two = fit.to_dataset(fit.data), again.to_dataset(again.data)
    # The objective is computed anew, and sums need not be in the same order.
    for ds in (one, two):
        ds.attrs.pop("objective")
        card = json.loads(ds.attrs["model_card"])
        assert card.pop("objective") == pytest.approx(fit.objective, rel=1e-9)
        ds.attrs["model_card"] = card
    xr.testing.assert_allclose(one, two, rtol=1e-9)
    assert one.attrs == two.attrs
    draws = [f.simulate(new, "individual", 5, 1) for f in (fit, again)]
    np.testing.assert_allclose(*draws, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auto", *ENTRIES])
def test_every_model_comes_back_as_it_was(name, tmp_path):
    fit, new = learnt(name)
    fit.save(tmp_path / "fit.wbfit")
    alike(fit, wb.load_fit(tmp_path / "fit.wbfit"), new)


@pytest.mark.parametrize("name, extra", [
    ("vbagg", {"average": 12, "kernel": "linear+matern32"}),
    ("vbagg", {"dtype": "float32"}), ("vbagg", {"link": "square", "overdispersion": "none"}),
    ("vbagg", {"hyperparameters": {"matern32.lengthscale": 9.0}, "priors": {"mean": "none"}}),
    ("mr-gp", {"composite": "ribatet"}), ("mr-gp", {"inducing": 0})])
def test_options_come_back_too(name, extra, tmp_path):
    fit, new = learnt(name, **extra)
    fit.save(tmp_path / "fit.wbfit")
    again = wb.load_fit(tmp_path / "fit.wbfit")
    if "dtype" in extra:
        same(fit.at(new), again.at(new), 1e-5)
        return
    alike(fit, again, new)
    assert [i.name for i in again.inner.state.hyperparameters.free] == [
        i.name for i in fit.inner.state.hyperparameters.free]


def test_a_fit_that_was_moved_or_conditioned_comes_back(tmp_path):
    fit, new = learnt("vbagg", overdispersion="auto")
    moved = fit.with_hyperparameters({"mean": 0.2})
    moved.save(tmp_path / "moved.wbfit")
    again = wb.load_fit(tmp_path / "moved.wbfit")
    same(moved.at(new), again.at(new))
    same(again.with_hyperparameters({"mean": 0.3}).at(new), fit.with_hyperparameters(
        {"mean": 0.3}).at(new), 1e-2)


def test_targets_of_no_bag_come_back(tmp_path):
    ds = made(8, kind="continuous")
    table = ds["covariates"].groupby(ds["membership"]).mean().values
    ds = ds.assign(mediators=(("bag", "mediator"), table)).assign_coords(mediator=["slope"])
    bags, targets = wb.unmatch(ds, 0.5)
    fit = wb.CMP(max_steps=8, kernel="rbf").fit(bags, targets)
    fit.save(tmp_path / "fit.wbfit")
    again = wb.load_fit(tmp_path / "fit.wbfit")
    same(fit.at(made(5, 3)), again.at(made(5, 3)))
    assert again.provenance()["data_sha256"] == fit.provenance()["data_sha256"]


def joint():
    """Counts of areas, measurements of areas, and a survey, each of a task of its own."""
    rng, areas, survey = np.random.default_rng(0), made(8), made(6)
    points = made(7, 2, "continuous")
    points["value"] = 40 * points["value"].assign_attrs(task="reading")
    points["value"].attrs = {"kind": "continuous", "aggregation": "mean", "task": "reading"}
    survey = survey.assign(
        trials=("bag", np.full(6, 30.0)), value=("bag", rng.binomial(30, 0.2, 6).astype(float), {
            "kind": "count", "aggregation": "mean", "task": "share"}))
    return {"areas": areas, "points": points, "survey": survey}


def test_three_kinds_of_data_go_through_one_line_and_come_back(tmp_path):
    sources = joint()
    fit = wb.MRVBAgg(inducing=8, max_steps=20).fit(sources)
    assert fit.tasks == ("value", "reading", "share")
    levels = {task: float(fit.at(made(5, 3), task=task).mean.mean()) for task in fit.tasks}
    assert 0.5 < levels["value"] < 2 and 20 < levels["reading"] < 80 and 0.1 < levels["share"] < 0.4
    assert set(fit.hyperparameters) >= {"reading.offset", "share.offset"}
    one = wb.MRVBAgg(inducing=8, max_steps=20, offset="none").fit(sources)
    assert fit.objective > one.objective + 10 and "share.offset" not in one.hyperparameters
    fit.save(tmp_path / "fit.wbfit")
    again = wb.load_fit(tmp_path / "fit.wbfit")
    for task in fit.tasks:
        same(fit.at(made(5, 3), task=task), again.at(made(5, 3), task=task))
    drawn = [f.simulate(sources["survey"], source="survey", samples=200) for f in (fit, again)]
    np.testing.assert_allclose(*drawn)
    assert 3 < float(drawn[0].mean()) < 9          # of 30
    moved = wb.MRVBAgg(inducing=8).condition(sources, fit.hyperparameters)
    same(moved.at(made(5, 3)), fit.at(made(5, 3)), 0.05)


def test_datasets_come_back_whole():
    shapely = pytest.importorskip("shapely")
    places = np.empty(6, dtype=object)
    places[:] = [shapely.Point(k, 2 * k).buffer(1) for k in range(6)]
    ds = made().assign_coords(
        bag_geometry=("bag", places), day=("bag", np.arange(6).astype("datetime64[D]")),
        part=("bag", np.array(["a", None, "c", "d", "e", "f"], dtype=object)))
    ds.attrs |= {"grid_shape": np.array([3, 4]), "levels": ("a", "b"), "none": None}
    back = decode(*encode(ds))
    assert data_hash(back) == data_hash(ds)
    assert set(back.coords) == set(ds.coords) and set(back.data_vars) == set(ds.data_vars)
    xr.testing.assert_identical(back.drop_vars("bag_geometry").drop_attrs(),
                                ds.drop_vars("bag_geometry").drop_attrs())
    assert all(a.equals(b) for a, b in zip(back["bag_geometry"].values, places, strict=True))
    assert back.attrs["grid_shape"] == [3, 4] and back["value"].attrs == ds["value"].attrs
    with pytest.raises(InputError, match="attributes of the dataset"):
        encode(ds.assign_attrs(bad=object()))


def test_code_is_not_written(tmp_path):
    from gpytorch.kernels import RBFKernel

    fit = wb.VBAgg(kernel=RBFKernel(), inducing=5, max_steps=3).fit(made())
    with pytest.raises(InputError, match="option kernel of vbagg is a RBFKernel"):
        fit.save(tmp_path / "fit.wbfit")
    with pytest.raises(InputError, match=r"ends in \.wbfit"):
        fit.save(tmp_path / "fit.pkl")
    assert not list(tmp_path.iterdir())


# --- files that are no fits -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "fit.wbfit"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learnt("vbagg")[0].save(path)
    return path


def changed(stored, path, change):
    facts, tensors = read_archive(stored)
    change(facts, tensors)
    write_archive(path, facts, tensors)
    return path


def packed(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


DAMAGE = {
    "a later version": (lambda f, t: f.update(version=99), "update it"),
    "no version": (lambda f, t: f.pop("version"), "version None"),
    "another format": (lambda f, t: f.update(format="map"), "no stored fit"),
    "an unknown key": (lambda f, t: f.update(code="import os"), "unknown .'code'."),
    "a missing key": (lambda f, t: f.pop("data"), "missing .'data'."),
    "an unknown model": (lambda f, t: f.update(model="vbag"), "did you mean 'vbagg'"),
    "an unknown option": (lambda f, t: f["options"].update(kernal="rbf"), "kernal"),
    "no q": (lambda f, t: t.pop("fit/field/0/q_mean"), "lacks 'field/0/q_mean'"),
    "q too short": (lambda f, t: t.update({"fit/field/0/q_mean": np.zeros(2)}), "has shape"),
    "more tensors": (lambda f, t: t.update({"fit/more": np.zeros(2)}), "more"),
    "no weights": (lambda f, t: t.pop("data/0/weight"), "'weight' lacks its numbers"),
    "other bags": (lambda f, t: t.update({"data/0/membership": np.zeros(24, int)}), "empty|bag"),
    "strange facts": (lambda f, t: f.update(fit=[1, 2]), "cannot read .* as a stored fit"),
    "a strange history": (lambda f, t: f["fit"]["facts"]["history"].update(a=1), "history"),
    "data of another kind": (lambda f, t: f["data"][0]["variables"]["x"].update(kind="code"),
                             "kind of the variable 'x'"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_file_is_refused(what, stored, tmp_path):
    change, message = DAMAGE[what]
    with pytest.raises(InputError, match=message):
        wb.load_fit(changed(stored, tmp_path / "bad.wbfit", change))


def test_what_is_no_archive_of_ours_is_refused(stored, tmp_path):
    bad, members = tmp_path / "bad.wbfit", dict.fromkeys((FACTS, TENSORS), b"{}")
    for content, message in (
            (members | {"../outside": b"x"}, "expected fit.json and tensors.safetensors"),
            ({"data.pkl": b"cos"}, "found data.pkl"),
            (members, "cannot read"), (members | {FACTS: b"[" * 100_000}, "nested too deeply"),
            (members | {FACTS: b"[]", TENSORS: (0).to_bytes(8, "little")}, "cannot read|no JSON")):
        with pytest.raises(InputError, match=message):
            wb.load_fit(packed(bad, content))
    assert not (tmp_path.parent / "outside").exists()
    for content in (b"", b"no zip", stored.read_bytes()[:200]):
        bad.write_bytes(content)
        with pytest.raises(InputError, match="cannot read"):
            wb.load_fit(bad)
    with pytest.raises(InputError, match="no file"):
        wb.load_fit(tmp_path / "none.wbfit")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FACTS, json.dumps({}))
        archive.writestr(TENSORS, bytes(3_000_000))
    (tmp_path / "bomb.wbfit").write_bytes(buffer.getvalue())
    assert len(buffer.getvalue()) < 10_000
    with pytest.raises(InputError, match="unpacks to 3 MiB, more than the limit of 1 MiB"):
        wb.load_fit(tmp_path / "bomb.wbfit", limit=2**20)


def test_a_fit_that_predicts_otherwise_says_so(stored, tmp_path):
    def change(facts, tensors):
        tensors["fit/hyperparameter/mean"] = tensors["fit/hyperparameter/mean"] + 0.1
    path = changed(stored, tmp_path / "other.wbfit", change)
    with pytest.warns(checks.ApproximationWarning, match="predicts otherwise"):
        wb.load_fit(path)


# --- files of former versions ---------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.wbfit")), ids=lambda path: path.stem)
def test_files_of_former_versions_are_read(path):
    """Beside each file lie the predictions of the fit that was saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", checks.ApproximationWarning)
        fit = wb.load_fit(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    at, over = (one(fit.data, area_effect=False) for one in (fit.at, fit.over))
    for name, values in (("mean", at.mean), ("std", at.std), ("bag_mean", over.mean),
                         ("bag_std", over.std)):
        np.testing.assert_allclose(values, expected[name], rtol=1e-6)
    assert fit.hyperparameters.keys() == expected["hyperparameters"].keys()
    if "inducing" in expected:          # what it is conditioned with at other hyperparameters
        state = fit.inner.state
        assert [state.options.inducing_inputs, state.options.inducing] == expected["inducing"]
        assert len(fit.with_hyperparameters({}).inner.state.field.q_mean) == len(state.field.q_mean)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
@pytest.mark.parametrize("model", [
    wb.VBAgg(kernel="rbf", inducing_inputs="averages", inducing=100, max_steps=2),
    wb.Auto(effort="quick")], ids=["vbagg", "auto"])
def test_files_of_version_1_have_a_hundred_inducing_inputs(tmp_path, monkeypatch, model):
    """The default of then, which is not written; more are taken now of so many totals."""
    monkeypatch.setattr(candidates, "CANDIDATES", [
        one for one in candidates.CANDIDATES if one.name in ("flat", "place")])
    ds = repeated_places()
    with monkeypatch.context() as then:
        then.setattr(design, "SHARE_INDUCING", 0.0)
        fit = model.fit(ds)
    path = tmp_path / "fit.wbfit"
    fit.save(path)

    def as_then(facts, tensors):
        facts["version"] = 1
        for one in (facts["options"], *facts["facts"].get("candidates", {}).values()):
            one.pop("inducing", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", checks.ApproximationWarning)
        again = wb.load_fit(changed(path, tmp_path / "then.wbfit", as_then))
    np.testing.assert_allclose(again.at(ds).mean, fit.at(ds).mean)
    for one in getattr(again, "candidates", {"": again}).values():
        assert one.model.options.inducing == one.inner.state.options.inducing == 100


def repeated_places():
    """Counts at 120 places, several of each: 288 bags, which take 115 inducing inputs."""
    rng = np.random.default_rng(0)
    place = np.concatenate([np.arange(120), rng.integers(0, 120, 168)])
    xy = rng.uniform(0, 10, (120, 2))[np.sort(place)]
    count = len(xy)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((count, 0))),
         "weight": ("individual", np.full(count, 50.0)),
         "membership": ("individual", np.arange(count)),
         "value": ("bag", rng.poisson(50 * np.exp(np.sin(xy[:, 0]) - 1)).astype(float),
                   {"kind": "count", "aggregation": "sum", "units": "cases"})},
        coords={"x": ("individual", xy[:, 0]), "y": ("individual", xy[:, 1]),
                "bag": [f"b{k}" for k in range(count)],
                "covariate": np.array([], dtype=str)})
