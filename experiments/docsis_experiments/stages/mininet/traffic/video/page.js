// SPDX-License-Identifier: Apache-2.0
// Plays a video with dash.js from the time that it is told, and tells its own server what it sees:
// each segment, and ten times a second how far it has played and how much has come.
"use strict";

(async () => {
  const post = (where, what) =>
    fetch(where, { method: "POST", body: JSON.stringify(what) }).catch(() => {});
  await post("/ready", "");
  // The answer comes when it is known when to start.
  const told = await (await fetch("/told.json")).json();
  const video = document.querySelector("video");
  const player = dashjs.MediaPlayer().create();
  const events = dashjs.MediaPlayer.events;
  const asked = new Map();
  let segments = [];
  let samples = [];
  let received = 0;

  const isSegment = (request) => request.type === "MediaSegment";

  // What has come of all that dash.js asks for, while it comes.
  const send = XMLHttpRequest.prototype.send;
  XMLHttpRequest.prototype.send = function (...body) {
    let before = 0;
    const count = (event) => {
      received += Math.max(0, event.loaded - before);
      before = event.loaded;
    };
    this.addEventListener("progress", count);
    this.addEventListener("load", count);
    return send.apply(this, body);
  };

  player.updateSettings(told.settings);
  player.on(events.FRAGMENT_LOADING_STARTED, ({ request }) => {
    // A segment that is asked for once more was asked for before.
    if (isSegment(request) && !asked.has(request.index)) {
      const buffered = player.getBufferLength("video");
      asked.set(request.index, { at: Date.now(), buffered: Number.isFinite(buffered) ? buffered : 0 });
    }
  });
  player.on(events.FRAGMENT_LOADING_COMPLETED, ({ request, error }) => {
    const one = asked.get(request.index);
    if (isSegment(request) && one && !error) {
      asked.delete(request.index);
      const rate = Math.round(request.representation.bandwidth);
      segments.push([request.index, one.at, Date.now(), rate, Math.round(1000 * one.buffered)]);
    }
  });
  player.on(events.ERROR, ({ error }) => {
    post("/failed", `dash.js: ${error.code} ${error.message}`);
  });
  video.addEventListener("error", () => {
    post("/failed", `the video element: ${video.error && video.error.message}`);
  });

  const look = () => {
    samples.push([Date.now(), Math.round(1e6 * video.currentTime), received]);
  };
  const tell = () => {
    const records = { segments, samples };
    segments = [];
    samples = [];
    return post("/records", records);
  };
  setInterval(look, told.sample_ms);
  setInterval(tell, 500);

  player.initialize();
  player.attachView(video);
  player.setAutoPlay(true);
  setTimeout(() => player.attachSource(told.manifest), Math.max(0, told.start_ms - Date.now()));
  if (told.end_ms !== null) {
    setTimeout(() => {
      look();
      player.reset();
    }, Math.max(0, told.end_ms - Date.now()));
  }
})().catch((error) => {
  fetch("/failed", { method: "POST", body: JSON.stringify(`the page: ${error}`) });
});
