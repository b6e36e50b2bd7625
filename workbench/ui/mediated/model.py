"""What models are called, and their hyperparameters in the words of the package and of sliders."""

from __future__ import annotations

from dataclasses import dataclass

NAMES = {"cmp": "Conditional mean process (CMP)",
         "s-cmp": "Conditional mean, shrunk by bag size (S-CMP)",
         "var-cmp": "Conditional mean, inducing inputs (VarCMP)",
         "aggregated-gp": "Aggregated GP", "gpr": "GP on bag centres (GPR)",
         "bagg-gp": "Independent bags (BAGG-GP)",
         "bilinear": "Interpolation (bilinear + lapse rate)"}
KINDS = {name: kind for kind, name in NAMES.items()}
MEDIATED = ("cmp", "s-cmp", "var-cmp")
INDUCING = 100          # inducing inputs of each term of VarCMP
KERNELS = {
    "Matérn 3/2 on place + Gaussian on covariates": "matern32.rbf",
    "Matérn 1/2 on place + Gaussian on covariates": "matern12.rbf",
    "Matérn 5/2 on place + Gaussian on covariates": "matern52.rbf",
    "Gaussian on place + Gaussian on covariates": "rbf.rbf",
    "Matérn 3/2 on place + linear in covariates": "matern32.linear",
    "Matérn 3/2 on place alone": "place",
}


@dataclass(frozen=True)
class Model:
    """A model with its hyperparameters, in natural units; standard deviations, not variances."""

    kind: str
    kernel: str
    mediator_kernel: str
    lengthscale: float
    spread: float
    detail: float
    detail_spread: float
    noise: float
    far: float
    near: float
    share_of_place: float
    ridge: float

    @property
    def grammar(self) -> str:
        """k in the grammar of kernels."""
        if self.kernel == "place":
            return "matern32(coordinates)"
        place, covariates = self.kernel.split(".")
        return f"{place}(coordinates)+{covariates}(covariates)"

    def of_kernel(self, labels: list[str]) -> dict[str, float]:
        """Hyperparameters of k by name, for terms with these names."""
        found = {f"{labels[0]}.variance": self.spread**2,
                 f"{labels[0]}.lengthscale": self.lengthscale}
        if len(labels) > 1:
            found[f"{labels[1]}.variance"] = self.detail_spread**2
            if labels[1] != "linear":
                found[f"{labels[1]}.lengthscale"] = self.detail
        return found

    def of_mediators(self) -> dict[str, float]:
        """Hyperparameters of ℓ by name, and the ridge."""
        kernel = self.mediator_kernel
        if "+" in kernel:
            found = {"matern32.variance": self.share_of_place,
                     "matern32.lengthscale": self.far,
                     "rbf.variance": 1 - self.share_of_place, "rbf.lengthscale": self.near}
        elif "*" in kernel:
            found = {"matern32*rbf.matern32.lengthscale": self.far,
                     "matern32*rbf.rbf.lengthscale": self.near}
        else:
            found = {f"{kernel}.lengthscale": self.near if kernel == "rbf" else self.far}
        return {f"mediator.{name}": value for name, value in found.items()} | {
            "ridge": self.ridge}

    def hyperparameters(self, labels: list[str], mean: float) -> dict[str, float]:
        """All hyperparameters as `workbench.CMP.condition`, or a baseline's, takes them."""
        found = {"mean": mean, **self.of_kernel(labels), "noise.variance": self.noise**2}
        return found | self.of_mediators() if self.kind in MEDIATED else found

    def learnt(self, values: dict[str, float], labels: list[str]) -> dict[str, float]:
        """Choices of the state for learnt hyperparameters: `hyperparameters` the other way."""
        found = {"spread": values[f"{labels[0]}.variance"] ** 0.5,
                 "lengthscale": values[f"{labels[0]}.lengthscale"],
                 "noise": values["noise.variance"] ** 0.5}
        if len(labels) > 1:
            found["detail_spread"] = values[f"{labels[1]}.variance"] ** 0.5
            if labels[1] != "linear":
                found["detail"] = values[f"{labels[1]}.lengthscale"]
        if self.kind not in MEDIATED:
            return found
        ell = {name.removeprefix("mediator."): value for name, value in values.items()
               if name.startswith("mediator.")}
        # W depends on ℓ over λ alone: the two variances of a sum are scaled to add up to one.
        total = sum(value for name, value in ell.items() if name.endswith("variance")) or 1.0
        found["ridge"] = values["ridge"] / total
        for name, value in ell.items():
            if name == "matern32.variance":
                found["share_of_place"] = value / total
            elif name.endswith("lengthscale"):
                found["far" if "matern32.lengthscale" in name else "near"] = value
        return found
