"""Formulas in MathML, which browsers draw without a script."""

from __future__ import annotations

from html import escape

from markupsafe import Markup


def name(text: object) -> Markup:
    """A variable: one letter is slanted, several are upright."""
    return Markup(f"<mi>{escape(str(text))}</mi>")


def word(text: object) -> Markup:
    """Plain words, or the name of a distribution."""
    return Markup(f"<mtext>{escape(str(text))}</mtext>")


def number(text: object) -> Markup:
    """A number."""
    return Markup(f"<mn>{escape(str(text))}</mn>")


def sign(text: str) -> Markup:
    """An operator, such as = or ~."""
    return Markup(f"<mo>{escape(text)}</mo>")


def row(*parts: str) -> Markup:
    """Parts in a row; one part that is text by itself is a variable."""
    return Markup(f"<mrow>{''.join(map(str, parts))}</mrow>")


def below(base: str, index: str) -> Markup:
    """A base with an index."""
    return Markup(f"<msub>{base}{index}</msub>")


def above(base: str, power: str) -> Markup:
    """A base with a power."""
    return Markup(f"<msup>{base}{power}</msup>")


def both(base: str, index: str, power: str) -> Markup:
    """A base with an index and a power."""
    return Markup(f"<msubsup>{base}{index}{power}</msubsup>")


def fraction(top: str, bottom: str) -> Markup:
    """A fraction."""
    return Markup(f"<mfrac>{top}{bottom}</mfrac>")


def total(under: str, term: str) -> Markup:
    """A sum over something."""
    return row(Markup(f"<munder><mo>∑</mo>{under}</munder>"), term)


def bracket(*parts: str) -> Markup:
    """Parts in parentheses, with commas between them."""
    inside = str(sign(",")).join(map(str, parts))
    return Markup(f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>")


def equation(*parts: str) -> Markup:
    """A formula on a line of its own."""
    return Markup(f'<math display="block"><mrow>{"".join(map(str, parts))}</mrow></math>')
