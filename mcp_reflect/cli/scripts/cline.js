// Cline: a plugin. Its shell runs several commands in one call; they are asked about as one script.
const SHELL = ["run_commands", "execute_command"];

function inputOf(name, input) {
  const commands = input?.commands;
  if (!SHELL.includes(name) || !Array.isArray(commands)) return input;
  const texts = commands.map((one) => (typeof one === "string" ? one : [one.command, ...(one.args ?? [])].join(" ")));
  return { command: texts.join("\n") };
}

/** What a call printed, and how it ended; of the shell each command has its own result. */
function endOf(result) {
  const runs = Array.isArray(result?.output) ? result.output.filter((run) => run?.query !== undefined) : [];
  if (runs.length === 0) {
    const output = typeof result?.output === "string" ? result.output : JSON.stringify(result?.output ?? "");
    return { output, failed: Boolean(result?.isError), code: 0 };
  }
  const failed = runs.filter((run) => run.success === false);
  const code = Number(/exited with code (\d+)/.exec(failed.at(-1)?.error ?? "")?.[1] ?? 0);
  const output = runs.map((run) => run.result || run.error || "").join("\n");
  return { output, failed: failed.length > 0 || Boolean(result?.isError), code };
}

const plugin = {
  name: "mcp-reflect",
  manifest: { capabilities: ["hooks"] },
  hooks: {
    async beforeRun({ snapshot }) {
      const about = aboutOf(snapshot);
      const last = [...(snapshot?.messages ?? [])].reverse().find((one) => one.role === "user");
      const prompt = textIn(last?.content);
      const start = started.has(about.session_id) ? {} : await ask("SessionStart", { ...about, source: "startup" });
      started.add(about.session_id);
      const told = prompt ? await ask("UserPromptSubmit", { ...about, prompt }) : {};
      const appendContext = [textOf(start), textOf(told)].filter(Boolean).join("\n\n");
      return appendContext ? { appendContext } : undefined;
    },
    async beforeTool({ snapshot, tool, toolCall, input }) {
      const call = { tool_name: nameOf(tool), tool_input: inputOf(tool.name, input) };
      const id = toolCall?.toolCallId ?? toolCall?.id;
      const reason = refusalOf(await ask("PreToolUse", { ...aboutOf(snapshot), ...call, tool_use_id: id }));
      return reason ? { skip: true, reason } : undefined;
    },
    async afterTool({ snapshot, tool, toolCall, input, result }) {
      const call = { tool_name: nameOf(tool), tool_input: inputOf(tool.name, input) };
      const id = toolCall?.toolCallId ?? toolCall?.id;
      const { output, failed, code } = endOf(result);
      const answer = await askAfter({ ...aboutOf(snapshot), ...call, tool_use_id: id }, output, failed, code);
      const appendContext = textOf(answer);
      return appendContext ? { appendContext } : undefined;
    },
  },
};

const started = new Set();
const nameOf = (tool) => (SHELL.includes(tool.name) ? "Bash" : tool.name);
const textIn = (content) =>
  typeof content === "string"
    ? content
    : (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
const aboutOf = (snapshot) => ({
  session_id: snapshot?.sessionId ?? snapshot?.conversationId ?? snapshot?.agentId ?? "cline",
  cwd: process.cwd(),
});

export default plugin;
