"""The glossary: one list of words for all apps and the documentation, and tips made of it."""

from __future__ import annotations

import re
import threading
import tomllib
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

FILE = Path(__file__).with_name("glossary.toml")
#: Whether the server has the documentation, which says more of some words.
DOCUMENTED = threading.Event()
_SITE = "documentation/"
_LINK = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Word:
    """An entry of the glossary.

    Parameters
    ----------
    terms : tuple of str
        The word, and others for the same.
    text : str
        What it means; ``{term}`` leads to another entry.
    page : str
        Of the documentation, without suffix; empty if none says more.
    tip : bool
        Whether texts explain the word where it stands.
    """

    terms: tuple[str, ...]
    text: str
    page: str = ""
    tip: bool = False

    @property
    def plain(self) -> str:
        """What it means, without links."""
        return _LINK.sub(r"\1", self.text)

    @property
    def parts(self) -> list[list[str]]:
        """Pieces of the text, each with the main term of the entry that it leads to, if any."""
        pieces = _LINK.split(self.text)
        return [[piece, main_term(piece) if k % 2 else ""] for k, piece in enumerate(pieces)
                if piece]


@cache
def glossary() -> tuple[Word, ...]:
    """All words by their first terms, capital letters or not.

    Examples
    --------
    >>> glossary()[0].terms
    ('aggregate', 'area total')
    """
    held = tomllib.loads(FILE.read_text(encoding="utf-8"))["word"]
    words = [Word(**one | {"terms": tuple(one["terms"])}) for one in held]
    return tuple(sorted(words, key=lambda word: word.terms[0].lower()))


@cache
def _by_term() -> dict[str, Word]:
    return {term: word for word in glossary() for term in word.terms}


def main_term(term: str) -> str:
    """The term under which the glossary has a word.

    Parameters
    ----------
    term : str
        As in an entry; one of its terms.

    Examples
    --------
    >>> main_term("area"), main_term("offset")
    ('bag', 'weight')
    """
    return _by_term()[term].terms[0]


def shown() -> list[dict]:
    """The glossary as the dialog of an app takes it: text in pieces, never HTML."""
    site = _SITE if DOCUMENTED.is_set() else ""
    return [{"terms": list(word.terms), "parts": word.parts,
             "page": f"{site}{word.page}.html" if site and word.page else ""}
            for word in glossary()]


@cache
def _tips() -> re.Pattern:
    terms = sorted((term for word in glossary() if word.tip for term in word.terms),
                   key=len, reverse=True)
    # Small letters may begin a sentence; capitals that are all of a word are no other word's.
    spelt = (f"[{term[0].upper()}{term[0]}]{re.escape(term[1:])}" if term[0].islower()
             else re.escape(term) for term in terms)
    return re.compile(rf"(?<![\w&-])({'|'.join(spelt)})(?![\w-])")


def explained(html: str) -> str:
    """Text for a page, in which the first of each technical word carries what it means.

    Parameters
    ----------
    html : str
        Escaped text, without tags.

    Examples
    --------
    >>> explained("lower MAE")[:45]
    'lower <abbr class="wb-word" data-word="MAE" t'
    """
    known: set[str] = set()

    def marked(match: re.Match) -> str:
        written = match.group()
        word = _by_term().get(written) or _by_term()[written[0].lower() + written[1:]]
        if word.terms[0] in known:
            return written
        known.add(word.terms[0])
        return (f'<abbr class="wb-word" data-word="{escape(word.terms[0])}" '
                f'title="{escape(word.plain)}">{written}</abbr>')

    return _tips().sub(marked, html)


def as_markdown() -> list[str]:
    """The glossary as lines of the documentation's directive of that name."""
    lines = ["```{glossary}"]
    for word in glossary():
        text = _LINK.sub(lambda match: f"{{term}}`{match.group(1)}`", word.text)
        more = f" More: {{doc}}`/{word.page}`." if word.page else ""
        lines += [*word.terms, f"  {text}{more}", ""]
    return [*lines, "```"]
