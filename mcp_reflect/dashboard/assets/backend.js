// Where the data comes from and who acts: the file itself, its server on this machine, or a host around the page.

const mode = document.documentElement.dataset.mode;

function writtenBackend() {
  const embedded = JSON.parse(find("data").textContent);
  return { acts: new Set(), load: async () => embedded };
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
      for (const action of data.acts) acts.add(action); // what this person may do
      return data;
    },
    choose: (name) => {
      project = name;
    },
    more: (id) => ask(`/api/lesson/${encodeURIComponent(id)}`),
    act: (action, values) => ask("/api/act", { action, ...values }),
  };
}
