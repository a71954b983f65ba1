// SPDX-License-Identifier: MIT
// A click on the head of a column sorts the table by it, a second click in descending order.
// Numbers come before texts; sizes are read with their suffix.
"use strict";
const UNITS = {K: 1024, M: 1024 ** 2, G: 1024 ** 3};

function valueOf(cell) {
  const text = (cell.firstChild?.nodeValue ?? "").trim();
  const found = /^([+-]?[\d.]+)([KMG]?)(?:%|x)?$/.exec(text);
  return found ? Number(found[1]) * (UNITS[found[2]] ?? 1) : text;
}

function compare(one, two) {
  if (typeof one !== typeof two) return typeof one === "number" ? -1 : 1;
  return typeof one === "number" ? one - two : one.localeCompare(two);
}

function sortBy(table, head, column) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
  rows.sort((one, two) => (descending ? -1 : 1) * compare(one[0], two[0]));
  for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  for (const [, row] of rows) row.classList.remove("break");
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortBy(table, head, column));
  });
}
