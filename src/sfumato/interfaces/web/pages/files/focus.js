// Parts of a page are drawn anew when the recipe changes. Whoever had the focus by its data-key gets it back; where it is gone, the part
// whose data-heir its key begins with takes the focus.
let last = null;
const inSight = (one) => (one && (one.checkVisibility?.() ?? true) ? one : null); // what a closed part holds takes no focus
const heirOf = (key) => {
  const heir = [...document.querySelectorAll("[data-heir]")].find((one) => key.startsWith(one.dataset.heir));
  return heir?.querySelector("summary, input, select, textarea, button");
};
document.addEventListener("focusin", (event) => {
  last = event.target.closest?.("[data-key]")?.getAttribute("data-key") ?? null;
});
// What was asked for on one part of a page and is drawn on another comes into sight and takes the focus, each time it is asked for once.
let arrived = 0;
const arrive = () => {
  for (const part of document.querySelectorAll("[data-arrives]")) {
    const time = Number(part.dataset.arrives);
    const first = part.querySelector("button:not(:disabled), input, select");
    if (time <= arrived || !first) continue;
    arrived = time;
    part.scrollIntoView({ block: "center" });
    first.focus({ preventScroll: true });
  }
};
new MutationObserver(() => {
  arrive();
  if (last === null || (document.activeElement && document.activeElement !== document.body)) return;
  const again = inSight(document.querySelector(`[data-key="${CSS.escape(last)}"]`)) ?? heirOf(last);
  again?.focus({ preventScroll: true });
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["data-arrives"] });
