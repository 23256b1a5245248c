// The data of the page, as objects; filters and orders over it. Nothing here touches the document.

function records(table) {
  const { columns, rows } = table;
  return rows.map((row) => {
    const made = {};
    for (let place = 0; place < columns.length; place += 1) made[columns[place]] = row[place];
    return made;
  });
}

class Store {
  constructor(data) {
    this.data = data;
    this.columns = data.lessons.columns;
    this.intervals = new Map();
    this.lessons = records(data.lessons);
    this.byId = new Map(this.lessons.map((lesson) => [lesson.id, lesson]));
    this.outcomes = records(data.outcomes);
    for (const outcome of this.outcomes) {
      const lesson = this.lessons[outcome.lesson];
      outcome.of = lesson;
      (lesson.outcomes ??= []).push(outcome);
    }
    for (const [from, relation, to] of data.links) {
      (this.lessons[from].ties ??= []).push([relation, this.lessons[to]]);
    }
    this.recalls = records(data.recalls);
    this.warnings = records(data.warnings);
    for (const recall of this.recalls) {
      for (const id of recall.lesson_ids) {
        const lesson = this.byId.get(id);
        if (lesson) (lesson.recalls ??= []).push(recall);
      }
    }
  }

  // What the page shows of these records, by their ids: what a person does to them counts for that alone.
  seenOf(ids) {
    const { findings = [], proposals = [], doubted = [] } = this.data;
    const others = new Map([...doubted, ...findings, ...proposals].map((one) => [one.id, one]));
    return Object.fromEntries(ids.map((id) => [id, (this.byId.get(id) ?? others.get(id))?.seen]));
  }

  interval(lesson) {
    // Thousands of lessons have the same evidence, most of them none.
    const key = `${lesson.wins} ${lesson.losses}`;
    let found = this.intervals.get(key);
    if (!found) {
      found = posterior(lesson.wins, lesson.losses);
      this.intervals.set(key, found);
    }
    return found;
  }

  waiting() {
    return this.lessons.filter((lesson) => lesson.trust === "quarantined" && lesson.state === "active");
  }

  toDecide() {
    const { merges, findings = [], doubted = [], proposals = [] } = this.data;
    return this.waiting().length + merges.length + findings.length + doubted.length + proposals.length;
  }

  values(name) {
    const counts = new Map();
    for (const lesson of this.lessons) {
      const value = lesson[name];
      if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return [...counts].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
  }

  // The lessons that pass a filter `{text, kind, state, trust, type, source, order}`, in its order.
  passing(filter) {
    const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.lessons.filter((lesson) =>
      (!filter.kind || lesson.kind === filter.kind)
      && (!filter.state || lesson.state === filter.state)
      && (!filter.trust || lesson.trust === filter.trust)
      && (!filter.type || lesson.task_type === filter.type)
      && (!filter.source || lesson.source === filter.source)
      && words.every((word) => haystack(lesson).includes(word)));
    const order = ORDERS[filter.order];
    return order ? found.sort(order) : found;
  }
}

const first = (lesson) => lesson.mistake ?? lesson.text ?? "";

const second = (lesson) => lesson.correction ?? "";

const tried = (lesson) => lesson.wins + lesson.losses > 0;

function haystack(lesson) {
  lesson.hay ??= [
    lesson.text, lesson.mistake, lesson.correction, lesson.why, lesson.task_type, lesson.id, lesson.external_id,
    ...(lesson.tags ?? []), ...(lesson.keywords ?? []), ...(lesson.symptoms ?? []),
  ].filter(Boolean).join("\n").toLowerCase();
  return lesson.hay;
}

// The bank's own order, by worth, needs none.
const ORDERS = {
  new: (one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1),
  uses: (one, other) => other.uses - one.uses || other.rate - one.rate,
  importance: (one, other) => other.importance - one.importance || other.rate - one.rate,
  evidence: (one, other) => other.wins + other.losses - one.wins - one.losses || other.rate - one.rate,
  doubt: (one, other) => one.rate - other.rate || other.losses - one.losses,
};
