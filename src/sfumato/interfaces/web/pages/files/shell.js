// What every page does in the browser: keys for undo, redo and closing the panel, copying, and a clock for what is under way.
const typing = (element) => element?.closest?.("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "z" || typing(event.target)) return;
  const button = document.querySelector(`[data-key="${event.shiftKey ? "redo" : "undo"}"]`);
  if (!button || button.disabled) return;
  event.preventDefault();
  button.click();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open], .q-dialog, .q-menu")) return;
  document.querySelector('aside.open [data-key="close drawer"]')?.click();
});

// Alt and a page key go to the stage after or before this one, from wherever the focus is; what is being typed is told first.
document.addEventListener("keydown", (event) => {
  const by = { PageDown: 1, PageUp: -1 }[event.key];
  if (!by || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const stages = [...document.querySelectorAll("nav.stages a.stage")];
  const there = stages[stages.findIndex((one) => one.hasAttribute("aria-current")) + by];
  if (!there) return;
  event.preventDefault();
  there.focus();
  there.click();
});

document.addEventListener("click", async (event) => {
  const source = event.target.closest?.("[data-copies]")?.getAttribute("data-copies");
  if (!source) return;
  const from = document.getElementById(source);
  const said = document.getElementById("copied");
  try {
    await navigator.clipboard.writeText(from.value ?? from.textContent);
    if (said) said.textContent = "Copied.";
  } catch {
    if (said) said.textContent = "The browser does not let us copy; mark the text and copy it.";
  }
});

// Where the stages do not fit side by side, the one in use is in sight; by hand, since scrollIntoView would move where Tab begins.
new MutationObserver((_, watching) => {
  const stage = document.querySelector("nav.stages [aria-current]");
  if (!stage) return;
  watching.disconnect();
  const bar = stage.closest("nav");
  bar.scrollLeft = stage.offsetLeft - bar.offsetLeft - (bar.clientWidth - stage.offsetWidth) / 2;
}).observe(document.documentElement, { childList: true, subtree: true });

// What sticks below the bar of stages, or is scrolled to, keeps clear of it however many lines it has.
const heights = new ResizeObserver(([bar]) => document.documentElement.style.setProperty("--bar", `${bar.target.offsetHeight}px`));
new MutationObserver((_, watching) => {
  const bar = document.querySelector("header.bar");
  if (!bar) return;
  watching.disconnect();
  heights.observe(bar);
}).observe(document.documentElement, { childList: true, subtree: true });

const tick = () => {
  for (const clock of document.querySelectorAll("[data-started]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Number(clock.dataset.started)) / 1000));
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
};
setInterval(tick, 500);
