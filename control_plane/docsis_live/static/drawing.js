// SPDX-License-Identifier: Apache-2.0
// Modem, channel and CMTS with live rates, how the channel is shared, and MAPs.
import { element, lastRow, mbps, on, store, value } from "./store.js";

const SVG = "http://www.w3.org/2000/svg";
const SHARES = ["#0b6bcb", "#1a7f37", "#b35900", "#7a3db8", "#b3261e", "#1d7d86", "#7c6a0a", "#a83279"];
const USAGE = { contention: "#f2b84b", poll: "#1d7d86", maintenance: "#9fb0bf", grant: "#0b6bcb" };
const MOST_SHARES = 8;
const texts = {};
const lines = {};

function add(parent, tag, attributes, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, given] of Object.entries(attributes)) made.setAttribute(name, given);
  made.textContent = text;
  parent.append(made);
  return made;
}

function scene() {
  const svg = document.getElementById("drawing");
  svg.replaceChildren();
  const box = (x, width, name) => {
    add(svg, "rect", { x, y: 35, width, height: 100, rx: 8 });
    texts[name] = add(svg, "text", { x: x + width / 2, y: 70, "text-anchor": "middle", class: "big" });
    texts[`${name}2`] = add(svg, "text", { x: x + width / 2, y: 95, "text-anchor": "middle" });
    texts[`${name}3`] = add(svg, "text", { x: x + width / 2, y: 117, "text-anchor": "middle" });
  };
  box(30, 220, "modem");
  box(750, 220, "cmts");
  texts.channel = add(svg, "text", { x: 500, y: 24, "text-anchor": "middle" });
  const line = (y, kind) => add(svg, "line", { x1: 258, x2: 742, y1: y, y2: y, class: kind,
    "stroke-width": 2, "stroke-linecap": "round" });
  lines.up = line(62, "up");
  lines.down = line(112, "down");
  texts.up = add(svg, "text", { x: 500, y: 52, "text-anchor": "middle", class: "big" });
  texts.down = add(svg, "text", { x: 500, y: 138, "text-anchor": "middle", class: "big" });
}

function draw() {
  if (store.frozen) return;
  const row = lastRow();
  const sums = { upstream: [0, 0, 0], downstream: [0, 0, 0] };
  for (const one of store.detail?.service_flows ?? []) {
    if (!row) break;
    sums[one.direction][0] += value(row, one.sfid, "sent_bps") ?? 0;
    sums[one.direction][1] += value(row, one.sfid, "backlog_bytes") ?? 0;
    sums[one.direction][2] = Math.max(sums[one.direction][2], value(row, one.sfid, "delay_ms") ?? 0);
  }
  const { upstream, downstream } = sums;
  texts.modem.textContent = store.modem || "no modem";
  texts.modem2.textContent = `${(upstream[1] / 1e3).toFixed(1)} KB queued`;
  texts.modem3.textContent = `up to ${upstream[2].toFixed(1)} ms`;
  texts.cmts.textContent = store.system?.devices.find((one) => one.role === "cmts")?.name ?? "CMTS";
  texts.cmts2.textContent = `${(downstream[1] / 1e3).toFixed(1)} KB queued`;
  texts.cmts3.textContent = `up to ${downstream[2].toFixed(1)} ms`;
  texts.up.textContent = `upstream ${mbps(upstream[0])} Mbit/s →`;
  texts.down.textContent = `← downstream ${mbps(downstream[0])} Mbit/s`;
  texts.channel.textContent = channelWords();
  lines.up.setAttribute("stroke-width", thickness(upstream[0]));
  lines.down.setAttribute("stroke-width", thickness(downstream[0]));
}

function channelWords() {
  const channel = store.system?.channel;
  if (channel) return `channel ${mbps(channel.upstream_bps)} up, ${mbps(channel.downstream_bps)} Mbit/s down`;
  const names = store.system?.upstream_channels ?? [];
  return names.length ? `upstream channels ${names.join(", ")}` : "channel as fast as the link";
}

// A line three pixels wider for each factor of ten above 10 kbit/s.
const thickness = (bps) => (2 + 3 * Math.max(0, Math.log10(Math.max(bps, 1) / 1e4))).toFixed(1);

function shares() {
  if (store.frozen) return;
  const place = document.getElementById("shares");
  place.replaceChildren();
  if (store.summary.length < 2) return;
  const channel = store.system?.channel;
  for (const [column, name, capacity] of [[1, "Upstream", channel?.upstream_bps],
    [2, "Downstream", channel?.downstream_bps]]) {
    const sorted = store.summary.map((line) => [line[0], line[column]]).sort((a, b) => b[1] - a[1]);
    const sum = sorted.reduce((all, [, rate]) => all + rate, 0);
    const first = sorted.slice(0, MOST_SHARES).filter(([, rate]) => rate > 0);
    const rest = sum - first.reduce((all, [, rate]) => all + rate, 0);
    const bar = element("div", "", { className: "bar" });
    const of = Math.max(capacity ?? sum, sum, 1);
    [...first, ...(rest > 0 ? [["others", rest]] : [])].forEach(([modem, rate], index) => {
      const part = element("span", modem, { title: `${modem}: ${mbps(rate)} Mbit/s` });
      part.style.width = `${(100 * rate) / of}%`;
      part.style.background = SHARES[index] ?? "#66737f";
      bar.append(part);
    });
    const words = capacity ? `${mbps(sum)} of ${mbps(capacity)} Mbit/s` : `${mbps(sum)} Mbit/s`;
    place.append(element("div", `${name}: ${words}`), bar);
  }
}

function maps() {
  if (store.frozen) return;
  document.getElementById("maps").hidden = !store.channels.length;
  const made = store.channels.flatMap((channel) => {
    const delays = channel.request_to_grant_ms.map((ms) => ms?.toFixed(1) ?? "-").join("/");
    const parts = [element("p", `${channel.name} (${channel.profile}): of ${channel.granted} ` +
      `minislots granted ${channel.used} were used; request to grant ${delays} ms (p50/p99); ` +
      `${channel.collided} opportunities collided`), usage(channel)];
    const names = new Map(channel.flows.map(([sid, name]) => [sid, name]));
    return parts.concat(channel.maps.map((one) => strip(one, names)));
  });
  document.getElementById("channels").replaceChildren(...made);
}

// What the channel's minislots were for, and whose grants were.
let before = new Map();
function usage(channel) {
  const bar = element("div", "", { className: "bar" });
  const gained = channel.flows.map(([sid, name, granted]) => {
    const key = `${channel.name} ${sid}`;
    const gain = granted - (before.get(key) ?? granted);
    before.set(key, granted);
    return [name, gain];
  }).filter(([, gain]) => gain > 0).sort((a, b) => b[1] - a[1]);
  const sum = gained.reduce((all, [, gain]) => all + gain, 0);
  gained.slice(0, MOST_SHARES).forEach(([name, gain], index) => {
    const part = element("span", name, { title: `${name}: ${gain} minislots` });
    part.style.width = `${(100 * gain) / sum}%`;
    part.style.background = SHARES[index];
    bar.append(part);
  });
  return bar;
}

function strip(map, names) {
  const canvas = element("canvas", "", { className: "map", width: 1200, height: 40 });
  const words = map.elements.map(([kind, sid, , count, used]) =>
    `${kind}${sid ? ` of ${names.get(sid) ?? `SID ${sid}`}` : ""}: ${count} minislots` +
    `${used === null || kind !== "grant" ? "" : `, ${used} used`}`);
  canvas.title = `MAP ${map.number}: ${map.minislots} minislots\n${words.slice(0, 40).join("\n")}`;
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#eef3f8";
  pen.fillRect(0, 0, 1200, 40);
  const scale = 1200 / Math.max(map.minislots, 1);
  for (const [kind, sid, first, count, used] of map.elements) {
    pen.fillStyle = kind === "grant" && sid ? SHARES[sid % SHARES.length] : USAGE[kind];
    pen.globalAlpha = kind === "grant" && used === 0 ? 0.35 : 1;
    pen.fillRect(first * scale, 0, Math.max(1, count * scale - 1), 40);
    pen.globalAlpha = 1;
    if (count * scale > 60 && sid) {
      pen.fillStyle = "#fff";
      pen.font = "16px sans-serif";
      pen.fillText(names.get(sid) ?? `SID ${sid}`, first * scale + 4, 26, count * scale - 8);
    }
  }
  return canvas;
}

export function make() {
  scene();
  for (const what of ["row", "history", "detail", "system"]) on(what, draw);
  on("summary", shares);
  on("channels", maps);
}
