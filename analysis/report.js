// Sorts a table by the column whose head is chosen: numbers as numbers, empty cells last; and keeps the rows that
// hold all words typed above it.
document.querySelectorAll("table.sortable").forEach(function (table) {
  var body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach(function (head, column) {
    head.tabIndex = 0;
    function sort() {
      var up = head.getAttribute("aria-sort") !== "ascending";
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
    head.addEventListener("keydown", function (event) {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort();
    });
  });
  if (body.rows.length < 5) return;
  var label = document.createElement("label"), box = document.createElement("input"), count = document.createElement("span");
  var texts = new Map();
  label.className = "filter";
  box.type = "search";
  label.append("rows with ", box, count);
  table.parentNode.parentNode.insertBefore(label, table.parentNode);
  box.addEventListener("input", function () {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    Array.prototype.forEach.call(body.rows, function (row) {
      if (!texts.has(row)) texts.set(row, Array.prototype.map.call(row.cells, function (cell) { return cell.textContent; }).join(" ").toLowerCase());
      var fits = words.every(function (word) { return texts.get(row).indexOf(word) >= 0; });
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.textContent = words.length ? " " + shown + " of " + body.rows.length : "";
  });
});
