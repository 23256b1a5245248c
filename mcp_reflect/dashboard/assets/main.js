// The page: its data, its views, its keys.

const backend = { written: writtenBackend, served: servedBackend, app: hostBackend }[mode]();
let store = null;
let current = "lessons";

const context = {
  undos: [], // what takes back the decisions of this sitting, the latest last
  store: () => store,
  backend,
  open: openLesson,
  act,
  actions: (lesson) => lessonActions(context, lesson),
  curve(lesson) {
    const points = course(lesson.outcomes ?? [], 0);
    return points.length > 1 ? courseFigure("As it was told", points) : null;
  },
};

const VIEWS = [
  { id: "lessons", title: "Lessons", make: lessonsView },
  { id: "time", title: "Over time", make: overTimeView },
  { id: "recalled", title: "Recalled", make: recalledView },
  { id: "repeats", title: "Repeats stopped", make: repeatsView },
  { id: "clusters", title: "Clusters", make: clustersView },
  { id: "deciding", title: "To decide", make: decidingView, count: () => store.toDecide() },
];

for (const view of VIEWS) {
  view.tab = el("button", {
    type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": `view-${view.id}`, on: { click: () => choose(view.id) },
  }, view.title, view.count && el("span", { class: "count", hidden: true }));
  view.panel = el("div", { role: "tabpanel", id: `view-${view.id}`, "aria-labelledby": `tab-${view.id}`, hidden: true });
}

const viewOf = (id) => VIEWS.find((view) => view.id === id);

function choose(id) {
  current = id;
  for (const view of VIEWS) {
    const here = view.id === id;
    view.tab.setAttribute("aria-selected", here);
    view.tab.tabIndex = here ? 0 : -1;
    view.panel.hidden = !here;
  }
  const view = viewOf(id);
  if (!view.made) {
    view.made = view.make(context);
    view.panel.append(view.made.root);
    view.made.show();
  } else if (view.stale) view.made.show();
  else view.made.shown?.();
  view.stale = false;
}

// Have the server do something, and draw what there is then.
async function act(button, action, values) {
  button.disabled = true;
  try {
    const ids = [values.id, values.keep, ...(values.gone ?? [])].filter(Boolean);
    const done = await backend.act(action, { seen: store.seenOf(ids), ...values });
    if (done.undo?.action === "reopen") context.undos.push(done.undo);
    await load();
    say(done.said, false, done.undo && undoButton(done.undo));
    if (!document.activeElement || document.activeElement === document.body) viewOf(current).tab.focus();
  } catch (error) {
    say(error.message, true);
    button.disabled = false;
  }
}

function undoButton(undo) {
  const button = actor(context, undo.action, "Undo", () => undo.values, "undo");
  if (button) button.addEventListener("click", () => { context.undos = context.undos.filter((one) => one !== undo); });
  return button;
}

function openLesson(lesson) {
  choose("lessons");
  viewOf("lessons").made.open(lesson);
}

find("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step && !["Home", "End"].includes(event.key)) return;
  event.preventDefault();
  const at = VIEWS.findIndex((view) => view.id === current);
  const to = event.key === "Home" ? 0 : event.key === "End" ? VIEWS.length - 1 : (at + step + VIEWS.length) % VIEWS.length;
  choose(VIEWS[to].id);
  VIEWS[to].tab.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "/" && !typing && store) {
    event.preventDefault();
    choose("lessons");
    viewOf("lessons").made.search.focus();
  } else if (!typing && store && viewOf(current).made?.key?.(event.key)) {
    event.preventDefault();
  } else if (event.key === "Escape" && viewOf(current).made?.escape?.()) event.preventDefault();
});

function tile(name, value, note) {
  return el("div", null, el("dt", null, name), el("dd", null, value), note && el("dd", { class: "note" }, note));
}

function drawTiles() {
  const active = store.lessons.filter((lesson) => lesson.state === "active");
  const lessons = active.filter((lesson) => lesson.kind === "lesson" && lesson.trust !== "quarantined");
  const outcomes = store.outcomes.length;
  const sum = (field) => store.outcomes.reduce((total, one) => total + one[field], 0);
  const works = posterior(sum("wins"), sum("losses")); // as the chart over time says it
  const warned = store.warnings.filter((one) => one.shown);
  const heeded = warned.filter((one) => one.sequel === "heeded").length;
  fill(find("tiles"),
    tile("Lessons in use", grouped(lessons.length), `${plural(active.length, "active record")}`),
    tile("Recalled", grouped(store.data.recall_days.reduce((sum, [, , count]) => sum + count, 0)), "times, each for a task"),
    tile("Lessons work", outcomes ? percent(works.mean) : "–", outcomes ? `by ${plural(outcomes, "outcome")}` : "no outcomes yet"),
    tile("Repeats stopped", grouped(heeded), warned.length ? `of ${plural(warned.length, "warning")}` : "no warnings yet"),
    tile("Waiting for you", grouped(viewOf("deciding").count()), "under To decide"));
  for (const view of VIEWS.filter((one) => one.count)) {
    const badge = view.tab.querySelector(".count");
    badge.textContent = view.count();
    badge.hidden = !view.count();
  }
}

// What became of the latest session, in three lines.
function drawCard(lines) {
  find("card").hidden = !lines.length;
  fill(find("card"), lines.map((line) => el("li", null, told(line))));
}

// The projects of the bank: where there are several, a person chooses one.
function drawProjects({ project, projects }) {
  const names = [...new Set([project, ...Object.keys(projects ?? {})])].sort();
  find("project").hidden = !backend.choose || names.length < 2;
  fill(find("project"), names.map((name) => {
    const title = name ? name.split("/").at(-1) : "Global lessons";
    return el("option", { value: name, selected: name === project, title: name }, `${title} (${grouped(projects?.[name] ?? 0)})`);
  }));
}

function draw(data) {
  const focused = document.activeElement; // loses the focus when it is put in again, while a person types
  store = new Store(data);
  drawProjects(data);
  const cut = data.records > store.lessons.length
    ? ` · the best ${grouped(store.lessons.length)} of ${grouped(data.records)} records` : "";
  fill(find("scope"), told(data.project ? `Project ${data.project}` : "Global lessons"), cut,
    ` · as of ${moment(data.at)} UTC`);
  if (!store.lessons.length && !store.recalls.length) return drawEmpty();
  find("tabs").hidden = find("tiles").hidden = false;
  drawCard(data.card ?? []);
  drawTiles();
  fill(find("tabs"), VIEWS.map((view) => view.tab));
  fill(find("main"), VIEWS.map((view) => view.panel));
  for (const view of VIEWS) view.stale = true;
  viewOf("lessons").made?.refresh();
  choose(current);
  const words = backend.asked?.();
  if (words) viewOf("lessons").made.seek(words);
  if (focused?.isConnected) focused.focus({ preventScroll: true });
}

function drawEmpty() {
  for (const id of ["card", "tiles", "tabs"]) fill(find(id));
  find("card").hidden = find("tabs").hidden = find("tiles").hidden = true;
  fill(find("main"), el("div", { class: "empty" },
    el("h2", null, "Nothing was learned here yet"),
    el("p", null, "Register mcp-reflect in your agent's host (", el("code", null, "mcp-reflect install HOST"),
      ") and let it work. When a run fails it calls ", el("code", null, "reflect"), ", and the lesson appears here. ",
      "To see how that goes, run ", el("code", null, "mcp-reflect demo"), ". Lessons of another project: ",
      el("code", null, "mcp-reflect board --project NAME"), ".")));
}

let loads = 0;

// Of two loads at once the later one counts, in whichever order they are answered.
async function load() {
  const number = ++loads;
  try {
    const data = await backend.load();
    if (number === loads) draw(data);
  } catch (error) {
    if (number === loads) fill(find("main"), el("div", { class: "empty" }, el("h2", null, "The board cannot be shown"), el("p", null, seen(error.message))));
  }
}

startTheme();
find("reload").hidden = mode === "written";
find("reload").addEventListener("click", load);
find("project").addEventListener("change", () => {
  backend.choose(find("project").value);
  load();
});
load();
