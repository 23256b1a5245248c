// What waits for a person: quarantine, merges that rules propose, what proved useless, and dreams to undo.

// A button that has the server do something; where nobody acts there is none.
function actor(context, action, label, values, kind = "") {
  if (!context.backend.acts.has(action)) return null;
  const button = el("button", { type: "button", class: kind, "data-action": action }, label);
  button.addEventListener("click", () => context.act(button, action, values()));
  return button;
}

// The facts of a finding, beside the lines of the sessions that show it, and room for the person's words.
function findingCard(context, found) {
  const field = (name) => el("textarea", { rows: 2, "aria-label": name, "data-field": name }, seen(found[name]));
  const fields = { mistake: field("mistake"), correction: field("correction") };
  const changes = () => Object.fromEntries(Object.entries(fields).map(([name, made]) => [name, made.value.trim()]).filter(([name, text]) => text && text !== found[name]));
  const lines = found.evidence.map((one) => el("details", { open: one === found.evidence[0] },
    el("summary", null, one.at ? day(one.at) : "no date", " ", told(one.host), " ", told(one.session)),
    el("pre", null, seen(one.lines.join("\n")))));
  return el("article", { class: "card padded", tabindex: 0, "data-finding": found.id },
    el("p", { class: "quiet" }, `In ${plural(found.sessions, "session")}`),
    el("p", null, seen(found.facts)),
    el("p", null, el("span", { class: "label" }, "Mistake"), fields.mistake),
    el("p", null, el("span", { class: "label" }, "Keep"), fields.correction), lines,
    el("div", { class: "actions" }, actor(context, "drop", "Drop", () => ({ id: found.id }), "danger"),
      actor(context, "keep", "Keep", () => ({ id: found.id, changes: changes() }), "main")));
}

function decidingView(context) {
  const root = el("div", { class: "stack" });

  function show() {
    const store = context.store();
    const { merges, archivings, dreams } = store.data;
    const waiting = store.waiting();
    const { findings = [], doubted = [], proposals = [] } = store.data;
    const useless = archivings.filter((one) => store.byId.get(one.id).state === "active");
    fill(root,
      context.backend.acts.size ? null : el("p", { class: "note card padded" }, "This page only shows. ", el("code", null, "mcp-reflect board"), " serves one on which you decide."),
      waiting.length + merges.length + useless.length + findings.length + doubted.length + proposals.length ? null : el("div", { class: "empty" }, el("h2", null, "Nothing waits for you")),
      part("Found in sessions", "Keys: j and k move, Enter keeps, x drops, e edits, u undoes the last decision.", findings.map((one) => findingCard(context, one))),
      undoer(),
      part("Still true?", "What these rest on is gone or changed, or sessions ended worse with them. Yes lets them stand on what is there now.", doubted.map((one) => doubtedCard(store, one))),
      part("Proposed by agents", "You keep these lessons, so that no agent changes them.", proposals.map((one) => proposalCard(store, one))),
      part("In quarantine", "Text that may give orders to an agent that reads it. No recall shows it until a person approves it.", waiting.map(held)),
      part("To merge", "These say the same. The one that is kept gets the evidence of the others; all wordings stay in its history.", merges.map((merge) => mergeCard(store, merge))),
      part("Proved useless", "The next dream would archive these.", useless.map((one) => uselessCard(store, one))),
      dreams.length ? el("section", { class: "stack" }, el("h2", null, "Dreams so far"), el("div", { class: "card padded" }, tableOf("Dreams", ["When", "By", "What it did", ""], dreams.map(dreamRow)))) : null);
  }

  function undoer() {
    const last = context.undos.at(-1);
    if (!last || !context.backend.acts.has("reopen")) return null;
    const button = el("button", { type: "button", "data-action": "reopen" }, "Undo the last decision");
    button.addEventListener("click", () => {
      context.undos.pop();
      context.act(button, last.action, last.values);
    });
    return el("div", { class: "actions" }, button);
  }

  // One key for each decision, so that a queue takes one sitting; a field that is typed in keeps its keys.
  function key(name) {
    const cards = [...root.querySelectorAll("[data-finding]")];
    const at = cards.indexOf(document.activeElement?.closest?.("[data-finding]"));
    const card = cards[Math.max(at, 0)];
    const press = (action, where = card) => where?.querySelector(`[data-action=${action}]`)?.click();
    const keys = {
      j: () => cards[Math.min(at + 1, cards.length - 1)]?.focus(), k: () => cards[Math.max(at - 1, 0)]?.focus(),
      Enter: () => at >= 0 && document.activeElement === card && press("keep"), x: () => press("drop"),
      e: () => card?.querySelector("[data-field=correction]").focus(), u: () => press("reopen", root),
    };
    if (!keys[name] || (!cards.length && name !== "u")) return false;
    return keys[name]() !== false;
  }

  function part(title, about, cards) {
    return cards.length ? el("section", { class: "stack" }, el("h2", null, `${title} (${cards.length})`), el("p", { class: "quiet" }, about), cards) : null;
  }

  const opener = (lesson) => el("button", { type: "button", class: "link", on: { click: () => context.open(lesson) } }, "Look at it closely");

  function held(lesson) {
    return el("article", { class: "card padded" },
      el("p", { class: "warn" }, "Why it waits: ", told(lesson.held)), wordsOf(lesson), restOf(lesson),
      el("div", { class: "actions" }, el("button", { type: "button", on: { click: () => context.open(lesson) } }, "Look at it closely"),
        actor(context, "reject", "Reject", () => ({ id: lesson.id }), "danger"), actor(context, "approve", "Approve", () => ({ id: lesson.id }))));
  }

  function doubtedCard(store, one) {
    const lesson = store.byId.get(one.id);
    return el("article", { class: "card padded", "data-doubted": one.id },
      el("p", { class: "warn" }, told(one.told), ": still true?"), lesson && wordsOf(lesson), lesson && restOf(lesson),
      el("div", { class: "actions" }, lesson && opener(lesson),
        actor(context, "outdated", "No, retire it", () => ({ id: one.id }), "danger"), actor(context, "still", "Yes, still true", () => ({ id: one.id }), "main")));
  }

  function proposalCard(store, one) {
    const lesson = store.byId.get(one.lesson);
    const rows = one.changes.map((change) => [seen(change.field.replaceAll("_", " ")), told(change.before || "none"), told(change.after || "none")]);
    const wanted = rows.length ? tableOf("What would change", ["Field", "Now", "It would be"], rows) : null;
    return el("article", { class: "card padded", "data-proposal": one.id },
      el("p", { class: "warn" }, told(one.wish)), lesson && wordsOf(lesson), el("p", null, el("span", { class: "label" }, "Its guard"), told(one.guard)), wanted,
      el("div", { class: "actions" }, lesson && opener(lesson),
        actor(context, "decline", "Drop the proposal", () => ({ id: one.id }), "danger"), actor(context, "accept", "Do so", () => ({ id: one.id }))));
  }

  function mergeCard(store, merge) {
    const keep = store.byId.get(merge.keep);
    return el("article", { class: "card padded" },
      el("p", null, el("span", { class: "label" }, "Kept"), told(`${first(keep)} ${second(keep)}`)), restOf(keep),
      merge.gone.map((id) => store.byId.get(id)).map((gone) => [el("p", null, el("span", { class: "label" }, "Merged into it"), told(`${first(gone)} ${second(gone)}`)), restOf(gone)]),
      el("div", { class: "actions" }, actor(context, "merge", "Merge", () => ({ keep: merge.keep, gone: merge.gone }), "main"), opener(keep)));
  }

  function uselessCard(store, one) {
    const lesson = store.byId.get(one.id);
    return el("article", { class: "card padded" }, el("p", null, told(`${first(lesson)} ${second(lesson)}`)), el("p", { class: "quiet" }, told(one.reason)),
      el("div", { class: "actions" }, actor(context, "archive", "Archive", () => ({ id: lesson.id })), opener(lesson)));
  }

  function dreamRow(dream) {
    const did = [[dream.merged, "merged"], [dream.archived, "archived"], [dream.added, "new"]].filter(([count]) => count).map(([count, what]) => `${count} ${what}`);
    return [when(dream.at), told(dream.thinker), dream.state === "undone" ? "undone" : did.join(", ") || "nothing",
      dream.state === "undone" ? "" : actor(context, "undo", "Undo", () => ({ id: dream.id })) ?? ""];
  }

  return { root, show, key, shown: () => {} };
}
