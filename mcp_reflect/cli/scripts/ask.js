// It asks `mcp-reflect hook` at each moment, in the form that the command reads, and says what comes back. Whatever
// goes wrong on the way is silence: the work of the host goes on.
import { spawn } from "node:child_process";

const COMMAND = [/* command */];
const MOST_MILLISECONDS = 5000;

/** Ask the command about one event; an empty object is its silence. */
function ask(event, payload) {
  return new Promise((resolve) => {
    try {
      const env = { ...process.env, PYTHONPATH: undefined };
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), event], {
        stdio: ["pipe", "pipe", "ignore"],
        env,
        windowsHide: true,
      });
      let said = "";
      const timer = setTimeout(() => {
        child.kill();
        resolve({});
      }, MOST_MILLISECONDS);
      const end = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      child.stdout.on("data", (data) => (said += data));
      child.on("error", () => end({}));
      child.stdin.on("error", () => {});
      child.on("close", () => {
        try {
          end(said.trim() ? JSON.parse(said) : {});
        } catch {
          end({});
        }
      });
      child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }));
    } catch {
      resolve({});
    }
  });
}

/** The text for the model in an answer; undefined if there is none. */
const textOf = (answer) => answer?.hookSpecificOutput?.additionalContext;

/** The reason for which a call is refused; undefined if it is not. */
function refusalOf(answer) {
  const said = answer?.hookSpecificOutput;
  return said?.permissionDecision === "deny" ? said.permissionDecisionReason : undefined;
}

/** The arguments that a call shall have instead; undefined where they stay. */
const changedOf = (answer) => answer?.hookSpecificOutput?.updatedInput;

/** Ask about a call that ended: a command that failed is told with its exit code, as its shell would. */
function askAfter(payload, output, failed, exitCode) {
  if (!failed && !exitCode) return ask("PostToolUse", { ...payload, tool_response: output });
  const error = exitCode ? `Exit code ${exitCode}\n${output}` : output || "the call failed";
  return ask("PostToolUseFailure", { ...payload, error });
}
