"""The figures of a page as one picture, or inside a report: drawn anew by the browser."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.base.views.bundle import PICTURES


class Pictures(pn.custom.JSComponent):
    """Downloads what is drawn on the page when it is asked to."""

    asked = param.List(doc="png, svg or html; name of the file; page of HTML; how often asked")
    place = param.String(PICTURES, constant=True, doc="what of the page pictures replace")
    failed = param.String("", doc="what went wrong last")

    _esm = """
    const figures = () => [...new Set(Bokeh.index.all_views())].filter(
      view => view.model.type === 'Figure' && view.is_displayed
        && view.el.getBoundingClientRect().width > 0)
    const ground = () => getComputedStyle(document.body).backgroundColor
    const download = (blob, name) => {
      const link = document.createElement('a')
      link.href = URL.createObjectURL(blob)
      link.download = name
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 20000)
    }
    const frame = views => {
      const boxes = views.map(view => view.el.getBoundingClientRect())
      const left = Math.min(...boxes.map(b => b.left)), top = Math.min(...boxes.map(b => b.top))
      return {boxes: boxes.map(b => ({x: b.left - left, y: b.top - top, w: b.width, h: b.height})),
              width: Math.ceil(Math.max(...boxes.map(b => b.right)) - left),
              height: Math.ceil(Math.max(...boxes.map(b => b.bottom)) - top)}
    }
    const drawn = (views, at, scale) => {
      const canvas = document.createElement('canvas')
      canvas.width = at.width * scale
      canvas.height = at.height * scale
      const context = canvas.getContext('2d')
      context.fillStyle = ground()
      context.fillRect(0, 0, canvas.width, canvas.height)
      views.forEach((view, k) => {
        const {x, y, w, h} = at.boxes[k]
        context.drawImage(view.export('png', true).canvas, x * scale, y * scale, w * scale,
                          h * scale)
      })
      return canvas
    }
    const svg = async (views, at) => {
      const parts = await Promise.all(views.map(async (view, k) => {
        const text = await (await view.export('svg', true).to_blob()).text()
        const {x, y} = at.boxes[k]
        return text.slice(text.indexOf('<svg')).replace('<svg', `<svg x="${x}" y="${y}"`)
      }))
      return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" `
        + `width="${at.width}" height="${at.height}"><rect width="100%" height="100%" `
        + `fill="${ground()}"/>${parts.join('')}</svg>`
    }
    export function render({model, el}) {
      model.on('asked', async () => {
        const [kind, name, page] = model.asked
        try {
          const views = figures()
          if (kind === 'html') {
            const shown = views.map(view => {
              const {width, height} = view.el.getBoundingClientRect()
              const at = {boxes: [{x: 0, y: 0, w: width, h: height}], width, height}
              const picture = drawn([view], at, 2).toDataURL('image/png')
              return `<img width="${Math.round(width)}" alt="figure" src="${picture}">`
            })
            const whole = page.split(model.place).join(shown.join('\\n'))
            download(new Blob([whole], {type: 'text/html'}), name)
          } else if (kind === 'svg') {
            download(new Blob([await svg(views, frame(views))], {type: 'image/svg+xml'}), name)
          } else {
            const canvas = drawn(views, frame(views), 2)
            download(await new Promise(done => canvas.toBlob(done, 'image/png')), name)
          }
        } catch (error) {
          model.failed = String(error)
        }
      })
      return document.createElement('div')
    }
    """

    def ask(self, kind: str, name: str, page: str = "") -> None:
        """Have the browser download a picture of the page, or a report with its pictures.

        Parameters
        ----------
        kind : {"png", "svg", "html"}
        name : str
            Of the file.
        page : str
            The report.
        """
        count = self.asked[-1] + 1 if self.asked else 1
        self.asked = [kind, name, page, count]
