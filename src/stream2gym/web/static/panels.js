// The panels beside the picture: counts, faults in force, jobs by hand, expectations and results.
import { drawSpark } from "./charts.js";
import { byId, clock, count, h, seconds, setText } from "./dom.js";
import { stateSign, stateTone } from "./picture.js";

const momentLink = (t) => h("a", { href: `#t=${t.toFixed(1)}` }, clock(t));

export function showCounts({ counts, lag }) {
  const about = counts.stride > 1 ? "≈ " : "";
  const behind = Object.values(lag).reduce((sum, one) => sum + one, 0);
  const rows = [["sent", count(counts.sent)], ["acknowledged", count(counts.acknowledged)], ["received", count(counts.received)],
    ["lost", about + count(counts.lost), counts.lost], ["in flight", about + count(counts.in_flight)],
    ["duplicated", about + count(counts.duplicated), 0], ["failed", count(counts.failed), counts.failed],
    ["lag", Object.keys(lag).length ? count(behind) : "–"],
    ["p99", counts.latency_p99 === null ? "–" : seconds(counts.latency_p99)]];
  const holder = byId("counts");
  if (holder.childElementCount !== rows.length) {
    holder.replaceChildren(...rows.map(([name]) => h("div", { title: "so far; a preview, the verdict comes from the audit" }, h("dt", {}, name), h("dd", {}))));
  }
  rows.forEach(([, text, alarm], number) => {
    const box = holder.children[number];
    setText(box.lastChild, text);
    box.className = alarm ? "bad" : "";
  });
}

function replaceRows(holder, signature, make) {
  if (holder.dataset.signature === signature) return;
  holder.dataset.signature = signature;
  holder.replaceChildren(...make());
}

// ``page`` tells what can be done: whether faults are allowed, which can be undone, and how.
export function showFaults(snapshot, page) {
  const { allowed, done } = page;
  replaceRows(byId("faults"), JSON.stringify([snapshot.faults, allowed, done.length]), () => {
    const rows = snapshot.faults.map((fault) => h("li", {},
      h("span", {}, h("b", {}, fault.fault), ` ${fault.do} ${fault.on.join(", ")} `, h("span", { class: "soft" }, Object.entries(fault.settings).map(([key, value]) => `${key} ${value}`).join(", "), " since ", momentLink(fault.from))),
      h("button", { class: "good", disabled: !allowed, onclick: () => page.doFault({ heal: fault.fault }) }, "Heal")));
    const undo = done.length ? [h("div", { class: "actions" }, h("button", { id: "undo", disabled: !allowed, onclick: page.undoLast }, `Undo ${done.at(-1)}`))] : [];
    return [rows.length ? h("ul", { class: "rows" }, ...rows) : h("p", { class: "soft" }, faultHint(snapshot, page)), ...undo];
  });
}

function faultHint(snapshot, page) {
  if (page.isReadOnly) return "none";
  if (!snapshot.takes_faults) return snapshot.live ? "none; the run takes faults by hand once its load has begun" : "none";
  return "none; choose a link, a host or a component to break it";
}

// Jobs that joined, were moved or were stopped while the run goes on: how each is, where it is, and what was done to it.
export function showJobs({ jobs }, choose) {
  byId("jobs-card").hidden = !jobs.length;
  replaceRows(byId("jobs"), JSON.stringify(jobs), () => [h("ul", { class: "rows" }, ...jobs.map((job) => h("li", { "data-job": job.name },
    h("b", { class: `state ${stateTone(job.state)}`, title: job.state }, stateSign(job.state)),
    h("span", {}, h("button", { onclick: () => choose(job.name) }, job.name), ` ${job.kind} on ${job.host}: ${job.state}${job.reason ? ` ${job.reason}` : ""}`,
      h("div", { class: "soft" }, ...job.changes.flatMap((one, number) => [number ? ", " : "",
        one.did === "moved" ? `moved from ${one.host} to ${one.to} at ` : `${one.did} at `, momentLink(one.t)]))))))]);
}

export function showExpectations(snapshot) {
  replaceRows(byId("expectations"), JSON.stringify([snapshot.expectations, snapshot.verdict]), () => {
    const rows = snapshot.expectations.map((one) => {
      const word = one.verdict || one.now;
      const shown = one.verdict ? one.measured : one.shown;
      return h("li", {}, h("b", { class: `badge ${word}` }, word), h("span", {}, h("code", {}, one.text), shown ? h("span", { class: "soft" }, ` ${shown}`) : null,
        ...one.moments.map((t) => [" ", momentLink(t)]).flat(),
        ...one.evidence.slice(0, 5).map((proof) => h("div", { class: "soft" }, proof.text, proof.t === null ? "" : " ", proof.t === null ? null : momentLink(proof.t)))));
    });
    const verdict = snapshot.verdict;
    const more = verdict ? [...verdict.failures, ...verdict.doubts].map((text) => h("li", {}, h("span", { class: "soft" }, text))) : [];
    const label = verdict ? "Judged by the audit." : "A preview: the verdict comes from the audit after the run.";
    return [rows.length ? h("ul", { class: "rows" }, ...rows, ...more) : h("p", { class: "soft" }, "none"), h("p", { class: "soft" }, label)];
  });
}

const makeGrid = (columns, rows) => h("div", { class: "scroll" }, h("table", {},
  h("thead", {}, h("tr", {}, ...columns.map((word) => h("th", {}, word)))), h("tbody", {}, ...rows)));

export function showResults({ results, values, tables }) {
  const topics = Object.entries(values);
  byId("results-card").hidden = !results.length && !topics.length && !tables.length;
  const signature = JSON.stringify([results.map((one) => [one.object, one.metric, one.value]), topics, tables]);
  replaceRows(byId("results"), signature, () => {
    const charts = results.length ? [h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, ...results.map((one) => {
      const canvas = h("canvas", { class: "spark", role: "img", "aria-label": `${one.metric} so far` });
      drawSpark(canvas, one.history);
      return h("tr", {}, h("td", {}, one.object), h("td", {}, one.metric), h("td", { class: "n" }, String(+one.value.toPrecision(6))), h("td", {}, canvas));
    }))))] : [];
    const messages = topics.flatMap(([topic, rows]) => [h("h3", {}, `latest of ${topic}`), makeGrid(["offset", "key", "value"],
      rows.map((row) => h("tr", {}, h("td", { class: "n" }, `${row.partition}/${row.offset}`), h("td", {}, row.key === null ? "–" : row.key.slice(0, 60)), h("td", {}, row.value.slice(0, 200)))))]);
    const stored = tables.flatMap((one) => [h("h3", {}, `last rows of ${one.store}/${one.table}${one.by ? `, by ${one.by}` : ""}`),
      makeGrid(one.columns, one.rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell === null ? "–" : cell)))))]);
    return [...messages, ...stored, ...charts];
  });
}
