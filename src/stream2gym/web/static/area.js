// The part of a picture that is seen: zooming, moving, and what pointer and keyboard do to it.
import { s } from "./dom.js";

export class Area {
  // ``picture`` has an svg, a root group and a box; ``activate``, ``selectInside``, ``toggleCollapse`` and ``onChoose``
  // are called for what is clicked or drawn around.
  constructor(picture) {
    this.picture = picture;
    this.svg = picture.svg;
    this.holder = picture.holder;
    this.listen();
    new ResizeObserver(() => this.picture.box && this.fit()).observe(this.holder);
  }

  fit() {
    const [x, y, w, h] = this.picture.box;
    const frame = this.holder.getBoundingClientRect();
    const ratio = (frame.width || 800) / (frame.height || 400);
    // A small topology is not blown up to fill the room.
    let [width, height] = [Math.max(w, (frame.width || 800) / 1.5), Math.max(h, (frame.height || 400) / 1.5)];
    if (width / height < ratio) width = height * ratio;
    else height = width / ratio;
    this.seen = { x: x + w / 2 - width / 2, y: y + h / 2 - height / 2, w: width, h: height };
    this.setArea();
  }

  setArea() {
    const { x, y, w, h } = this.seen;
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    this.picture.root.classList.toggle("near", w / (this.svg.clientWidth || 800) < 0.75);
  }

  look(x, y, width) {
    const height = width * this.seen.h / this.seen.w;
    this.seen = { x: x - width / 2, y: y - height / 2, w: width, h: height };
    this.setArea();
  }

  zoom(factor, at) {
    const { x, y, w, h } = this.seen;
    const centre = at || { x: x + w / 2, y: y + h / 2 };
    const width = Math.min(Math.max(w * factor, 80), 40000);
    const share = width / w;
    this.seen = { x: centre.x - (centre.x - x) * share, y: centre.y - (centre.y - y) * share, w: width, h: h * share };
    this.setArea();
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect();
    return {
      x: this.seen.x + (event.clientX - frame.left) / frame.width * this.seen.w,
      y: this.seen.y + (event.clientY - frame.top) / frame.height * this.seen.h,
    };
  }

  listen() {
    const svg = this.svg;
    let from = null;
    let moved = false;
    let line = null;
    svg.addEventListener("wheel", (event) => {
      // Without a key the wheel scrolls the page; two fingers on a touchpad come with it.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, this.point(event));
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = { x: event.clientX, y: event.clientY, seen: { ...this.seen } };
      moved = false;
      if (this.picture.lassoing) {
        line = { points: [this.point(event)], path: s("path", { class: "lasso" }) };
        this.picture.root.append(line.path);
      }
    });
    svg.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!moved && Math.hypot(dx, dy) < 5) return;
      if (!moved) svg.setPointerCapture(event.pointerId);
      moved = true;
      if (line) {
        line.points.push(this.point(event));
        line.path.setAttribute("d", `M${line.points.map((one) => `${one.x.toFixed(1)} ${one.y.toFixed(1)}`).join("L")}Z`);
        return;
      }
      const frame = svg.getBoundingClientRect();
      this.seen.x = from.seen.x - dx / frame.width * this.seen.w;
      this.seen.y = from.seen.y - dy / frame.height * this.seen.h;
      this.setArea();
    });
    const end = () => {
      from = null;
      if (line) {
        line.path.remove();
        if (moved) this.picture.selectInside(line.points);
        line = null;
      }
    };
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("click", (event) => {
      if (moved) {
        moved = false;
        return;
      }
      const target = event.target.closest("[data-name]");
      if (target) this.picture.activate(target, event.shiftKey);
      else this.picture.onChoose(null);
    });
    svg.addEventListener("dblclick", (event) => {
      const target = event.target.closest(".node.switch");
      if (target) this.picture.toggleCollapse(target.getAttribute("data-name"));
    });
    svg.addEventListener("keydown", (event) => {
      const target = event.target.closest?.("[data-name]");
      if (target && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        this.picture.activate(target, event.key === " " && this.picture.lassoing);
      } else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.25);
      else if (event.key === "-") this.zoom(1.25);
      else if (event.key === "0") this.fit();
      else if (event.key.startsWith("Arrow")) {
        event.preventDefault();
        const step = this.seen.w / 12;
        this.seen.x += { ArrowLeft: -step, ArrowRight: step }[event.key] || 0;
        this.seen.y += { ArrowUp: -step, ArrowDown: step }[event.key] || 0;
        this.setArea();
      }
    });
  }
}

// Whether a point is inside a polygon: a ray from it crosses an odd number of edges.
export function isInside(point, polygon) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [a, b] = [polygon[i], polygon[j]];
    if (a.y > point.y !== b.y > point.y && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}
