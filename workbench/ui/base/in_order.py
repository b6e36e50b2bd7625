"""Changes of a session reach its page in the order in which they were made.

Panel sends what it changes at once or, while the connection is busy, a little later; Bokeh sends
what is changed past Panel, such as data of figures, at the end of the callback. Side by side a
change could overtake the message that tells the page of the model it is made to, or a newer change
of the same, which the older one then replaced. Here all go Panel's way.

Changes that are held are sent together. A figure may be placed, changed and replaced meanwhile:
the page, told only of what came in its place, would know no model to change, and give up the rest.
"""

from __future__ import annotations

from functools import partial

from bokeh.document import Document
from bokeh.document.events import (
    ColumnDataChangedEvent,
    ColumnsPatchedEvent,
    ColumnsStreamedEvent,
    DocumentPatchedEvent,
    ModelChangedEvent,
)
from bokeh.protocol import Protocol
from bokeh.protocol.message import Message
from bokeh.protocol.messages.patch_doc import patch_doc
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession
from panel.io import document as panel_document

_OF_MODELS = (ModelChangedEvent, ColumnDataChangedEvent, ColumnsStreamedEvent, ColumnsPatchedEvent)


def send_in_order(session: ServerSession) -> None:
    """Send all changes of a session the same way.

    Parameters
    ----------
    session : ServerSession
        That no page is connected to yet.
    """
    subscribe = session.subscribe

    def subscribed(connection: ServerConnection) -> None:
        connection.send_patch_document = partial(_send, connection)
        leave_out_gone(connection.protocol)
        subscribe(connection)

    session.subscribe = subscribed


def leave_out_gone(protocol: Protocol) -> None:
    """Make no message with changes of models that have left their document since.

    Should they come back, they are sent anew, as they then are.

    Parameters
    ----------
    protocol : Protocol
        Of one connection.
    """
    make = protocol.create

    def create(kind: str, *args, **options) -> Message:
        if kind != patch_doc.msgtype:
            return make(kind, *args, **options)
        left = [event for event in args[0] if not _gone(event)]
        if left:
            return make(kind, left, **options)
        # Whoever sends expects a message, and Bokeh makes none without a change.
        return patch_doc(patch_doc.create_header(), options, {"events": []})

    protocol.create = create


def _gone(event: DocumentPatchedEvent) -> bool:
    """Whether a change is of a model that is no longer there."""
    return isinstance(event, _OF_MODELS) and event.model.document is not event.document


async def _send_nothing_more() -> None:
    """What Bokeh waits for at the end of the callback."""


def _send(connection: ServerConnection, event: DocumentPatchedEvent):
    document = connection.session.document
    busy = _waiting(document) or connection._socket.write_lock._block._value == 0
    way = panel_document.schedule_write_events if busy else panel_document.write_events
    way(document, [connection], [event])
    return _send_nothing_more()


def _waiting(document: Document) -> bool:
    """Whether former changes have not been sent yet: Panel has no public name for it."""
    return document in panel_document._WRITE_MSGS or document in panel_document._WRITE_BLOCK
