"""The page: one document without anything from elsewhere, light and dark, any width."""

from __future__ import annotations

from solo.deploy.dashboard.script import SCRIPT

STYLE = """
:root { color-scheme: light dark;
  --ground: #eef1f5; --card: #fff; --ink: #18202b; --muted: #5a6675; --line: #d8dee6;
  --soft: #e8ecf1; --accent: #0069b4; --good: #0a7d4f; --warn: #9a6200; --bad: #c0261c;
  --good-bg: #d9f2e6; --warn-bg: #fbecc8; --bad-bg: #fbdedb; --idle-bg: #dfe5ec; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #0d1117; --card: #161c25; --ink: #e6ebf2; --muted: #98a4b3; --line: #28313d;
  --soft: #212935; --accent: #5fb3f6; --good: #4bd49a; --warn: #f1bf5a; --bad: #ff8177;
  --good-bg: #12382a; --warn-bg: #3b2e10; --bad-bg: #451d1b; --idle-bg: #2a3340; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 10px 18px;
  padding: 14px 18px; background: var(--card); border-bottom: 1px solid var(--line); }
h1 { font-size: 1.1rem; margin: 0; letter-spacing: -.01em; overflow-wrap: anywhere; }
h1 small { color: var(--muted); font-weight: 400; font-size: .88rem; }
h2 { font-size: .82rem; margin: 0 0 10px; color: var(--muted); font-weight: 600;
  display: flex; justify-content: space-between; gap: 10px; flex-wrap: wrap; }
h2 span { font-weight: 400; }
#link { margin-left: auto; font-size: .85rem; color: var(--muted);
  white-space: nowrap; }
#link::before { content: ""; display: inline-block; width: 9px; height: 9px;
  border-radius: 50%; margin-right: 7px; background: var(--muted); }
#link.live::before { background: var(--good); }
#link.gone::before { background: var(--bad); }
#phases { display: flex; flex-wrap: wrap; gap: 6px; list-style: none; margin: 0;
  padding: 0; }
#phases li { padding: 3px 12px; border-radius: 99px; color: var(--muted);
  border: 1px solid var(--line); font-size: .86rem; }
#phases li.on { color: var(--ink); font-weight: 650; border-color: transparent;
  background: var(--idle-bg); }
#phases li.on.walking { background: var(--good-bg); color: var(--good); }
#phases li.on.stand_up { background: var(--warn-bg); color: var(--warn); }
#phases li.on.damping, #phases li.on.stopped { background: var(--bad-bg);
  color: var(--bad); }
main { display: grid; gap: 14px; padding: 14px; max-width: 1500px; margin: 0 auto;
  grid-template-columns: repeat(auto-fit, minmax(min(350px, 100%), 1fr)); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 14px 16px; min-width: 0; }
canvas { display: block; width: 100%; border-radius: 6px; background: var(--soft); }
canvas.pixels { image-rendering: pixelated; }
.legend { display: flex; align-items: center; gap: 8px; margin-top: 8px;
  font-size: .8rem; color: var(--muted); }
.legend i { flex: 1; height: 8px; border-radius: 4px; }
.numbers { display: grid; gap: 10px 14px; margin: 12px 0 0;
  grid-template-columns: repeat(auto-fill, minmax(96px, 1fr)); }
.numbers div { min-width: 0; }
.numbers dt { font-size: .76rem; color: var(--muted); }
.numbers dd { margin: 0; font-size: 1.12rem; font-weight: 600; white-space: nowrap; }
.numbers dd.bad { color: var(--bad); }
.numbers dd.warn { color: var(--warn); }
.axis { display: grid; grid-template-columns: 92px 1fr 46px; gap: 10px;
  align-items: center; margin-bottom: 12px; font-size: .86rem; }
.axis b { text-align: right; }
.bar { position: relative; height: 16px; background: var(--soft); border-radius: 4px; }
.bar i, .bar u, .bar s { position: absolute; top: 0; bottom: 0; }
.bar i { background: var(--accent); border-radius: 3px; }
.bar u { width: 2px; background: var(--muted); top: -2px; bottom: -2px; }
.bar s { width: 3px; margin-left: -1px; background: var(--ink); top: -4px;
  bottom: -4px; border-radius: 2px; }
.key { color: var(--muted); font-size: .8rem; margin: 0; }
.key em { font-style: normal; display: inline-block; width: 12px; height: 10px;
  border-radius: 2px; background: var(--accent); margin: 0 5px 0 0; }
.key em.m { width: 3px; background: var(--ink); margin-left: 12px; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; }
td, th { text-align: left; padding: 6px 8px 6px 0; border-top: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; }
td small { display: block; color: var(--muted); }
.badge { padding: 1px 8px; border-radius: 99px; background: var(--warn-bg);
  color: var(--warn); font-size: .8rem; white-space: nowrap; }
.badge.damp, .badge.stop { background: var(--bad-bg); color: var(--bad); }
.empty { color: var(--muted); margin: 0; }
#note { background: var(--warn-bg); color: var(--warn); padding: 8px 18px; margin: 0; }
button { font: inherit; font-size: .8rem; color: var(--accent); background: none;
  border: 1px solid var(--line); border-radius: 99px; padding: 1px 10px;
  cursor: pointer; }
button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
"""

PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>solo deploy</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>
<header><h1 id="title">solo deploy</h1><ul id="phases" aria-label="Phase"></ul>
<span id="link" role="status">connecting</span></header>
<p id="note" hidden></p>
<main>
<section><h2>Depth camera <span id="depth-facts"></span></h2>
<canvas id="depth" class="pixels" role="img" aria-label="Depth image"></canvas>
<div class="legend"><span id="near"></span><i id="depth-scale"></i>
<span id="far"></span></div></section>
<section><h2>Reconstructed ground <button id="toggle" type="button">show attention
</button></h2>
<canvas id="map" role="img" aria-label="Height map, ahead is up"></canvas>
<div class="legend"><span id="low"></span><i id="map-scale"></i><span id="high"></span>
</div></section>
<section><h2>Velocity <span>command within its limits</span></h2><div id="axes"></div>
<p class="key"><em></em>command <em class="m"></em>as measured: estimate and gyroscope
</p><dl class="numbers" id="body"></dl></section>
<section><h2>Time of a tick <span>last ten seconds</span></h2>
<canvas id="ticks" role="img" aria-label="Duration of the last ticks"></canvas>
<dl class="numbers" id="times"></dl></section>
<section><h2>Jitter <span>ticks per lateness, ms</span></h2>
<canvas id="jitter" role="img" aria-label="Histogram of lateness"></canvas>
<dl class="numbers" id="late"></dl></section>
<section><h2>Safety</h2><div id="faults"></div></section>
</main><script>{SCRIPT}</script></body></html>
"""
