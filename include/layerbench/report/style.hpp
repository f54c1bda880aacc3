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
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); font-size: 1.3rem; }
h3 { margin-top: 2rem; font-size: 1.05rem; }
a { color: var(--link); }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; }
ul { padding-left: 1.2rem; }
.warnings { border-left: 0.3rem solid var(--naive); padding-left: 0.8rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
li { max-width: 60rem; }
table { border-collapse: collapse; font-size: 0.875rem; overflow-wrap: normal; }
caption { text-align: left; color: var(--faint); padding-bottom: 0.3rem; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; }
th, td { vertical-align: baseline; white-space: nowrap; }
tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.context td { min-width: 14rem; white-space: normal; overflow-wrap: anywhere; }
figure { margin: 1rem 0; }
figcaption { color: var(--faint); font-size: 0.875rem; }
svg { display: block; width: 100%; min-width: 34rem; max-width: 52rem; height: auto; }
svg.hidden { position: absolute; min-width: 0; width: 0; height: 0; }
svg.swatch { display: inline-block; min-width: 0; width: 1.6rem; height: 0.9rem; margin-right: 0.5rem; vertical-align: middle; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
svg .axis { stroke: var(--line); fill: none; }
svg .zero { stroke: var(--faint); fill: none; }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; fill: none; }
svg .bar { stroke: var(--ink); stroke-width: 1; }
svg .band { fill: var(--band); }
svg .faint { fill: var(--faint); }
svg .predicted { fill: var(--predicted); stroke: var(--predicted); stroke-width: 1.5; }
svg .naive { fill: var(--page); stroke: var(--naive); stroke-width: 2; }
svg .trend { fill: none; stroke: var(--predicted); stroke-width: 1.5; }
svg .changed { fill: var(--naive); stroke: var(--ink); }
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 9pt; }
  table { font-size: 7.5pt; }
  nav { display: none; }
  .wide { overflow: visible; }
  th, td { white-space: normal; }
  svg { min-width: 0; max-width: 16cm; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, li { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; }
}
)css";

}  // namespace layerbench::report
