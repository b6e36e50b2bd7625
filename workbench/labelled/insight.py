"""What a map rests on: how much the data told, and which term of the model says what."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import NotExact, require
from workbench.gp.models.vbagg.components import role_of
from workbench.labelled.drawing import Drawing
from workbench.labelled.predictive import labelled


class Insight(Drawing):
    """The parts of a `Fit`'s posterior."""

    def information(self, ds: xr.Dataset) -> xr.DataArray:
        """Share of the prior variance of f that the data removed: 1 - Var(f | data) / Var(f).

        Both are variances of the latent f at one individual, without nugget and area effect, with
        the hyperparameters as learnt, so that 0 says that the map there is what the kernel says of
        any place, and 1 that the data determine f. Of predictions averaged over settings or models
        both are of the mixture, by the law of total variance: settings have their posterior
        weights before and after. Where these disagree on f by more than the prior allows it is
        below 0; no value is clipped.

        Parameters
        ----------
        ds : xr.Dataset
            As of `latent`.

        Returns
        -------
        xr.DataArray
            (individual,), at most 1.

        Raises
        ------
        InputError
            If the model's prior variance is not known (several sources, baselines), or zero.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
        >>> told = fit.information(ds)
        >>> bool((told >= 0).all() and (told <= 1).all())
        True
        """
        data = self._data(ds)
        bags = self._bags(data)
        prior = self.inner.prior(bags).variance
        require(bool((prior > 0).all()), "the prior variance of f is zero at some individuals, so "
                "that there is nothing to learn there; let the kernel's variance be learnt")
        told = 1 - self.inner.latent(bags).variance / prior
        return labelled(told, ("individual",), data.places, {
            "units": "1", "long_name": "share of the prior variance that the data removed",
            "formula": "1 - Var(f | data) / Var(f)"})

    def components(self, ds: xr.Dataset, by: str = "term", area_effect: bool = False) -> xr.Dataset:
        """Mean and std of each summand of f at the individuals; the means add up to that of f.

        Parameters
        ----------
        ds : xr.Dataset
            As of `latent`.
        by : {"term", "role"}
            One summand for each term of the kernel, or for what terms look at: ``covariates``,
            ``place``, or both. A mixture of models has only roles in common.
        area_effect : bool
            Add the effect of the area and the individual given the area's total, as ``area
            effect``; then the sum is that of f and the effect. Under a link exp the exposure is
            the last factor: exp(sum) is the rate's median, and the rate times ``weight`` the
            count.

        Returns
        -------
        xr.Dataset
            ``NAME_mean`` and ``NAME_std`` (individual,) on the link scale: of the intercept, and
            of each summand.

        Raises
        ------
        InputError
            If the model does not keep its posterior term by term, or terms of a mixture are asked
            for.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> fit = wb.VBAgg(kernel="linear+rbf", inducing=10, max_steps=5).fit(ds)
        >>> parts = fit.components(ds)
        >>> total = parts["intercept_mean"] + parts["linear_mean"] + parts["rbf_mean"]
        >>> float(abs(total - fit.latent(ds).mean).max()) < 1e-8
        True
        """
        maps = self.component_maps(self._data(ds), area_effect, by)
        return xr.Dataset({
            f"{name}_{kind}": maps[f"component_{kind}"].sel(component=name, drop=True).assign_attrs(
                long_name=f"{name} term")
            for name in maps["component_mean"]["component"].values for kind in ("mean", "std")})

    def component_maps(self, ds: xr.Dataset, area_effect: bool = False, by: str | None = None
                       ) -> dict[str, xr.DataArray]:
        """`components` as two arrays, by term where there is one set of terms.

        Parameters
        ----------
        ds, area_effect
            As of `components`.
        by : {"term", "role"}, optional
            Default: by term, of a mixture by role.

        Returns
        -------
        dict of str to xr.DataArray
            ``component_mean`` and ``component_std`` (component, individual).
        """
        data = self._data(ds)
        by = by or ("role" if hasattr(self, "candidates") else "term")
        known = self._trained(data)
        told = self.inner.knows_totals(known) or self.inner.keeps_effects
        known = known if area_effect and told else None
        parts = self.inner.components(self._bags(data), by, known)
        said = {"units": "link scale", "link": self.inner.state.link.name}
        coords = {"component": list(parts), "role": ("component", self._roles(list(parts))),
                  **data.places}

        def stacked(kind: str, name: str) -> xr.DataArray:
            rows = np.stack([getattr(part, kind).cpu().numpy() for part in parts.values()])
            return labelled(rows, ("component", "individual"), coords, {**said, "long_name": name})

        return {"component_mean": stacked("mean", "posterior mean of a summand of f"),
                "component_std": stacked("std", "posterior std of a summand of f")}

    def _roles(self, names: list[str]) -> list[str]:
        """What each summand looks at: a role, by the name of the term or already its name."""
        roles = {term.name: role_of(term, self._columns) for term in self.inner.state.field.terms}
        return [roles.get(name, name) for name in names]

    def drawn_rates(self, ds: xr.Dataset, samples: int, area_effect: bool = True,
                    preserve_totals: bool = False, seed: int = 0) -> xr.DataArray:
        """Joint draws of the rate in single precision, to be kept with a map.

        Parameters
        ----------
        ds, area_effect
            As of `Fit.at`.
        samples : int
            Number of draws.
        preserve_totals : bool
            Whether they add up to the areas' totals; what individuals are then observed as, per
            unit of weight where values are totals.
        seed : int
            Seed.

        Returns
        -------
        xr.DataArray
            (sample, individual).

        Raises
        ------
        InputError
            If the model has no joint draws.
        """
        data = self._data(ds)
        if preserve_totals:
            self.require_of_all()
            drawn = self.sample(data.ds, samples, preserve_totals=True, seed=seed)
            drawn = (drawn / data.ds["weight"] if self.sums else drawn).assign_attrs(
                drawn.attrs, units=self.rate_units)
        else:
            known = self._trained(data) if area_effect else None
            drawn = labelled(
                self.inner.draw_rates(self._bags(data), known, samples, seed),
                ("sample", "individual"), {"sample": np.arange(samples), **data.places},
                {"units": self.rate_units})
        return drawn.astype(np.float32).assign_attrs(
            drawn.attrs, long_name="joint draw of the rate", draws="joint",
            aggregation=self._aggregation)

    def area_estimates(self, ds: xr.Dataset) -> xr.Dataset:
        """Estimates of areas with standard errors: between their own value and the map.

        Of an area of the training data γ of its value and 1 - γ of what the map says of it, with
        γ = τ²/(τ² + se²): a precise value counts for much, an imprecise one for little. `over` is
        what the map says alone. Of areas without a value in the training data that is the estimate.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset with ``noise_variance``, see ``standard_error`` of `bag_polygons`.

        Returns
        -------
        xr.Dataset (bag)
            In the units of the values: direct and direct_std (the value and its standard error),
            synthetic and synthetic_std (what the map says, and how far areas are from it), estimate
            and estimate_std; shrinkage (γ).

        Raises
        ------
        InputError
            If the model knows no standard errors.

        References
        ----------
        Fay and Herriot 1979; the map stands in the place of their regression.

        Examples
        --------
        >>> import numpy as np, workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> means = ds["value"].assign_attrs(kind="continuous", aggregation="mean")
        >>> ds = ds.assign(value=means, noise_variance=("bag", np.full(12, 4.0)))
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5, link="identity").fit(ds)
        >>> found = fit.area_estimates(ds)
        >>> bool((found["estimate_std"] < found["direct_std"]).all())
        True
        """
        from workbench.labelled.area_estimates import area_estimates

        return area_estimates(self._members(), self._data(ds), self.value_units)

    def _members(self) -> dict[Insight, float]:
        """The models that it is made of, with their weights."""
        return {self: 1.0}

    def coefficients(self) -> xr.Dataset:
        """Posterior mean and std of the slopes of linear terms, per standardised covariate.

        Returns
        -------
        xr.Dataset
            ``mean`` and ``std`` (coefficient,); empty without linear or constant terms.

        Raises
        ------
        InputError
            If there are such terms, and the model does not keep their weights.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> model = wb.VBAgg(kernel="linear(z1)+rbf", inducing=10, max_steps=5)
        >>> model.fit(ds).coefficients()["coefficient"].values.tolist()
        ['linear.z1']
        """
        state, rows = self.inner.state, []
        terms = {term.name: term for term in state.field.terms}
        for name, (mean, std) in self.inner.coefficients().items():
            columns = [self._columns.names[c] for c in terms[name].columns] or ["intercept"]
            rows += [(f"{name}.{c}", float(m), float(s))
                     for c, m, s in zip(columns, mean, std, strict=True)]
        return xr.Dataset(
            {"mean": ("coefficient", [r[1] for r in rows]),
             "std": ("coefficient", [r[2] for r in rows])},
            coords={"coefficient": [r[0] for r in rows]})

    def known_coefficients(self) -> dict[str, tuple[float, float]]:
        """`coefficients` as a mapping; empty also where the model does not keep them.

        Returns
        -------
        dict of str to (float, float)
            Mean and std by coefficient.
        """
        try:
            found = self.coefficients()
        except NotExact:
            return {}
        return {str(name): (float(mean), float(std)) for name, mean, std in zip(
            found["coefficient"].values, found["mean"].values, found["std"].values, strict=True)}
