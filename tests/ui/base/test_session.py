"""Sessions as files: what was saved comes back, and whatever else a file holds is refused."""

import io
import json
import warnings
import zipfile
from importlib import import_module

import numpy as np
import pytest

from workbench.checks import InputError
from workbench.ui.base import session
from workbench.ui.base.session import Session, pack, unpack
from workbench.ui.base.session_file import SessionFile

GOOD = Session("colour=red", {"kind": "learnt"}, {"fit": b"\x00\x01"})


def archive(members, method=zipfile.ZIP_DEFLATED):
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", method) as file:
        warnings.simplefilter("ignore")         # of names that are there twice
        for name, content in members:
            file.writestr(name, content)
    return packed.getvalue()


def told(**changed):
    facts = {"format": session.FORMAT, "version": 1, "app": "paint", "query": "", "facts": {}}
    return [(session.FACTS, json.dumps(facts | changed))]


def test_what_was_saved_comes_back_and_the_same_session_makes_the_same_file():
    packed = pack("paint", GOOD)
    assert unpack(packed, "paint", ["fit"]) == GOOD
    assert packed == pack("paint", GOOD)


@pytest.mark.filterwarnings("ignore:Both 'variant'")       # Panel's own, of its field of files
@pytest.mark.parametrize("app", ["compare", "disaggregate", "granularity", "mediated", "sources"])
def test_a_page_says_of_own_data_in_a_session_where_sessions_hold_them(app):
    store = import_module(f"workbench.ui.{app}.store").Store
    state = import_module(f"workbench.ui.{app}.state").State
    told = [one.object for one in SessionFile(store(state())).__panel__()
            if hasattr(one, "object")][-1]
    assert told.startswith("One file with all settings")
    assert ("own data" in told) == (app == "disaggregate")


@pytest.mark.parametrize(("content", "words"), [
    (b"", "no session"), (b"GIF89a", "no session"),
    (pack("paint", GOOD)[:-30], "no session"),
    (archive([]), "found nothing"),
    (archive([*told(), ("../../evil", b"x")]), "expected session.json, fit in it"),
    (archive([*told(), ("fit.pkl", b"x")]), "fit.pkl"),
    (archive([*told(), *told()]), "no session"),
    (archive([("session.json", b"[1]")]), "no session"),
    (archive([("session.json", b"{")]), "not valid JSON"),
    (archive([("session.json", b"[" * 200_000)]), "not valid JSON"),
    (archive(told(version=9)), "update it"), (archive(told(version="1")), "update it"),
    (archive(told(app="other")), "'other'"), (archive(told(query=3)), "lacks the choices"),
    (archive([("session.json", b" " * 2**21)]), "limit"),
])
def test_anything_else_is_refused_in_words(content, words):
    with pytest.raises(InputError, match=words):
        unpack(content, "paint", ["fit"])


def test_a_small_file_that_unpacks_to_much_is_refused():
    bomb = archive([*told(), ("fit", bytes(2**22))])
    assert len(bomb) < 2**14
    with pytest.raises(InputError, match="unpacks to 4 MiB, more than the limit of 1 MiB"):
        unpack(bomb, "paint", ["fit"], limit=2**20)


def test_a_size_that_is_understated_is_damage():
    bomb = bytearray(archive([*told(), ("fit", bytes(2**20))]))
    for start in (bomb.rindex(b"PK\x01\x02") + 24, bomb.rindex(b"PK\x03\x04") + 22):
        bomb[start:start + 4] = (100).to_bytes(4, "little")
    with pytest.raises(InputError, match="damaged"):
        unpack(bytes(bomb), "paint", ["fit"], limit=2**19)


def test_bytes_of_any_kind_only_ever_raise_errors_in_words():
    random, whole = np.random.default_rng(0), bytearray(pack("paint", GOOD))
    for _ in range(1000):
        changed = whole.copy()
        changed[random.integers(len(changed))] = int(random.integers(256))
        try:
            found = unpack(bytes(changed), "paint", ["fit"])
        except InputError:
            continue
        assert set(found.members) <= {"fit"}
