const table = document.querySelector("table.students");
const rows = [...table.tBodies[0].rows];
const status = document.querySelector(".status");
const tools = document.querySelector(".tools");
const search = tools.querySelector("input[type=search]");
const lookOnly = tools.querySelector("input[type=checkbox]");

function sortBy(header, column) {
  const descending = header.getAttribute("aria-sort") === "ascending";
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const numeric = "number" in header.dataset;
  const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
  rows.sort((one, two) => {
    const a = value(one), b = value(two);
    if (a === "" || b === "") return (a === "") - (b === "");  // what has no value comes last either way
    const order = numeric ? Number(a) - Number(b) : a.localeCompare(b);
    return descending ? -order : order;
  });
  table.tBodies[0].append(...rows);
  status.textContent = `Sorted by ${header.querySelector("button").textContent.trim()}, ${descending ? "descending" : "ascending"}.`;
}

function filter() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    row.hidden = (lookOnly.checked && !row.dataset.look) || !row.cells[0].textContent.toLowerCase().includes(wanted);
    shown += !row.hidden;
  }
  status.textContent = `${shown} of ${rows.length} students shown.`;
}

const words = { p: "passed", f: "failed", s: "not run", t: "not tried" };
const checks = [...table.tHead.querySelectorAll(".cells a")];
table.tBodies[0].addEventListener("mouseover", ({ target: box }) => {
  if (!box.matches(".cells i") || box.title || !words[box.className[0]]) return;
  const check = checks[[...box.parentNode.children].indexOf(box)];
  box.title = `${check.textContent}. ${check.title}: ${words[box.className[0]]}`;
});

[...table.tHead.rows[0].cells].forEach((header, column) => {
  const button = header.querySelector("button");
  button.disabled = false;
  button.addEventListener("click", () => sortBy(header, column));
});
search.addEventListener("input", filter);
lookOnly.addEventListener("change", filter);
tools.hidden = false;
