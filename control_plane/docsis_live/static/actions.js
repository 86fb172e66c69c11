// SPDX-License-Identifier: Apache-2.0
// What is done from the page, with the token; and dropped packets with their traces.
import { get } from "./connection.js";
import { changed, element, flow, on, store } from "./store.js";

const KEY = "docsis-p4 token";
const at = (id) => document.getElementById(id);
const say = (text) => { at("said").textContent = text; };

// The address that was printed has the token behind #, which browsers send to nobody.
function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(KEY);
}

async function act(what) {
  try {
    const answer = await fetch("/api/act", {
      method: "POST", body: JSON.stringify(what),
      headers: { "Content-Type": "application/json", "X-Docsis-Token": token() ?? "" },
    });
    const content = await answer.json();
    if (answer.status === 403) {
      sessionStorage.removeItem(KEY);
      lock();
    }
    say(content.error ?? content.text);
    return answer.ok;
  } catch (error) {
    say(`The page's server does not answer: ${error.message}`);
    return false;
  }
}

function lock() {
  const usable = store.mayAct && Boolean(token());
  at("locked").hidden = usable || !store.mayAct;
  at("actions").hidden = !store.mayAct;
  for (const one of at("do").querySelectorAll("button, select, input")) one.disabled = !usable;
  const hosts = store.traffic !== null;
  for (const one of at("do").querySelectorAll("[data-start]")) {
    one.disabled = !usable || !hosts;
    one.title = hosts ? "" : "Only `docsis-p4 run` has hosts that could send.";
  }
}

function traffic() {
  const usable = store.mayAct && Boolean(token());
  at("traffic").replaceChildren(...(store.traffic ?? []).map((one) => {
    const line = element("li", `${one.kind} of ${one.modem}, ${one.host} and ${one.server} `);
    const stop = element("button", "Stop", { disabled: !usable });
    stop.dataset.stop = one.kind;
    stop.onclick = () => act({ do: "stop", id: one.id });
    line.append(stop);
    return line;
  }));
  lock();
}

function chosen() {
  const one = flow();
  return one && { modem: store.modem, direction: one.direction, reference: one.reference };
}

function fill() {
  const one = flow();
  at("msr").value = one?.msr_bps ? one.msr_bps / 1e6 : "";
  at("peak").value = one?.peak_bps ? one.peak_bps / 1e6 : "";
  if (store.presets.some((each) => each.name === one?.queue_manager)) {
    at("preset").value = one.queue_manager;
  }
}

function presets() {
  at("preset").replaceChildren(
    ...store.presets.map((one) => element("option", one.label, { value: one.name })));
  fill();
}

function setRate() {
  const bps = (id) => Math.round(Number(at(id).value) * 1e6);
  const where = chosen();
  if (!where || !(bps("msr") > 0)) { say("Give a rate above 0."); return; }
  act({ do: "rate", ...where, msr_bps: bps("msr"), peak_bps: bps("peak") || null });
}

export async function showTrace(id) {
  try {
    const drop = await get(`/api/trace?id=${id}`);
    at("trace-title").textContent = `Packet ${drop.id}: ${drop.reason}`;
    at("trace-text").textContent = drop.text;
    at("trace").showModal();
  } catch (error) {
    say(error.message);
  }
}

function drops() {
  at("dropped").hidden = !store.drops.length;
  at("drops").replaceChildren(...store.drops.toReversed().map((one) => {
    const line = element("li");
    const time = new Date(one.t).toLocaleTimeString();
    const words = `${time} ${one.device}: ${one.reason}` +
      `${one.index === null ? "" : `, service flow ${one.index}`}`;
    line.append(element("button", words, { onclick: () => showTrace(one.id) }));
    return line;
  }));
}

export function make() {
  token();
  at("unlock").onclick = () => {
    sessionStorage.setItem(KEY, at("token").value.trim());
    at("token").value = "";
    say("");
    traffic();
  };
  for (const one of document.querySelectorAll("[data-start]")) {
    one.onclick = () => act({ do: "start", kind: one.dataset.start, modem: store.modem });
  }
  at("manage").onclick = () => {
    const where = chosen();
    if (where) act({ do: "manage", ...where, preset: at("preset").value });
  };
  at("rate").onclick = setRate;
  at("catch").onclick = async () => {
    const one = flow();
    if (!one) return;
    at("catch").disabled = true;
    say(`Packets of ${one.device} are traced ...`);
    await act({ do: "catch", device: one.device });
    at("catch").disabled = false;
  };
  on("system", presets);
  on("system", lock);
  for (const what of ["detail", "flow"]) on(what, fill);
  on("traffic", traffic);
  on("drops", drops);
  changed("traffic");
}
