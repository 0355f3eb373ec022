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
new MutationObserver(() => {
  if (last === null || (document.activeElement && document.activeElement !== document.body)) return;
  const again = inSight(document.querySelector(`[data-key="${CSS.escape(last)}"]`)) ?? heirOf(last);
  again?.focus({ preventScroll: true });
}).observe(document.documentElement, { childList: true, subtree: true });
