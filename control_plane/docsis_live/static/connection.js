// SPDX-License-Identifier: Apache-2.0
// Gets what the server knows: the system, history, and updates, ten a second.
import { addRows, changed, store } from "./store.js";

const PARTS = ["summary", "classifiers", "channels", "health", "marks", "drops", "traffic"];
const RETRY_MS = 1000;
let socket = null;
let key = null; // of the state of the system that is known here
let instance = null; // of the server; rows of another one have other numbers
let filling = false; // history is under way; rows that come meanwhile are in it
let missed = []; // rows that came meanwhile

export async function get(path) {
  const answer = await fetch(path);
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

export async function start() {
  await learn();
  connect();
}

async function learn() {
  const found = await get("/api/system");
  if (instance !== found.instance) store.rows = [];
  instance = found.instance;
  store.system = found.system;
  key = found.system?.key ?? null;
  store.columns = Object.fromEntries(found.columns.map((name, place) => [name, place]));
  store.presets = found.presets;
  store.mayAct = found.may_act;
  store.traffic = found.traffic;
  store.trouble = found.trouble;
  const modems = found.system?.modems ?? [];
  if (!modems.includes(store.modem)) store.modem = "";
  changed("system");
  changed("traffic");
  changed("trouble");
  if (!store.modem && modems.length) {
    const wanted = new URLSearchParams(location.search).get("modem");
    await choose(modems.includes(wanted) ? wanted : modems[0]);
  } else if (store.modem) {
    await learnModem();
  }
}

async function learnModem() {
  const detail = await get(`/api/modem?name=${encodeURIComponent(store.modem)}`);
  if (detail.modem !== store.modem) return;
  store.detail = detail;
  if (!detail.service_flows.some((one) => one.sfid === store.sfid)) {
    store.sfid = detail.service_flows[0]?.sfid ?? null;
    changed("flow");
  }
  changed("detail");
}

export async function choose(modem) {
  store.modem = modem;
  store.rows = [];
  store.detail = null;
  store.sfid = null;
  history.replaceState(null, "", `?modem=${encodeURIComponent(modem)}${location.hash}`);
  changed("system");
  if (socket?.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify({ modem }));
    await fill();
  }
  await learnModem();
}

// Gets the rows behind those that are here, which were sent before this page was there or able to
// take them.
async function fill() {
  filling = true;
  missed = [];
  const modem = store.modem;
  try {
    await ask(modem);
    // A row that this page was too slow for may be younger than the answer.
    if (modem === store.modem && lacksRows(missed)) await ask(modem);
  } catch (error) {
    console.warn(error); // nothing is kept of it yet
  } finally {
    filling = false;
  }
  if (modem === store.modem) addRows(missed);
  changed("history");
}

async function ask(modem) {
  // Without rows from the first one that there is.
  let from = store.rows.length ? store.rows.at(-1).n + 1 : 0;
  while (from !== null && modem === store.modem) {
    const part = await get(
      `/api/history?modem=${encodeURIComponent(modem)}&since=${from}`);
    if (modem === store.modem) addRows(part.rows);
    from = part.next;
  }
}

// Whether rows are missing in front of these or between them. Whoever has none knows no beginning.
function lacksRows(rows) {
  let before = store.rows.at(-1)?.n ?? null;
  for (const { n } of rows) {
    if (before === null || n > before + 1) return true;
    before = Math.max(before, n);
  }
  return false;
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/api/updates`);
  socket.onopen = async () => {
    store.connected = true;
    changed("connection");
    if (!store.modem) return;
    socket.send(JSON.stringify({ modem: store.modem }));
    await fill();
  };
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = () => {
    store.connected = false;
    changed("connection");
    setTimeout(async () => {
      try {
        await learn();
      } catch (error) {
        console.warn(error);
      }
      connect();
    }, RETRY_MS);
  };
}

function take(update) {
  if (update.error) return;
  if (update.trouble !== store.trouble) {
    store.trouble = update.trouble;
    changed("trouble");
  }
  if (update.key !== key) {
    key = update.key;
    learn().catch((error) => { console.warn(error); key = null; });
  }
  for (const part of PARTS) {
    if (part in update) {
      store[part] = update[part];
      changed(part);
    }
  }
  if (update.row && update.modem === store.modem) takeRow(update.row);
}

function takeRow(row) {
  if (filling) {
    missed.push(row);
    return;
  }
  // Updates that this page was too slow for were left out, and are in the history.
  if (lacksRows([row])) {
    fill();
    missed.push(row);
    return;
  }
  addRows([row]);
  changed("row");
}
