// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::report {

/// What the pages of a site have beside the style of reports.
inline constexpr std::string_view site_style = R"css(
[hidden] { display: none !important; }
.scroll { overflow-x: auto; }
.scroll th, .scroll td { white-space: nowrap; }
form { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; margin: 1rem 0; }
label { max-width: 100%; }
input, select { max-width: 100%; padding: 0.3rem; border: 1px solid var(--faint); background: var(--page); color: var(--ink); font: inherit; }
)css";

/// The script of a site: it searches in tables, and makes comparisons. Texts of files stay texts.
inline constexpr std::string_view site_script = R"js("use strict";
function make(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// A search, and a filter for each kind of the hidden words of rows, such as "|phase:inference|".
for (const form of document.querySelectorAll("form.filter")) {
  const kinds = new Map();
  for (const span of document.querySelectorAll("tbody span[hidden]")) {
    for (const [kind, value] of span.textContent.split("|").map((word) => word.split(":"))) {
      if (value && kind !== "model") kinds.set(kind, (kinds.get(kind) || new Set()).add(value));
    }
  }
  for (const [kind, values] of kinds) {
    const label = make("label", `${kind} `), select = make("select", "");
    select.append(make("option", "all", { value: "" }));
    for (const value of [...values].sort()) select.append(make("option", value, { value: `|${kind}:${value}|` }));
    label.append(select);
    form.lastChild.before(label);
  }
  form.addEventListener("input", () => {
    const words = [...form.elements].flatMap((field) => field.value.toLowerCase().split(/\s+/));
    const rows = [...document.querySelectorAll("tbody tr")];
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    form.lastChild.textContent = `${rows.filter((row) => !row.hidden).length} rows`;
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
}

const loaded = new Map();
window.layerbenchResult = (file) => loaded.set(file.id, file);
const load = (id) => loaded.has(id) ? Promise.resolve() : new Promise((resolve, reject) => {
  const script = make("script", "", { src: `results/${id}.js` });
  script.onload = resolve;
  script.onerror = () => reject(new Error(`results/${id}.js cannot be read`));
  document.head.append(script);
});

function table(caption, titles, rows, texts) {  // the first columns are texts
  const all = make("table", "", { class: "few" }), scroll = make("div", "", { class: "scroll", tabindex: 0 });
  const fill = (row, cells, tag) => cells.forEach((cell, i) => row.append(make(tag, cell, { class: i < texts ? "" : "number" })));
  all.append(make("caption", caption));
  fill(all.createTHead().insertRow(), titles, "th");
  const body = all.createTBody();
  for (const cells of rows) fill(body.insertRow(), cells, "td");
  scroll.append(all);
  return scroll;
}

// The first step of each name: the newest file comes first.
function stepsOf(ids) {
  const all = new Map();
  for (const step of ids.flatMap((id) => loaded.get(id).cases)) {
    const name = `${step.work} ${step.conditions}`;
    if (!all.has(name)) all.set(name, step);
  }
  return [...all.values()];
}

const ms = (seconds) => (1e3 * seconds).toPrecision(4);
const between = (of) => (of.low <= of.high ? `${ms(of.low)} to ${ms(of.high)}` : "unknown");

// The ratio lies between those of the far ends of both intervals. Up to 2 % is the same.
function verdict(a, b) {
  if (!(0 < a.low && a.low <= a.high && b.low <= b.high)) return "unclear";
  const low = b.low / a.high, high = b.high / a.low;
  return low >= 0.98 && high <= 1.02 ? "same" : high < 1 ? "faster" : low > 1 ? "slower" : "unclear";
}

function layersTable(sides) {
  const rows = new Map();
  sides.forEach((side, i) => side.layers.forEach(([name, op, count, seconds]) => {
    if (!rows.has(name)) rows.set(name, [name, op, 0, 0]);
    rows.get(name)[i + 2] += count * seconds;
  }));
  const change = (row) => row[3] - row[2];
  const sorted = [...rows.values()].sort((a, b) => Math.abs(change(b)) - Math.abs(change(a)));
  return table("Layers, largest changes first", ["layer", "op", "first ms per step", "second ms per step", "change ms", "ratio"],
    sorted.map((row) => [row[0], row[1], ms(row[2]), ms(row[3]), ms(change(row)), row[2] && row[3] ? (row[3] / row[2]).toFixed(3) : ""]), 2);
}

async function compare(form, result) {
  const sides = [form.a, form.b].map((select) => select.value.split(" "));
  await Promise.all(sides.flat().map(load));
  const [first, second] = sides.map(stepsOf), rows = [], details = [];
  for (const a of first) {
    const same = second.filter((step) => step.work === a.work).sort((x, y) => x.seconds - y.seconds);
    const b = same.find((step) => step.conditions === a.conditions) || same[0];
    if (!b) continue;
    rows.push([a.work, verdict(a, b), (b.seconds / a.seconds).toFixed(3), ms(a.seconds), between(a), ms(b.seconds), between(b), a.conditions, b.conditions]);
    details.push(make("details", ""));
    details.at(-1).append(make("summary", `Layers of ${a.work}, ${a.conditions}`), layersTable([a, b]));
  }
  const caption = "Steps of both, of the same conditions or else the fastest of the second";
  const titles = ["step", "second is", "ratio", "first ms", "between", "second ms", "between", "first", "second"];
  result.replaceChildren(rows.length ? table(caption, titles, rows, 2) : make("p", "They have no step in common."), ...details);
}

const form = document.querySelector("form.compare");
if (form) {
  form.b.replaceChildren(...[...form.a.children].map((child) => child.cloneNode(true)));
  const chosen = new URLSearchParams(location.hash.slice(1)), result = document.getElementById("comparison");
  for (const select of [form.a, form.b]) {
    const option = [...select.options].find((one) => one.dataset.id === chosen.get(select.name));
    if (option) option.selected = true;
  }
  const update = () => compare(form, result).catch((error) => result.replaceChildren(make("p", error.message)));
  form.addEventListener("change", update);
  form.hidden = false;
  update();
}
)js";

}  // namespace layerbench::report
