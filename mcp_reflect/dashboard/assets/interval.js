// A lesson's worth as a share with its interval: a dot in a band, and the base rate as a line.

function worthGlyph() {
  const share = el("span", { class: "share" });
  const band = el("span", { class: "band" });
  const dot = el("span", { class: "dot" });
  const base = el("span", { class: "base" });
  const root = el("span", { class: "worth" }, share, el("span", { class: "scale", "aria-hidden": "true" }, band, base, dot));
  return {
    root,
    show(lesson, interval) {
      const untried = !tried(lesson);
      root.classList.toggle("untried", untried);
      root.classList.toggle("harmful", Boolean(lesson.harmful));
      share.classList.toggle("untried", untried);
      share.textContent = untried ? "untried" : percent(lesson.worth);
      band.style.left = `${interval.low * 100}%`;
      band.style.width = `${(interval.high - interval.low) * 100}%`;
      dot.style.left = `${lesson.worth * 100}%`;
      base.style.left = `${lesson.base_rate * 100}%`;
    },
  };
}

function worthWords(lesson, interval) {
  const type = lesson.task_type ? `lessons of the type “${seen(lesson.task_type)}”` : "lessons without a task type";
  const base = `The base rate of ${type} is ${percent(lesson.base_rate)}.`;
  if (!tried(lesson)) return `Nobody has told yet what became of using it. ${base}`;
  const sure = `90 % sure that it lies between ${percent(interval.low)} and ${percent(interval.high)}`;
  return `It works in about ${percent(lesson.worth)} of its uses, ${sure}. ${base}`;
}
