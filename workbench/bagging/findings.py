"""What is found in data: one sentence each, raised, recorded as a treatment, or listed by a check.

Whoever reads data calls `refuse` for what cannot be used. It is raised as an `InputError`, except
inside `listing`, where it is listed and work goes on with the treatment at hand, so that all that
is wrong is found at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.checks import InputError, one_way, options_named

if TYPE_CHECKING:
    from workbench.bagging.cells import Cells

ERROR, WARNING, NOTE = "error", "warning", "note"
_WITHOUT = ("not-numbers", "row-missing")       # of areas that are then without a value


@dataclass(frozen=True)
class Finding:
    """One thing found in data.

    Parameters
    ----------
    code : str
        What kind of finding it is, in one or two words, the same in every version.
    what : str
        What was found.
    fix : str
        How to correct it, with options as in Python.
    flag : str
        The same with options as on the command line.
    where : tuple of str
        Ids of areas, names of covariates or of files.
    count : int, optional
        How many: of what ``what`` counts.
    effect : str
        What will happen if nothing is done.
    severity : {"error", "warning", "note"}
        Whether nothing can be fitted; a map can be made but may mislead; nothing needs doing.
    told : str
        How to correct it, with options in both ways.
    joint : str
        What stands between ``what`` and ``fix`` in a sentence.
    cells : Cells, optional
        Cells of a raster that it is about, to be drawn.
    """

    code: str
    what: str
    fix: str = ""
    flag: str = ""
    where: tuple[str, ...] = ()
    count: int | None = None
    effect: str = ""
    severity: str = NOTE
    told: str = field(default="", repr=False)
    joint: str = field(default="; ", repr=False)
    cells: Cells | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.what}{self.joint}{self.fix}" if self.fix else self.what

    def plain(self) -> Finding:
        """The finding of a check, with its options named as each of its fields says.

        Returns
        -------
        Finding
        """
        return replace(self, what=one_way(self.what), effect=one_way(self.effect),
                       fix=one_way(self.fix, "python"), flag=one_way(self.fix, "flags"),
                       told=one_way(self.fix, "both"))


class Listing(list):
    """Findings in the order they were made, and numbers counted on the way.

    Attributes
    ----------
    counted : dict of str to float
        From `counted`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counted: dict[str, float] = {}

    def add(self, finding: Finding) -> None:
        """Add a finding, unless it was said before, notes an error of its kind, or comes of one."""
        if not any((f.what, f.where) == (finding.what, finding.where)
                   or (f.code, f.where) == (finding.code, finding.where) and f.severity == ERROR
                   and finding.severity != ERROR
                   or f.code in _WITHOUT and finding.code == "value-missing"
                   and {*finding.where} <= {*f.where} for f in self):
            self.append(finding)

    def add_error(self, error: Exception, code: str, where: Iterable[str] = ()) -> None:
        """Add what an exception says, as an error; one more at its place is a consequence."""
        what, _, fix = str(error).partition("; ")
        found = Finding(code, what, fix or "correct it, and check again", where=tuple(where),
                        effect=STOPS, severity=ERROR)
        errors = [one for one in self if one.severity == ERROR]
        same = any(one.what == what or found.where and (one.code, one.where) == (code, found.where)
                   for one in errors)
        if not same:
            self.add(found)


STOPS = "refused: nothing is fitted"
_LISTING: ContextVar[Listing | None] = ContextVar("findings of the check under way", default=None)


@contextmanager
def listing() -> Iterator[Listing]:
    """Inside, what cannot be used is listed and not raised; options are named both ways.

    Yields
    ------
    Listing
        Of all that is found inside.
    """
    found = Listing()
    token = _LISTING.set(found)
    try:
        with options_named("both"):
            yield found
    finally:
        _LISTING.reset(token)


@contextmanager
def unlisted() -> Iterator[None]:
    """Inside, everything is as outside a check: what is made there may be kept for others."""
    token = _LISTING.set(None)
    try:
        with options_named("python"):
            yield
    finally:
        _LISTING.reset(token)


def is_listing() -> bool:
    """Whether a check is under way."""
    return _LISTING.get() is not None


def suspicious(code: str, what: str, fix: str, where: Iterable, count: int | None = None,
               effect: str = "", joint: str = ": ") -> Finding:
    """A warning of what can be used but looks wrong.

    Parameters
    ----------
    code, what, fix, where, count, effect, joint
        As of `Finding`.
    """
    return Finding(code, what, fix, where=tuple(map(str, where)), count=count, effect=effect,
                   severity=WARNING, joint=joint)


def refuse(what: str, fix: str = "", *, code: str, where: Iterable = (), count: int | None = None,
           effect: str = STOPS, joint: str = "; ", cells: Cells | None = None,
           error: type[InputError] = InputError) -> None:
    """Raise what cannot be used, or list it as an error if a check is under way.

    Parameters
    ----------
    what, fix, code, where, count, effect, joint, cells
        As of `Finding`.
    error : type
        What is raised.

    Raises
    ------
    InputError
        ``what; fix``, outside a check.
    """
    finding = Finding(code, what, fix, where=tuple(map(str, where)), count=count, effect=effect,
                      severity=ERROR, joint=joint, cells=cells)
    if (found := _LISTING.get()) is None:
        raise error(str(finding))
    found.add(finding)


def tell(what: str, *, code: str = "treated", where: Iterable = (), count: int | None = None,
         effect: str = "", fix: str = "", severity: str = NOTE, cells: Cells | None = None
         ) -> None:
    """List what was done to the input, or seen in it, if a check is under way.

    Parameters
    ----------
    what, code, where, count, effect, fix, severity, cells
        As of `Finding`.
    """
    if (found := _LISTING.get()) is not None:
        found.add(Finding(code, what, fix, where=tuple(map(str, where)), count=count,
                          effect=effect, severity=severity, cells=cells))


def counted(**numbers: float) -> None:
    """Keep numbers of the check under way, such as totals before anything is left out."""
    if (found := _LISTING.get()) is not None:
        found.counted |= {name: float(number) for name, number in numbers.items()}


@contextmanager
def part(code: str, *where: object) -> Iterator[None]:
    """Of a check one part: what it raises is listed, and the check goes on without the part.

    Parameters
    ----------
    code : str
        Of the finding.
    *where : object
        What could not be used, such as a file.
    """
    try:
        yield
    except InputError as error:
        if (found := _LISTING.get()) is None:
            raise
        found.add_error(error, code, map(str, where))
