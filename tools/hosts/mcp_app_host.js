// A host of MCP Apps: the official AppBridge around the page of a server, whose calls go to `window.ask`.

import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

window.open_app = async (html, input, result) => {
  window.heard = [];
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.width = 1000;
  document.body.append(frame);
  const capabilities = { serverTools: {}, serverResources: {} };
  const bridge = new AppBridge(null, { name: "host", version: "1" }, capabilities, { hostContext: { theme: "dark" } });
  const passed = (method) => async (params) => JSON.parse(await window.ask(method, JSON.stringify(params)));
  bridge.oncalltool = passed("tools/call");
  bridge.onreadresource = passed("resources/read");
  bridge.onsizechange = ({ height }) => { frame.height = height; };
  bridge.oninitialized = async () => {
    window.heard.push("initialized");
    await bridge.sendToolInput({ arguments: input });
    await bridge.sendToolResult(result);
  };
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
};
