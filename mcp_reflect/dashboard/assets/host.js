// Inside a host's conversation: JSON-RPC with the window around the page (MCP Apps, 2026-01-26).

const PROTOCOL = "2026-01-26";
const PATIENCE = 3000; // ms; then the page shows what it was given, and does nothing

function hostBackend() {
  const embedded = JSON.parse(find("data").textContent);
  const waiting = new Map();
  const acts = new Set();
  let last = 0;
  let can = {};
  let recalled = null;
  let show = null;

  const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function ask(method, params) {
    last += 1;
    const id = last;
    send({ id, method, params });
    return new Promise((done, failed) => waiting.set(id, { done, failed }));
  }

  function heard({ source, data }) {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) {
      const open = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) open?.failed(new Error(data.error.message ?? "The host refused."));
      else open?.done(data.result ?? {});
    } else if (data.method === "ui/notifications/tool-result") {
      recalled = data.params?.structuredContent?.lessons?.map((lesson) => lesson.id) ?? null;
      if (recalled?.length) show?.(recalled);
    } else if (data.method === "ui/notifications/host-context-changed") look(data.params);
    else if (data.id !== undefined) {
      if (["ping", "ui/resource-teardown"].includes(data.method)) send({ id: data.id, result: {} });
      else send({ id: data.id, error: { code: -32601, message: "The board has no such method" } });
    }
  }

  function look(context) {
    if (context?.theme) setTheme(context.theme);
  }

  async function meet() {
    window.addEventListener("message", heard);
    const greeting = ask("ui/initialize", {
      appInfo: { name: "mcp-reflect board", version: "1" }, protocolVersion: PROTOCOL,
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    const late = new Promise((done) => { setTimeout(done, PATIENCE, null); });
    const met = await Promise.race([greeting, late]).catch(() => null);
    if (!met) return;
    can = met.hostCapabilities ?? {};
    if (can.serverTools) acts.add("forget");
    look(met.hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(() => send({
      method: "ui/notifications/size-changed",
      params: { width: document.documentElement.scrollWidth, height: Math.ceil(document.body.getBoundingClientRect().height) },
    })).observe(document.body);
  }

  const read = async (uri) => JSON.parse((await ask("resources/read", { uri })).contents[0].text);
  const met = meet();

  return {
    acts,
    get more() {
      return can.serverResources ? (id) => read(`lesson://${encodeURIComponent(id)}`) : undefined;
    },
    async load() {
      await met;
      return can.serverResources ? read("bank://board") : embedded;
    },
    async act(action, { id }) {
      const done = await ask("tools/call", { name: "forget_lesson", arguments: { lesson_id: id, reason: "a person said so on the board" } });
      if (done.isError) throw new Error(done.content?.[0]?.text ?? "The server refused.");
      const changed = embedded.lessons.rows.find((row) => row[0] === id);
      if (changed) changed[embedded.lessons.columns.indexOf("state")] = "retired";
      return { said: "Forgotten: out of every recall. `mcp-reflect lessons restore` brings it back." };
    },
    // The page is drawn: from now on `view` shows the lessons that an agent recalled.
    drawn(view) {
      show = view;
      if (recalled?.length) view(recalled);
      recalled = null;
    },
  };
}
