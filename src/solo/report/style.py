"""The style sheet: light, dark and print, wide and narrow.

Colours of policies are Okabe and Ito's, which people with colour blindness can tell
apart, lightened on dark ground. There are no fonts and images from elsewhere.
"""

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #fff; --raised: #f6f8fa; --ink: #1c2430; --muted: #5b6675;
  --line: #d9dfe6; --accent: #0072c8; --quote: #f1f4f7; --badge: #fdf3d7;
  --badge-ink: #6b4e00; --shade: #0072b2; --on-shade: #fff;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b65a92; --c4: #e69f00;
  --c5: #4c9fd4; --fall: #d55e00; --late: #e9b949; --left: #9aa4b0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161c; --raised: #1a2028; --ink: #e4e9ef; --muted: #9aa6b4;
    --line: #2e3742; --accent: #5db4f5; --quote: #1d242d; --badge: #3a3014;
    --badge-ink: #f2d68a; --shade: #56b4e9; --on-shade: #0b1117;
    --c0: #56b4e9; --c1: #ff8b4d; --c2: #34c99b; --c3: #e29ac5; --c4: #f0c04a;
    --c5: #a9d4f2; --fall: #ff8b4d; --late: #f0d27a; --left: #77828f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 2.1rem; line-height: 1.2; margin: 0 0 12px; letter-spacing: -.01em;
  overflow-wrap: anywhere; }
h2 { font-size: 1.45rem; margin: 0 0 4px; overflow-wrap: anywhere; }
h3 { font-size: 1.08rem; margin: 28px 0 8px; overflow-wrap: anywhere; }
h4 { font-size: .95rem; margin: 12px 0 4px; }
p { margin: 0 0 12px; max-width: 75ch; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
a:focus-visible, [tabindex]:focus-visible, summary:focus-visible {
  outline: 2px solid var(--accent); outline-offset: 2px; }
code { font: .85em ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.lead { font-size: 1.08rem; }
.muted { color: var(--muted); }
nav { display: flex; flex-wrap: wrap; gap: 8px; margin: 16px 0 20px; }
nav a { border: 1px solid var(--line); border-radius: 999px; padding: 3px 13px;
  font-size: .9rem; }
section { margin-top: 52px; padding-top: 22px; border-top: 1px solid var(--line); }
footer { margin-top: 52px; padding-top: 22px; border-top: 1px solid var(--line); }
figure { margin: 26px 0; }
figcaption { margin-bottom: 8px; }
figcaption span { display: block; color: var(--muted); font-size: .88rem; }
.scroll { overflow-x: auto; margin: 0 0 20px; }
table { border-collapse: collapse; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
.caption { font-weight: 600; margin: 24px 0 4px; max-width: none; }
.cite { font-weight: 400; color: var(--muted); font-size: .82rem;
  overflow-wrap: anywhere; }
th, td { padding: 6px 12px; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
th:first-child { text-align: left; padding-left: 0; }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--line);
  max-width: 240px; overflow-wrap: break-word; }
td { white-space: nowrap; }
tbody th { font-weight: 500; }
td small, th small { display: block; color: var(--muted); font-weight: 400;
  font-size: .78rem; white-space: nowrap; }
th small { white-space: normal; }
td.paper, th.paper { background: var(--quote); color: var(--muted); }
tr.total th, tr.total td { font-weight: 700; border-top: 2px solid var(--line); }
tr.total td.paper { font-weight: 600; }
table.text th, table.text td { text-align: left; vertical-align: top;
  white-space: normal; }
table.text tbody th { font-weight: 400; color: var(--muted); overflow-wrap: anywhere; }
.glance table { width: 100%; }
.glance td small { display: inline; margin-left: 8px; }
.glance .ours { font-weight: 700; }
.glance .scale { white-space: normal; text-align: left; font-size: .88rem;
  color: var(--muted); max-width: 330px; }
.glance .whose { text-align: left; color: var(--muted); white-space: normal;
  overflow-wrap: break-word; min-width: 168px; max-width: 240px; }
.glance td.paper { white-space: normal; }
.badge { display: inline-block; background: var(--badge); color: var(--badge-ink);
  border-radius: 5px; padding: 0 7px; margin: 1px 2px 1px 0; font-size: .8rem;
  overflow-wrap: anywhere; }
.badges { max-width: none; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 0;
  margin: 0 0 8px; font-size: .9rem; overflow-wrap: anywhere; }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin-right: 6px; }
.quoted-swatch { border: 2px solid var(--ink); border-radius: 0; width: 9px;
  height: 9px; transform: rotate(45deg); }
.side { display: flex; flex-wrap: wrap; gap: 0 56px; }
.side > div { max-width: 100%; }
.panels { display: flex; flex-wrap: wrap; gap: 14px 22px; align-items: flex-end; }
.panel { max-width: 100%; }
svg { display: block; width: calc(var(--w) * 1.22px); max-width: 100%; height: auto;
  overflow: visible; font-family: inherit; }
td svg { width: calc(var(--w) * 1px); }
svg text { fill: var(--ink); font-size: 11.5px; }
svg .tick { fill: var(--muted); font-size: 11px; }
svg .value { font-size: 10.5px; font-variant-numeric: tabular-nums; }
svg .value.on { fill: var(--on-shade); }
svg .name { font-size: 12.5px; font-weight: 600; }
svg .end { font-size: 11px; font-weight: 600; }
svg .muted { fill: var(--muted); font-weight: 400; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--muted); stroke-width: 1; }
svg .level { stroke: var(--muted); stroke-width: 1.2; stroke-dasharray: 5 4; }
svg .whisker { stroke: var(--ink); stroke-width: 1.3; opacity: .75; }
svg .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
svg .thin { stroke-width: 1.4; opacity: .6; }
svg .dashed { stroke-dasharray: 6 4; }
svg .point { stroke: var(--ground); stroke-width: 1.2; }
svg .quoted { fill: var(--ground); stroke: var(--ink); stroke-width: 1.8; }
svg .shade { fill: var(--shade); }
.outcome-success { fill: var(--c0); background: var(--c0); }
.outcome-fall { fill: var(--fall); background: var(--fall); }
.outcome-time_out { fill: var(--late); background: var(--late); }
.outcome-left_patch { fill: var(--left); background: var(--left); }
.outcome-diverged, .outcome-other { fill: var(--ink); background: var(--ink); }
td svg { margin: 6px 0 5px auto; }
details { margin: 22px 0; border: 1px solid var(--line); border-radius: 8px;
  padding: 9px 14px; background: var(--raised); }
summary { cursor: pointer; font-weight: 600; }
.failures figure { margin: 12px 0 18px; }
.failures .scroll { margin: 0 0 4px; }
.failures img { height: 170px; width: auto; max-width: none; display: block;
  border-radius: 6px; }
.failures figcaption { font-size: .88rem; color: var(--muted);
  overflow-wrap: anywhere; }
.paperlike img { max-width: none; background: #fff; }
.maps { display: grid; gap: 8px 12px;
  grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); }
.map { width: 100%; aspect-ratio: 2 / 1; image-rendering: pixelated; display: block;
  border-radius: 4px; }
.maps small { color: var(--muted); }
@media (max-width: 640px) {
  main { padding: 22px 14px 40px; }
  h1 { font-size: 1.6rem; }
  table { font-size: .86rem; }
  th, td { padding: 5px 8px; }
  .numbers tbody th:first-child, .numbers thead th:first-child { position: sticky;
    left: 0; background: var(--ground); z-index: 1; min-width: 92px;
    max-width: 132px; }
  .panels { gap: 12px 10px; }
  svg { width: calc(var(--w) * 1px); }
  .glance table, .glance tbody { display: block; }
  .glance thead { display: none; }
  .glance tr { display: flex; flex-wrap: wrap; padding: 6px 0; gap: 0 14px; }
  .glance th, .glance td { border: 0; padding: 0; text-align: left; max-width: none; }
  .glance tbody th:first-child { flex: 1 0 100%; max-width: none;
    position: static; padding-top: 10px; border-top: 1px solid var(--line); }
  .glance .whose, .glance .scale { flex: 1 0 100%; overflow-wrap: anywhere; }
  .glance td.paper { padding: 0 8px; border-radius: 5px; }
  .glance td.paper::before { content: "paper "; font-size: .78rem; }
  .failures img { height: 140px; }
}
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { color-scheme: light;
    --ground: #fff; --raised: #fff; --ink: #111; --muted: #555; --line: #ccc;
    --accent: #0058a0; --quote: #f1f4f7; --badge: #fff; --badge-ink: #6b4e00;
    --shade: #0072b2; --on-shade: #fff; --c0: #0072b2; --c1: #d55e00; --c2: #009e73;
    --c3: #b65a92; --c4: #e69f00; --c5: #4c9fd4; --fall: #d55e00; --late: #e9b949;
    --left: #9aa4b0; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  section { break-before: auto; margin-top: 26px; }
  h2, h3, caption, figcaption { break-after: avoid; }
  figure, tr, .panel { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: 2px 5px; }
  svg { width: calc(var(--w) * .9px); }
  details { border: 0; padding: 0; }
  details::details-content { content-visibility: visible; display: block;
    block-size: auto; }
  .failures img { height: auto; width: 100%; }
}
""" + "".join(
    f"svg .f{k} {{ fill: var(--c{k}); }} svg .l{k} {{ stroke: var(--c{k}); }} "
    f"svg .t{k} {{ fill: var(--c{k}); }} .b{k} {{ background: var(--c{k}); }}\n"
    for k in range(6)
)
"""All of it; ``f0`` fills, ``l0`` strokes, ``t0`` is text and ``b0`` the ground."""
