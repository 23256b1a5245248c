// Charts over time, drawn by uPlot, each with its data as a table for whoever does not see it.

const DAY = 86400;
const FONT = "12px system-ui, sans-serif";

// A figure with a title, space for a chart, a line that says what the pointer is at, and the table.
// `draw(width)` gives uPlot's options and data, or null where there is nothing to draw.
function figure(title, summary, draw, table) {
  const stage = el("div", { class: "stage", role: "img", "aria-label": `${title}. ${summary}` });
  const reading = el("p", { class: "quiet reading", "aria-hidden": "true" }, summary);
  const root = el("figure", { class: "card figure" },
    el("figcaption", null, title), stage, reading,
    el("details", null, el("summary", null, "As a table"), table));
  let plot = null;
  let width = 0;

  function redraw() {
    if (!root.isConnected || !stage.clientWidth) return;
    plot?.destroy();
    width = stage.clientWidth;
    const made = draw(width, (words) => { reading.textContent = words ?? summary; });
    plot = made && new uPlot(made.options, made.data, stage);
  }

  new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 1) redraw(); }).observe(stage);
  themed.add(redraw);
  return { root, redraw };
}

function axes(percentages) {
  const shared = {
    stroke: color("quiet"), font: FONT, labelFont: FONT,
    grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1, size: 4 },
  };
  return [
    { ...shared, size: 28, grid: { show: false }, values: (_, splits, __, ___, step) => splits.map((at) => tickWords(at, step)) },
    percentages
      ? { ...shared, size: 46, values: (_, splits) => splits.map((share) => `${Math.round(share * 100)} %`) }
      : { ...shared, size: 46, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] },
  ];
}

function tickWords(at, step) {
  const date = new Date(at * 1000);
  const month = date.toLocaleString("en", { month: "short", timeZone: "UTC" });
  if (step >= 360 * DAY) return String(date.getUTCFullYear());
  if (step >= 28 * DAY) return date.getUTCMonth() === 0 ? `${month} ${date.getUTCFullYear()}` : month;
  return `${date.getUTCDate()} ${month}`;
}

function options(width, series, more) {
  return {
    width, height: 220, legend: { show: false }, series: [{}, ...series], padding: [12, 12, 0, 0],
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"), ...more,
  };
}

const reader = (tell, words) => ({
  ready: [(plot) => { plot.root.dataset.until = day(plot.scales.x.max - 1); }],
  setCursor: [(plot) => { tell(plot.cursor.idx === null ? null : words(plot.cursor.idx)); }],
});

// The ends of a time axis: it shows at least a week, and ends today.
function timeEnds(low, high) {
  const today = Math.ceil(store.data.at / DAY) * DAY;
  return [Math.min(low, today - 7 * DAY), Math.max(high, today)];
}

// The posterior of outcomes, told up to each moment (or within `span` seconds before it), at a hundred moments at most.
function course(outcomes, span) {
  const told = [...outcomes].sort((one, other) => one.at - other.at);
  if (!told.length) return [];
  const begin = Math.floor(told[0].at / DAY) * DAY;
  const step = Math.max(DAY, Math.ceil((told.at(-1).at - begin) / 100 / DAY) * DAY);
  const points = [];
  let [next, past, wins, losses, count] = [0, 0, 0, 0, 0];
  for (let at = begin + step; next < told.length; at += step) {
    let [good, all] = [0, 0];
    for (; next < told.length && told[next].at < at; next += 1) {
      wins += told[next].wins;
      losses += told[next].losses;
      good += told[next].success;
      all += 1;
      count += 1;
    }
    for (; span && told[past].at < at - span; past += 1) {
      wins -= told[past].wins;
      losses -= told[past].losses;
      count -= 1;
      if (past + 1 === told.length) break;
    }
    points.push({ at: Math.min(at, Math.ceil(store.data.at / DAY) * DAY), ...posterior(Math.max(wins, 0), Math.max(losses, 0)), count, share: all ? good / all : null, all });
  }
  return points;
}

function courseFigure(title, points) {
  const last = points.at(-1);
  const words = (point) =>
    `${day(point.at - 1)}: ${percent(point.mean)}, between ${percent(point.low)} and ${percent(point.high)}`
    + ` (90 % sure), from ${plural(point.count, "outcome")}`;
  return figure(title, words(last), (width, tell) => {
    const accent = color("accent");
    const line = (label, more) => ({ label, points: { show: points.length < 3 }, ...more });
    return {
      options: options(width, [
        line("high", { stroke: "transparent" }), line("low", { stroke: "transparent" }),
        line("share", { stroke: "transparent", paths: () => null, points: { show: true, size: 5, fill: color("edge"), stroke: "transparent" } }),
        line("mean", { stroke: accent, width: 2 }),
      ], {
        scales: { x: { time: true, range: (_, low, high) => timeEnds(low, high) }, y: { range: [0, 1] } },
        bands: [{ series: [1, 2], fill: faded(accent, 0.16) }],
        axes: axes(true),
        hooks: reader(tell, (place) => words(points[place])),
      }),
      data: [points.map((one) => one.at), ...["high", "low", "share", "mean"].map((name) => points.map((one) => one[name]))],
    };
  }, tableOf(title, ["Until", "Effectiveness", "From", "To", "Outcomes", "Worked just then"], points.map((one) => [
    day(one.at - 1), percent(one.mean), percent(one.low), percent(one.high), String(one.count),
    one.share === null ? "–" : `${percent(one.share)} of ${one.all}`,
  ])));
}

// Counts by day and kind, `[day, kind, count]`, as stacked bars of days, weeks or months.
function barsFigure(title, counts, kinds) {
  const first = counts[0][0];
  const days = counts.at(-1)[0] - first;
  const wide = days <= 62 ? 1 : days <= 430 ? 7 : 30;
  const heap = Array.from({ length: Math.floor(days / wide) + 1 }, () => ({}));
  const totals = {};
  for (const [when, kind, count] of counts) {
    const slot = heap[Math.floor((when - first) / wide)];
    slot[kind] = (slot[kind] ?? 0) + count;
    totals[kind] = (totals[kind] ?? 0) + count;
  }
  const used = kinds.filter((kind) => totals[kind.id]);
  const starts = heap.map((_, place) => (first + place * wide) * DAY);
  const summary = used.map((kind) => `${kind.title} ${grouped(totals[kind.id])}`).join(", ");
  const unit = { 1: "Day", 7: "Week from", 30: "30 days from" }[wide];
  let sums = heap.map(() => 0);
  const layers = used.map((kind) => {
    sums = sums.map((sum, place) => sum + (heap[place][kind.id] ?? 0));
    return { kind, tops: sums };
  }).reverse();
  const made = figure(title, summary, (width, tell) => ({
    options: options(width, layers.map(({ kind }) => ({
      label: kind.title, fill: color(kind.color), stroke: color("surface"), width: 1, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.86, 36], align: 1 }),
    })), {
      scales: { x: { time: true, range: (_, low, high) => timeEnds(low, high + wide * DAY) }, y: { range: (_, __, high) => [0, Math.max(high * 1.08, 1)] } },
      axes: axes(false),
      hooks: reader(tell, (place) => `${unit} ${day(starts[place])}: ${
        used.map((kind) => `${kind.title.toLowerCase()} ${heap[place][kind.id] ?? 0}`).join(", ")}`),
    }),
    data: [starts, ...layers.map(({ tops }) => tops)],
  }), tableOf(title, [unit, ...used.map((kind) => kind.title)], heap.map((slot, place) => [
    day(starts[place]), ...used.map((kind) => String(slot[kind.id] ?? 0)),
  ])));
  made.root.querySelector("figcaption").after(el("ul", { class: "key" }, used.map((kind) => el("li", null,
    el("span", { class: `swatch ${kind.color}` }), `${kind.title} `, el("span", { class: "quiet" }, grouped(totals[kind.id]))))));
  return made;
}

function faded(rgb, share) {
  const [red, green, blue] = rgb.match(/[\d.]+/g);
  return `rgba(${red}, ${green}, ${blue}, ${share})`;
}
