// Makes elements. Every text becomes a text node, so nothing from a run is ever read as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.getAttribute("class") !== name) element.setAttribute("class", name);
}

// Numbers for people.
export function count(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

function scaled(value, units, base) {
  let unit = 0;
  let number = value;
  while (Math.abs(number) >= base && unit < units.length - 1) {
    number /= base;
    unit += 1;
  }
  return `${number >= 100 || Number.isInteger(number) ? Math.round(number) : number.toPrecision(2)} ${units[unit]}`;
}

export const bits = (bps) => scaled(bps, ["bps", "kbps", "Mbps", "Gbps"], 1000);
export const bytes = (value) => scaled(value, ["B", "KiB", "MiB", "GiB"], 1024);
export const seconds = (value) => (value < 1 ? `${(value * 1000).toPrecision(3)} ms` : `${value.toPrecision(3)} s`);
export const clock = (t) => `${t < 0 ? "−" : ""}${Math.abs(t).toFixed(1)} s`;
