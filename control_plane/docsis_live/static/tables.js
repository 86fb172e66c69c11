// SPDX-License-Identifier: Apache-2.0
// Service flows, classifiers, all modems, control loops: numbers of now.
import { choose } from "./connection.js";
import { changed, element, flow, lastRow, mbps, on, store, value } from "./store.js";

const cell = (text, css = "") => element("td", String(text), { className: css });
const number = (given, digits) => (given === null || given === undefined ? "-" : given.toFixed(digits));

function pick(row, act) {
  row.tabIndex = 0;
  row.onclick = act;
  row.onkeydown = (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
  };
}

function flows() {
  const body = document.querySelector("#flows tbody");
  const row = lastRow();
  const made = (store.detail?.service_flows ?? []).map((one) => {
    const of = (column) => (row ? value(row, one.sfid, column) : null);
    const line = element("tr", "", { className: one.sfid === store.sfid ? "chosen" : "" });
    line.dataset.sfid = one.sfid;
    const delay = of("delay_ms");
    const late = one.target_ms !== null && delay > one.target_ms;
    line.append(
      cell(one.sfid), cell(one.name), cell(mbps(of("sent_bps"))),
      cell(`${mbps(one.msr_bps)} (${mbps(one.peak_bps)})`), cell(number(delay, 1), late ? "over" : ""),
      cell(number(one.target_ms, 0)), cell(number(of("drop_prob"), 6)),
      cell([one.queue_manager, of("state")].filter(Boolean).join(" ")),
      cell(of("tokens_bytes") === null ? "-" : (of("tokens_bytes") / 1e3).toFixed(1)),
      ...["aqm", "buffer_full", "policed", "other"].map((name) => cell(of(`dropped_${name}`) ?? "-")),
    );
    pick(line, () => { store.sfid = one.sfid; changed("flow"); });
    return line;
  });
  replace(body, made);
  const out = document.getElementById("left_out");
  out.hidden = !store.detail?.left_out;
  out.textContent = `${store.detail?.left_out} more service flows are not shown here.`;
}

// Keeps the focus where it is: rows are made again ten times a second.
function replace(body, rows) {
  const place = [...body.children].indexOf(document.activeElement);
  body.replaceChildren(...rows);
  if (place >= 0) body.children[place]?.focus({ preventScroll: true });
}

function classifiers() {
  const place = document.getElementById("classifiers");
  const chosen = flow();
  if (!chosen) { place.replaceChildren(); return; }
  const hits = store.classifiers[store.modem]?.[chosen.sfid] ?? [];
  const table = element("table");
  const head = element("tr");
  head.append(element("th", "Ref"), element("th", "Classifier"), element("th", "Frames"));
  const thead = element("thead");
  thead.append(head);
  const body = element("tbody");
  chosen.classifiers.forEach((one, index) => {
    const line = element("tr");
    line.append(cell(one.reference ?? "-"), cell(one.match || "all else"), cell(hits[index] ?? "-"));
    body.append(line);
  });
  table.append(thead, body);
  place.replaceChildren(element("h2", `${chosen.name} (SFID ${chosen.sfid})`), table);
}

function modems() {
  const section = document.getElementById("neighbours");
  section.hidden = store.summary.length < 2;
  const made = store.summary.map(([name, up, down, queuedUp, queuedDown, drops]) => {
    const line = element("tr", "", { className: name === store.modem ? "chosen" : "" });
    line.append(cell(name), cell(mbps(up)), cell(mbps(down)), cell((queuedUp / 1e3).toFixed(1)),
      cell((queuedDown / 1e3).toFixed(1)), cell(drops));
    pick(line, () => choose(name));
    return line;
  });
  replace(document.querySelector("#modems tbody"), made);
}

function loops() {
  const pill = document.getElementById("health");
  const health = store.health;
  pill.className = `pill ${health?.state ?? ""}`;
  pill.textContent = health ? (health.state === "green" ? "loops in time" : "look") : "waiting";
  pill.title = health?.why ?? "";
  const place = document.getElementById("loops");
  if (!health) { place.replaceChildren(); return; }
  const lines = health.loops.map((one) => element("p",
    `Control loop of ${one.device}: ${one.cycles} updates, ${one.missed} missed, ` +
    `late ${one.late_ms[0]}/${one.late_ms[1]} ms (p50/p99 of a minute), ` +
    `an update takes ${one.cycle_ms[0]}/${one.cycle_ms[1]} ms.`));
  if (health.why) lines.unshift(element("p", health.why, { className: "trouble" }));
  place.replaceChildren(...lines);
}

export function make() {
  on("row", () => { if (!store.frozen) flows(); });
  for (const what of ["detail", "flow", "history"]) on(what, flows);
  for (const what of ["detail", "flow", "classifiers"]) on(what, classifiers);
  on("summary", () => { if (!store.frozen) modems(); });
  on("health", loops);
}
