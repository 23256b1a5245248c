// opencode: a plugin. It cannot hold a last message: the session has ended when opencode says so.
export const McpReflect = async ({ directory }) => {
  const started = new Set();
  const about = (sessionID) => ({ session_id: sessionID, cwd: directory });
  return {
    "chat.message": async (input, output) => {
      try {
        const prompt = output.parts
          .filter((part) => part.type === "text" && !part.synthetic)
          .map((part) => part.text)
          .join("\n");
        const texts = [];
        if (!started.has(input.sessionID)) {
          started.add(input.sessionID);
          texts.push(textOf(await ask("SessionStart", { ...about(input.sessionID), source: "startup" })));
        }
        if (prompt) texts.push(textOf(await ask("UserPromptSubmit", { ...about(input.sessionID), prompt })));
        const text = texts.filter(Boolean).join("\n\n");
        if (!text) return;
        const { sessionID, id } = output.message;
        const name = `prt_${id.slice(4)}_reflect`;
        output.parts.push({ id: name, sessionID, messageID: id, type: "text", text, synthetic: true });
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      const payload = { ...about(input.sessionID), tool_use_id: input.callID };
      const answer = await ask("PreToolUse", { ...payload, tool_name: input.tool, tool_input: output.args });
      const refusal = refusalOf(answer);
      if (refusal) throw new Error(refusal);
      const changed = changedOf(answer);
      if (changed) Object.assign(output.args, changed);
    },
    "tool.execute.after": async (input, output) => {
      try {
        const payload = { ...about(input.sessionID), tool_use_id: input.callID };
        const call = { ...payload, tool_name: input.tool, tool_input: input.args };
        const text = textOf(await askAfter(call, output.output, false, output.metadata?.exit));
        if (text) output.output = `${output.output}\n\n${text}`;
      } catch {}
    },
    event: async ({ event }) => {
      if (event.type !== "session.deleted") return;
      await ask("SessionEnd", about(event.properties.info?.id ?? event.properties.sessionID));
    },
  };
};
