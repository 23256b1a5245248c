// One lesson with all its evidence.

const SOURCES = {
  agent: "an agent", model: "a language model", person: "a person", import: "an import", rules: "rules over a run",
};

const EVIDENCE = { self: "the agent's own word", user: "a person's word", metric: "a measurement", test: "a test" };

function successWords(success) {
  if (success === null || success === undefined) return "not told";
  return success === 1 ? "worked" : success === 0 ? "failed" : "partly";
}

function successClass(success) {
  return success === 1 ? "good" : success === 0 ? "bad" : success === 0.5 ? "warn" : "quiet";
}

function badges(lesson) {
  const trust = { trusted: "good", confirmed: "good", quarantined: "warn" }[lesson.trust] ?? "";
  const shown = [[kindWords(lesson), ""], [lesson.trust, trust]];
  if (lesson.state !== "active") shown.push([lesson.state, "warn"]);
  if (lesson.is_global) shown.push(["global", ""]);
  if (lesson.harmful) shown.push(["proved harmful", "bad"]);
  return el("p", { class: "badges" }, shown.map(([text, kind]) => el("span", { class: `badge ${kind}` }, text)));
}

function wordsOf(lesson) {
  const why = lesson.why && el("p", { class: "lead" }, el("span", { class: "label" }, "Why"), told(lesson.why));
  if (!lesson.mistake) return el("p", { class: "lead" }, told(lesson.text));
  // A rule that somebody wrote in one sentence: nothing went wrong.
  if (!lesson.correction) return [el("p", { class: "lead" }, el("span", { class: "label" }, "The rule"), told(lesson.mistake)), why];
  return [
    el("p", { class: "lead" }, el("span", { class: "label" }, "What went wrong"), told(lesson.mistake)),
    el("p", { class: "lead" }, el("span", { class: "label" }, "What works"), told(lesson.correction)),
    why,
  ];
}

// All that a decision about a lesson is about, beside its words.
function restOf(lesson) {
  const rest = [
    ["Guard", lesson.guard], ["Wrong call", lesson.wrong_call], ["Right call", lesson.right_call], ["Context", lesson.context],
    ["Task type", lesson.task_type], ["Tags", lesson.tags?.join(", ")], ["Symptoms", lesson.symptoms?.join(", ")], ["Keywords", lesson.keywords?.join(", ")],
  ].filter(([, value]) => value);
  return rest.length ? el("dl", { class: "facts-table" }, rest.map(([name, value]) => [el("dt", null, name), el("dd", null, told(value))])) : null;
}

function outcomeWords(lesson) {
  const outcomes = lesson.outcomes ?? [];
  if (!outcomes.length) return "none told yet";
  const good = outcomes.filter((one) => one.success === 1).length;
  return `${good} of ${outcomes.length} worked`;
}

function factsOf(lesson) {
  const facts = [
    ["Task type", lesson.task_type && told(lesson.task_type)],
    ["Guard", lesson.guard && told(lesson.guard)],
    ["Wrong call", lesson.wrong_call && told(lesson.wrong_call, { class: "mono" })],
    ["Right call", lesson.right_call && told(lesson.right_call, { class: "mono" })],
    ["Context", lesson.context && told(lesson.context)],
    ["Used", plural(lesson.uses, "time")],
    ["Outcomes", outcomeWords(lesson)],
    ["Sessions", store.data.effects?.[lesson.id] ?? "unknown"],
    ["Importance", lesson.importance.toFixed(2)],
    ["Confidence", lesson.confidence.toFixed(2)],
    ["From", SOURCES[lesson.source] ?? lesson.source],
    ["By", lesson.agent && told(lesson.agent)],
    ["Told", lesson.is_told && "an agent says that a person said so; nobody has confirmed it"],
    ["Learned", plural(lesson.strength, "time")],
    ["Stored", when(lesson.created_at)],
    ["Changed", lesson.updated_at > lesson.created_at && when(lesson.updated_at)],
    ["Its id", el("code", null, lesson.id)],
    ["Reflection", lesson.reflection_id && el("code", null, lesson.reflection_id)],
    ["External id", lesson.external_id && told(lesson.external_id, { class: "mono" })],
  ];
  return el("dl", { class: "facts-table" },
    facts.filter(([, value]) => value).map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

function wordList(title, words) {
  if (!words?.length) return null;
  return [el("h3", null, title), el("ul", { class: "words-list" }, words.map((word) => el("li", null, told(word))))];
}

function tableOf(caption, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", null,
    el("caption", { class: "unseen" }, caption),
    el("thead", null, el("tr", null, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, rows.map((row) => el("tr", null, row.map((cell) => el("td", null, cell)))))));
}

function detailPanel(context) {
  const body = el("div");
  const close = el("button", { type: "button", class: "close", on: { click: () => shut() } }, "Back to the list");
  const root = el("section", { class: "detail card", "aria-label": "The chosen lesson", tabindex: "-1" }, close, body);
  let lesson = null;
  let curve = null;

  function shut() {
    root.classList.remove("open");
    find("list")?.focus();
  }

  function show(next, { open = false } = {}) {
    lesson = next;
    if (!lesson) {
      fill(body, el("p", { class: "empty" }, "Choose a lesson to see what it rests on."));
      return root.classList.remove("open");
    }
    const store = context.store();
    const interval = store.interval(lesson);
    const glyph = worthGlyph();
    glyph.show(lesson, interval);
    themed.delete(curve?.redraw);
    curve = context.curve(lesson);
    fill(body,
      el("h2", { class: "unseen" }, `${kindWords(lesson)} ${lesson.id}`),
      badges(lesson),
      lesson.held && el("p", { class: "warn" }, "Why it waits: ", told(lesson.held)),
      wordsOf(lesson),
      context.actions(lesson),
      el("h3", null, "How often it works"),
      el("div", { class: "large" }, glyph.root),
      el("p", { class: "quiet" }, worthWords(lesson, interval)),
      curve?.root,
      el("h3", null, "Evidence"),
      factsOf(lesson),
      wordList("Tags", lesson.tags),
      wordList("Symptoms", lesson.symptoms),
      wordList("Keywords", lesson.keywords),
      tiesOf(lesson),
      outcomesOf(lesson),
      recallsOf(lesson));
    curve?.redraw();
    root.scrollTop = 0;
    if (open) {
      root.classList.add("open");
      if (getComputedStyle(root).position === "fixed") close.focus();
    }
  }

  function tiesOf(one) {
    const ties = (one.ties ?? []).filter(([relation]) => relation !== "source_of" && relation !== "merged_from");
    if (!ties.length) return null;
    return [el("h3", null, "Tied to"), el("ul", null, ties.slice(0, 20).map(([relation, other]) => el("li", null,
      el("span", { class: "quiet" }, `${relation.replaceAll("_", " ")} `),
      el("button", { type: "button", class: "link", on: { click: () => context.open(other) } }, told(first(other))))))];
  }

  function outcomesOf(one) {
    const outcomes = (one.outcomes ?? []).slice(-50).reverse();
    if (!outcomes.length) return null;
    return [el("h3", null, "What became of using it"), tableOf("Outcomes", ["When", "Outcome", "By", "Note"],
      outcomes.map((outcome) => [
        day(outcome.at),
        el("span", { class: successClass(outcome.success) }, successWords(outcome.success)),
        EVIDENCE[outcome.evidence] ?? outcome.evidence,
        outcome.note ? told(outcome.note) : "",
      ]))];
  }

  function recallsOf(one) {
    const recalls = (one.recalls ?? []).slice(0, 10);
    if (!recalls.length) return null;
    return [el("h3", null, "Recalled for"), el("ul", null, recalls.map((recall) => el("li", null,
      el("span", { class: "quiet" }, `${day(recall.at)} `), told(recall.task), " ",
      el("span", { class: successClass(recall.success) }, successWords(recall.success)))))];
  }

  show(null);
  return { root, show, shut, again: () => show(lesson), isOpen: () => root.classList.contains("open") };
}
