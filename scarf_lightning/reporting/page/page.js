"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      const numeric = heading.classList.contains("number");
      const key = (row) => row.cells[column].dataset.sort;
      const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        return ascending ? compare(x, y) : compare(y, x);
      });
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      body.append(...rows);
    });
  });
}
for (const filter of document.querySelectorAll(".filter")) {
  const rows = filter.parentElement.querySelector("tbody").rows;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
}
