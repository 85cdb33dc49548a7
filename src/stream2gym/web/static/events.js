// The list of events, newest first. Many may come at once: rows are made a few times a second, for the newest only.
import { clock, count, h } from "./dom.js";

const KEPT = 5000;
const ROWS = 150;
const EVERY_MS = 250;
const HIDDEN = new Set(["at_ns", "wall", "event", "number", "t", "planned_ns", "took_ms", "resolved_ns", "pid", "cpu_s", "max_rss_bytes"]);
const BAD = ["died", "fault-applied", "fault-failed", "fault-skipped", "run-failed", "query-failed", "sink-failed", "monitor-failed", "store-lost", "check-failed"];
const GOOD = ["ready", "fault-healed", "restarted", "store-found", "monitor-works-again", "drained"];
const WARN = ["warning", "leader", "controller", "isr", "interrupted", "clock-stepped"];

export const eventTone = (kind) => (BAD.includes(kind) ? "bad" : GOOD.includes(kind) ? "good" : WARN.includes(kind) ? "warn" : "");

function words(value) {
  if (Array.isArray(value)) return value.map(words).join(", ");
  if (value && typeof value === "object") return Object.entries(value).map(([key, inside]) => `${key}: ${words(inside)}`).join(", ");
  return String(value);
}

export function eventText(event) {
  return Object.entries(event).filter(([key, value]) => !HIDDEN.has(key) && value !== null && value !== "").map(([key, value]) => `${key} ${words(value)}`).join(" · ");
}

export class Events {
  constructor(list, search, choice) {
    this.list = list;
    this.search = search;
    this.choice = choice;
    this.all = [];
    this.until = null; // the moment of a replay: later events have not happened yet
    this.leftOut = 0;
    this.drawn = 0;
    search.addEventListener("input", () => this.draw());
    choice.addEventListener("change", () => this.draw());
  }

  reset() {
    this.all = [];
    this.leftOut = 0;
  }

  setComponents(names) {
    const chosen = this.choice.value;
    this.choice.replaceChildren(h("option", { value: "" }, "all components"), ...names.map((name) => h("option", { value: name }, name)));
    this.choice.value = names.includes(chosen) ? chosen : "";
  }

  take(part) {
    this.leftOut += part.left_out;
    if (!part.rows.length) return;
    for (const event of part.rows) {
      event.words = eventText(event);
      this.all.push(event);
    }
    if (this.all.length > KEPT * 1.2) this.all = this.all.slice(-KEPT);
    this.draw();
  }

  setUntil(t) {
    if (this.until === t) return;
    this.until = t;
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    const wait = Math.max(0, this.drawn + EVERY_MS - performance.now());
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.drawn = performance.now();
      this.drawNow();
    }, wait);
  }

  drawNow() {
    const wanted = this.search.value.trim().toLowerCase();
    const component = this.choice.value;
    const rows = [];
    let more = 0;
    for (let i = this.all.length - 1; i >= 0; i -= 1) {
      const event = this.all[i];
      if (this.until !== null && event.t > this.until) continue;
      if (component && event.component !== component && !(event.on || []).includes(component)) continue;
      if (wanted && !`${event.event} ${event.words}`.toLowerCase().includes(wanted)) continue;
      if (rows.length >= ROWS) {
        more += 1;
        if (more > 500) break;
        continue;
      }
      rows.push(h("div", { class: `event ${eventTone(event.event)}` },
        h("a", { href: `#t=${event.t.toFixed(1)}` }, clock(event.t)), h("b", {}, event.event), h("span", {}, event.words)));
    }
    if (!rows.length) rows.push(h("div", { class: "event none" }, "none"));
    if (more) rows.push(h("div", { class: "event none" }, more > 500 ? "and many earlier ones" : `and ${more} earlier ones`));
    if (this.leftOut) rows.push(h("div", { class: "event none" }, `${count(this.leftOut)} came faster than they can be shown; events.jsonl has all`));
    this.list.replaceChildren(...rows);
  }
}
