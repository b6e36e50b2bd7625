"""The figures of a page as one picture, or inside a report: drawn anew by the browser."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.base import messages
from workbench.ui.base.views.bundle import PICTURES

DRAWN = "wb-drawn"      # class of words and bars of colours that belong to a page's pictures


class Pictures(pn.custom.JSComponent):
    """Downloads what is drawn on the page when it is asked to."""

    asked = param.List(doc="png, svg or html; name of the file; page of HTML; caption; how often")
    place = param.String(PICTURES, constant=True, doc="what of the page pictures replace")
    marked = param.String(DRAWN, constant=True, doc="class of words and bars that belong to them")
    nothing = param.String(messages.NO_PLOT, constant=True)
    failed = param.String("", doc="what went wrong last")

    _esm = """
    // Most pixels between what stands in a picture; its share below which parts are set anew.
    const GAP = 24, EMPTY = 0.85
    const LINE = 18, CAPTION = '400 13px sans-serif'     // of a caption
    const there = el => {            // not in a drawer that is closed
      const {width, left} = el.getBoundingClientRect()
      return width > 0 && left < innerWidth && getComputedStyle(el).visibility !== 'hidden'
    }
    const figures = () => [...new Set(Bokeh.index.all_views())].filter(
      view => view.model.type === 'Figure' && view.is_displayed && there(view.el))
    const controls = view => {       // a chart of the sidebar, far from the page's
      let one = view.el
      while (one && one.tagName !== 'NAV') one = one.parentNode ?? one.host
      return one !== null && one !== undefined
    }
    const ground = () => getComputedStyle(document.body).backgroundColor
    const ink = () => getComputedStyle(document.body).color
    const box = rect => ({x: rect.left, y: rect.top, w: rect.width, h: rect.height})
    const safe = text => text.replace(/[&<>"]/g, one => `&#${one.charCodeAt(0)};`)
    const download = (blob, download) => {
      const link = Object.assign(document.createElement('a'),
                                 {href: URL.createObjectURL(blob), download})
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 20000)
    }
    const deep = function* (root) {
      for (const one of root.querySelectorAll('*')) {
        yield one
        if (one.shadowRoot) yield* deep(one.shadowRoot)
      }
    }
    // Lines of words, and bars of colours, of an element of the page.
    const parts = host => {
      const found = []
      for (const one of deep(host.shadowRoot ?? host)) {
        if (['STYLE', 'SCRIPT'].includes(one.tagName)) continue
        const style = getComputedStyle(one)
        const stops = style.backgroundImage.match(/rgba?[(][^)]*[)]/g)
        if (stops) found.push({stops, ...box(one.getBoundingClientRect())})
        for (const node of one.childNodes) {
          if (node.nodeType !== Node.TEXT_NODE) continue
          const range = document.createRange()
          for (const word of node.data.matchAll(/[^ \\n\\t]+/g)) {
            range.setStart(node, word.index)
            range.setEnd(node, word.index + word[0].length)
            const at = box(range.getBoundingClientRect()), line = found.at(-1)
            if (!at.w) continue
            if (line?.node === node && Math.abs(line.y - at.y) < 2) line.text += ` ${word[0]}`
            else found.push({node, text: word[0], ...at, colour: style.color,
                             font: `${style.fontWeight} ${style.fontSize} sans-serif`})
          }
        }
      }
      return found
    }
    const across = (width, text) => {       // pixels of a length that may hold percents
      const outer = document.createElement('div'), inner = document.createElement('div')
      outer.style.cssText = `position: fixed; visibility: hidden; width: ${width}px`
      inner.style.width = text
      document.body.append(outer)
      outer.append(inner)
      const found = inner.getBoundingClientRect().width
      outer.remove()
      return found
    }
    // What is seen of a figure that another is laid over, as a divider leaves it.
    const seen = view => {
      for (let one = view.el; one; one = one.parentNode ?? one.host) {
        const shape = one.style?.clipPath
        if (!shape?.startsWith('inset(')) continue
        const sides = shape.slice(6, -1).match(/calc[(].*[)]|[^ ]+/g), at = box(
          one.getBoundingClientRect())
        const [right, left] = [sides[1] ?? '0px', sides[3] ?? '0px'].map(s => across(at.w, s))
        return {...at, x: at.x + left, w: Math.max(0, at.w - left - right), divides: left > 0}
      }
      return null
    }
    const moved = (part, right, down) => part && {...part, x: part.x + right, y: part.y + down}
    // Whether words belong to one figure, such as a legend right below it.
    const beside = (view, word) => {
      const {x, y, w, h} = box(view.el.getBoundingClientRect())
      return word.x > x - 8 && word.x < x + w && word.y > y && word.y < y + h + 60
    }
    // A text in lines that are no wider than so many pixels.
    const lines = (text, width) => {
      const context = document.createElement('canvas').getContext('2d'), found = []
      context.font = CAPTION
      for (const word of text.split(' ').filter(Boolean)) {
        const longer = found.length ? `${found.at(-1)} ${word}` : word
        if (found.length && context.measureText(longer).width <= width) found.splice(-1, 1, longer)
        else found.push(word)
      }
      return found
    }
    // Where along one axis things stand once the page between them, which no picture shows, is out.
    const closer = spans => {
      const gaps = []
      let end = -Infinity
      for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
        if (from - end > GAP && end > -Infinity) gaps.push([from, from - end - GAP])
        end = Math.max(end, to)
      }
      return at => gaps.reduce((to, [from, out]) => at >= from ? to - out : to, at)
    }
    const around = boxes => {
      const x = Math.min(...boxes.map(b => b.x)), y = Math.min(...boxes.map(b => b.y))
      return {x, y, w: Math.max(...boxes.map(b => b.x + b.w)) - x,
              h: Math.max(...boxes.map(b => b.y + b.h)) - y}
    }
    const over = (a, b) => a.x < b.x + b.w - 8 && b.x < a.x + a.w - 8
      && a.y < b.y + b.h - 8 && b.y < a.y + a.h - 8
    // Figures with the words that belong to them, those laid over each other as one.
    const blocks = (views, words) => {
      const found = []
      for (const view of views) {
        const at = {...box(view.el.getBoundingClientRect()), one: view}
        const all = [at, ...words.filter(word => beside(view, word)).map(
          word => ({...word, one: word}))]
        const same = found.find(block => over(block.first, at))
        if (same) same.all.push(...all)
        else found.push({first: at, all})
      }
      const rows = [], all = found.map(block => ({...block, ...around(block.all)}))
      for (const one of all.sort((a, b) => a.y - b.y)) {
        if (rows.length && one.y < rows.at(-1)[0].y + rows.at(-1)[0].h / 2) rows.at(-1).push(one)
        else rows.push([one])
      }
      return rows.flatMap(row => row.sort((a, b) => a.x - b.x))
    }
    // How far each thing is moved, line by line as words are.
    const flowed = (found, width) => {
      const shift = new Map()
      let x = 0, y = 0, high = 0, wide = 0
      for (const block of found) {
        if (x > 0 && x + block.w > width) [x, y, high] = [0, y + high + GAP, 0]
        for (const {one} of block.all) shift.set(one, [x - block.x, y - block.y])
        ;[wide, high] = [Math.max(wide, x + block.w), Math.max(high, block.h)]
        x += block.w + GAP
      }
      return {shift, left: 0, top: 0, w: wide, h: y + high}
    }
    const closed = things => {
      const across = closer(things.map(b => [b.x, b.x + b.w]))
      const down = closer(things.map(b => [b.y, b.y + b.h]))
      const put = things.map(b => ({...b, x: across(b.x), y: down(b.y)})), whole = around(put)
      const shift = new Map(things.map((b, k) => [b.one, [put[k].x - b.x, put[k].y - b.y]]))
      return {shift, left: whole.x, top: whole.y, w: whole.w, h: whole.h}
    }
    // The page's places, closer to each other, unless that leaves much of the picture empty.
    const placed = (views, words) => {
      const things = [...views.map(view => ({...box(view.el.getBoundingClientRect()), one: view})),
                      ...words.map(word => ({...word, one: word}))]
      const kept = closed(things)
      if (!words.every(word => views.some(view => beside(view, word)))) return kept
      const anew = flowed(blocks(views, words), 1.08 * kept.w)
      return anew.w * anew.h < EMPTY * kept.w * kept.h ? anew : kept
    }
    const frame = (views, words, caption) => {
      const {shift, left, top, w, h} = placed(views, words)
      const width = Math.ceil(w), high = Math.ceil(h)
      const said = lines(caption, width - 16).map((text, k) => ({
        text, x: left + 8, y: top + high + 4 + LINE * k, h: LINE, colour: ink(), font: CAPTION}))
      const below = said.length ? LINE * said.length + 8 : 0
      return {left, top, width, height: high + below, shift,
              words: [...words.map(word => moved(word, ...shift.get(word))), ...said]}
    }
    const drawn = (views, at, scale) => {
      const canvas = document.createElement('canvas')
      canvas.width = at.width * scale
      canvas.height = at.height * scale
      const context = canvas.getContext('2d')
      context.scale(scale, scale)
      context.fillStyle = ground()
      context.fillRect(0, 0, at.width, at.height)
      context.translate(-at.left, -at.top)
      for (const view of views) {
        const {x, y, w, h} = moved(box(view.el.getBoundingClientRect()), ...at.shift.get(view))
        const part = moved(seen(view), ...at.shift.get(view))
        context.save()
        if (part) {
          context.beginPath()
          context.rect(part.x, part.y, part.w, part.h)
          context.clip()
        }
        context.drawImage(view.export('png', true).canvas, x, y, w, h)
        context.fillStyle = '#E6007E'
        if (part?.divides) context.fillRect(part.x, part.y, 2, part.h)
        context.restore()
      }
      context.textBaseline = 'middle'
      for (const one of at.words) {
        if (one.stops) {
          const fill = context.createLinearGradient(one.x, 0, one.x + one.w, 0)
          one.stops.forEach((stop, k) => fill.addColorStop(k / (one.stops.length - 1), stop))
          context.fillStyle = fill
          context.fillRect(one.x, one.y, one.w, one.h)
        } else {
          context.font = one.font
          context.fillStyle = one.colour
          context.fillText(one.text, one.x, one.y + one.h / 2)
        }
      }
      return canvas
    }
    const svg = async (views, at) => {
      const figures = await Promise.all(views.map(async (view, k) => {
        const text = await (await view.export('svg', true).to_blob()).text()
        const {x, y} = moved(box(view.el.getBoundingClientRect()), ...at.shift.get(view))
        const part = moved(seen(view), ...at.shift.get(view))
        const inner = text.slice(text.indexOf('<svg')).replace('<svg', `<svg x="${x}" y="${y}"`)
        if (!part) return inner
        const rect = `x="${part.x}" y="${part.y}" height="${part.h}"`
        const line = part.divides ? `<rect ${rect} width="2" fill="#E6007E"/>` : ''
        return `<clipPath id="wb-seen-${k}"><rect ${rect} width="${part.w}"/></clipPath>`
          + `<g clip-path="url(#wb-seen-${k})">${inner}${line}</g>`
      }))
      const words = at.words.map((one, k) => one.stops
        ? `<linearGradient id="wb-bar-${k}">${one.stops.map((stop, i) => `<stop offset="${
            i / (one.stops.length - 1)}" stop-color="${stop}"/>`).join('')}</linearGradient>`
          + `<rect x="${one.x}" y="${one.y}" width="${one.w}" height="${one.h}" `
          + `fill="url(#wb-bar-${k})"/>`
        : `<text x="${one.x}" y="${one.y + one.h / 2}" dominant-baseline="central" `
          + `style="font: ${one.font}" fill="${one.colour}">${safe(one.text)}</text>`)
      return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" `
        + `width="${at.width}" height="${at.height}"><rect width="100%" height="100%" `
        + `fill="${ground()}"/><g transform="translate(${-at.left} ${-at.top})">`
        + `${figures.join('')}${words.join('')}</g></svg>`
    }
    const picture = (views, words, caption) => {
      const at = frame(views, words, caption), canvas = drawn(views, at, 2)
      return `<img width="${at.width}" alt="figure" src="${canvas.toDataURL('image/png')}">`
    }
    export function render({model, el}) {
      model.on('asked', async () => {
        const [kind, name, page, caption] = model.asked
        try {
          const all = kind !== 'html' || page.includes(model.place) ? figures() : []
          const views = kind === 'html' ? all : all.filter(view => !controls(view))
          if (kind !== 'html' && !views.length) throw new Error(model.nothing)
          const words = [...deep(document)].filter(
            one => one.classList.contains(model.marked) && there(one)).flatMap(parts)
          if (kind === 'html') {
            const alone = words.every(word => views.some(view => beside(view, word)))
            const shown = alone ? views.map(
              view => picture([view], words.filter(word => beside(view, word)), ''))
              : [picture(views, words, '')]
            const whole = page.split(model.place).join(shown.join('\\n'))
            download(new Blob([whole], {type: 'text/html'}), name)
          } else if (kind === 'svg') {
            const text = await svg(views, frame(views, words, caption))
            download(new Blob([text], {type: 'image/svg+xml'}), name)
          } else {
            const canvas = drawn(views, frame(views, words, caption), 2)
            download(await new Promise(done => canvas.toBlob(done, 'image/png')), name)
          }
        } catch (error) {
          model.failed = String(error)
        }
      })
      return document.createElement('div')
    }
    """

    def ask(self, kind: str, name: str, page: str = "", caption: str = "") -> None:
        """Have the browser download a picture of the page, or a report with its pictures.

        Parameters
        ----------
        kind : {"png", "svg", "html"}
        name : str
            Of the file.
        page : str
            The report.
        caption : str
            Stands below a picture.
        """
        count = self.asked[-1] + 1 if self.asked else 1
        self.asked = [kind, name, page, caption, count]
