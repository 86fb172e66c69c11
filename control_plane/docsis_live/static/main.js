// SPDX-License-Identifier: Apache-2.0
// Puts the page together.
import * as actions from "./actions.js";
import * as charts from "./charts.js";
import { choose, start } from "./connection.js";
import * as drawing from "./drawing.js";
import { csv, picture, saveCsv, savePng } from "./exports.js";
import { changed, element, on, store } from "./store.js";
import * as tables from "./tables.js";

const at = (id) => document.getElementById(id);

function header() {
  const system = store.system;
  at("title").textContent = system ? `${system.topology}, ${system.tier}, ${system.aqm}` : "docsis-p4 live";
  at("modem").replaceChildren(...(system?.modems ?? []).map(
    (name) => element("option", name, { value: name, selected: name === store.modem })));
}

function troubles() {
  at("trouble").hidden = !store.trouble;
  at("trouble").textContent = store.trouble;
}

function connection() {
  at("connection").hidden = store.connected;
  at("connection").textContent = "the page's server does not answer; trying again";
}

function toggle(id, act) {
  at(id).onclick = () => {
    const pressed = at(id).getAttribute("aria-pressed") !== "true";
    at(id).setAttribute("aria-pressed", pressed);
    act(pressed);
  };
}

on("system", header);
on("trouble", troubles);
on("connection", connection);
at("modem").onchange = () => choose(at("modem").value);
at("window").onchange = () => changed("window");
at("png").onclick = savePng;
at("csv").onclick = saveCsv;
toggle("freeze", (pressed) => {
  store.frozen = pressed;
  if (!pressed) { charts.unfreeze(); changed("history"); }
});
toggle("projector", (pressed) => {
  document.body.classList.toggle("projector", pressed);
  charts.enlarge(pressed);
});
tables.make();
drawing.make();
actions.make();
await charts.make(actions.showTrace);
// For tests, and for whoever looks with the browser's tools.
globalThis.live = { store, shown: charts.shown, shownMarks: charts.shownMarks, csv, picture };
await start();
