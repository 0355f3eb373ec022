// What a hand is at stays as it is while parts of the page are drawn anew.

// Words that a script changes stay the node that the page library knows, which can so say something else later.
window.sfumato = {
  say(place, words) {
    const inner = place.querySelector("span") ?? place;
    if (inner.firstChild?.nodeType === Node.TEXT_NODE) inner.firstChild.nodeValue = words;
    else inner.textContent = words;
  },
  // What is longer than the server takes in one go would end the connection: it is told that there is such a text, and no more.
  sent(words) {
    return new Blob([JSON.stringify(JSON.stringify(words))]).size > 950000 ? null : words;
  },
  // What somebody entered in a field, and its number among all that was entered.
  entered: (field) => (isBox(field) ? field.checked : window.sfumato.sent(field.value)),
  number: (field) => told.get(field)?.number ?? 0,
};

// Fields that stay in their place when they are drawn anew show what was drawn, unless somebody is at work in them. What was entered has a number: a
// drawing that has not heard of it yet does not set it back.
const typed = new WeakSet(); // typed in, and not told yet
const told = new WeakMap(); // what a field told last, and its number
let entries = 0;
const isBox = (field) => field.type === "checkbox" || field.type === "radio";
const drawn = (field) => {
  if (isBox(field)) return field.defaultChecked;
  if (field.tagName === "SELECT") return ([...field.options].find((one) => one.defaultSelected) ?? field.options[0])?.value;
  return field.defaultValue;
};
const shown = (field) => (isBox(field) ? field.checked : field.value);
const show = (field, value) => {
  if (shown(field) === value) return;
  if (isBox(field)) field.checked = value;
  else replace(field, value);
};
// Whoever has selected all of a field means all of it, also when it says something else now. Browsers show the words of a drawing at once, and select
// nothing, in fields that were never written in: so what one comes to is written in.
document.addEventListener("focusin", ({ target }) => {
  if (target.dataset?.drawn && (target.type === "text" || target.tagName === "TEXTAREA")) target.value = target.value;
}, true);
const replace = (field, words) => {
  const all = field === document.activeElement && field.selectionStart === 0 && field.selectionEnd === field.value.length;
  field.value = words;
  if (all) field.select();
};
const settle = (field) => {
  if (!field.isConnected || typed.has(field)) return;
  const last = told.get(field);
  if (last && Number(field.dataset.heard ?? 0) < last.number) {
    show(field, last.entered); // other options of a list may have taken the places of those before
    return;
  }
  told.delete(field);
  delete field.dataset.begun;
  show(field, drawn(field) ?? "");
};
new MutationObserver((changes) => {
  for (const change of changes) settle(change.target);
}).observe(document.documentElement, { attributes: true, attributeFilter: ["data-drawn"], subtree: true });

const mark = (field) => {
  entries += 1;
  for (const one of field.type === "radio" ? document.getElementsByName(field.name) : [field]) told.set(one, { number: entries, entered: shown(one) });
};
document.addEventListener("input", (event) => typed.add(event.target), true);

// Keys go through the values of a list, a slider or a number one by one: what is meant is the one they stop at. A list tells it on Enter or when it is
// left (Escape takes it back), the others also after a moment of rest. Whoever uses the mouse means what is clicked.
const REST = 700;
const waiting = new Map(); // fields that were moved by keys and have not told, and what ends their rest
const one = (field) => (field.type === "radio" ? `radio ${field.name}` : field); // radio buttons of a name are one field
const OPENS = new Set([" ", "F4", "Enter"]);
let keyed = null;
const rests = (field) => field.type === "range" || field.type === "number" || (field.type === "radio" && field.closest("[data-waits]"));
const waits = (field) => field.tagName === "SELECT" && !field.multiple && field.size <= 1;
const tell = (field) => {
  const pending = waiting.get(one(field));
  if (!pending) return;
  clearTimeout(pending.rest);
  waiting.delete(one(field));
  keyed = null;
  pending.field.dispatchEvent(new Event("change", { bubbles: true }));
};
document.addEventListener("change", (event) => {
  const field = event.target;
  if (keyed === one(field) && event.isTrusted && (waits(field) || rests(field))) {
    event.stopImmediatePropagation();
    clearTimeout(waiting.get(one(field))?.rest);
    waiting.set(one(field), { field, rest: rests(field) ? setTimeout(() => tell(field), REST) : 0 });
    return;
  }
  typed.delete(field);
  mark(field);
}, true);
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (!field.matches?.("select, input")) return;
  const opens = waits(field) && (OPENS.has(event.key) || event.altKey);
  if (event.key === "Enter" && waiting.has(one(field))) {
    event.preventDefault();
    tell(field);
  } else if (event.key === "Escape" && waits(field) && waiting.delete(field)) {
    event.stopImmediatePropagation();
    typed.delete(field);
    told.delete(field);
    settle(field);
  } else if (opens) keyed = null;
  else if (event.key !== "Tab" && event.key !== "Enter" && !event.ctrlKey && !event.metaKey) {
    keyed = field.type === "number" && !/^(Arrow|Page)/.test(event.key) ? null : one(field);
  }
}, true);
document.addEventListener("pointerdown", () => (keyed = null), true);
document.addEventListener("focusout", (event) => {
  if (event.relatedTarget && event.target.type === "radio" && one(event.relatedTarget) === one(event.target)) return;
  tell(event.target);
  if (keyed === one(event.target)) keyed = null;
  typed.delete(event.target);
}, true);

// While a finger or the mouse is down, nothing moves away under it: what the server sends waits for a moment.
const LONGEST = 1500;
const held = [];
let holding = null;
let busy = false; // something is being dragged
const release = () => {
  clearTimeout(holding);
  holding = null;
  while (held.length) held.shift()();
};
const hold = () => {
  const socket = window.socket;
  if (socket && !socket.sfumato) {
    const take = socket.onevent.bind(socket);
    socket.sfumato = true;
    socket.onevent = (packet) => (holding === null ? take(packet) : held.push(() => take(packet)));
  }
  clearTimeout(holding);
  holding = setTimeout(() => busy || release(), LONGEST);
};
document.addEventListener("handbusy", () => (busy = true));
document.addEventListener("handfree", () => (busy = false));
document.addEventListener("pointerdown", (event) => event.target.type === "range" || hold(), true);
for (const name of ["pointerup", "pointercancel", "dragend"]) {
  document.addEventListener(name, () => holding !== null && setTimeout(release, 0), true); // the click comes first
}
window.addEventListener("blur", () => busy || release());
