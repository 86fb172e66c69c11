// SPDX-License-Identifier: Apache-2.0
// Puts each chart in the place of its picture, which stays where that fails, and in print.
"use strict";
for (const figure of document.querySelectorAll("figure.has-chart")) {
  const place = figure.querySelector(".chart");
  const data = JSON.parse(figure.querySelector("script").textContent);
  figure.classList.add("live");
  Bokeh.embed.embed_item(data, place).catch((error) => {
    figure.classList.remove("live");
    console.error(error);
  });
}
