"""One session's results on the city; all of it is computed in a thread."""

from __future__ import annotations

import param

from workbench.ui.base.store import Store
from workbench.ui.sources import city_models, messages
from workbench.ui.sources.city import CityData
from workbench.ui.sources.city_models import Fitted, Hour
from workbench.ui.sources.state import CITY, CITY_KERNELS

ROWS = 20


class CityStore(Store):
    """What the city shows. Parameters as of the base."""

    data = param.ClassSelector(class_=CityData, doc="the city that is shown; None until made")
    fitted = param.ClassSelector(class_=Fitted, doc="the model that is shown; None until learnt")
    hour = param.ClassSelector(class_=Hour, doc="its map of the present hour")
    stale = param.Boolean(True, doc="whether the model shown is a former one")
    rows = param.Dict({}, doc="rows of the table by what was fitted")

    watched = ("tab", "city", "scope", "stations", "satellite", "side", "model", "city_kernel",
               "reach", "hour")

    def _set_up(self) -> None:
        self.addresses = {}         # of what each row was made of

    def _changed(self, *events) -> None:
        state = self.state
        if state.tab != CITY:
            self._job.drop()
            self.work = ""
            return
        key, hour = state.fit_key, state.hour
        if self.hour is not None and self.hour.hour == hour and self.fitted.key == key and (
                not self.stale):
            return
        with self._together():
            known = self.fitted is not None and self.fitted.key == key
            self.param.update(stale=not known, fraction=0.0, error="",
                              work=messages.WORK["hour" if known else "fit"])
        if known:       # also one that was stopped early and is not kept
            fitted = self.fitted
            self._job.start(lambda run: run.send("hour", fitted.at(hour)))
        else:
            self._job.start(lambda run: city_models.work(key, hour, run))

    def _receive(self, name: str, result: object) -> None:
        if name == "doing":
            self.param.update(work=messages.WORK[result], fraction=0.0)
        elif name == "data":
            if result is not self.data:
                self.data = result
        elif name == "fitted":
            self.param.update(data=result.data, fitted=result, stale=False)
        else:
            self.hour = result
            kept = {k: v for k, v in self.rows.items() if k != result.fitted.key}
            self.addresses[result.fitted.key] = f"{self.app}?{self.state.query()}"
            self.rows = dict(list((kept | {result.fitted.key: row(result)}).items())[-ROWS:])


def row(hour: Hour) -> tuple[str, ...]:
    """A model as a row of the table, by the heads of `messages.CITY_HEADS`."""
    fitted, key = hour.fitted, hour.fitted.key
    kernel = next(title for title, name in CITY_KERNELS.items() if name == key.kernel)
    reach = f"{key.reach:g} km" if key.reach else "fitted"
    return (messages.MODELS[key.model], " + ".join(key.seen), f"{key.cell:g} km", kernel, reach,
            f"{fitted.rmse:.1f}", f"{100 * fitted.coverage:.0f} %", f"{hour.rmse:.1f}",
            messages.learnt_in(fitted))
