// A widget in a notebook: tables are sorted by a click on a heading, and long ones are filtered. It asks nobody for anything.
(root) => {
  const number = (text) => Number(text.replace(/[,\s%]/g, ""));
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  for (const table of root.querySelectorAll("table")) {
    const body = table.tBodies[0];
    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
        const text = (row) => row.cells[place].textContent.trim();
        body.append(...[...body.rows].sort((a, b) => way * compare(text(a), text(b))));
      });
    });
    if (body.rows.length < 8) continue;
    const find = document.createElement("input");
    find.type = "search";
    find.placeholder = "Find a row";
    find.setAttribute("aria-label", "find a row");
    table.before(find);
    find.addEventListener("input", () => {
      const words = find.value.trim().toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(words);
    });
  }
}
