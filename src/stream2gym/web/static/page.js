// The page of a run: takes frames while the run goes on, asks for snapshots when a moment is replayed.
import { get, post, readFrames, Refused } from "./api.js";
import { Charts } from "./charts.js";
import { Details } from "./details.js";
import { byId, clock, h, setText } from "./dom.js";
import { Events } from "./events.js";
import { Logs } from "./logs.js";
import { showCounts, showExpectations, showFaults, showJobs, showResults } from "./panels.js";
import { Picture } from "./picture.js";

const ASK_MS = 100; // between two snapshots of a replay
const TELL = ["died", "leader", "fault-applied", "fault-healed", "run-failed"];

const state = { run: null, live: true, moment: null, times: { first: 0, last: 0 }, newest: null, event: 0, bucket: 0, done: [] };

const picture = new Picture(byId("canvas"), choose, (hosts) => details.select(hosts));
const charts = new Charts(byId("charts"), goTo);
const events = new Events(byId("event-list"), byId("event-search"), byId("event-component"));
const logs = new Logs(() => state.live);
const details = new Details(byId("details-card"), byId("details"), byId("details-head"), doFault);
details.choose = (name, kind) => choose({ name, kind });
details.clear = () => picture.clearSelection();
details.toggle = (name) => picture.toggleSelected(name);
details.collapse = (name) => picture.toggleCollapse(name);
details.showLog = (name) => logs.showOf(name);

// ---- starting

async function start() {
  try {
    state.run = await get("run");
  } catch (error) {
    notice(error instanceof Refused && error.status === 401 ? "Open the link that the command printed: this address alone does not show a run." : `The run cannot be shown: ${error.message}`);
    return;
  }
  document.title = `${state.run.name} · stream2gym`;
  setText(byId("run-name"), state.run.run);
  takePicture();
  const hosts = state.run.topology.nodes.filter((node) => node.kind === "host").length;
  byId("collapse").hidden = !picture.leaves.size || hosts < 8;
  state.times = state.run.times;
  logs.follow();
  const asked = readMoment();
  if (asked !== null) goTo(asked);
  follow();
}

function takePicture() {
  details.setRun(state.run);
  events.setComponents(state.run.topology.components.map((part) => part.name));
  drawLegend();
  picture.show(state.run, picture.view || "topology");
}

// The picture is another one once a job has joined the run or was moved. One question at a time; the newest wins.
async function renewPicture() {
  if (state.drawing) return;
  state.drawing = true;
  try {
    while (state.shown && state.shown.picture !== state.run.picture) {
      const t = state.moment;
      state.run = await get("run", t === null ? {} : { t });
      takePicture();
      if (state.run.picture !== state.shown.picture) await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
  } catch {
    // The server has ended; the notice of the stream says so.
  } finally {
    state.drawing = false;
  }
}

async function follow() {
  for (let failures = 0; failures < 4;) {
    try {
      const last = await readFrames({ event: state.event, bucket: state.bucket }, (frame) => {
        failures = 0;
        takeFrame(frame);
      });
      if (last) {
        endLive();
        if (last.closing) endServer();
        return;
      }
    } catch (error) {
      if (error instanceof Refused) {
        notice(`The run cannot be followed: ${error.message}`);
        return;
      }
      failures += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  endLive();
  endServer();
}

function endServer() {
  notice(`The server of this page has ended with its run. s2g watch ${state.run.run} shows the run again.`);
  setControls(false);
}

function endLive() {
  const wasLive = state.wasLive;
  state.live = false;
  if (state.newest) state.newest.live = false;
  // Whoever opens a run that is over begins at its load; whoever has watched it stays at its end.
  if (!wasLive && state.moment === null) goTo(Math.min(0, state.times.last));
  else if (state.moment === null && state.newest) show(state.newest);
  updateTime();
}

function takeFrame(frame) {
  const hasMoved = frame.times.has_load !== state.times.has_load;
  if (hasMoved) {
    // Times count from another moment now: the events are asked for again.
    events.reset();
    get("events").then((part) => events.take(part)).catch(() => {});
  }
  state.times = frame.times;
  state.newest = frame.snapshot;
  state.live = frame.snapshot.live && !frame.last;
  state.wasLive ||= state.live;
  if (!charts.take(frame.timelines)) get("timelines").then((lines) => charts.take(lines)).catch(() => {});
  const lengths = Object.values(frame.timelines.charts.throughput).map((numbers) => numbers.length);
  state.bucket = Math.max(0, frame.timelines.first + Math.max(...lengths) - 4);
  const isFirst = state.event === 0;
  state.event = frame.events.next;
  if (!hasMoved) events.take(frame.events);
  if (!isFirst && state.moment === null) for (const event of frame.events.rows.slice(-20)) if (TELL.includes(event.event)) announce(event);
  if (state.moment === null) show(frame.snapshot);
  updateTime();
}

// ---- showing a snapshot

function show(snapshot) {
  state.shown = snapshot;
  if (snapshot.picture !== state.run.picture) renewPicture();
  picture.update(snapshot);
  details.isReplaying = state.moment !== null;
  details.update(snapshot);
  const chip = byId("run-state");
  const isJudged = snapshot.verdict && !snapshot.live;
  const word = isJudged ? snapshot.verdict.outcome : snapshot.live ? "running" : snapshot.state;
  setText(chip, isJudged ? `verdict: ${word}` : word);
  chip.className = `chip ${{ pass: "good", fail: "bad", unknown: "warn", crashed: "bad", failed: "bad", running: "good" }[word] || ""}`;
  setText(byId("run-phase"), snapshot.phase);
  if (snapshot.trouble) notice(`The record cannot be read at the moment: ${snapshot.trouble}`);
  showCounts(snapshot);
  const allowed = snapshot.takes_faults && !state.run.read_only && state.moment === null;
  showFaults(snapshot, { allowed, isReadOnly: state.run.read_only, done: state.done, doFault, undoLast });
  showJobs(snapshot, (name) => choose({ name, kind: "component" }));
  showExpectations(snapshot);
  showResults(snapshot);
}

// ---- moments

function readMoment() {
  const t = new URLSearchParams(location.hash.slice(1)).get("t");
  return t !== null && Number.isFinite(Number(t)) ? Number(t) : null;
}

function goTo(t, isPlaying = false) {
  const at = Math.min(Math.max(t, state.times.first), state.times.last);
  if (!isPlaying) setPlaying(false);
  state.moment = at;
  charts.setMoment(at);
  events.setUntil(at);
  ask();
  updateTime();
  byId("live").setAttribute("aria-pressed", "false");
}

function goLive() {
  setPlaying(false);
  state.moment = null;
  charts.setMoment(null);
  events.setUntil(null);
  history.replaceState(null, "", location.pathname);
  byId("live").setAttribute("aria-pressed", "true");
  if (state.newest) show(state.newest);
  updateTime();
}

// One question at a time; the newest moment wins.
async function ask() {
  if (state.asking) return;
  state.asking = true;
  try {
    while (state.moment !== null && state.asked !== state.moment) {
      state.asked = state.moment;
      const snapshot = await get("snapshot", { t: state.asked });
      if (state.moment !== null) show(snapshot);
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
  } catch {
    // The server has ended; the notice of the stream says so.
  } finally {
    state.asking = false;
    state.asked = null;
  }
}

function updateTime() {
  const slider = byId("slider");
  const { first, last } = state.times;
  slider.min = first.toFixed(1);
  slider.max = last.toFixed(1);
  const at = state.moment === null ? last : state.moment;
  if (document.activeElement !== slider || state.moment === null || state.playing) slider.value = at.toFixed(1);
  slider.setAttribute("aria-valuetext", clock(at));
  setText(byId("moment"), clock(at));
  byId("live").hidden = !state.live;
}

function setPlaying(isOn) {
  state.playing = isOn;
  const button = byId("play");
  setText(button, isOn ? "❚❚" : "▶");
  button.setAttribute("aria-label", isOn ? "Pause" : "Play");
}

function play() {
  if (state.moment === null) {
    // While the run goes on, this pauses the page; the run is not stopped.
    goTo(state.times.last);
    return;
  }
  if (state.moment >= state.times.last - 0.05) state.moment = Math.max(0, state.times.first);
  setPlaying(true);
  let before = performance.now();
  const step = (now) => {
    if (!state.playing) return;
    const next = state.moment + (now - before) / 1000 * Number(byId("speed").value);
    before = now;
    if (next >= state.times.last) {
      setPlaying(false);
      if (state.live) goLive();
      else goTo(state.times.last);
      return;
    }
    goTo(next, true);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

// ---- breaking things

async function doFault(fault) {
  try {
    if (fault.heal) {
      await post("faults", { do: "heal", name: fault.heal });
      state.done = state.done.filter((name) => name !== fault.heal);
      toast(`${fault.heal} is healed`, "good");
    } else {
      const { ok } = await post("faults", { do: "apply", fault });
      if (ok.failed) toast(`${ok.fault} failed; see the events`, "bad");
      else {
        if (ok.state === "active") state.done.push(ok.fault);
        toast(`${ok.fault}: ${ok.do} ${ok.on.join(", ")}`, "bad", ok.state === "active" ? ok.fault : null);
      }
      picture.clearSelection();
    }
  } catch (error) {
    toast(error.message, "bad");
  }
}

function undoLast() {
  const name = state.done.at(-1);
  if (name) doFault({ heal: name });
}

function toast(text, tone, fault = null) {
  const box = h("div", { class: `toast ${tone}` }, h("span", {}, text),
    fault ? h("button", { onclick: () => { box.remove(); doFault({ heal: fault }); } }, "Undo") : null);
  byId("toasts").append(box);
  while (byId("toasts").childElementCount > 4) byId("toasts").firstChild.remove();
  setTimeout(() => box.remove(), 6000);
}

function announce(event) {
  if (event.event === "fault-applied" || event.event === "fault-healed") return; // whoever did it has seen it; the list has it
  toast(`${event.event}: ${event.words}`, event.event === "leader" ? "" : "bad");
}

// ---- choosing, the rest

function choose(chosen) {
  picture.choose(chosen ? chosen.name : null);
  details.show(chosen);
  if (chosen && ["component", "consumer", "producer", "engine", "store", "sink", "source"].includes(chosen.kind)) {
    byId("event-component").value = "";
  }
}

function showView(name) {
  for (const view of ["topology", "pipeline"]) {
    const tab = byId(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === name));
    tab.tabIndex = view === name ? 0 : -1;
  }
  picture.show(state.run, name);
}

function drawLegend() {
  const swatch = (name, text) => {
    const mark = h("i", { class: name });
    if (name !== "cut") mark.style.background = `var(--${name})`;
    return h("span", {}, mark, text);
  };
  const said = state.run.topology.said.map((text) => h("span", {}, text));
  byId("legend").replaceChildren(swatch("idle", "idle"), swatch("u1", "traffic"), swatch("u2", "25 %"), swatch("u3", "60 %"), swatch("u4", "90 % used"),
    swatch("cut", "cut"), h("span", {}, "★ leads partitions"), h("span", {}, "♛ controller"), h("span", {}, "● ready ◌ starting ✕ dead ‖ paused"), ...said);
}

function notice(text) {
  byId("notice").hidden = false;
  setText(byId("notice"), text);
}

function setControls(isOn) {
  for (const id of ["play", "slider", "live"]) byId(id).disabled = !isOn;
}

byId("tab-topology").addEventListener("click", () => showView("topology"));
byId("tab-pipeline").addEventListener("click", () => showView("pipeline"));
for (const id of ["tab-topology", "tab-pipeline"]) {
  byId(id).addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const other = id === "tab-topology" ? "pipeline" : "topology";
    showView(other);
    byId(`tab-${other}`).focus();
  });
}
byId("search").addEventListener("input", (event) => picture.search(event.target.value));
byId("search").addEventListener("keydown", (event) => event.key === "Enter" && picture.showFound());
byId("zoom-in").addEventListener("click", () => picture.area.zoom(1 / 1.3));
byId("zoom-out").addEventListener("click", () => picture.area.zoom(1.3));
byId("zoom-fit").addEventListener("click", () => picture.area.fit());
byId("lasso").addEventListener("click", (event) => {
  picture.lassoing = !picture.lassoing;
  event.target.setAttribute("aria-pressed", String(picture.lassoing));
  picture.svg.classList.toggle("lassoing", picture.lassoing);
});
byId("collapse").addEventListener("click", (event) => {
  const isOn = event.target.getAttribute("aria-pressed") !== "true";
  event.target.setAttribute("aria-pressed", String(isOn));
  picture.collapseAll(isOn);
});
byId("lines-reset").addEventListener("click", () => charts.setRange(null));
charts.onRange = (range) => { byId("lines-reset").hidden = !range; };
byId("slider").addEventListener("input", (event) => goTo(Number(event.target.value)));
byId("play").addEventListener("click", () => (state.playing ? setPlaying(false) : play()));
byId("live").addEventListener("click", goLive);
byId("copy-link").addEventListener("click", async () => {
  const t = state.moment === null ? state.times.last : state.moment;
  const link = `${location.origin}/#t=${t.toFixed(1)}`;
  history.replaceState(null, "", `#t=${t.toFixed(1)}`);
  try {
    await navigator.clipboard.writeText(link);
    toast(`copied ${link}`, "good");
  } catch {
    toast(link, "good");
  }
});
addEventListener("hashchange", () => {
  const t = readMoment();
  if (t !== null) goTo(t);
});
addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea, button, pre, canvas, svg, a")) return;
  if (event.key === " ") {
    event.preventDefault();
    byId("play").click();
  } else if (event.key === "/") {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape") choose(null);
});

start();
