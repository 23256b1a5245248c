// How often a lesson works, as a share with its interval: a dot in a band.

function worthGlyph() {
  const share = el("span", { class: "share" });
  const band = el("span", { class: "band" });
  const dot = el("span", { class: "dot" });
  const root = el("span", { class: "worth" }, share, el("span", { class: "scale", "aria-hidden": "true" }, band, dot));
  return {
    root,
    show(lesson, interval) {
      const untried = !tried(lesson);
      root.classList.toggle("untried", untried);
      root.classList.toggle("harmful", Boolean(lesson.harmful));
      share.classList.toggle("untried", untried);
      share.textContent = untried ? "untried" : percent(lesson.rate);
      band.style.left = `${interval.low * 100}%`;
      band.style.width = `${(interval.high - interval.low) * 100}%`;
      dot.style.left = `${lesson.rate * 100}%`;
    },
  };
}

function worthWords(lesson, interval) {
  if (!tried(lesson)) return "Nobody has told yet what became of using it.";
  const sure = `90 % sure that it lies between ${percent(interval.low)} and ${percent(interval.high)}`;
  return `It works in about ${percent(lesson.rate)} of its uses, ${sure}.`;
}
