// How effective the lessons are as time goes on, for all or one task type, and each type beside the others.

const SPANS = [["", "All until then"], [String(30 * DAY), "The 30 days before"], [String(90 * DAY), "The 90 days before"]];

function overTimeView(context) {
  const root = el("div", { class: "stack" });
  let type = "";
  let span = "";

  function choice(id, label, entries, value, set) {
    return el("label", null, label, el("select", { id, on: { change: (event) => { set(event.target.value); show(); find(id).focus(); } } },
      entries.map(([key, text]) => el("option", { value: key, selected: key === value }, seen(text)))));
  }

  function show() {
    const store = context.store();
    const told = store.outcomes.filter((one) => !type || one.of.task_type === type);
    if (!store.outcomes.length) {
      return fill(root, el("div", { class: "empty" }, el("h2", null, "Nobody has told an outcome yet"),
        el("p", null, "When an agent has used a lesson it calls ", el("code", null, "record_outcome"), ". From then on you see here how often lessons work.")));
    }
    const types = store.values("task_type").filter(([name]) => store.outcomes.some((one) => one.of.task_type === name));
    const points = course(told, Number(span));
    const chart = points.length ? courseFigure("How often lessons work", points) : null;
    fill(root,
      el("div", { class: "filters" },
        choice("time-type", "Task type", [["", "All"], ...types.map(([name]) => [name, name])], type, (value) => { type = value; }),
        choice("time-span", "Counted", SPANS, span, (value) => { span = value; })),
      chart?.root,
      el("p", { class: "quiet" }, "The line is the mean of a Beta posterior, weighed by evidence as ranking weighs it, and the band its ",
        `90 % interval. It begins at an even chance worth ${PRIOR} outcomes. A dot is what was told just then.`),
      types.length ? el("section", { class: "card padded" }, el("h2", null, "By task type"), byType(store, types)) : null);
    chart?.redraw();
  }

  function byType(store, types) {
    const rows = types.map(([name, lessons]) => {
      const own = store.outcomes.filter((one) => one.of.task_type === name);
      const sum = (field) => own.reduce((total, one) => total + one[field], 0);
      return { name, lessons, count: own.length, ...posterior(sum("wins"), sum("losses")) };
    }).sort((one, other) => other.mean - one.mean);
    return tableOf("Effectiveness by task type", ["Task type", "Effectiveness", "Interval", "Outcomes", "Records"], rows.map((row) => {
      const glyph = worthGlyph();
      glyph.show({ wins: 1, losses: 0, rate: row.mean }, row);
      return [told(row.name), glyph.root, `${percent(row.low)} to ${percent(row.high)}`, grouped(row.count), grouped(row.lessons)];
    }));
  }

  return { root, show, shown: show };
}
