// Lessons that resemble or stem from each other, as a picture: a circle a lesson, a ring a group.

const GAP = 36;
const DRAWN = new Set(["derived_from"]);

// Groups of lessons: the clusters of rules, what they would merge, and what ties join beyond them.
function groupsOf(store) {
  const home = new Map();
  const join = (lessons) => {
    const group = [...new Set(lessons.flatMap((lesson) => home.get(lesson) ?? [lesson]))];
    for (const lesson of group) home.set(lesson, group);
  };
  for (const ids of store.data.clusters) join(ids.map((id) => store.byId.get(id)));
  for (const { keep, gone } of store.data.merges) join([keep, ...gone].map((id) => store.byId.get(id)));
  const ties = [];
  for (const lesson of store.lessons) {
    for (const [relation, other] of lesson.ties ?? []) {
      if (!DRAWN.has(relation) || lesson.state !== "active" || other.state !== "active") continue;
      ties.push([relation, lesson, other]);
      join([lesson, other]);
    }
  }
  const groups = [...new Set(home.values())].sort((one, other) => other.length - one.length || (one[0].id < other[0].id ? -1 : 1));
  return { groups, ties };
}

const MOST_DRAWN = 60; // circles of a group, and groups: more would be a field of dots; the list below has all

// The most important members of a group, those that were tried before others.
function drawnOf(group) {
  const order = [...group].sort((one, other) => tried(other) - tried(one) || other.importance - one.importance);
  return order.slice(0, MOST_DRAWN);
}

const radius = (lesson) => 10 + 10 * lesson.importance;

// Places in a spiral of equal areas (Vogel's sunflower), so that no two circles meet.
function spots(group) {
  const wide = 2 * Math.max(...group.map(radius)) + 4;
  return group.map((_, place) => {
    const far = wide * 0.62 * Math.sqrt(place + (group.length > 1 ? 0.6 : 0));
    const turn = place * Math.PI * (3 - Math.sqrt(5));
    return [far * Math.cos(turn), far * Math.sin(turn)];
  });
}

function clustersView(context) {
  const root = el("div", { class: "stack" });
  let width = 0;

  function show() {
    const store = context.store();
    const { groups, ties } = groupsOf(store);
    if (!groups.length) {
      return fill(root, el("div", { class: "empty" }, el("h2", null, "No two lessons resemble each other"),
        el("p", null, "Lessons that share a third of their telling words are drawn here side by side.")));
    }
    width = root.clientWidth || 900;
    const single = store.lessons.filter((lesson) => lesson.state === "active").length - groups.flat().length;
    fill(root, el("figure", { class: "card figure" },
      el("figcaption", null, "Lessons that belong together"),
      el("ul", { class: "key" },
        el("li", null, el("span", { class: "swatch accent" }), "works more often the deeper"), el("li", null, el("span", { class: "swatch hollow" }), "untried"),
        el("li", null, el("span", { class: "swatch bad" }), "proved harmful")),
      picture(groups.slice(0, MOST_DRAWN), ties, width - 34),
      el("p", { class: "quiet" }, `${plural(groups.length, "group")}; ${plural(single, "record")} stand alone.${groups.length > MOST_DRAWN ? ` The ${MOST_DRAWN} largest groups are drawn.` : ""} The larger a circle, the more important.`),
      el("details", { open: "" }, el("summary", null, "As a list"), asList(groups, ties))));
  }

  function picture(groups, ties, available) {
    const at = new Map();
    const rings = [];
    let [x, y, tall] = [0, 0, 0];
    for (const whole of groups) {
      const group = drawnOf(whole);
      const left = whole.length - group.length;
      const places = spots(group);
      const wide = Math.max(...group.map((lesson, place) => Math.hypot(...places[place]) + radius(lesson))) + 12;
      const cell = Math.max(2 * wide, 190);
      if (x && x + cell > available) [x, y, tall] = [0, y + tall + GAP, 0];
      const [cx, cy] = [x + cell / 2, y + wide];
      group.forEach((lesson, place) => at.set(lesson, [cx + places[place][0], cy + places[place][1]]));
      rings.push(svg("circle", { class: "ring", cx, cy, r: wide }),
        svg("text", { class: "ring-name", x: cx, y: y + 2 * wide + 16 }, clipped(`${nameOf(whole)}${left ? `, and ${left} more` : ""}`, Math.floor(cell / 7))));
      x += cell + GAP;
      tall = Math.max(tall, 2 * wide + 20);
    }
    const nodes = [...at.keys()].map((lesson, number) => node(lesson, at.get(lesson), number));
    const lines = ties.filter(([, one, other]) => at.has(one) && at.has(other)).map(([relation, one, other]) => {
      const [[x1, y1], [x2, y2]] = [at.get(one), at.get(other)];
      return svg("line", { class: `tie ${relation}`, x1, y1, x2, y2 });
    });
    const drawn = svg("svg", { class: "clusters", role: "group", "aria-label": "Groups of lessons; arrow keys move, Enter opens",
      viewBox: `0 0 ${available} ${y + tall + 8}`, width: available, height: y + tall + 8 }, rings, lines, nodes);
    drawn.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const here = nodes.indexOf(document.activeElement);
      if (!step || here < 0) return;
      event.preventDefault();
      const next = nodes[(here + step + nodes.length) % nodes.length];
      document.activeElement.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
    return drawn;
  }

  function node(lesson, [cx, cy], number) {
    const open = () => context.open(lesson);
    const kind = lesson.harmful ? "harmful" : tried(lesson) ? "tried" : "untried";
    const words = `${seen(first(lesson))} ${seen(second(lesson))} (${tried(lesson) ? percent(lesson.rate) : "untried"})`;
    const circle = svg("circle", { class: `node ${kind}`, cx, cy, r: radius(lesson) }, svg("title", null, words));
    if (kind === "tried") circle.style.fillOpacity = String(0.15 + 0.85 * lesson.rate);
    return svg("g", { role: "button", tabindex: number ? "-1" : "0", "aria-label": words,
      on: { click: open, keydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } } } }, circle);
  }

  function asList(groups, ties) {
    return el("ol", { class: "groups" }, groups.map((group) => el("li", null, el("strong", null, seen(nameOf(group))),
      el("ul", null, group.map((lesson) => el("li", null, el("button", { type: "button", class: "link", on: { click: () => context.open(lesson) } }, told(first(lesson))),
        ties.filter(([, one]) => one === lesson).map(([relation, , other]) => el("span", { class: "quiet" }, ` ${relation.replaceAll("_", " ")}: `, told(first(other))))))))));
  }

  return { root, show, shown: () => { if (Math.abs(root.clientWidth - width) > 1) show(); } };
}

const COMMON = new Set(("about after again also been before cannot does done each every first from have instead into just like made "
  + "make more most must need never none only other over same should some than that their them then there these they this those until "
  + "used using very were what when where which while will with without would your").split(" "));

// What a group is about: its members' task type, if they have one in common, and up to three plain words that most of them share,
// most frequent first: "deploy: migration, image".
function nameOf(group) {
  const counts = new Map();
  for (const lesson of group) {
    const words = new Set(`${first(lesson)} ${second(lesson)}`.toLowerCase().match(/\p{L}{4,}/gu)?.filter((word) => !COMMON.has(word)) ?? []);
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const shared = [...counts].filter(([, count]) => count > group.length / 2).sort((one, other) => other[1] - one[1]);
  const words = shared.slice(0, 3).map(([word]) => word).join(", ") || seen(first(group[0]));
  const types = new Set(group.map((lesson) => lesson.task_type));
  const [type] = types;
  return types.size === 1 && type ? `${type}: ${words}` : words;
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
