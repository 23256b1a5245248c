// What was recalled and what became of it; the warnings before calls that are known to fail, and what came of them.

const BECAME = [
  { id: "worked", title: "Worked", color: "good" }, { id: "partly", title: "Partly", color: "warn" },
  { id: "failed", title: "Failed", color: "bad" }, { id: "open", title: "Not told", color: "edge" },
  { id: "nothing", title: "Nothing fitted", color: "faint" }, { id: "held_out", title: "Held out to compare", color: "accent" },
];

const SEQUELS = [
  { id: "heeded", title: "Heeded", color: "good" }, { id: "failed", title: "Repeated, and failed again", color: "bad" },
  { id: "worked", title: "Repeated, and it worked", color: "warn" }, { id: "open", title: "Not known yet", color: "edge" },
  { id: "held_out", title: "Only watched", color: "accent" },
];

const PAGE = 50;

// A chart, a filter by what became of it, and the latest events as a table that grows on demand.
function eventsView(context, about) {
  const root = el("div", { class: "stack" });
  let wanted = "";
  let most = PAGE;

  function show() {
    const store = context.store();
    const counts = store.data[about.days];
    if (!counts.length) return fill(root, el("div", { class: "empty" }, el("h2", null, about.none), el("p", null, about.hint)));
    const chart = barsFigure(about.title, counts, about.kinds);
    fill(root, about.before?.(store), chart.root, table(store));
    chart.redraw();
  }

  function table(store) {
    const found = store[about.events].filter((one) => !wanted || about.became(one) === wanted);
    const select = el("select", { id: `became-${about.events}`, on: { change: (event) => { wanted = event.target.value; most = PAGE; again(); } } },
      [["", "Any"], ...about.kinds.map((kind) => [kind.id, kind.title])].map(([value, text]) => el("option", { value, selected: value === wanted }, text)));
    const more = found.length > most
      && el("button", { type: "button", on: { click: () => { most += PAGE; again(); } } }, `Show ${Math.min(PAGE, found.length - most)} more`);
    const section = el("section", { class: "card padded" },
      el("div", { class: "filters" }, el("h2", null, `The latest, one by one`), el("label", null, "What became of it", select),
        el("p", { class: "found quiet", role: "status" }, `${grouped(Math.min(most, found.length))} of ${grouped(found.length)}`)),
      tableOf(`${about.title}, one by one`, about.heads, found.slice(0, most).map((one) => about.row(store, one))), more);
    const again = () => {
      const held = document.activeElement?.id;
      section.replaceWith(table(store));
      find(held)?.focus();
    };
    return section;
  }

  return { root, show, shown: show };
}

function kindOf(kinds, id) {
  const kind = kinds.find((one) => one.id === id);
  return el("span", { class: `mark ${kind.color}` }, el("span", { class: `swatch ${kind.color}` }), kind.title);
}

function recallBecame(recall) {
  if (recall.held_out) return "held_out";
  if (!recall.lesson_ids.length) return "nothing";
  if (recall.success === null) return "open";
  return recall.success === 1 ? "worked" : recall.success === 0 ? "failed" : "partly";
}

function lessonLink(context, id) {
  const lesson = context.store().byId.get(id);
  if (!lesson) return el("span", { class: "quiet" }, "erased, or not among those shown");
  return el("button", { type: "button", class: "link", on: { click: () => context.open(lesson) } }, told(first(lesson)));
}

function recalledView(context) {
  return eventsView(context, {
    title: "Recalls", days: "recall_days", events: "recalls", kinds: BECAME, became: recallBecame,
    none: "Nothing was recalled yet", hint: "An agent calls recall_lessons at the start of a task; each call is counted here with what became of the task.",
    heads: ["When", "Task", "Lessons shown", "What became of it", "Told by"],
    row: (_, recall) => [
      day(recall.at), told(recall.task),
      recall.lesson_ids.length ? el("ul", null, recall.lesson_ids.map((id) => el("li", null, lessonLink(context, id)))) : "–",
      kindOf(BECAME, recallBecame(recall)), recall.evidence ? EVIDENCE[recall.evidence] ?? recall.evidence : "–",
    ],
  });
}

const MATCHES = { exact: "the same call", loose: "the same but for dates, ids, ports", tool_and_error: "the same tool and error", similar: "a similar call" };

function watched(group, words) {
  if (!group.warnings_due) return null;
  const { failed = 0, worked = 0, open = 0 } = group.sequels;
  return el("p", null, `${words}: ${plural(group.sessions, "session")}, in which known failures came back ${plural(group.recurrences, "time")}. `
    + `Of ${plural(group.warnings_due - open, "warning")} whose end is known, ${failed + worked} were due before a call that was made all the same.`);
}

function lastMessages(counts) {
  if (!counts.held && !counts.told) return null;
  const became = `the agent ran what it had claimed ${plural(counts.ran, "time")}, corrected itself ${plural(counts.corrected, "time")}, said it again ${plural(counts.repeated, "time")}`;
  const told = counts.told ? ` Told at the next prompt: ${counts.told}.` : "";
  return el("p", null, `Last messages held because the session did not show what they claimed: ${counts.held}; ${became}.${told}`);
}

function repeatsView(context) {
  return eventsView(context, {
    title: "Warnings before calls that are known to fail", days: "warning_days", events: "warnings", kinds: SEQUELS,
    became: (warning) => (warning.shown ? warning.sequel ?? "open" : "held_out"),
    none: "No call was warned of yet", hint: "With hooks (mcp-reflect install HOST --hooks) an agent gets a word before it repeats a call that is known to fail, and what it then does is counted here.",
    before: (store) => {
      const { proof } = store.data;
      const lines = [
        watched(proof.warned, "Warned"),
        watched(proof.held_out, "Only watched"),
        lastMessages(proof.last_messages),
      ].filter(Boolean);
      return lines.length ? el("section", { class: "card padded" }, el("h2", null, "What is proved"), lines) : null;
    },
    heads: ["When", "Call", "It failed with", "Known by", "What came of it", "The lesson told"],
    row: (_, warning) => [
      day(warning.at), el("span", null, told(warning.tool ?? "?", { class: "mono strong" }), " ", told(short(warning.arguments ?? ""), { class: "mono" })),
      told(short(warning.error ?? "")), `${MATCHES[warning.match] ?? warning.match}${warning.times > 1 ? `, failed ${warning.times} times` : ""}`,
      kindOf(SEQUELS, warning.shown ? warning.sequel ?? "open" : "held_out"),
      warning.lesson_id ? lessonLink(context, warning.lesson_id) : "–",
    ],
  });
}

const short = (text) => (text.length > 160 ? `${text.slice(0, 159)}…` : text);
