// SPDX-License-Identifier: Apache-2.0
// The curves of one service flow, by BokehJS. All of them share one source and one range of time.
import { MOST_ROWS, changed, flow, on, store, value } from "./store.js";

const DRAW_MS = 200; // between two drawings: rows come every 100 ms
const COLOURS = { INACTIVE: "#c8d0d8", QUIESCENT: "#f2b84b", ACTIVE: "#d1352b" };
const NUMBERS = ["offered_bps", "sent_bps", "delay_ms", "backlog_bytes", "tokens_bytes", "drop_prob",
  "msr_bps", "peak_bps", "target_ms"];
const DROPS = ["dropped_aqm", "dropped_buffer_full", "dropped_policed", "dropped_other"];
const SCALE = { offered_bps: 1e-6, sent_bps: 1e-6, msr_bps: 1e-6, peak_bps: 1e-6,
  backlog_bytes: 1e-3, tokens_bytes: 1e-3 };

let source = null;
let marks = null;
let caught = null;
let range = null;
let drawn = null; // number of the last row in the source
let due = null;
const views = [];
const heights = []; // of each figure: its range of values, and the columns that are in it
const HEADROOM = 1.3; // for the legend

// Bokeh's axes of time are in UTC; people's clocks are not.
const local = (ms) => ms - new Date(ms).getTimezoneOffset() * 60_000;

function nothing() {
  const columns = ["t", "state", "colour", ...NUMBERS, ...DROPS];
  return Object.fromEntries(columns.map((name) => [name, []]));
}

// Columns of the rows, as they are drawn. `before` is the row in front of the first.
export function columns(rows, sfid, before) {
  const made = nothing();
  for (const row of rows) {
    if (row.f[sfid] === undefined) continue;
    made.t.push(local(row.t));
    for (const name of NUMBERS) {
      const number = value(row, sfid, name);
      made[name].push(number === null ? NaN : number * (SCALE[name] ?? 1));
    }
    for (const name of DROPS) made[name].push(rateOf(row, before, sfid, name));
    const state = value(row, sfid, "state");
    made.state.push(state ?? "");
    made.colour.push(COLOURS[state] ?? "rgba(0,0,0,0)");
    before = row;
  }
  return made;
}

// Frames a second; what is counted afresh is none.
function rateOf(row, before, sfid, name) {
  if (!before || before.f[sfid] === undefined || row.t <= before.t) return 0;
  const gained = value(row, sfid, name) - value(before, sfid, name);
  return gained > 0 ? (gained * 1000) / (row.t - before.t) : 0;
}

function figure(title, unit, lines) {
  const plt = Bokeh.Plotting;
  const made = plt.figure({
    title: `${title}, ${unit}`, height: 230, sizing_mode: "stretch_width", x_axis_type: "datetime",
    x_range: range, y_range: new Bokeh.Range1d({ start: 0, end: 1 }), toolbar_location: "above",
    tools: "xpan,xwheel_zoom,box_zoom,reset,save", output_backend: "canvas", lod_threshold: null,
  });
  heights.push([made.y_range, lines.map(([field]) => field)]);
  for (const [field, colour, label, dash] of lines) {
    made.line({ field: "t" }, { field }, {
      source, line_color: colour, line_width: dash ? 1.5 : 2, line_dash: dash ?? "solid",
      legend_label: label,
    });
  }
  made.vspan({ field: "t" }, { source: marks, line_color: "#b3261e", line_dash: "dashed" });
  made.legend.location = "top_left";
  made.legend.orientation = "horizontal";
  made.legend.click_policy = "hide";
  made.legend.background_fill_alpha = 0.6;
  made.legend.label_text_font_size = "11px";
  made.legend.padding = 2;
  made.legend.spacing = 12;
  made.toolbar.logo = null;
  return made;
}

export async function make(showTrace) {
  source = new Bokeh.ColumnDataSource({ data: nothing() });
  marks = new Bokeh.ColumnDataSource({ data: { t: [], text: [], y: [], dy: [] } });
  caught = new Bokeh.ColumnDataSource({ data: { t: [], y: [], id: [] } });
  range = new Bokeh.Range1d({ start: 0, end: 1 });
  const rate = figure("Throughput", "Mbit/s", [
    ["offered_bps", "#9fb0bf", "offered"], ["sent_bps", "#0b6bcb", "sent"],
    ["msr_bps", "#1a7f37", "sustained rate", "dashed"], ["peak_bps", "#b35900", "peak rate", "dotted"],
  ]);
  rate.text({ field: "t" }, { field: "y" }, { field: "text" }, {
    source: marks, text_color: "#b3261e", text_font_size: "12px", x_offset: 4,
    y_offset: { field: "dy" },
  });
  const delay = figure("Queue delay", "ms", [
    ["delay_ms", "#0b6bcb", "delay"], ["target_ms", "#1a7f37", "target", "dashed"],
  ]);
  const probability = figure("drop_prob, and the AQM's state", "1", [
    ["drop_prob", "#7a3db8", "drop_prob"],
  ]);
  probability.scatter({ field: "t" }, 0, {
    source, marker: "square", size: 7, line_color: null, fill_color: { field: "colour" },
  });
  const tokens = figure("Tokens, and bytes queued", "KB", [
    ["tokens_bytes", "#1a7f37", "tokens"], ["backlog_bytes", "#0b6bcb", "queued"],
  ]);
  const drops = figure("Drops", "frames/s", [
    ["dropped_aqm", "#d1352b", "AQM"], ["dropped_buffer_full", "#0b6bcb", "buffer full"],
    ["dropped_policed", "#b35900", "policed"], ["dropped_other", "#66737f", "other"],
  ]);
  const points = drops.scatter({ field: "t" }, { field: "y" }, {
    source: caught, marker: "circle", size: 11, fill_color: "#d1352b", line_color: "#fff",
  });
  drops.add_tools(new Bokeh.TapTool({ renderers: [points] }));
  caught.selected.properties.indices.change.connect(() => {
    const [place] = caught.selected.indices;
    if (place !== undefined) showTrace(caught.data.id[place]);
  });
  const all = { rate, delay, probability, tokens, drops };
  // One document, as they share source and range.
  const together = new Bokeh.Document({ roots: Object.values(all) });
  const places = Object.keys(all).map((name) => document.getElementById(`chart-${name}`));
  const manager = await Bokeh.embed.add_document_standalone(together, document.body, places);
  for (const one of Object.values(all)) views.push(manager.get(one));
  for (const what of ["flow", "history", "detail", "window"]) on(what, drawAll);
  on("row", drawSoon);
  on("marks", drawMarks);
  on("drops", drawMarks);
  on("flow", drawMarks);
  drawAll();
  drawMarks();
}

function drawAll() {
  if (store.sfid === null || store.frozen) return;
  source.data = columns(store.rows, store.sfid, null);
  drawn = store.rows.at(-1)?.n ?? null;
  follow();
  changed("drawn");
}

function drawSoon() {
  due ??= setTimeout(() => { due = null; drawNew(); }, DRAW_MS);
}

function drawNew() {
  if (store.sfid === null || store.frozen) return;
  if (drawn === null) { drawAll(); return; }
  let first = store.rows.length;
  while (first > 0 && store.rows[first - 1].n > drawn) first -= 1;
  const fresh = store.rows.slice(first);
  if (!fresh.length) return;
  source.stream(columns(fresh, store.sfid, store.rows[first - 1] ?? null), MOST_ROWS);
  drawn = fresh.at(-1).n;
  follow();
  changed("drawn");
}

function follow() {
  const seconds = Number(document.getElementById("window").value);
  const last = store.rows.at(-1);
  if (!last) return;
  const start = local(last.t) - seconds * 1000;
  range.setv({ start, end: local(last.t) });
  const times = source.data.t;
  let first = times.length;
  while (first > 0 && times[first - 1] >= start) first -= 1;
  for (const [values, fields] of heights) values.end = HEADROOM * highest(fields, first);
}

// Of what is in sight; curves of nothing but 0 have a scale all the same.
function highest(fields, first) {
  let most = 0;
  for (const field of fields) {
    const column = source.data[field];
    for (let place = first; place < column.length; place += 1) {
      if (column[place] > most) most = column[place];
    }
  }
  return most || 1;
}

function drawMarks() {
  if (store.frozen) return;
  const mine = store.marks.filter(
    (one) => one.modem === store.modem && (one.sfid === null || one.sfid === store.sfid));
  marks.data = { t: mine.map((one) => local(one.t)), text: mine.map((one) => one.text),
    y: mine.map(() => 0), dy: mine.map((one) => -2 - 14 * (one.id % 4)) };
  const chosen = flow();
  const here = store.drops.filter((one) => chosen && one.device === chosen.device &&
    (one.index === null || one.index === chosen.index));
  caught.data = { t: here.map((one) => local(one.t)), y: here.map(() => 0),
    id: here.map((one) => one.id) };
}

export function unfreeze() {
  drawAll();
  drawMarks();
}

// What the curves show, for exports and for tests.
export const shown = () => source.data;
export const shownMarks = () => marks.data;

export function canvases() {
  return views.map((view) => view.export("png", false).canvas);
}

export function enlarge(projector) {
  for (const view of views) {
    const model = view.model;
    model.height = projector ? 340 : 230;
    model.title.text_font_size = projector ? "24px" : "13px";
    for (const axis of [...model.left, ...model.below]) {
      if ("major_label_text_font_size" in axis) {
        axis.major_label_text_font_size = projector ? "20px" : "11px";
      }
    }
    for (const one of model.center) {
      if ("label_text_font_size" in one) one.label_text_font_size = projector ? "18px" : "11px";
    }
    for (const one of model.renderers) {
      if (one.glyph?.line_width?.value) {
        one.glyph.line_width = { value: projector ? 4 : 2 };
      }
    }
  }
}
