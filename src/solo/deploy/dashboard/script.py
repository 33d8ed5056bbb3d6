"""What the page does: ask for the newest tick ten times a second and draw it."""

SCRIPT = r"""
"use strict";
const $ = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const PHASES = ["idle", "stand_up", "walking", "damping", "stopped"];
const AXES = [["forward", "m/s"], ["left", "m/s"], ["turn", "rad/s"]];
// Colours from near to far and from low to high, dark to light for any eye.
const DEPTH = [[253, 231, 37], [94, 201, 98], [33, 145, 140], [59, 82, 139],
  [68, 1, 84]];
const GROUND = [[33, 60, 130], [72, 137, 190], [222, 222, 216], [214, 128, 73],
  [140, 41, 25]];
let last = null, lastChange = 0, seen = [], showAttention = false;

function ramp(stops, share) {
  const x = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(x), stops.length - 2), f = x - i;
  return stops[i].map((v, k) => Math.round(v + f * (stops[i + 1][k] - v)));
}
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const gradient = stops =>
  `linear-gradient(90deg, ${stops.map(c => `rgb(${c})`).join(", ")})`;
const number = (value, digits, unit) =>
  value === null || value === undefined ? "–" : `${value.toFixed(digits)} ${unit}`;

function canvasOf(id, ratio) {
  const canvas = $(id), scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = Math.round(width * ratio);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  ctx.font = "11px system-ui, sans-serif";
  return [ctx, width, height];
}

function drawDepth(depth, info) {
  const [rows, columns] = depth.shape, values = bytes(depth.data), canvas = $("depth");
  canvas.width = columns; canvas.height = rows;
  canvas.style.aspectRatio = `${columns} / ${rows}`;
  const ctx = canvas.getContext("2d"), image = ctx.createImageData(columns, rows);
  values.forEach((value, i) => {
    const hatch = ((i % columns) + Math.floor(i / columns)) % 4 < 2 ? 96 : 128;
    const colour = value ? ramp(DEPTH, (value - 1) / 254) : [hatch, hatch, hatch];
    image.data.set([...colour, 255], 4 * i);
  });
  ctx.putImageData(image, 0, 0);
  $("near").textContent = "0 m"; $("far").textContent = `${info.max_range_m} m`;
  $("depth-scale").style.background = gradient(DEPTH);
}

// Ahead is up and left is left: cell [iy, ix] is at row X - 1 - ix, column Y - 1 - iy.
function drawMap(map, info) {
  const [ctx, width, height] = canvasOf("map", 0.62);
  ctx.clearRect(0, 0, width, height);
  const [x0, x1] = info.x_range_m, [y0, y1] = info.y_range_m;
  const scale = Math.min((height - 8) / (x1 - x0), (width - 60) / (y1 - y0));
  const left = (width - scale * (y1 - y0)) / 2, top = 4;
  const px = y => left + scale * (y1 - y), py = x => top + scale * (x1 - x);
  if (!map) {
    ctx.fillStyle = css("--muted"); ctx.textAlign = "center";
    ctx.fillText("shown while walking", width / 2, height / 2);
    $("low").textContent = $("high").textContent = "";
    $("map-scale").style.background = "none";
    return;
  }
  const mm = new Int16Array(bytes(map.height_mm).buffer);
  const seen = showAttention ? bytes(map.attention) : mm;
  const [rows, columns] = showAttention ? map.attention_shape : map.shape;
  const here = mm[Math.floor(-y0 / (y1 - y0) * map.shape[0]) * map.shape[1] +
    Math.floor(-x0 / (x1 - x0) * map.shape[1])];
  const span = Math.max(100, ...Array.from(mm, v => Math.abs(v - here)));
  const dx = (x1 - x0) / columns, dy = (y1 - y0) / rows;
  for (let iy = 0; iy < rows; iy++) for (let ix = 0; ix < columns; ix++) {
    const value = seen[iy * columns + ix];
    const share = showAttention ? 1 - value / 255 : 0.5 + 0.5 * (value - here) / span;
    ctx.fillStyle = `rgb(${ramp(showAttention ? DEPTH : GROUND, share)})`;
    ctx.fillRect(px(y0 + (iy + 1) * dy), py(x0 + (ix + 1) * dx),
      scale * dy + 0.6, scale * dx + 0.6);
  }
  ctx.fillStyle = css("--muted"); ctx.textAlign = "right";
  for (let x = Math.ceil(2 * x0) / 2; x <= x1; x += 0.5)
    ctx.fillText(`${x.toFixed(1)} m`, px(y1) - 6, py(x) + 4);
  ctx.beginPath();
  ctx.moveTo(px(0), py(0) - 9); ctx.lineTo(px(0) + 6, py(0) + 6);
  ctx.lineTo(px(0) - 6, py(0) + 6); ctx.closePath();
  ctx.fillStyle = "#fff"; ctx.strokeStyle = "#000"; ctx.fill(); ctx.stroke();
  const cm = (span / 10).toFixed(0);
  $("low").textContent = showAttention ? "little" : `−${cm} cm`;
  $("high").textContent = showAttention ? "much" : `+${cm} cm`;
  $("map-scale").style.background =
    gradient(showAttention ? [...DEPTH].reverse() : GROUND);
}

function drawVelocity(velocity, info) {
  $("axes").innerHTML = AXES.map(([name, unit], i) => {
    const low = info.command_low[i], high = info.command_high[i];
    const at = v => 100 * Math.min(Math.max((v - low) / (high - low || 1), 0), 1);
    const value = velocity.command[i], zero = at(0), here = at(value);
    const mark = velocity.measured === null || velocity.measured[i] === null ? "" :
      `<s style="left:${at(velocity.measured[i])}%"></s>`;
    return `<div class="axis"><span>${name} <small class="key">${unit}</small></span>
      <div class="bar"><u style="left:${zero}%"></u>
      <i style="left:${Math.min(zero, here)}%;width:${Math.abs(here - zero)}%"></i>
      ${mark}</div><b>${value.toFixed(2)}</b></div>`;
  }).join("");
}

function drawTicks(timing, info) {
  const [ctx, width, height] = canvasOf("ticks", 0.36), values = timing.recent_tick_ms;
  const most = 1.1 * Math.max(0, ...values), period = info.period_ms;
  const top = Math.min(Math.max(1.25 * period, most), 4 * period);
  const y = v => height - Math.min(v / top, 1) * (height - 4), step = width / 500;
  values.forEach((v, i) => {
    const late = timing.recent_jitter_ms[i] > info.late_ms;
    ctx.fillStyle = css(v > info.period_ms ? "--bad" : late ? "--warn" : "--accent");
    ctx.fillRect(i * step, y(v), Math.max(step, 1), height - y(v));
  });
  ctx.strokeStyle = css("--muted"); ctx.setLineDash([4, 4]); ctx.beginPath();
  ctx.moveTo(0, y(info.period_ms)); ctx.lineTo(width, y(info.period_ms)); ctx.stroke();
  ctx.fillStyle = css("--muted");
  ctx.fillText(`${info.period_ms} ms period`, 6, y(info.period_ms) - 4);
}

function drawJitter(timing, info) {
  const [ctx, width, height] = canvasOf("jitter", 0.36), counts = timing.histogram;
  const most = Math.log1p(Math.max(1, ...counts)), step = width / counts.length;
  counts.forEach((count, i) => {
    const bar = Math.log1p(count) / most * (height - 36);
    ctx.fillStyle = css(timing.edges_ms[i] >= info.late_ms ? "--warn" : "--accent");
    ctx.fillRect(i * step + 2, height - 18 - bar, step - 4, bar);
    ctx.fillStyle = css("--muted"); ctx.textAlign = "center";
    ctx.fillText(count || "", (i + 0.5) * step, height - 22 - bar);
    ctx.fillText(timing.edges_ms[i], (i + 0.5) * step, height - 5);
  });
}

function facts(id, rows) {
  $(id).innerHTML = rows.map(([name, value, kind]) =>
    `<div><dt>${name}</dt><dd class="${kind || ""}">${value}</dd></div>`).join("");
}

function drawFaults(faults) {
  const rows = faults.map(fault => {
    const row = document.createElement("tr"), cells = [0, 1, 2].map(() =>
      row.appendChild(document.createElement("td")));
    cells[0].textContent = fault.name;
    const message = cells[0].appendChild(document.createElement("small"));
    message.textContent = fault.message;
    const badge = cells[1].appendChild(document.createElement("span"));
    badge.className = `badge ${fault.reaction}`; badge.textContent = fault.reaction;
    cells[2].textContent = `${fault.count}×, ` +
      (fault.is_active ? "now" : `${fault.ago_s.toFixed(0)} s ago`);
    return row;
  });
  const table = document.createElement("table"), empty = document.createElement("p");
  table.append(...rows);
  empty.className = "empty"; empty.textContent = "No fault so far.";
  $("faults").replaceChildren(rows.length ? table : empty);
}

function draw(state) {
  const info = state.info, timing = state.timing;
  document.title = `${state.phase || "waiting"} · solo deploy`;
  $("title").textContent = "solo deploy ";
  const small = $("title").appendChild(document.createElement("small"));
  small.textContent = `${info.title} on ${info.robot}`;
  $("phases").innerHTML = PHASES.map(name =>
    `<li class="${name} ${name === state.phase ? "on" : ""}">` +
    `${name.replace("_", " ")}${name === state.phase ?
      ` ${state.phase_s.toFixed(0)} s` : ""}</li>`).join("");
  if (!timing) return;
  $("note").hidden = !state.note; $("note").textContent = state.note;
  const now = state.time_s;
  seen = [...seen, [now, state.depth.sequence]].filter(([time]) => now - time < 2);
  const [then, before] = seen[0];
  const rate = now > then ? (state.depth.sequence - before) / (now - then) : null;
  $("depth-facts").textContent = info.needs_depth ?
    `${number(state.ages_ms[1], 0, "ms old")}, ${number(rate, 0, "Hz")}` : "not used";
  drawDepth(state.depth, info);
  drawMap(state.map, info);
  drawVelocity(state.velocity, info);
  drawTicks(timing, info);
  drawJitter(timing, info);
  drawFaults(state.faults);
  facts("body", [["tilt", number(state.tilt_deg, 1, "°")],
    ["state age", number(state.ages_ms[0], 0, "ms")],
    ["operator age", number(state.ages_ms[2], 0, "ms")]]);
  facts("times", [["median", number(timing.median_tick_ms, 1, "ms")],
    ["95 %", number(timing.p95_tick_ms, 1, "ms")],
    ["longest", number(timing.max_tick_ms, 1, "ms"),
      timing.max_tick_ms > info.period_ms ? "bad" : ""],
    ["memory", number(state.memory_mb, 0, "MB")]]);
  facts("late", [["ticks", state.tick], ["late", timing.late, timing.late && "warn"],
    ["overruns", timing.overruns, timing.overruns && "bad"],
    ["skipped", timing.skipped, timing.skipped && "bad"],
    ["own code", timing.causes.own_code, timing.causes.own_code && "bad"],
    ["stolen", timing.causes.stolen], ["scheduler", timing.causes.scheduler]]);
}

function link(kind, text) { $("link").className = kind; $("link").textContent = text; }

async function poll() {
  let wait = document.hidden ? 1000 : 100, state = null;
  try {
    const query = token ? `?token=${encodeURIComponent(token)}` : "";
    const answer = await fetch(`state${query}`, {signal: AbortSignal.timeout(3000)});
    if (!answer.ok) throw new Error(answer.status);
    state = await answer.json();
  } catch (error) {
    link("gone", "the run has ended"); wait = 1000;
  }
  setTimeout(poll, wait);
  if (state === null) return;
  const now = performance.now();
  if (last === null || state.tick !== last.tick) lastChange = now;
  last = state;
  if (now - lastChange > 1000) link("gone", "the loop stands still");
  else link("live", `live, tick ${state.tick}`);
  draw(state);
}
$("toggle").onclick = () => {
  showAttention = !showAttention;
  $("toggle").textContent = showAttention ? "show heights" : "show attention";
  if (last && last.timing) drawMap(last.map, last.info);
};
poll();
"""
