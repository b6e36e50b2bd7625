"""What is sent of several changes at once is what a page can make of them."""

from types import SimpleNamespace

from bokeh.document import Document
from bokeh.models import Column, Div
from bokeh.protocol import Protocol

from workbench.ui.base.in_order import send_in_order


def connected():
    """A document, the copy of it in a browser, and what sends changes from one to the other."""
    document, sent = Document(), []
    document.add_root(Column(children=[Div(text="first")]))
    page = Document.from_json(document.to_json())
    document.models.flush_synced()
    session = SimpleNamespace(subscribe=sent.append)
    send_in_order(session)
    session.subscribe(connection := SimpleNamespace(protocol=Protocol()))
    assert sent == [connection]

    def send():
        events, document.callbacks._held_events = document.callbacks._held_events, []
        page.apply_json_patch(connection.protocol.create("PATCH-DOC", events).payload)
        return [part.text for part in page.roots[0].children]

    document.hold("combine")
    return document.roots[0], send


def test_what_was_placed_changed_and_replaced_before_anything_was_sent_is_no_change():
    column, send = connected()
    column.children = [never := Div(text="never sent")]
    never.text = "nor that it changed"
    column.children = [Div(text="second")]
    assert send() == ["second"]


def test_what_left_the_page_and_came_back_is_as_it_is_now():
    column, send = connected()
    first = column.children[0]
    first.text = "left"
    column.children = []
    assert send() == []
    first.text = "changed elsewhere"
    column.children = [first]
    first.text = "back"
    assert send() == ["back"]


def test_changes_that_all_came_to_nothing_are_still_a_message():
    column, send = connected()
    first, held = column.children[0], column.document.callbacks
    first.text = "changed"
    column.children = []
    held._held_events = held._held_events[:1]       # the other goes by itself
    assert send() == ["first"]
