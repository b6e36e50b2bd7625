"""States of the line worth a button: the paper's two figures, and one to teach with."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.ui.sources.designs import Design, written

WIDE, NARROW = "-10_20", "-2_15"


@dataclass(frozen=True)
class Preset:
    """A setting of the line and what to look at.

    Parameters
    ----------
    name, sentence : str
        The button, and what it shows.
    setting : dict
        Choices of the state.
    """

    name: str
    sentence: str
    setting: dict


def _preset(name: str, sentence: str, span: str, designs: tuple[Design, ...], **more) -> Preset:
    base = {"tab": "line", "span": span, "truth": "waves", "draw": 0, "kernel": "rbf",
            "lengthscale": 1.1, "spread": 3.2, "hyper": "set", "weight": 0.5, "experts": False,
            "sources": written(designs), "chosen": 1}
    return Preset(name, sentence, base | more)


PRESETS = (
    _preset("Dependent (Fig. 2 left)",
            "Source 2 reports means of three of source 1's noisy points: nothing new. The product "
            "of both likelihoods counts it as new and is overconfident; the composite recovers.",
            NARROW, (Design(-2, 15, 100, 1, noise=0.5),
                     Design(-2, 15, 100, 3, noise=0.5, copied=1.0))),
    _preset("Biased (Fig. 2 right)",
            "Sources 2 and 3 report the function scaled down. No weight corrects a bias: MR-DGP "
            "learns it where sources overlap, and corrects each source.",
            WIDE, (Design(6, 13, 50, 1, noise=0.1), Design(-10, 10, 100, 5, 0.5, 0.0, 0.05),
                   Design(10, 20, 100, 5, 0.3, 0.0, 0.03)),
            experts=True, chosen=2),
    _preset("Teach: duplicated source",
            "Source 2 is a copy of source 1. The product is overconfident by half its variance; at "
            "weight 0.5 the composite posterior equals that of source 1 alone exactly.",
            NARROW, (Design(-2, 15, 50, 1, noise=0.5), Design(-2, 15, 50, 1, noise=0.5, copied=1)),
            chosen=2),
)
