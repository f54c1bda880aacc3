// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::report {

/// The style sheet of pages: for light, dark and narrow screens, and for printing.
inline constexpr std::string_view style = R"css(
:root {
  color-scheme: light dark;
  --page: #fff;
  --ink: #1a1a1a;
  --faint: #595959;
  --line: #c8c8c8;
  --band: #e4eef5;
  --link: #0057a0;
  --predicted: #0072b2;
  --naive: #b34700;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #16181b;
    --ink: #ececec;
    --faint: #b0b0b0;
    --line: #4a4f55;
    --band: #22323d;
    --link: #8ecbff;
    --predicted: #56b4e9;
    --naive: #f0a04b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto;
  padding: 1rem;
  max-width: 72rem;
  background: var(--page);
  color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere;
}
h1 { margin: 0 0 0.5rem; font-size: 1.6rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); font-size: 1.3rem; }
h3 { margin-top: 2rem; font-size: 1.05rem; }
a { color: var(--link); }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; }
ul { padding-left: 1.2rem; }
li { max-width: 60rem; }
#summary h2 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.facts ul { margin: 0; padding: 0; list-style: none; color: var(--faint); }
.headline table { margin: 1rem 0; font-size: 1rem; }
.headline tbody th { min-width: 9rem; }
.headline th:nth-child(2), .headline td:nth-child(2), .headline td:nth-child(4), .headline td:nth-child(5) { font-weight: 600; }
.warnings { border-left: 0.3rem solid var(--naive); padding-left: 0.8rem; }
.warnings h3 { margin-top: 0; }
table { margin: 1rem 0; border-collapse: collapse; font-size: 0.875rem; overflow-wrap: normal; }
caption { text-align: left; color: var(--faint); padding-bottom: 0.3rem; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: baseline; }
thead th { vertical-align: bottom; }
tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
.context td { overflow-wrap: anywhere; }
.numbered tbody { counter-reset: row; }
.numbered tbody tr { counter-increment: row; }
.numbered tbody th::before { content: counter(row) ". "; }
figure { margin: 1rem 0; }
figcaption { max-width: 48rem; color: var(--faint); font-size: 0.875rem; }
svg { display: block; width: 100%; height: auto; }
svg.broad { max-width: 48rem; }
svg.narrow { display: none; max-width: 30rem; }
svg.shares { max-width: 48rem; height: 1.9rem; }
svg.hidden { position: absolute; width: 0; height: 0; }
svg.swatch { display: inline-block; width: 1.6rem; height: 0.9rem; margin-right: 0.5rem; vertical-align: middle; }
svg.cell-bar { display: inline-block; width: 4rem; height: 0.9rem; margin-right: 0.5rem; vertical-align: middle; }
svg text { fill: var(--ink); font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round; }
svg .axis { stroke: var(--line); fill: none; }
svg .zero { stroke: var(--faint); fill: none; }
svg .leader { stroke: var(--faint); fill: none; }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; fill: none; }
svg .bar { stroke: var(--ink); stroke-width: 1; }
svg .band { fill: var(--band); }
svg text.faint { fill: var(--faint); }
svg .predicted { fill: var(--predicted); stroke: var(--predicted); stroke-width: 1.5; }
svg .naive { fill: var(--page); stroke: var(--naive); stroke-width: 2; }
svg .trend { fill: none; stroke: var(--predicted); stroke-width: 1.5; }
svg .level { fill: none; stroke: var(--ink); stroke-dasharray: 6 3; }
svg .changed { fill: var(--naive); stroke: var(--ink); }
@media screen and (max-width: 60rem) {
  table.many, .many caption, .many tbody, .many tr, .many tbody th { display: block; }
  .many thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .many tr { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
  .many tbody th, .many td { padding: 0; border: 0; }
  .many td { display: inline-block; max-width: 100%; margin-right: 1rem; text-align: left; }
  .many td:empty, .many svg.cell-bar { display: none; }
  .many td::before { content: attr(data-label) "\a0"; color: var(--faint); font-weight: 400; }
}
@media screen and (max-width: 40rem) {
  body { padding: 0.75rem; }
  svg.broad { display: none; }
  svg.narrow { display: block; }
  ul { padding-left: 1rem; }
}
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 9pt; }
  table { font-size: 7.5pt; }
  nav { display: none; }
  td.number { white-space: normal; }
  svg { max-width: 16cm; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, li { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; }
}
)css";

}  // namespace layerbench::report
