// SPDX-License-Identifier: Apache-2.0
// What the page knows, and who is told when some of it changes. Nothing else has state of the system.

export const MOST_ROWS = 3000;

export const store = {
  system: null, // topology, modems, channel; null while no system answers
  columns: {}, // place of each value in a row, by name
  presets: [],
  mayAct: false,
  modem: "", // that is looked at
  detail: null, // its service flows
  sfid: null, // of the service flow whose curves are shown
  rows: [], // {n, t, f}, oldest first
  marks: [], drops: [], traffic: null,
  summary: [], classifiers: {}, channels: [], health: null,
  trouble: "", connected: false, frozen: false,
};

const listeners = new Map();

export function on(what, listener) {
  if (!listeners.has(what)) listeners.set(what, []);
  listeners.get(what).push(listener);
}

export function changed(what) {
  for (const listener of listeners.get(what) ?? []) listener();
}

// The value of a service flow in a row; null where it is not known.
export function value(row, sfid, column) {
  const values = row.f[sfid];
  return values === undefined ? null : values[store.columns[column]];
}

export function flow() {
  return store.detail?.service_flows.find((one) => one.sfid === store.sfid) ?? null;
}

export function lastRow() {
  return store.rows.at(-1) ?? null;
}

// Rows that are new; those that are there already are left out.
export function addRows(rows) {
  const after = store.rows.length ? store.rows.at(-1).n : -1;
  const fresh = rows.filter((row) => row.n > after);
  store.rows.push(...fresh);
  if (store.rows.length > MOST_ROWS) store.rows.splice(0, store.rows.length - MOST_ROWS);
  return fresh;
}

export const mbps = (bps) => (bps === null || bps === undefined ? "-" : (bps / 1e6).toFixed(2));

export function element(tag, text = "", properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== "") made.textContent = text;
  return made;
}
