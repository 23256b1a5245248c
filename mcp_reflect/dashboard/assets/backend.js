// Where the data comes from and who acts: the file itself, its server on this machine, or a host around the page.

const mode = document.documentElement.dataset.mode;

function writtenBackend() {
  const embedded = JSON.parse(find("data").textContent);
  return { acts: new Set(), load: async () => embedded };
}

// Of each action the use of the bank, what is sent, and what is said of its result.
const ACTIONS = {
  approve: ["decide", ({ id, seen }) => ({ id, seen, approved: true }), () => "Approved: trusted, and recalled from now on."],
  reject: ["decide", ({ id, seen }) => ({ id, seen, approved: false }), () => "Rejected: retired, and no longer recalled."],
  forget: moving("retired", "forgotten", "Forgotten: out of every recall. Restore brings it back."),
  archive: moving("archived", "archived", "Archived: out of every recall. Restore brings it back."),
  restore: moving("active", "restored", "Restored: in use again."),
  edit: ["edit", (values) => values, ({ held }) => held ? `Changed, and quarantined: ${held}.` : "Changed; the wording before is in History."],
  merge: ["merge", ({ keep, gone, seen }) => ({ ids: [keep, ...gone], seen }), ({ dream_id }) => `Merged in dream ${dream_id}; undoing it puts all back.`],
  undo: ["undo", (values) => values, ({ restored, skipped }) => `Undone: ${restored.length} records are as they were.${skipped.length ? ` ${skipped.length} were changed since and stay.` : ""}`],
  keep: ["finding", (values) => ({ ...values, approved: true }), () => "Kept: a lesson of yours, trusted."],
  drop: ["finding", (values) => ({ ...values, approved: false }), () => "Dropped: it is not found again."],
  still: ["still", ({ id, seen }) => ({ id, seen, true: true }), () => "Still true: it stands on what is there now."],
  outdated: ["still", ({ id, seen }) => ({ id, seen, true: false }), () => "Retired: no longer true. Restore brings it back."],
  accept: ["decide", ({ id, seen }) => ({ id, seen, approved: true }), () => "Done, in your name; the wording before is in History."],
  decline: ["decide", ({ id, seen }) => ({ id, seen, approved: false }), () => "Dropped: the lesson stays as it is."],
  reopen: ["reopen", (values) => values, () => "Undone: it waits again."],
};

function moving(state, done, said) {
  return ["state", ({ id, seen }) => ({ id, seen, state, reason: `${done}: a person said so` }), () => said];
}

// What takes an action back: the other action, and what it is sent; null where nothing does.
function undoing(use, action, values, done) {
  if (use === "finding") return { action: "reopen", values: { finding: values.id, lesson: done.is_new ? done.lesson_id : null } };
  if (action === "forget" || action === "archive" || action === "outdated") return { action: "restore", values: { id: values.id } };
  return null;
}

// The token, or a ticket for it, comes in the part of the address that is never sent. It is kept for this tab alone.
function servedBackend() {
  let given = location.hash.slice(1);
  if (given) history.replaceState(null, "", location.pathname);
  let token = sessionStorage.getItem("token") ?? "";
  let project = null; // the page's own

  async function ask(path, body) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {}; // a team's service reads its cookie
    if (body) headers["Content-Type"] = "application/json";
    let answer;
    try {
      const address = project === null ? path : `${path}?project=${encodeURIComponent(project)}`;
      answer = await fetch(address, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    } catch {
      throw new Error("The board's server does not answer. Start `mcp-reflect board` again.");
    }
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  }

  async function enter() {
    const ticket = given;
    given = "";
    if (!ticket) return;
    token = ticket.startsWith("once-") ? (await ask("/api/enter", { ticket })).token : ticket;
    sessionStorage.setItem("token", token);
  }

  const acts = new Set();

  return {
    acts,
    load: async () => {
      await enter();
      const data = await ask("/api/board");
      acts.clear();
      for (const action of data.decides ? Object.keys(ACTIONS) : []) acts.add(action);
      return data;
    },
    choose: (name) => {
      project = name;
    },
    more: (id) => ask("/api/show", { id }),
    async act(action, values) {
      const [use, sent, said] = ACTIONS[action];
      const done = await ask(`/api/${use}`, sent(values));
      return { said: said(done), undo: undoing(use, action, values, done) };
    },
  };
}
