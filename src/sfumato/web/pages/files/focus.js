// Parts of a page are drawn anew when the recipe changes. Whoever had the focus by its data-key gets it back.
let last = null;
document.addEventListener("focusin", (event) => {
  last = event.target.closest?.("[data-key]")?.getAttribute("data-key") ?? null;
});
new MutationObserver(() => {
  if (last === null || (document.activeElement && document.activeElement !== document.body)) return;
  const again = document.querySelector(`[data-key="${CSS.escape(last)}"]`);
  again?.focus({ preventScroll: true });
}).observe(document.documentElement, { childList: true, subtree: true });
