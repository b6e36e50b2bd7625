"""Searches that go on after their process was killed, to the same result bit for bit.

The state of L-BFGS cannot be stored in mid-search, but its path follows from the objective and the
gradient where it asked for them. These are stored, and given to it again: it takes the same path
without computing anything, and where they end goes on from the state that was stored with them.
A file is replaced as a whole, and begins with its own SHA-256: a torn one is not used.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from workbench.checks import FitWarning, warn
from workbench.outputs import reason_of, write_bytes

_DIGEST = 32                # bytes
_TURNED = "|turned"         # ends the name of a tensor that is kept by columns


class CheckpointWarning(FitWarning):
    """A checkpoint could not be written, or not be used; the fit goes on without it."""


class Diverged(Exception):
    """A search asked for another point than the one that was stored."""


@dataclass(frozen=True)
class Evaluation:
    """The objective at one point, or why it could not be computed there."""

    vector: np.ndarray
    value: float
    gradient: np.ndarray
    error: str = ""
    jitter: str = ""


@dataclass
class Trail:
    """All evaluations of one search, its best state, and the state after the last of them.

    ``best`` and ``memory`` are tensors by name; ``number`` is the evaluation of the best state.
    """

    evaluations: list[Evaluation] = field(default_factory=list)
    number: int = -1
    best: Mapping[str, Tensor] = field(default_factory=dict)
    memory: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Memory:
    """All that a state carries from one evaluation to the next, beside its hyperparameters.

    ``save()`` gives it as tensors by name, ``load(tensors)`` puts it back.
    """

    save: Callable[[], Mapping[str, Tensor]]
    load: Callable[[Mapping[str, Tensor]], None]


NOTHING = Memory(dict, lambda _: None)      # of an objective of the hyperparameters alone


class Checkpoint:
    """The searches of one fit, in one file.

    Parameters
    ----------
    file : Path
        Where they are kept. Its folder is made with the first writing.
    every : float
        Seconds between two writings, and before the first.
    """

    def __init__(self, file: Path, every: float):
        self.file, self._every, self._written = file, every, time.perf_counter()
        self._failed = False
        self._kept = _read(file) if file.exists() else []
        self._trails: list[Trail] = []

    def trail(self) -> tuple[Trail, Trail]:
        """Of the next search what was stored, and what is to be stored."""
        number = len(self._trails)
        self._trails.append(Trail())
        return (self._kept[number] if number < len(self._kept) else Trail()), self._trails[-1]

    def write(self) -> None:
        """Replace the file, if the last writing was long ago."""
        if self._failed or time.perf_counter() - self._written < self._every:
            return
        try:
            self.file.parent.mkdir(exist_ok=True)
            write_bytes(self.file, _bytes(self._trails))
        except OSError as error:
            self._failed = True
            warn(f"the checkpoint {str(self.file)!r} cannot be written ({reason_of(error)}): the "
                 "fit goes on, but could not be resumed; make room, or choose another folder",
                 CheckpointWarning)
        self._written = time.perf_counter()


class Record:
    """What a search stores as it goes, and is given again of what was stored.

    Parameters
    ----------
    checkpoint : Checkpoint
        Of its fit.
    memory : Memory
        What its state carries.
    """

    def __init__(self, checkpoint: Checkpoint, memory: Memory):
        self._checkpoint, self._memory = checkpoint, memory
        self._kept, self._new = checkpoint.trail()

    def forget(self) -> None:
        """Give nothing again: the search begins anew."""
        self._kept, self._new.evaluations, self._new.number = Trail(), [], -1

    def again(self, vector: np.ndarray) -> Evaluation | None:
        """What was stored of this evaluation; None from the first that was not.

        Raises
        ------
        Diverged
            If it was of another point.
        """
        number = len(self._new.evaluations)
        if number >= len(self._kept.evaluations):
            return None
        one = self._kept.evaluations[number]
        if not np.array_equal(one.vector, vector):
            raise Diverged
        return one

    def best(self) -> tuple[Tensor, ...] | None:
        """The state that was stored with the best evaluation, None of any other."""
        if len(self._new.evaluations) != self._kept.number:
            return None
        kept = self._kept.best         # a file has no order of its own
        return tuple(kept[str(k)] for k in range(len(kept))) or None

    def store(self, one: Evaluation, again: bool, best: tuple[Tensor, ...] | None) -> None:
        """Note an evaluation that follows, with the best state so far.

        After the last that was stored the state is put back as it was then.
        """
        new, kept = self._new, self._kept
        if not one.error and (new.number < 0 or one.value > new.evaluations[new.number].value):
            new.number = len(new.evaluations)
            new.best = {str(k): tensor for k, tensor in enumerate(best or ())}
        new.evaluations.append(one)
        if not again:
            new.memory = dict(self._memory.save())
            self._checkpoint.write()
        elif len(new.evaluations) == len(kept.evaluations):
            new.memory = kept.memory
            self._memory.load(kept.memory)


def _bytes(trails: list[Trail]) -> bytes:
    from safetensors.numpy import save

    facts, arrays = [], {}
    for k, one in enumerate(trails):
        facts.append({"number": one.number, "errors": [e.error for e in one.evaluations],
                      "jitters": [e.jitter for e in one.evaluations]})
        if one.evaluations:
            arrays |= {f"{k}/value": np.array([e.value for e in one.evaluations]),
                       f"{k}/vector": np.stack([e.vector for e in one.evaluations]),
                       f"{k}/gradient": np.stack([e.gradient for e in one.evaluations])}
        for role, tensors in (("best", one.best), ("memory", one.memory)):
            arrays |= dict(_flat(f"{k}/{role}/{name}", value) for name, value in tensors.items())
    content = save(arrays, {"trails": json.dumps(facts)})
    return hashlib.sha256(content).digest() + content


def _flat(name: str, tensor: Tensor) -> tuple[str, np.ndarray]:
    """A tensor by rows, by columns if it is kept so: the last bits of a product depend on that."""
    turned = tensor.ndim == 2 and not tensor.is_contiguous() and tensor.mT.is_contiguous()
    return (name + _TURNED * turned,
            np.ascontiguousarray((tensor.mT if turned else tensor).numpy(force=True)))


def _tensor(name: str, array: np.ndarray) -> tuple[str, Tensor]:
    tensor = torch.from_numpy(array.copy())
    return name.removesuffix(_TURNED), tensor.mT if name.endswith(_TURNED) else tensor


def _read(file: Path) -> list[Trail]:
    """What was stored; nothing, with a warning, of a file that is not whole."""
    from safetensors.numpy import load

    try:
        raw = file.read_bytes()
    except OSError:
        raw = b""
    digest, content = raw[:_DIGEST], raw[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        warn(f"the checkpoint {str(file)!r} is damaged and not used: the fit begins anew",
             CheckpointWarning)
        return []
    header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
    arrays, trails = load(content), []
    for k, told in enumerate(json.loads(header["__metadata__"]["trails"])):
        def tensors(role: str, k: int = k) -> dict[str, Tensor]:
            start = f"{k}/{role}/"
            return dict(_tensor(name.removeprefix(start), value)
                        for name, value in arrays.items() if name.startswith(start))

        rows = zip(arrays[f"{k}/vector"], arrays[f"{k}/value"].tolist(), arrays[f"{k}/gradient"],
                   told["errors"], told["jitters"], strict=True) if told["errors"] else ()
        trails.append(Trail([Evaluation(*row) for row in rows], told["number"], tensors("best"),
                            tensors("memory")))
    return trails
