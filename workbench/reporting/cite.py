"""How to cite the software and the papers behind a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.outputs import versions

#: As in CITATION.cff.
SOFTWARE = ("The aggregate-workbench authors", "aggregate-workbench")


@dataclass(frozen=True)
class Paper:
    """One paper, as it is cited."""

    key: str
    authors: str
    title: str
    venue: str
    year: int

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.authors} ({self.year}). {self.title}.",
                                      self.venue and f"{self.venue}.")))

    def bibtex(self) -> str:
        """The entry for a bibliography."""
        names = self.authors.replace(", ", " and ")
        told = {"author": names, "title": self.title, "booktitle": self.venue, "year": self.year}
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in told.items() if value)
        return f"@{'inproceedings' if self.venue else 'misc'}{{{self.key},\n{lines}\n}}"


LAW = Paper("law2018", "Law, Sejdinovic, Cameron, Lucas, Flaxman, Battle, Fukumizu",
            "Variational learning on aggregate outputs with Gaussian processes", "NeurIPS", 2018)
HAMELIJNCK = Paper("hamelijnck2019", "Hamelijnck, Damoulas, Wang, Girolami",
                   "Multi-resolution multi-task Gaussian processes", "NeurIPS", 2019)
CHAU = Paper("chau2021", "Chau, Bouabid, Sejdinovic",
             "Deconditional downscaling with Gaussian processes", "NeurIPS", 2021)
SHIKURI = Paper("shikuri2025", "Shikuri", "Learning from Summarized Data: Gaussian Process "
                "Regression with Sample Quasi-Likelihood", "", 2025)
YAO = Paper("yao2018", "Yao, Vehtari, Simpson, Gelman", "Using stacking to average Bayesian "
            "predictive distributions", "Bayesian Analysis", 2018)
_SAID = {"Law": LAW, "Hamelijnck": HAMELIJNCK, "Chau": CHAU, "Shikuri": SHIKURI, "Yao": YAO}


def papers_of(said: str, mixture: bool = False) -> list[Paper]:
    """The papers that a model's registry entry names.

    Parameters
    ----------
    said : str
        Such as "Law et al. 2018".
    mixture : bool
        Whether it mixes models of Law et al., which then belong to it.

    Returns
    -------
    list of Paper
        None for a baseline without one.

    Examples
    --------
    >>> [paper.key for paper in papers_of("Law et al. 2018")]
    ['law2018']
    """
    found = [paper for name, paper in _SAID.items() if re.search(rf"\b{name}\b", said)]
    return [*found, *([LAW] if mixture and LAW not in found else [])]


def software() -> str:
    """The software in one line, with its version."""
    author, title = SOFTWARE
    number = versions(title)[title]
    return f"{author}. {title}, version {number}."


def bibtex(papers: list[Paper]) -> str:
    """Entries of the software and of papers for a bibliography."""
    author, title = SOFTWARE
    own = (f"@software{{{title},\n  author = {{{{{author}}}}},\n  title = {{{title}}},\n"
           f"  version = {{{versions(title)[title]}}}\n}}")
    return "\n\n".join([own, *(paper.bibtex() for paper in papers)])
