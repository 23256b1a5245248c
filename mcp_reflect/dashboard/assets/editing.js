// What a person does to the chosen lesson: approve, reject, forget, restore, edit; and its history, fetched on demand.

function lessonActions(context, lesson) {
  const id = () => ({ id: lesson.id });
  const held = lesson.trust === "quarantined" && lesson.state === "active";
  const place = el("div");
  const edit = context.backend.acts.has("edit") && lesson.kind === "lesson"
    && el("button", { type: "button", "data-action": "edit", on: { click: () => fill(place, editForm(context, lesson, place)) || place.querySelector("textarea").focus() } }, "Edit");
  const history = context.backend.more
    && el("button", { type: "button", "data-action": "history", on: { click: () => showHistory(context, lesson, place) } }, "History");
  const buttons = [
    edit, history, held && actor(context, "reject", "Reject", id, "danger"), held && actor(context, "approve", "Approve", id),
    lesson.state === "active" ? !held && actor(context, "forget", "Forget", id, "danger") : actor(context, "restore", "Restore", id),
  ].filter(Boolean);
  return buttons.length ? [el("div", { class: "actions" }, buttons), place] : null;
}

function editForm(context, lesson, place) {
  const area = (name, text) => el("textarea", { name, rows: 3, id: `edit-${name}` }, text ?? "");
  const fields = {
    mistake: area("mistake", lesson.mistake), correction: area("correction", lesson.correction), why: area("why", lesson.why),
    task_type: el("input", { name: "task_type", id: "edit-task_type", value: lesson.task_type ?? "" }),
    tags: el("input", { name: "tags", id: "edit-tags", value: (lesson.tags ?? []).join(", ") }),
    importance: el("input", { name: "importance", id: "edit-importance", type: "number", min: 0, max: 1, step: "any", value: lesson.importance }),
  };
  const labels = { mistake: lesson.correction ? "What went wrong" : "The rule", correction: "What works", why: "Why", task_type: "Task type", tags: "Tags, separated by commas", importance: "Importance, 0 to 1" };
  const save = el("button", { type: "submit", class: "main", "data-action": "save" }, "Save");
  const form = el("form", { class: "form", "aria-label": "Edit the lesson" },
    Object.entries(fields).map(([name, field]) => el("label", null, labels[name], field)),
    el("div", { class: "actions" }, save, el("button", { type: "button", on: { click: () => fill(place) } }, "Cancel")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const now = {
      mistake: fields.mistake.value, correction: fields.correction.value, why: fields.why.value || null, task_type: fields.task_type.value || null,
      tags: fields.tags.value.split(",").map((tag) => tag.trim()).filter(Boolean), importance: Number(fields.importance.value),
    };
    const changes = Object.fromEntries(Object.entries(now).filter(([name, value]) =>
      JSON.stringify(value) !== JSON.stringify(lesson[name] ?? (name === "tags" ? [] : null))));
    if (!Object.keys(changes).length) return say("Nothing was changed.");
    context.act(save, "edit", { id: lesson.id, changes, seen: { [lesson.id]: lesson.seen } });
  });
  return form;
}

async function showHistory(context, lesson, place) {
  try {
    const { versions = [] } = await context.backend.more(lesson.id);
    fill(place, el("h3", null, "History"), versions.length
      ? el("ol", { class: "history" }, versions.map((version) => el("li", null,
        el("p", { class: "quiet" }, when(version.created_at), " · ", told(version.reason)), el("p", null, told(version.text)))))
      : el("p", { class: "quiet" }, "It is as it was stored."));
  } catch (error) {
    say(error.message, true);
  }
}
