// Putting the items of a list in another order by dragging a handle, with the mouse, a pen or a finger. The list is told once, when the item is let go:
// "moved", with the key of the item and the place it goes to. Escape lets it go where it was. Keys have buttons of their own.
let drag = null;

const items = (list) => [...list.children].filter((one) => one.dataset.is);
const placeAt = (y) => {
  const others = items(drag.list).filter((one) => one !== drag.item);
  return others.filter((one, i) => y > drag.middles[i]).length;
};
const show = (place) => {
  const others = items(drag.list).filter((one) => one !== drag.item);
  others.forEach((one, i) => {
    one.classList.toggle("dropbefore", i === place && place !== drag.from);
    one.classList.toggle("dropafter", i === others.length - 1 && place === others.length && place !== drag.from);
  });
};
const end = (moved) => {
  if (!drag) return;
  const { list, item, from, place, handle, pointer } = drag;
  drag = null;
  for (const one of items(list)) one.classList.remove("dropbefore", "dropafter", "dragged");
  item.style.transform = "";
  if (handle.hasPointerCapture?.(pointer)) handle.releasePointerCapture(pointer);
  document.dispatchEvent(new CustomEvent("handfree"));
  if (moved && place !== from) list.dispatchEvent(new CustomEvent("moved", { detail: { item: item.dataset.is, to: place } }));
};

document.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest?.("[data-handle]");
  const item = handle?.closest("[data-is]");
  if (!item || event.button !== 0 || drag) return;
  event.preventDefault(); // no text is marked, and the page does not scroll
  handle.focus({ preventScroll: true });
  handle.setPointerCapture(event.pointerId);
  const list = item.parentElement;
  const from = items(list).indexOf(item);
  const middles = items(list).filter((one) => one !== item).map((one) => {
    const box = one.getBoundingClientRect();
    return box.top + box.height / 2 + window.scrollY;
  });
  drag = { list, item, from, place: from, middles, handle, pointer: event.pointerId, y: event.clientY + window.scrollY };
  item.classList.add("dragged");
  document.dispatchEvent(new CustomEvent("handbusy"));
});
document.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerId !== drag.pointer) return;
  if (event.clientY < 80) window.scrollBy(0, -12);
  else if (event.clientY > window.innerHeight - 80) window.scrollBy(0, 12);
  const y = event.clientY + window.scrollY;
  drag.item.style.transform = `translateY(${y - drag.y}px)`;
  drag.place = placeAt(y);
  show(drag.place);
});
document.addEventListener("pointerup", (event) => event.pointerId === drag?.pointer && end(true));
document.addEventListener("pointercancel", (event) => event.pointerId === drag?.pointer && end(false));
document.addEventListener("keydown", (event) => {
  if (!drag || event.key !== "Escape") return;
  event.stopImmediatePropagation();
  end(false);
}, true);
