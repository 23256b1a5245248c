// Elements. Whatever comes from the bank becomes a text node, never markup.

const find = (id) => document.getElementById(id);

function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, work] of Object.entries(value)) made.addEventListener(event, work);
    } else made.setAttribute(name, value === true ? "" : value);
  }
  put(made, children);
  return made;
}

function put(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) parent.append(child);
  }
}

function fill(parent, ...children) {
  parent.replaceChildren();
  put(parent, children);
}

// Signs that reorder or hide text are written as their code, and the text is kept apart from what stands around it.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

const seen = (text) =>
  String(text ?? "").replace(HIDDEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

const told = (text, attributes) => el("bdi", { dir: "auto", ...attributes }, seen(text));

const plural = (count, one, many = `${one}s`) => `${grouped(count)} ${count === 1 ? one : many}`;

const grouped = (number) => Number(number).toLocaleString("en");

const percent = (share) => `${Math.round(share * 100)} %`;

const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");

function when(seconds) {
  return el("time", { datetime: new Date(seconds * 1000).toISOString() }, `${moment(seconds)} UTC`);
}

let silence = 0;

// What happened, for eyes and for screen readers; it leaves by itself.
function say(text, wrong = false, undo = null) {
  const said = find("said");
  said.classList.toggle("wrong", wrong);
  said.textContent = seen(text);
  if (undo) said.append(" ", undo);
  clearTimeout(silence);
  silence = setTimeout(() => { said.textContent = ""; }, wrong || undo ? 12000 : 5000);
}
