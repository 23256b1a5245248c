// Inside a host's conversation: JSON-RPC with the window around the page (MCP Apps, 2026-01-26).

const PROTOCOL = "2026-01-26";
const PATIENCE = 3000; // ms for the host's greeting; then the page only shows what it is given
const RESULT_PATIENCE = 10000; // ms for the result that the page was opened for; then it is asked for, if it may be
const DATA = "mcp-reflect/board"; // of the result's _meta: what is shown

function hostBackend() {
  const waiting = new Map();
  const acts = new Set();
  const result = later();
  let last = 0;
  let can = {};
  let words = "";
  let loaded = false;

  const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function ask(method, params) {
    last += 1;
    const id = last;
    send({ id, method, params });
    return new Promise((done, failed) => waiting.set(id, { done, failed }));
  }

  const NOTICES = {
    "ui/notifications/tool-input": (params) => {
      const sent = params?.arguments?.search;
      words = typeof sent === "string" ? sent : "";
    },
    "ui/notifications/tool-result": (params) => result.done(params ?? {}),
    "ui/notifications/tool-cancelled": () => result.failed(new Error("The call was cancelled. Ask for the board again.")),
    "ui/notifications/host-context-changed": look,
  };

  function heard({ source, data }) {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) answered(data);
    else if (data.id === undefined) {
      if (Object.hasOwn(NOTICES, data.method)) NOTICES[data.method](data.params);
    } else if (["ping", "ui/resource-teardown"].includes(data.method)) send({ id: data.id, result: {} });
    else send({ id: data.id, error: { code: -32601, message: "The board has no such method" } });
  }

  function answered({ id, error, result: value }) {
    const open = waiting.get(id);
    waiting.delete(id);
    if (error) open?.failed(new Error(error.message ?? "The host refused."));
    else open?.done(value ?? {});
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
    const met = await Promise.race([greeting, after(PATIENCE)]).catch(() => null);
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

  async function call(name, args) {
    const done = await ask("tools/call", { name, arguments: args });
    if (done.isError) throw new Error(done.content?.[0]?.text ?? "The server refused.");
    return done;
  }

  // The lessons as they are now; null where the host asks the server for nothing, or hands on no _meta.
  async function fresh() {
    if (can.serverResources) return read("bank://board");
    if (can.serverTools) return (await call("show_board", {}))._meta?.[DATA] ?? null;
    return null;
  }

  // What the page was opened for. A host that asks the server may be late with it, or leave out its _meta.
  async function given() {
    const asks = can.serverResources || can.serverTools;
    const found = await (asks ? Promise.race([result.value, after(RESULT_PATIENCE)]) : result.value);
    if (found?.isError) throw new Error(found.content?.[0]?.text ?? "The server refused.");
    return found?._meta?.[DATA] ?? null;
  }

  const met = meet();

  return {
    acts,
    get more() {
      return can.serverResources ? (id) => read(`lesson://${encodeURIComponent(id)}`) : undefined;
    },
    async load() {
      await met;
      const data = loaded ? await fresh() ?? await given() : await given() ?? await fresh();
      if (!data) throw new Error("This host handed on no lessons. Run `mcp-reflect board` in a terminal to see them.");
      loaded = true;
      return data;
    },
    async act(action, { id }) {
      await call("forget_lesson", { lesson_id: id, reason: "a person said so on the board" });
      return { said: "Forgotten: out of every recall. `mcp-reflect lessons restore` brings it back." };
    },
    // The words that the shown lessons must have, as the person asked: said once, when the page is first drawn.
    asked() {
      const sought = words;
      words = "";
      return sought;
    },
  };
}

// A promise, and what settles it.
function later() {
  const made = {};
  made.value = new Promise((done, failed) => Object.assign(made, { done, failed }));
  made.value.catch(() => null); // it may fail before anybody waits
  return made;
}

function after(milliseconds) {
  return new Promise((done) => { setTimeout(done, milliseconds, null); });
}
