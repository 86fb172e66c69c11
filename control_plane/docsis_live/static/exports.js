// SPDX-License-Identifier: Apache-2.0
// The curves as they are shown, as a picture and as a table.
import { canvases, shown } from "./charts.js";
import { flow, store } from "./store.js";

const COLUMNS = { sent_bps: "sent_mbps", offered_bps: "offered_mbps", delay_ms: "delay_ms",
  target_ms: "target_ms", drop_prob: "drop_prob", state: "aqm_state", backlog_bytes: "backlog_kb",
  tokens_bytes: "tokens_kb", msr_bps: "sustained_mbps", peak_bps: "peak_mbps",
  dropped_aqm: "dropped_aqm_per_s", dropped_buffer_full: "dropped_buffer_full_per_s",
  dropped_policed: "dropped_policed_per_s", dropped_other: "dropped_other_per_s" };

function name(ending) {
  const time = new Date().toISOString().slice(0, 19).replaceAll(":", "");
  return `docsis-p4-${store.modem}-sfid${store.sfid}-${time}.${ending}`;
}

function save(blob, file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function csv() {
  const data = shown();
  const lines = [["time_local", ...Object.values(COLUMNS)].join(",")];
  for (let place = 0; place < data.t.length; place += 1) {
    const time = new Date(data.t[place]).toISOString().slice(0, 23);
    const cells = Object.keys(COLUMNS).map((column) => {
      const one = data[column][place];
      return Number.isNaN(one) ? "" : one;
    });
    lines.push([time, ...cells].join(","));
  }
  return `${lines.join("\n")}\n`;
}

export const saveCsv = () => save(new Blob([csv()], { type: "text/csv" }), name("csv"));

export function picture() {
  const parts = canvases();
  const width = Math.max(...parts.map((one) => one.width));
  const head = 40;
  const made = document.createElement("canvas");
  made.width = width * 2;
  made.height = head + Math.max(...parts.map((one) => one.height)) * Math.ceil(parts.length / 2);
  const pen = made.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, made.width, made.height);
  pen.fillStyle = "#1b2733";
  pen.font = "20px sans-serif";
  const one = flow();
  pen.fillText(`${store.system?.topology ?? ""}, ${store.modem}, ${one?.name ?? ""}, ` +
    `${one?.queue_manager ?? ""}, ${new Date().toLocaleString()}`, 10, 27);
  const height = Math.max(...parts.map((each) => each.height));
  parts.forEach((each, place) =>
    pen.drawImage(each, (place % 2) * width, head + Math.floor(place / 2) * height));
  return made;
}

export const savePng = () => picture().toBlob((blob) => save(blob, name("png")));
