// pi: an extension.
export default function (pi) {
  let isNew = true;
  let toldAtStart;
  let stopped = false;
  const about = (ctx) => ({
    session_id: ctx.sessionManager.getSessionId(),
    transcript_path: ctx.sessionManager.getSessionFile() ?? undefined,
    cwd: ctx.cwd,
  });
  const textIn = (content) =>
    (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");

  pi.on("session_start", async (event, ctx) => {
    const source = event.reason === "resume" || event.reason === "fork" ? "resume" : "startup";
    toldAtStart = textOf(await ask("SessionStart", { ...about(ctx), source }));
    isNew = true;
  });
  pi.on("before_agent_start", async (event, ctx) => {
    stopped = false;
    const prompt = event.prompt;
    const told = prompt ? textOf(await ask("UserPromptSubmit", { ...about(ctx), prompt })) : undefined;
    const content = [isNew ? toldAtStart : undefined, told].filter(Boolean).join("\n\n");
    isNew = false;
    if (content) return { message: { customType: "mcp-reflect", content, display: false } };
  });
  pi.on("tool_call", async (event, ctx) => {
    const call = { tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId };
    const answer = await ask("PreToolUse", { ...about(ctx), ...call });
    const reason = refusalOf(answer);
    if (reason) return { block: true, reason };
    const changed = changedOf(answer);
    if (changed) Object.assign(event.input, changed);
  });
  pi.on("tool_result", async (event, ctx) => {
    const call = { tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId };
    const output = textIn(event.content);
    const code = Number(/Command exited with code (\d+)\s*$/.exec(output)?.[1] ?? 0);
    const text = textOf(await askAfter({ ...about(ctx), ...call }, output, event.isError, code));
    if (text) return { content: [...event.content, { type: "text", text }] };
  });
  pi.on("agent_before_settle", async (event, ctx) => {
    const last = [...(event.context?.messages ?? [])].reverse().find((one) => one.role === "assistant");
    const message = { last_assistant_message: textIn(last?.content), stop_hook_active: stopped };
    const answer = await ask("Stop", { ...about(ctx), ...message });
    if (answer?.decision !== "block") return;
    stopped = true;
    const entry = { type: "custom_message", customType: "mcp-reflect", content: answer.reason, display: true };
    return { entries: [...(event.entries ?? []), entry], continue: true };
  });
  pi.on("session_shutdown", async (_event, ctx) => {
    await ask("SessionEnd", about(ctx));
  });
}
