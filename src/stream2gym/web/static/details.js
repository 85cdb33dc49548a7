// The details of what was chosen in the picture, with what can be done to it.
import { get } from "./api.js";
import { drawSpark } from "./charts.js";
import { bits, bytes, h } from "./dom.js";
import { stateSign } from "./picture.js";

const LATENCIES = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];
const LOSSES = [0, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 90];
const BANDWIDTHS = ["as it is", "100 kbps", "500 kbps", "1 Mbps", "5 Mbps", "10 Mbps", "50 Mbps", "100 Mbps", "1 Gbps"];

const facts = (rows) => h("dl", { class: "facts" }, ...rows.filter(Boolean).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

export class Details {
  constructor(card, holder, head, doFault) {
    this.card = card;
    this.holder = holder;
    this.head = head;
    this.doFault = doFault;
    this.chosen = null;
    this.selected = [];
  }

  setRun(run) {
    const isFirst = !this.run;
    this.run = run;
    this.components = new Map(run.topology.components.map((part) => [part.name, part]));
    this.nodes = new Map(run.topology.nodes.map((node) => [node.name, node]));
    if (!isFirst) this.build();
  }

  show(chosen) {
    this.chosen = chosen;
    this.build();
  }

  select(hosts) {
    this.selected = hosts;
    this.build();
  }

  update(snapshot) {
    this.snapshot = snapshot;
    if (this.wasAllowed !== this.isAllowed) this.build();
    else this.refresh?.();
  }

  get isAllowed() {
    return Boolean(this.snapshot?.takes_faults) && !this.run.read_only && !this.isReplaying;
  }

  build() {
    this.refresh = null;
    this.wasAllowed = this.isAllowed;
    const parts = [];
    if (this.selected.length) parts.push(this.selection());
    if (this.chosen && this.snapshot) parts.push(this.one(this.chosen));
    this.card.hidden = !parts.length;
    this.holder.replaceChildren(...parts.filter(Boolean));
    this.head.textContent = this.chosen ? `${this.chosen.kind} ${this.title()}` : "Selected hosts";
    this.refresh?.();
  }

  title() {
    return this.chosen.name.replace(/^topic /, "");
  }

  action(text, fault, tone = "danger") {
    return h("button", { class: tone, disabled: !this.isAllowed, title: this.why(), onclick: () => this.doFault(fault) }, text);
  }

  why() {
    if (this.run.read_only) return "this page can change nothing (--read-only)";
    if (this.isReplaying) return "this is a replay; Live returns to the run";
    return this.isAllowed ? "" : "a run takes faults from the start of its load until it stops";
  }

  selection() {
    const rest = [...this.nodes.values()].filter((node) => node.kind === "host" && !this.selected.includes(node.name)).map((node) => node.name);
    return h("div", {}, h("p", { class: "soft" }, this.selected.join(", ")), h("div", { class: "actions" },
      rest.length ? this.action("Partition from the rest", { do: "partition", on: [], settings: { groups: [this.selected, rest] } }) : null,
      this.action("Isolate each", { do: "isolate", on: this.selected }),
      h("button", { onclick: () => this.clear() }, "Clear")));
  }

  one({ name, kind }) {
    if (kind === "link") return this.link(name);
    if (kind === "host") return this.host(name);
    if (kind === "switch") return this.switch(name);
    if (kind === "topic") return this.topic(name.replace(/^topic /, ""));
    return this.component(name);
  }

  live(element, make) {
    const before = this.refresh;
    this.refresh = () => {
      before?.();
      element.replaceChildren(...make());
    };
    return element;
  }

  link(name) {
    const link = () => this.snapshot.links[name];
    const box = this.live(h("div", {}), () => [facts([
      ["settings", link().settings], ["there", `${bits(link().bps[0])}${link().use[0] === null ? "" : `, ${Math.round(link().use[0] * 100)} % used`}`],
      ["back", `${bits(link().bps[1])}${link().use[1] === null ? "" : `, ${Math.round(link().use[1] * 100)} % used`}`],
      ["queue", `${bytes(link().queue[0])} / ${bytes(link().queue[1])}`], ["drops", `${link().drops[0]}/s, ${link().drops[1]}/s`],
      link().faults.length ? ["faults", link().faults.join(", ")] : null,
    ]), h("div", { class: "actions" }, ...link().faults.map((fault) => this.healButton(fault)))]);
    return h("div", {}, box, h("div", { class: "actions" }, this.action("Cut", { do: "down", on: [name] })), this.sliders(name),
      this.series([`${name} forward`, `${name} backward`]));
  }

  healButton(fault) {
    return h("button", { class: "good", disabled: !this.isAllowed, onclick: () => this.doFault({ heal: fault }) }, `Heal ${fault}`);
  }

  sliders(name) {
    const slider = (label, values, show) => {
      const shown = h("output", {}, show(values[0]));
      const input = h("input", { type: "range", min: 0, max: values.length - 1, value: 0, "aria-label": label,
        oninput: () => { shown.textContent = show(values[input.value]); } });
      return { value: () => values[input.value], row: h("label", {}, label, input, shown) };
    };
    const latency = slider("Latency", LATENCIES, (v) => (v ? `${v} ms` : "as it is"));
    const loss = slider("Loss", LOSSES, (v) => (v ? `${v} %` : "as it is"));
    const bandwidth = slider("Bandwidth", BANDWIDTHS, (v) => v);
    const degrade = () => {
      const settings = {};
      if (latency.value()) settings.latency = `${latency.value()} ms`;
      if (loss.value()) settings.loss = `${loss.value()} %`;
      if (bandwidth.value() !== BANDWIDTHS[0]) settings.bandwidth = bandwidth.value();
      this.doFault({ do: "degrade", on: [name], settings });
    };
    return h("div", { class: "sliders" }, latency.row, loss.row, bandwidth.row,
      h("div", { class: "actions" }, h("button", { class: "danger", disabled: !this.isAllowed, title: this.why(), onclick: degrade }, "Degrade")));
  }

  host(name) {
    const node = this.nodes.get(name);
    const parts = [...this.components.values()].filter((part) => part.host === name);
    const links = this.run.topology.links.filter((link) => link.a === name || link.b === name);
    return h("div", {},
      facts([["address", node.address], node.limits.cpu ? ["CPU", `${Math.round(node.limits.cpu * 100)} % of the machine`] : null,
        node.limits.memory ? ["memory", bytes(node.limits.memory)] : null]),
      h("div", { class: "actions" }, ...parts.map((part) => h("button", { onclick: () => this.choose(part.name, "component") }, part.name)),
        ...links.map((link) => h("button", { onclick: () => this.choose(link.name, "link") }, link.name))),
      h("div", { class: "actions" }, this.action("Isolate", { do: "isolate", on: [name] }), this.action("Power off", { do: "host-off", on: [name] }),
        h("button", { onclick: () => this.toggle(name) }, "Select")),
      ...parts.length === 1 ? [this.component(parts[0].name)] : [this.series([name])]);
  }

  switch(name) {
    const links = this.run.topology.links.filter((link) => link.a === name || link.b === name);
    return h("div", {}, h("div", { class: "actions" }, this.action("Switch off", { do: "switch-down", on: [name] }),
      h("button", { onclick: () => this.collapse(name) }, "Collapse or expand")),
    h("div", { class: "actions scroll" }, ...links.map((link) => h("button", { onclick: () => this.choose(link.name, "link") }, link.name))));
  }

  topic(name) {
    return this.live(h("div", {}), () => {
      const rows = Object.entries(this.snapshot.leaders).filter(([place]) => place.slice(0, place.lastIndexOf("/")) === name);
      return [h("table", {}, h("thead", {}, h("tr", {}, ...["partition", "leader", "in sync"].map((word) => h("th", {}, word)))),
        h("tbody", {}, ...rows.map(([place, one]) => h("tr", {}, h("td", {}, place.slice(place.lastIndexOf("/") + 1)), h("td", {}, one.leader || "nobody"),
          h("td", {}, `${one.in_sync} of ${one.replicas}`)))))];
    });
  }

  component(name) {
    const box = this.live(h("div", {}), () => {
      const now = this.snapshot.components[name];
      if (!now) return [h("p", { class: "soft" }, "not in the run at this moment")];
      const leads = Object.entries(this.snapshot.leaders).filter(([, one]) => one.leader === name).map(([place]) => place);
      const faults = this.snapshot.faults.filter((fault) => fault.on.includes(name)).map((fault) => fault.fault);
      return [facts([[now.kind, now.type], ["host", now.host], ["state", `${stateSign(now.state)} ${now.state}${now.reason ? `: ${now.reason}` : ""}`],
        now.of > 1 ? ["instances", `${now.up} of ${now.of} run`] : null, ["CPU", `${now.cpu.toFixed(2)} cores`], ["memory", bytes(now.memory)],
        leads.length ? ["leads", leads.join(", ")] : null, this.snapshot.controller === name ? ["role", "controller"] : null,
        now.kind === "consumer" && this.snapshot.lag[name] !== undefined ? ["lag", String(this.snapshot.lag[name])] : null]),
      h("div", { class: "actions" }, ...faults.map((fault) => this.healButton(fault)))];
    });
    return h("div", {}, box, h("div", { class: "actions" }, this.action("Kill", { do: "kill", on: [name] }),
      this.action("Pause", { do: "pause", on: [name] }), this.action("Restart", { do: "restart", on: [name] }),
      h("button", { onclick: () => this.showLog(name) }, "Log")), this.series([name]));
  }

  series(names) {
    const holder = h("div", {});
    const query = new URLSearchParams(names.map((name) => ["object", name]));
    get(`series?${query}`).then(({ series }) => {
      for (const one of series.slice(0, 12)) {
        const canvas = h("canvas", { class: "spark", role: "img", "aria-label": `${one.metric} of ${one.object}` });
        holder.append(h("div", { class: "soft" }, `${one.object === names[0] ? "" : `${one.object} `}${one.metric}${one.is_rate ? " a second" : ""}`), canvas);
        drawSpark(canvas, one.values);
      }
    }).catch(() => {});
    return holder;
  }
}
