"""Two branches of a page; in one a figure comes or goes while the other changes."""

import panel as pn
from bokeh.plotting import figure


def drawn(title):
    one = figure(width=250, height=200, title=title)
    one.line([0, 1], [0, 1e6])
    return pn.pane.Bokeh(one)


pn.Column(pn.Row(pn.Column(pn.pane.HTML("a text")), drawn("between"),
                 pn.Column(pn.Column(drawn("inside")))),
          pn.pane.HTML("below")).servable()
