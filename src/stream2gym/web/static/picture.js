// The picture of a run: its topology, or its pipeline. It is drawn once; a snapshot changes only what is different.
import { Area, isInside } from "./area.js";
import { bits, count, s, setClass, setText } from "./dom.js";

const GOOD = ["ready", "running"];
const BAD = ["died", "killed"];
const SIGNS = { ready: "●", running: "●", starting: "◌", planned: "○", paused: "‖", killed: "✕", died: "✕", stopped: "■", finished: "✓" };
const MOVING = 40; // links with moving dots at one time: those with the most traffic
const CROWDED = 26;

export const stateTone = (state) => (GOOD.includes(state) ? "good" : BAD.includes(state) ? "bad" : ["paused", "starting"].includes(state) ? "warn" : "quiet");
export const stateSign = (state) => SIGNS[state] || "○";

export class Picture {
  constructor(holder, onChoose, onSelect) {
    this.holder = holder;
    this.onChoose = onChoose;
    this.onSelect = onSelect;
    this.selected = new Set();
    this.collapsed = new Set();
    this.chosen = null;
    this.wanted = "";
    this.lassoing = false;
    this.svg = s("svg", { role: "group", "aria-label": "Topology" });
    this.holder.append(this.svg);
    this.area = new Area(this);
  }

  show(run, view) {
    this.run = run;
    this.view = view;
    this.svg.replaceChildren();
    this.nodes = new Map();
    this.links = new Map();
    this.edges = [];
    this.root = s("g", {});
    this.svg.append(this.root);
    this.svg.setAttribute("aria-label", view === "topology" ? "Topology" : "Pipeline");
    if (view === "topology") this.drawTopology(run.topology);
    else this.drawPipeline(run.pipeline);
    this.area.fit();
    if (this.snapshot) this.update(this.snapshot);
  }

  // ---- drawing

  drawTopology(topology) {
    this.box = topology.box;
    this.kinds = new Map(topology.components.map((part) => [part.name, part]));
    setClass(this.root, topology.links.length > CROWDED ? "crowded" : "");
    this.leaves = new Map();
    this.linksOf = new Map(topology.nodes.map((node) => [node.name, []]));
    for (const link of topology.links) for (const end of [link.a, link.b]) this.linksOf.get(end).push(link.name);
    const isHost = new Map(topology.nodes.map((node) => [node.name, node.kind === "host"]));
    for (const link of topology.links) {
      const [host, other] = isHost.get(link.a) ? [link.a, link.b] : [link.b, link.a];
      if (isHost.get(host) && !isHost.get(other) && this.linksOf.get(host).length === 1) {
        if (!this.leaves.has(other)) this.leaves.set(other, []);
        this.leaves.get(other).push(host);
      }
    }
    for (const link of topology.links) this.drawLink(link);
    for (const node of topology.nodes) {
      if (node.kind === "host") this.drawHost(node);
      else this.drawSwitch(node);
    }
    this.applyCollapse();
  }

  drawLink(link) {
    const wire = s("path", { d: link.path, class: "wire" });
    const text = s("text", { x: link.x, y: link.y + 3.2 });
    const plate = s("rect", { class: "plate", y: link.y - 6.5, height: 13, rx: 3 });
    const group = s("g", { class: "link", role: "button", tabindex: -1, "data-name": link.name },
      s("path", { d: link.path, class: "grab" }), wire, s("path", { d: link.path, class: "dots" }),
      s("g", { class: "label" }, plate, text),
      s("path", { class: "cross", d: "M-6 -6L6 6M6 -6L-6 6", transform: link.path.includes("H") ? `translate(${link.x + 8} ${link.y})` : `translate(${link.x} ${link.y + 14})` }));
    this.root.append(group);
    this.links.set(link.name, { group, text, plate, link, traffic: 0 });
  }

  frame(node, kind) {
    const box = s("rect", {
      class: "card-box", x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h,
      rx: kind === "switch" ? node.h / 2 : 5,
    });
    const group = s("g", { class: `node ${kind}`, role: "button", tabindex: 0, "data-name": node.id || node.name }, box);
    this.root.append(group);
    return group;
  }

  drawSwitch(node) {
    const group = this.frame(node, "switch");
    group.append(s("text", { class: "name", x: node.x, y: node.y + 4.2 }, node.name));
    const tip = s("text", { class: "tip", x: node.x, y: node.y + node.h / 2 + 13 });
    group.append(tip);
    this.nodes.set(node.name, { group, node, kind: "switch", tip, lines: [] });
  }

  drawHost(node) {
    // The card has room for the sign of a component's state.
    const width = node.w + (node.lines.some((line) => line.component) ? 14 : 0);
    const group = this.frame({ ...node, w: width }, "host");
    const left = node.x - width / 2;
    const top = node.y - node.h / 2;
    const lines = [];
    node.lines.forEach((line, number) => {
      const y = top + 14 * number + (number ? 14 : 15);
      if (number === 0) group.append(s("text", { class: "name", x: node.x, y }, line.text));
      else if (!line.kind) group.append(s("text", { class: "address", x: node.x, y }, line.text));
      else {
        const text = s("text", { class: "part", x: left + 20, y }, line.text);
        const sign = s("text", { class: "state", x: left + width - 5, y: y + 0.5 });
        const leads = s("text", { class: "leads", x: left + width + 4, y });
        group.append(s("rect", { class: `mark ${line.kind}`, x: left + 8, y: y - 7, width: 7, height: 7 }), text, sign, leads);
        if (line.component) lines.push({ component: line.component, text, sign, leads });
      }
    });
    const tip = s("text", { class: "tip", x: node.x, y: top - 4 });
    group.append(tip);
    this.nodes.set(node.name, { group, node, kind: "host", tip, lines });
  }

  drawPipeline(pipeline) {
    this.box = pipeline.box;
    setClass(this.root, "");
    this.leaves = new Map();
    const at = new Map(pipeline.nodes.map((node) => [node.id, node]));
    for (const [from, to, guessed] of pipeline.edges) {
      const [a, b] = [at.get(from), at.get(to)];
      if (!a || !b) continue;
      const [ax, bx] = [a.x + a.w / 2, b.x - b.w / 2];
      const middle = (ax + bx) / 2;
      const path = s("path", { class: "edge", d: `M${ax} ${a.y}C${middle} ${a.y} ${middle} ${b.y} ${bx} ${b.y}` });
      this.root.append(path);
      this.edges.push({ path, from, to, guessed });
    }
    for (const node of pipeline.nodes) {
      const group = this.frame(node, node.kind === "topic" ? "topic" : "part");
      const left = node.x - node.w / 2;
      group.append(
        s("rect", { class: `mark ${node.kind}`, x: left + 9, y: node.y - 4, width: 8, height: 8, rx: node.kind === "topic" ? 4 : 1 }),
        s("text", { class: "name", x: node.x + 4, y: node.y + 4.2 }, node.name));
      const sign = s("text", { class: "state", x: left + node.w - 5, y: node.y + 4 });
      const tip = s("text", { class: "tip", x: node.x, y: node.y + node.h / 2 + 12 });
      group.append(sign, tip);
      this.nodes.set(node.id, { group, node, kind: node.kind, tip, lines: [], sign });
    }
  }

  // ---- a snapshot

  update(snapshot) {
    this.snapshot = snapshot;
    if (!this.nodes) return;
    if (this.view === "topology") this.updateTopology(snapshot);
    else this.updatePipeline(snapshot);
  }

  updateTopology(snapshot) {
    const led = new Map();
    for (const one of Object.values(snapshot.leaders)) if (one.leader) led.set(one.leader, (led.get(one.leader) || 0) + 1);
    for (const [name, entry] of this.nodes) {
      let trouble = false;
      let words = "";
      for (const line of entry.lines) {
        const part = snapshot.components[line.component] || { state: "planned" };
        setText(line.sign, stateSign(part.state));
        setClass(line.sign, `state ${stateTone(part.state)}`);
        setClass(line.text, BAD.includes(part.state) || part.state === "stopped" ? "part off" : "part");
        const leads = led.get(line.component);
        setText(line.leads, `${leads ? `★${leads}` : ""}${snapshot.controller === line.component ? " ♛" : ""}`);
        trouble ||= BAD.includes(part.state);
        words += `; ${line.component} ${part.state}${leads ? `, leads ${leads}` : ""}`;
      }
      const apart = snapshot.hosts[name];
      const isCutOff = entry.kind === "host" && this.linksOf.get(name)?.every((link) => snapshot.links[link]?.up.includes(false));
      setText(entry.tip, this.tipOf(name, entry, snapshot, apart));
      setClass(entry.group, this.nodeClass(name, entry, `${trouble ? " trouble" : ""}${apart ? " apart" : ""}${isCutOff ? " cutoff" : ""}`));
      this.label(entry.group, `${entry.kind} ${name}${words}${apart ? `; ${apart}` : ""}`);
    }
    const busiest = [];
    for (const [name, entry] of this.links) {
      const link = snapshot.links[name];
      if (!link) continue;
      entry.traffic = Math.max(...link.bps);
      if (entry.traffic > 400) busiest.push(entry);
    }
    busiest.sort((a, b) => b.traffic - a.traffic);
    const moving = new Set(busiest.slice(0, MOVING));
    for (const [name, entry] of this.links) {
      const link = snapshot.links[name];
      if (link) this.updateLink(name, entry, link, moving.has(entry));
    }
  }

  updateLink(name, entry, link, isMoving) {
    const isCut = !link.up[0] || !link.up[1];
    const use = Math.max(...link.use.map((value) => value || 0));
    const level = isCut || entry.traffic < 400 ? 0 : use >= 0.9 ? 4 : use >= 0.6 ? 3 : use >= 0.25 ? 2 : 1;
    const names = ["link", level ? `u${level}` : "", isCut ? "cut" : "", !isCut && (link.faults.length || link.changing) ? "changed" : ""];
    if (isMoving && !isCut) names.push("busy", link.bps[1] > link.bps[0] ? "back" : "", use > 0.3 || entry.traffic > 5e6 ? "quick" : "");
    if (this.chosen === name) names.push("chosen");
    if (this.isHidden(entry.link)) names.push("faded");
    setClass(entry.group, names.filter(Boolean).join(" "));
    const latency = link.latency[0] === link.latency[1] ? `${link.latency[0]}` : link.latency.join("/");
    const text = isCut ? "cut" : `${bits(link.bps[0] + link.bps[1])} · ${+Number(latency).toFixed(2) || latency} ms${link.changing ? " ~" : ""}`;
    if (entry.text.textContent !== text) {
      entry.text.textContent = text;
      const width = text.length * 5 + 6;
      entry.plate.setAttribute("width", width);
      entry.plate.setAttribute("x", entry.link.x - width / 2);
    }
    this.label(entry.group, `link ${name}: ${isCut ? "cut" : `${bits(link.bps[0])} there, ${bits(link.bps[1])} back`}, ${link.settings}`);
  }

  updatePipeline(snapshot) {
    const topics = new Map();
    for (const [place, one] of Object.entries(snapshot.leaders)) {
      const topic = place.slice(0, place.lastIndexOf("/"));
      if (!topics.has(topic)) topics.set(topic, []);
      topics.get(topic).push(one);
    }
    for (const [id, entry] of this.nodes) {
      const part = snapshot.components[id];
      let words = "";
      let tip = "";
      if (part) {
        setText(entry.sign, stateSign(part.state));
        setClass(entry.sign, `state ${stateTone(part.state)}`);
        words = part.state;
        tip = GOOD.includes(part.state) ? "" : part.state;
      } else if (topics.has(entry.node.name)) {
        const partitions = topics.get(entry.node.name);
        const leaders = [...new Set(partitions.map((one) => one.leader).filter(Boolean))];
        const short = partitions.filter((one) => one.in_sync < one.replicas).length;
        const [sent, read] = snapshot.topics[entry.node.name] || [0, 0];
        tip = sent || read ? `${count(sent)}/s in, ${count(read)}/s out` : "";
        words = `${tip ? `${tip}; ` : ""}${partitions.length} partition${partitions.length > 1 ? "s" : ""} on ${leaders.join(", ")}${short ? `; ${short} short of replicas` : ""}`;
      }
      setText(entry.tip, tip);
      setClass(entry.group, this.nodeClass(id, entry, part && BAD.includes(part.state) ? " trouble" : ""));
      this.label(entry.group, `${entry.node.kind} ${entry.node.name}: ${words}`);
    }
    for (const edge of this.edges) {
      const ends = [snapshot.components[edge.from], snapshot.components[edge.to]].filter(Boolean);
      const [sent] = snapshot.topics[edge.to.replace(/^topic /, "")] || [0];
      const [, read] = snapshot.topics[edge.from.replace(/^topic /, "")] || [0, 0];
      const isBusy = ends.every((part) => GOOD.includes(part.state)) && (edge.to.startsWith("topic ") ? sent : read) > 0;
      setClass(edge.path, `edge${edge.guessed ? " guess" : ""}${isBusy && !edge.guessed ? " busy" : ""}`);
    }
  }

  tipOf(name, entry, snapshot, apart) {
    if (entry.kind === "switch" && this.collapsed.has(name)) {
      const hosts = this.leaves.get(name);
      const parts = hosts.flatMap((host) => this.nodes.get(host).lines).map((line) => snapshot.components[line.component]);
      const bad = parts.filter((part) => part && BAD.includes(part.state)).length;
      return `${hosts.length} hosts${bad ? `, ${bad} dead` : ""}`;
    }
    return apart || "";
  }

  nodeClass(name, entry, more) {
    let words = `node ${entry.kind}${more}`;
    if (this.chosen === name) words += " chosen";
    if (this.selected.has(name)) words += " selected";
    if (this.wanted) words += this.matches(name, entry) ? " found" : " faded";
    return words;
  }

  label(element, text) {
    if (element.getAttribute("aria-label") !== text) element.setAttribute("aria-label", text);
  }

  matches(name, entry) {
    return [name, ...entry.lines.map((line) => line.component)].some((word) => word.toLowerCase().includes(this.wanted));
  }

  isHidden(link) {
    return this.wanted && ![link.a, link.b].some((end) => this.matches(end, this.nodes.get(end)));
  }

  // ---- choosing, searching, collapsing

  choose(name) {
    this.chosen = name;
    if (this.snapshot) this.update(this.snapshot);
  }

  search(text) {
    this.wanted = text.trim().toLowerCase();
    if (this.snapshot) this.update(this.snapshot);
  }

  showFound() {
    for (const [name, entry] of this.nodes || []) {
      if (this.wanted && this.matches(name, entry)) {
        for (const [owner, hosts] of this.leaves) if (hosts.includes(name) && this.collapsed.has(owner)) this.toggleCollapse(owner);
        this.area.look(entry.node.x, entry.node.y, 420);
        entry.group.focus();
        return;
      }
    }
  }

  collapseAll(isOn) {
    this.collapsed = new Set(isOn ? this.leaves.keys() : []);
    this.applyCollapse();
  }

  toggleCollapse(name) {
    if (!this.leaves.has(name)) return;
    if (this.collapsed.has(name)) this.collapsed.delete(name);
    else this.collapsed.add(name);
    this.applyCollapse();
  }

  applyCollapse() {
    const hidden = new Set([...this.collapsed].flatMap((name) => this.leaves.get(name) || []));
    const show = (element, isShown) => (isShown ? element.removeAttribute("display") : element.setAttribute("display", "none"));
    for (const [name, entry] of this.nodes) show(entry.group, !hidden.has(name));
    for (const entry of this.links.values()) show(entry.group, !hidden.has(entry.link.a) && !hidden.has(entry.link.b));
    if (this.snapshot) this.update(this.snapshot);
  }

  clearSelection() {
    this.selected.clear();
    if (this.snapshot) this.update(this.snapshot);
    this.onSelect([...this.selected]);
  }

  toggleSelected(name) {
    if (this.nodes.get(name)?.kind !== "host") return;
    if (this.selected.has(name)) this.selected.delete(name);
    else this.selected.add(name);
    if (this.snapshot) this.update(this.snapshot);
    this.onSelect([...this.selected]);
  }

  // ---- pointer and keyboard

  activate(target, isSelecting) {
    const name = target.getAttribute("data-name");
    if (isSelecting && target.classList.contains("host")) this.toggleSelected(name);
    else this.onChoose({ name, kind: target.classList.contains("link") ? "link" : this.nodes.get(name).kind });
  }

  selectInside(points) {
    for (const [name, entry] of this.nodes) {
      if (entry.kind === "host" && !entry.group.hasAttribute("display") && isInside(entry.node, points)) this.selected.add(name);
    }
    if (this.snapshot) this.update(this.snapshot);
    this.onSelect([...this.selected]);
  }
}
