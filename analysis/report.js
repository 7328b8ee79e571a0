// Sorts a table by the column whose head is clicked: numbers as numbers, empty cells last.
document.querySelectorAll("table.sortable").forEach(function (table) {
  table.querySelectorAll("thead th").forEach(function (head, column) {
    head.tabIndex = 0;
    function sort() {
      var up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
      var rows = Array.prototype.map.call(body.rows, function (row) {
        var text = row.cells[column].textContent.trim().replace("\u221e", "Infinity");
        return { row: row, text: text, number: text === "" ? NaN : Number(text) };
      });
      rows.sort(function (a, b) {
        if ((a.text === "") !== (b.text === "")) return a.text === "" ? 1 : -1;
        var both = !isNaN(a.number) && !isNaN(b.number);
        var order = both ? a.number - b.number : a.text.localeCompare(b.text);
        return up ? order : -order;
      });
      rows.forEach(function (entry) { body.appendChild(entry.row); });
      table.querySelectorAll("thead th").forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    }
    head.addEventListener("click", sort);
    head.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
  });
});
