"""What is going on: headline numbers in a live region, badge, progress with Cancel, errors."""

from __future__ import annotations

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui import lang
from workbench.ui.state import AUTO
from workbench.ui.store import Store
from workbench.ui.views.layout import wrapping


class LiveText(pn.custom.JSComponent):
    """Text that screen readers speak when it changes."""

    text = param.String()
    role = param.String("status")

    _esm = """
    export function render({model, el}) {
      const line = document.createElement('div')
      line.setAttribute('role', model.role)
      line.setAttribute('aria-live', model.role === 'alert' ? 'assertive' : 'polite')
      const show = () => { line.textContent = model.text }
      model.on('text', show)
      show()
      return line
    }
    """


class Status(pn.viewable.Viewer):
    """Numbers, badge, progress and errors of a store."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.text = LiveText(sizing_mode="stretch_width", margin=(6, 5, 0, 5),
                             styles={"font-size": "15px"})
        self.badge = pmui.Chip("", size="small", variant="outlined", margin=(8, 5),
                               visible=False)
        self.error = pmui.Alert("", severity="error", visible=False, margin=(4, 10),
                                sizing_mode="stretch_width")
        self.bar = pmui.LinearProgress(value=0, variant="determinate", margin=(18, 10, 0, 5),
                                       width=180)
        self.doing = pmui.Typography("", variant="body2", margin=(10, 5, 0, 5))
        self.stop = pmui.Button(label="Cancel", color="error", variant="outlined", size="small",
                                on_click=lambda _: store.cancel(), margin=(5, 10))
        self._line = wrapping(self.badge, self.doing, self.bar, self.stop, min_height=42)
        store.param.watch(self._numbers, ["scene", "answer", "exceedance"])
        store.param.watch(self._work, ["work", "fraction"])
        store.param.watch(self._failed, "error")
        self._numbers()
        self._work()

    def _numbers(self, *events) -> None:
        store, answer, scene = self.store, self.store.answer, self.store.scene
        self.badge.visible = answer is not None
        if scene is None:
            return
        if answer is None:
            self.text.text = lang.data_line(scene.data.sizes["bag"],
                                            scene.data.sizes["individual"])
            return
        weight = scene.data["weight"].values
        low, high = np.quantile(answer.mean, [0.01, 0.99]) * scene.factor
        self.text.text = lang.headline(
            scene.data.sizes["bag"], scene.data.sizes["individual"],
            float(np.average(answer.mean, weights=weight)) * scene.factor, low, high,
            float(np.median(answer.std)) * scene.factor,
            float(weight[store.exceedance > 0.5].sum() / weight.sum()),
            store.state.threshold, scene.unit, float((answer.extrapolation > 0).mean()),
        )
        stands_in = answer.kind == "start" and answer.spec.model == AUTO
        self.badge.label = lang.badge(answer.exact, "stand-in" if stands_in else answer.kind,
                                      answer.seconds, len(answer.history), answer.area_effect)
        self.badge.color = {"learnt": "success", "stopped": "warning"}.get(answer.kind, "default")

    def _work(self, *events) -> None:
        store = self.store
        fitting, steps = store.fitting, len(store.history)
        with pn.io.hold():
            self.stop.visible, self.bar.visible = fitting, bool(store.work)
            self.doing.object = f"{store.work}, step {store.history[-1][0]}" if (
                fitting and steps) else store.work or lang.READY
            variant = "determinate" if fitting and steps or not store.work else "indeterminate"
            self.bar.param.update(variant=variant, value=round(100 * store.fraction)
                                  if fitting else 0)

    def _failed(self, *events) -> None:
        self.error.param.update(object=self.store.error, visible=bool(self.store.error))
        if self.store.error and pn.state.notifications:
            pn.state.notifications.error(self.store.error, duration=8000)

    def __panel__(self):
        return pn.Column(self.error, self.text, self._line,
                         sizing_mode="stretch_width", margin=0)
