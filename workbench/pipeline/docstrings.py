"""What docstrings say of parameters, so that help on the command line says nothing twice."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", re.S | re.M)
_ENTRY = re.compile(r"^(\S[^\n]*?) : [^\n]*\n((?:[ ]+[^\n]*(?:\n|\Z))+)", re.M)
_NEXT_SENTENCE = re.compile(r"\.\s+(?=[A-Z])")


def parameters_said(documented: object) -> dict[str, str]:
    """The first sentence that a numpy docstring says of each parameter.

    Parameters
    ----------
    documented : callable or class
        What has the docstring; a class has also the parameters of its bases.

    Returns
    -------
    dict
        By name of the parameter, without marks of code.

    Examples
    --------
    >>> parameters_said(parameters_said)["documented"]
    'What has the docstring; a class has also the parameters of its bases'
    """
    said: dict[str, str] = {}
    for one in reversed(getattr(documented, "__mro__", [documented])):
        section = _SECTION.search(inspect.cleandoc(one.__doc__ or ""))
        for names, told in _ENTRY.findall(section[1] if section else ""):
            sentence = _NEXT_SENTENCE.split(" ".join(told.split()))[0].rstrip(".")
            said |= dict.fromkeys(names.split(", "), sentence.replace("`", ""))
    return said
