// The view of all lessons: filters, the list, and the chosen one.

const SORTS = [
  ["worth", "Works most often"], ["evidence", "Most evidence"], ["doubt", "Works least often"], ["uses", "Most used"],
  ["importance", "Importance"], ["new", "Newest"],
];

function lessonsView(context) {
  const filter = { text: "", kind: "lesson", state: "active", trust: "", type: "", source: "", order: "worth" };
  const found = el("p", { class: "found quiet", role: "status" });
  const detail = detailPanel(context);
  const list = lessonList((lesson) => detail.show(lesson, { open: clicked }));
  const search = el("input", {
    type: "search", id: "search", autocomplete: "off", spellcheck: "false", placeholder: "Words, a tag, an id",
    on: { input: () => { filter.text = search.value; soon(); } },
  });
  const selects = el("div", { class: "filters" });
  const root = el("div", { class: "lessons" }, selects, list.root, detail.root);
  const wide = matchMedia("(min-width: 561px)");
  let clicked = false;
  let asked = 0;

  // A click opens the lesson over the list on a narrow screen; moving through the list does not.
  list.root.addEventListener("pointerdown", () => { clicked = true; });
  list.root.addEventListener("keydown", (event) => {
    clicked = event.key === "Enter";
    if (!clicked || !list.chosen()) return;
    event.preventDefault(); // else the same press would reach the button that has the focus then
    detail.show(list.chosen(), { open: true });
  }, true);

  function soon() {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(apply);
  }

  function apply() {
    const store = context.store();
    const passing = store.passing(filter);
    found.textContent = `${grouped(passing.length)} of ${plural(store.lessons.length, "record")}`;
    list.show(store, passing);
    const before = list.chosen();
    const chosen = store.byId.get(before?.id); // after a load another object, of the same lesson
    if (!passing.includes(chosen)) {
      clicked = false;
      list.choose(null);
    } else {
      if (chosen !== before) list.choose(chosen);
      list.seek(chosen);
    }
  }

  function select(name, label, options) {
    const chosen = options.some(([value]) => value === filter[name]) ? filter[name] : "";
    filter[name] = chosen;
    return el("label", null, label, el("select", {
      id: `by-${name}`, on: { change: (event) => { filter[name] = event.target.value; apply(); } },
    }, options.map(([value, text]) => el("option", { value, selected: value === chosen }, seen(text)))));
  }

  function drawFilters() {
    const counted = (name) => context.store().values(name).map(([value, count]) => [value, `${value} (${grouped(count)})`]);
    const any = ["", "Any"];
    fill(selects,
      el("label", { class: "search" }, "Search ", search),
      el("details", { class: "more", open: wide.matches }, el("summary", null, "Filter and order"), el("div", { class: "filters" },
      select("kind", "Kind", [any, ...counted("kind")]),
      select("state", "State", [any, ...counted("state")]),
      select("trust", "Trust", [any, ...counted("trust")]),
      select("type", "Task type", [any, ...counted("task_type")]),
      select("source", "From", [any, ...counted("source")]),
      select("order", "Order", SORTS))),
      found);
  }

  return {
    root,
    search,
    detail,
    show() {
      drawFilters();
      apply();
    },
    // Someone changed a lesson: the list, its counts and the panel follow.
    refresh() {
      drawFilters();
      apply();
      detail.again();
    },
    open(lesson) {
      Object.assign(filter, { text: "", kind: "", state: "", trust: "", type: "", source: "" });
      search.value = "";
      drawFilters();
      clicked = true;
      list.choose(lesson);
      apply();
    },
    // The lessons with these words, as if a person had typed them.
    seek(words) {
      search.value = filter.text = words;
      apply();
    },
    escape() {
      if (detail.isOpen()) detail.shut();
      else if (search.value) {
        search.value = filter.text = "";
        apply();
      } else return false;
      return true;
    },
  };
}
