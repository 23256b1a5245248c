// Where the data comes from and who acts: the file itself, its server on this machine, or a host around the page.

const mode = document.documentElement.dataset.mode;

function writtenBackend() {
  const embedded = JSON.parse(find("data").textContent);
  return { acts: new Set(), tellsMore: false, load: async () => embedded };
}

// The token comes once, in the part of the address that is never sent; it is kept for this tab, and sent in a header.
function servedBackend() {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  const token = sessionStorage.getItem("token") ?? "";

  async function ask(path, body) {
    const headers = { Authorization: `Bearer ${token}` };
    if (body) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    } catch {
      throw new Error("The board's server does not answer. Start `mcp-reflect board` again.");
    }
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  }

  return {
    acts: new Set(["approve", "reject", "forget", "restore", "edit", "merge", "undo"]),
    tellsMore: true,
    load: () => ask("/api/board"),
    more: (id) => ask(`/api/lesson/${encodeURIComponent(id)}`),
    act: (action, values) => ask("/api/act", { action, ...values }),
  };
}
