// The list of lessons. Only the rows in sight are in the document, however many there are.

const ROW = 72;
const SPARE = 3;

function lessonList(onChosen) {
  const rows = el("div", { class: "rows", role: "presentation" });
  const root = el("div", {
    class: "list card", role: "listbox", tabindex: "0", "aria-label": "Lessons", id: "list",
  }, rows);
  const pool = new Map(); // place in the list -> row
  const free = [];
  let store = null;
  let shown = [];
  let chosen = null;
  let asked = false;

  function newRow() {
    const glyph = worthGlyph();
    const one = el("bdi", { class: "first", dir: "auto" });
    const two = el("bdi", { class: "second", dir: "auto" });
    const type = el("span");
    const uses = el("span");
    const element = el("div", { class: "row", role: "option" }, glyph.root,
      el("span", { class: "words" }, one, two), el("span", { class: "facts" }, type, uses));
    element.addEventListener("click", () => choose(shown[Number(element.dataset.place)]));
    return { element, glyph, one, two, type, uses, lesson: null };
  }

  function place(row, number) {
    const lesson = shown[number];
    row.element.dataset.place = number;
    row.element.id = `row-${number}`;
    row.element.style.transform = `translateY(${number * ROW}px)`;
    row.element.setAttribute("aria-posinset", number + 1);
    row.element.setAttribute("aria-setsize", shown.length);
    row.element.setAttribute("aria-selected", lesson === chosen);
    row.glyph.show(lesson, store.interval(lesson));
    row.one.textContent = seen(first(lesson));
    row.two.textContent = seen(second(lesson) || kindWords(lesson));
    row.type.textContent = seen(lesson.task_type ?? "");
    row.uses.textContent = `${stateWords(lesson)} · ${plural(lesson.uses, "use")}`;
    row.lesson = lesson;
  }

  function draw() {
    asked = false;
    const from = Math.max(0, Math.floor(root.scrollTop / ROW) - SPARE);
    const to = Math.min(shown.length, Math.ceil((root.scrollTop + root.clientHeight) / ROW) + SPARE);
    for (const [number, row] of pool) {
      if (number < from || number >= to) {
        pool.delete(number);
        free.push(row);
      }
    }
    for (let number = from; number < to; number += 1) {
      if (!pool.has(number)) {
        const row = free.pop() ?? newRow();
        place(row, number);
        pool.set(number, row);
      }
    }
    for (const row of free) row.element.remove();
    free.splice(SPARE * 2);
    // Who reads the page by its elements finds the rows in their order.
    let next = null;
    for (let number = to - 1; number >= from; number -= 1) {
      const { element } = pool.get(number);
      if (element.parentNode !== rows || element.nextSibling !== next) rows.insertBefore(element, next);
      next = element;
    }
    point();
  }

  // A reader of the screen is told the chosen row, which must then be in the document.
  function point() {
    const number = shown.indexOf(chosen);
    if (pool.has(number)) root.setAttribute("aria-activedescendant", `row-${number}`);
    else root.removeAttribute("aria-activedescendant");
  }

  function soon() {
    if (!asked) {
      asked = true;
      requestAnimationFrame(draw);
    }
  }

  function choose(lesson) {
    chosen = lesson ?? null;
    for (const row of pool.values()) row.element.setAttribute("aria-selected", row.lesson === chosen);
    point();
    onChosen(chosen);
  }

  function reveal(number) {
    const top = number * ROW;
    if (top < root.scrollTop) root.scrollTop = top;
    else if (top + ROW > root.scrollTop + root.clientHeight) root.scrollTop = top + ROW - root.clientHeight;
    draw();
  }

  const page = () => Math.max(1, Math.floor(root.clientHeight / ROW) - 1);
  const MOVES = {
    ArrowDown: (at) => at + 1,
    ArrowUp: (at) => at - 1,
    PageDown: (at) => at + page(),
    PageUp: (at) => at - page(),
    Home: () => 0,
    End: () => shown.length - 1,
  };

  root.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move || !shown.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const at = shown.indexOf(chosen);
    const to = at < 0 && !["Home", "End"].includes(event.key) ? 0 : move(at);
    const number = Math.min(Math.max(to, 0), shown.length - 1);
    chosen = shown[number];
    reveal(number);
    choose(chosen);
  });
  root.addEventListener("scroll", soon, { passive: true });
  new ResizeObserver(soon).observe(root);

  return {
    root,
    choose,
    chosen: () => chosen,
    show(from, lessons) {
      store = from;
      shown = lessons;
      rows.style.height = `${lessons.length * ROW}px`;
      for (const row of pool.values()) free.push(row);
      pool.clear();
      root.scrollTop = 0;
      draw();
    },
    // What is chosen comes into sight, if it is in the list.
    seek(lesson) {
      const number = shown.indexOf(lesson);
      if (number >= 0) reveal(number);
    },
  };
}

const KINDS = { lesson: "Lesson", strategy: "Strategy", reflection: "Reflection" };

const kindWords = (lesson) => KINDS[lesson.kind] ?? lesson.kind;

const stateWords = (lesson) => (lesson.state === "active" ? lesson.trust : lesson.state);
