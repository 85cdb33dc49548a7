// The time lines: one canvas a chart, all over the same time, with one cursor.
import { HEADS } from "./chart_heads.js";
import { bytes, count, h, seconds, setText } from "./dom.js";

const SHOWN = 8;
const PAD = { left: 46, right: 8, top: 8, bottom: 18 };
// How numbers of a unit are shown. The report shows the same figures with the same heads.
const SHOW = {
  s: seconds,
  B: bytes,
  "/s": (v) => `${count(v)}/s`,
  share: (v) => `${Math.round(v * 100)} %`,
  "": count,
};
const OPTIONAL = ["machine"];
const PREVIEWS = ["throughput", "latency"];

export class Charts {
  constructor(holder, onMoment) {
    this.onMoment = onMoment;
    this.lines = { width_s: 0.5, origin: 0, charts: {}, faults: [], elections: [], phases: [] };
    this.range = null; // seconds from and to; null: the whole run
    this.cursor = null; // the moment under the pointer
    this.moment = null; // the moment of the replay
    this.charts = HEADS.map((head) => this.make({ ...head, show: SHOW[head.unit] || count }, holder));
    this.scheduled = false;
    this.onRange = () => {};
    new ResizeObserver(() => this.draw()).observe(holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  make(kind, holder) {
    const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": kind.title });
    const keys = h("div", { class: "keys" });
    holder.append(h("div", { class: "chart" }, h("h3", {}, kind.title, h("small", {}, PREVIEWS.includes(kind.name) ? `${kind.label}, preview` : kind.label)), canvas, keys));
    const chart = { kind, canvas, keys, box: holder.lastChild };
    this.listen(chart);
    return chart;
  }

  // Takes time lines from a bucket on; returns false if what came before is needed, too.
  take(lines) {
    if (lines.first > 0 && lines.width_s !== this.lines.width_s) return false;
    const kept = lines.first > 0 ? this.lines.charts : {};
    const charts = {};
    for (const [name, series] of Object.entries(lines.charts)) {
      charts[name] = {};
      for (const [label, numbers] of Object.entries(series)) {
        const before = kept[name]?.[label] || [];
        before.length = Math.min(before.length, lines.first);
        while (before.length < lines.first) before.push(null);
        for (const number of numbers) before.push(number);
        charts[name][label] = before;
      }
    }
    this.lines = { ...lines, charts };
    this.draw();
    return true;
  }

  get whole() {
    const lengths = Object.values(this.lines.charts.throughput || {}).map((numbers) => numbers.length);
    const begin = this.lines.phases.find((phase) => phase[1] === "load")?.[0];
    const end = this.lines.origin + Math.max(2, ...lengths) * this.lines.width_s;
    return [begin === undefined ? this.lines.origin : Math.max(this.lines.origin, begin - 3), end];
  }

  draw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(`--${name}`).trim();
      for (const chart of this.charts) this.drawOne(chart, colour);
    });
  }

  drawOne(chart, colour) {
    const { canvas, kind } = chart;
    if (OPTIONAL.includes(kind.name)) chart.box.hidden = !Object.keys(this.lines.charts[kind.name] || {}).length;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    const dense = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * dense)) {
      canvas.width = Math.round(width * dense);
      canvas.height = Math.round(height * dense);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    const [from, to] = this.range || this.whole;
    const { origin, width_s: step } = this.lines;
    const first = Math.max(0, Math.floor((from - origin) / step));
    const last = Math.ceil((to - origin) / step);
    let series = Object.entries(this.lines.charts[kind.name] || {}).map(([label, numbers]) => {
      let most = 0;
      for (let i = first; i <= last && i < numbers.length; i += 1) if (numbers[i] > most) most = numbers[i];
      return { label, numbers, most };
    });
    const many = series.length > SHOWN;
    if (many) series = [...series].sort((a, b) => b.most - a.most).slice(0, SHOWN);
    const top = niceTop(Math.max(...series.map((one) => one.most), 0));
    const x = (t) => PAD.left + (t - from) / (to - from) * (width - PAD.left - PAD.right);
    const y = (v) => height - PAD.bottom - v / top * (height - PAD.top - PAD.bottom);
    const right = width - PAD.right;
    pen.font = "10.5px system-ui, sans-serif";
    pen.save();
    pen.beginPath();
    pen.rect(PAD.left, 0, right - PAD.left, height);
    pen.clip();
    for (const fault of this.lines.faults) {
      const begin = x(fault.from);
      const width_px = Math.max(2, x(fault.to === null ? to : fault.to) - begin);
      pen.fillStyle = colour("bad");
      pen.globalAlpha = 0.13;
      pen.fillRect(begin, PAD.top, width_px, height - PAD.top - PAD.bottom);
      pen.globalAlpha = 1;
    }
    pen.strokeStyle = colour("c5");
    for (const t of this.lines.elections) {
      pen.beginPath();
      pen.moveTo(x(t), height - PAD.bottom);
      pen.lineTo(x(t), height - PAD.bottom - 9);
      pen.lineWidth = 2;
      pen.stroke();
    }
    pen.restore();
    pen.strokeStyle = colour("grid");
    pen.fillStyle = colour("soft");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    const isEmpty = !series.some((one) => one.most);
    for (const share of [0, 0.5, 1]) {
      const level = y(top * share);
      pen.beginPath();
      pen.moveTo(PAD.left, level + 0.5);
      pen.lineTo(right, level + 0.5);
      pen.stroke();
      if (!isEmpty || !share) pen.fillText(share ? kind.show(top * share) : "0", PAD.left - 5, level + 3.5, PAD.left - 6);
    }
    pen.textAlign = "center";
    for (const t of ticks(from, to, Math.max(2, Math.floor(width / 90)))) pen.fillText(`${+t.toFixed(2)} s`, x(t), height - 4);
    pen.save();
    pen.beginPath();
    pen.rect(PAD.left, 0, right - PAD.left, height);
    pen.clip();
    series.forEach((one, number) => {
      pen.strokeStyle = colour(`c${number + 1}`);
      pen.lineWidth = 1.6;
      pen.setLineDash(number >= 3 ? [[6, 3], [2, 3], [8, 3, 2, 3], [1, 3], [10, 4]][number - 3] : []);
      pen.beginPath();
      let isDown = false;
      for (let i = first; i <= last && i < one.numbers.length; i += 1) {
        const value = one.numbers[i];
        if (value === null) {
          isDown = false;
          continue;
        }
        const place = x(origin + (i + 0.5) * step);
        if (isDown) pen.lineTo(place, y(value));
        else pen.moveTo(place, y(value));
        if (!isDown && (i + 1 >= one.numbers.length || one.numbers[i + 1] === null)) pen.lineTo(place + 1.5, y(value));
        isDown = true;
      }
      pen.stroke();
      pen.setLineDash([]);
    });
    const mark = (t, name) => {
      pen.strokeStyle = colour(name);
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(Math.round(x(t)) + 0.5, 0);
      pen.lineTo(Math.round(x(t)) + 0.5, height - PAD.bottom);
      pen.stroke();
    };
    if (this.moment !== null) mark(this.moment, "ink");
    if (this.cursor !== null) mark(this.cursor, "c1");
    if (this.dragging?.moved) {
      pen.fillStyle = colour("c1");
      pen.globalAlpha = 0.15;
      pen.fillRect(x(this.dragging.from), 0, x(this.dragging.to) - x(this.dragging.from), height - PAD.bottom);
      pen.globalAlpha = 1;
    }
    pen.restore();
    this.drawKeys(chart, series, many);
  }

  drawKeys(chart, series, many) {
    const at = this.cursor ?? this.moment;
    const { origin, width_s: step } = this.lines;
    const words = series.map((one) => {
      const numbers = one.numbers;
      let i = at === null ? numbers.length - 2 : Math.floor((at - origin) / step);
      i = Math.min(Math.max(i, 0), numbers.length - 1);
      const value = numbers[i];
      return [one.label, value === null || value === undefined ? "–" : chart.kind.show(value)];
    });
    const signature = JSON.stringify(words.map((one) => one[0]));
    if (chart.signature !== signature) {
      chart.signature = signature;
      chart.values = words.map(([label], number) => {
        const value = h("b", {});
        return { value, key: h("span", {}, h("i", { class: `k${number + 1}` }), label, " ", value) };
      });
      chart.keys.replaceChildren(...chart.values.map((one) => one.key), ...(many ? [h("span", {}, "and more")] : []));
    }
    words.forEach(([, text], number) => setText(chart.values[number].value, text));
    const summary = `${chart.kind.title}: ${words.slice(0, 4).map((one) => one.join(" ")).join(", ") || "nothing yet"}`;
    if (chart.canvas.getAttribute("aria-label") !== summary) chart.canvas.setAttribute("aria-label", summary);
  }

  time(event, canvas) {
    const frame = canvas.getBoundingClientRect();
    const [from, to] = this.range || this.whole;
    const share = (event.clientX - frame.left - PAD.left) / (frame.width - PAD.left - PAD.right);
    return from + Math.min(Math.max(share, 0), 1) * (to - from);
  }

  listen({ canvas }) {
    canvas.addEventListener("pointermove", (event) => {
      this.cursor = this.time(event, canvas);
      if (this.dragging) {
        this.dragging.to = this.cursor;
        this.dragging.moved ||= Math.abs(event.clientX - this.dragging.x) > 6;
      }
      this.draw();
    });
    canvas.addEventListener("pointerleave", () => {
      this.cursor = null;
      this.dragging = null;
      this.draw();
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button === 0) this.dragging = { from: this.time(event, canvas), to: this.time(event, canvas), x: event.clientX, moved: false };
    });
    canvas.addEventListener("pointerup", () => {
      const drag = this.dragging;
      this.dragging = null;
      if (!drag) return;
      if (drag.moved) this.setRange([Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]);
      else this.onMoment(drag.to);
    });
    canvas.addEventListener("dblclick", () => this.setRange(null));
    canvas.addEventListener("keydown", (event) => {
      const [from, to] = this.range || this.whole;
      const step = (to - from) / 60;
      const at = this.cursor ?? this.moment ?? to;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        event.preventDefault();
        this.cursor = Math.min(Math.max(at + (event.key === "ArrowLeft" ? -step : step), from), to);
      } else if (event.key === "Enter") this.onMoment(at);
      else if (event.key === "+") this.setRange([at - (at - from) / 1.5, at + (to - at) / 1.5]);
      else if (event.key === "-") this.setRange([at - (at - from) * 1.5, at + (to - at) * 1.5]);
      else if (event.key === "Escape") this.setRange(null);
      this.draw();
    });
    canvas.addEventListener("blur", () => {
      this.cursor = null;
      this.draw();
    });
  }

  setRange(range) {
    this.range = range && range[1] - range[0] > 0.2 ? range : null;
    this.onRange(this.range);
    this.draw();
  }

  setMoment(t) {
    this.moment = t;
    this.draw();
  }
}

function niceTop(most) {
  if (!most) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (most <= step * power) return step * power;
  return 10 * power;
}

function ticks(from, to, most) {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) found.push(t);
  return found;
}

// A small chart of one series, for details and results.
export function drawSpark(canvas, numbers) {
  requestAnimationFrame(() => {
    const dense = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth || 200, canvas.clientHeight || 34];
    canvas.width = width * dense;
    canvas.height = height * dense;
    const pen = canvas.getContext("2d");
    pen.scale(dense, dense);
    const known = numbers.filter((value) => value !== null);
    if (!known.length) return;
    const [low, high] = [Math.min(...known, 0), Math.max(...known)];
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--c1").trim();
    pen.lineWidth = 1.4;
    pen.beginPath();
    let isDown = false;
    numbers.forEach((value, i) => {
      if (value === null) {
        isDown = false;
        return;
      }
      const x = numbers.length > 1 ? i / (numbers.length - 1) * (width - 2) + 1 : width / 2;
      const y = height - 3 - (high === low ? 0.5 : (value - low) / (high - low)) * (height - 6);
      if (isDown) pen.lineTo(x, y);
      else pen.moveTo(x, y);
      isDown = true;
    });
    pen.stroke();
  });
}
