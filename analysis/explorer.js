// The explorer: curves of single trials, trials and heads as points; then trial, layer and head by themselves.
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("explorer-data").textContent);
  var root = d3.select("#explorer"), W = 1100, H = 520, margin = { top: 16, right: 16, bottom: 46, left: 66 };
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function palette() {
    return ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", dark.matches ? "#d8d8d8" : "#000000",
            dark.matches ? "#d46a9a" : "#882255"];
  }
  var state = { view: "curves", colour: data.axes[0] || "status", hidden: {}, trial: null,
                curve: 0, logx: false, tx: 0, ty: 0, hx: 0, hy: 1, map: 0, layer: 0, head: 0 };
  var trialFields = data.axes.concat(data.metrics);
  state.ty = Math.min(data.axes.length, trialFields.length - 1);

  function trialValue(trial, field) {
    return field < data.axes.length ? trial.axes[field] : trial.metrics[field - data.axes.length];
  }
  function colourKey(trial) {
    var axis = data.axes.indexOf(state.colour);
    return axis < 0 ? trial.status : trial.axes[axis] || "-";
  }
  var byId = {};
  data.trials.forEach(function (trial) { byId[trial.id] = trial; });

  var controls = root.append("div").attr("class", "controls");
  var legend = root.append("div").attr("class", "legend");
  var svg = root.append("svg").attr("viewBox", "0 0 " + W + " " + H).attr("role", "img");
  var below = root.append("div");
  var tip = root.append("div").attr("class", "tip").style("display", "none");

  function show(html) {
    tip.style("display", null).html(html).style("left", (d3.event.pageX + 14) + "px").style("top", (d3.event.pageY + 10) + "px");
  }
  function hide() { tip.style("display", "none"); }
  function escape(text) { return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;"); }
  function format(x) { return x === null || x === undefined ? "-" : typeof x === "number" ? d3.format(".4~g")(x) : escape(x); }
  function describe(trial) {
    return "<b>" + data.unit + " " + trial.id + "</b> " + escape(trial.label) + "<br>" + trial.status + "<br>" +
      data.metrics.map(function (name, i) { return escape(name) + ": " + format(trial.metrics[i]); }).join("<br>");
  }

  function select(label, options, value, change) {
    var box = controls.append("label").text(label + " ").append("select").on("change", function () {
      change(+this.value); draw();
    });
    box.selectAll("option").data(options).enter().append("option")
      .attr("value", function (d, i) { return i; }).text(function (d) { return d; });
    box.property("value", value);
  }

  function drawControls() {
    controls.html("");
    [["curves", "curves"], ["trials", data.unit + "s"], ["heads", "heads"]].forEach(function (view) {
      if (view[0] === "curves" && !data.curves.length) return;
      if (view[0] === "trials" && !data.metrics.length) return;
      if (view[0] === "heads" && !data.heads.length) return;
      controls.append("button").attr("type", "button").attr("aria-pressed", state.view === view[0]).text(view[1])
        .on("click", function () { state.view = view[0]; draw(); });
    });
    var colours = data.axes.concat(["status"]);
    select("colour", colours, Math.max(0, colours.indexOf(state.colour)), function (i) { state.colour = colours[i]; state.hidden = {}; });
    if (state.view === "curves") {
      select("curve", data.curveNames, state.curve, function (i) { state.curve = i; });
      controls.append("label").text("log steps ").append("input").attr("type", "checkbox").property("checked", state.logx)
        .on("change", function () { state.logx = this.checked; draw(); });
    } else if (state.view === "trials") {
      select("x", trialFields, state.tx, function (i) { state.tx = i; });
      select("y", trialFields, state.ty, function (i) { state.ty = i; });
    } else {
      select("x", data.headNames, state.hx, function (i) { state.hx = i; });
      select("y", data.headNames, state.hy, function (i) { state.hy = i; });
    }
  }

  function drawLegend(keys, colour) {
    legend.html("");
    keys.forEach(function (key) {
      var entry = legend.append("button").attr("type", "button").attr("aria-pressed", !state.hidden[key]).classed("off", state.hidden[key]).on("click", function () {
        state.hidden[key] = !state.hidden[key]; draw();
      });
      entry.append("i").attr("class", "swatch").style("background", colour(key));
      entry.append("span").text(key);
    });
  }

  // A numeric or banded scale over values, whatever they are.
  function scale(values, range, log) {
    var numbers = values.filter(function (v) { return typeof v === "number" && isFinite(v); });
    if (values.some(function (v) { return typeof v === "string"; })) {
      var band = d3.scalePoint().domain(Array.from(new Set(values.map(String)))).range(range).padding(0.6);
      var place = function (v, spread) { return band(String(v)) + spread * band.step() * 0.2; };
      return { axis: band, place: place };
    }
    var extent = d3.extent(numbers);
    if (extent[0] === undefined) extent = [0, 1];
    if (extent[0] === extent[1]) extent = [extent[0] - 0.5, extent[1] + 0.5];
    var linear = log ? d3.scaleSymlog().constant(10).domain(extent).range(range)
                     : d3.scaleLinear().domain(extent).nice().range(range);
    return { axis: linear, place: function (v) { return linear(v); } };
  }
  function axes(x, y, xName, yName) {
    var bottom = H - margin.bottom;
    svg.append("g").attr("class", "axis").attr("transform", "translate(0," + bottom + ")").call(d3.axisBottom(x.axis));
    svg.append("g").attr("class", "axis").attr("transform", "translate(" + margin.left + ",0)").call(d3.axisLeft(y.axis));
    svg.append("text").attr("x", (W + margin.left) / 2).attr("y", H - 8).attr("text-anchor", "middle").text(xName);
    svg.append("text").attr("transform", "translate(16," + H / 2 + ")rotate(-90)").attr("text-anchor", "middle").text(yName);
  }
  var xRange = [margin.left, W - margin.right], yRange = [H - margin.bottom, margin.top];
  function jitter(i) { var place = (i + 1) * 0.6180339887; return 2 * (place - Math.floor(place)) - 1; }

  function drawCurves(shown, colour) {
    var curves = data.curves.filter(function (c) { return shown[c.trial]; });
    var steps = [], values = [];
    curves.forEach(function (c) { steps = steps.concat(c.steps); values = values.concat(c.values[state.curve].filter(function (v) { return v !== null; })); });
    var x = scale(steps, xRange, state.logx), y = scale(values, yRange);
    axes(x, y, "step", data.curveNames[state.curve]);
    var path = d3.line().defined(function (p) { return p[1] !== null; })
      .x(function (p) { return x.place(p[0]); }).y(function (p) { return y.place(p[1]); });
    svg.append("g").attr("fill", "none").selectAll("path").data(curves).enter().append("path")
      .attr("d", function (c) { return path(d3.zip(c.steps, c.values[state.curve])); })
      .attr("stroke", function (c) { return colour(colourKey(byId[c.trial])); })
      .attr("stroke-width", function (c) { return c.trial === state.trial ? 3.5 : 1.3; })
      .attr("stroke-opacity", function (c) { return state.trial === null || c.trial === state.trial ? 0.85 : 0.3; })
      .on("mousemove", function (c) { show(describe(byId[c.trial])); }).on("mouseout", hide)
      .on("click", function (c) { state.trial = state.trial === c.trial ? null : c.trial; draw(); });
  }

  function drawPoints(points, xName, yName, colour, radius) {
    var x = scale(points.map(function (p) { return p.x; }), xRange), y = scale(points.map(function (p) { return p.y; }), yRange);
    axes(x, y, xName, yName);
    svg.append("g").selectAll("circle").data(points).enter().append("circle")
      .attr("cx", function (p, i) { return x.place(p.x, jitter(i)); })
      .attr("cy", function (p, i) { return y.place(p.y, jitter(i + 7)); })
      .attr("r", function (p) { return p.trial.id === state.trial ? radius + 2 : radius; })
      .attr("fill", function (p) { return colour(colourKey(p.trial)); })
      .attr("fill-opacity", function (p) { return state.trial === null || p.trial.id === state.trial ? 0.75 : 0.15; })
      .on("mousemove", function (p) { show(p.text + describe(p.trial)); }).on("mouseout", hide)
      .on("click", function (p) { state.trial = state.trial === p.trial.id ? null : p.trial.id; draw(); });
  }

  // ---- head by head: eigenvalues, attention, ablation and curves of one trial ----
  var details = {}, paged = data.details.map(function (d) { details[d.trial] = d; return d.trial; });
  if (!paged.length) paged = Array.from(new Set(data.heads.map(function (h) { return h[0]; })));
  var shape = data.shape, S = 300, pad = 34;
  var headsOf = d3.nest().key(function (h) { return h[0]; }).object(data.heads);

  function pick(trial, layer, head) {
    state.trial = trial; state.layer = layer; state.head = head; draw();
  }
  function page(byTrial, step) {
    var trial = Math.max(0, paged.indexOf(state.trial)), all = shape.layers * shape.heads;
    var place = state.layer * shape.heads + state.head;
    if (byTrial) trial = (trial + step + paged.length) % paged.length;
    var known = {}; // smaller models have fewer heads
    (headsOf[paged[trial]] || []).forEach(function (h) { known[h[1] * shape.heads + h[2]] = true; });
    if (!byTrial) place = (place + step + all) % all;
    for (var tries = 0; tries < all && !known[place] && Object.keys(known).length; tries++)
      place = (place + (byTrial ? -1 : step) + all) % all;
    pick(paged[trial], Math.floor(place / shape.heads), place % shape.heads);
  }
  function panel(row, title) {
    var box = row.append("div").attr("class", "panel");
    box.append("h4").text(title);
    return box.append("svg").attr("viewBox", "0 0 " + S + " " + S).attr("role", "img").attr("aria-label", title);
  }
  function frame(to, x, y, xName, yName) {
    to.append("g").attr("class", "axis").attr("transform", "translate(0," + (S - pad) + ")").call(d3.axisBottom(x).ticks(4));
    to.append("g").attr("class", "axis").attr("transform", "translate(" + (pad + 6) + ",0)").call(d3.axisLeft(y).ticks(4));
    to.append("text").attr("class", "name").attr("x", (S + pad) / 2).attr("y", S - 3).attr("text-anchor", "middle").text(xName);
    to.append("text").attr("class", "name").attr("transform", "translate(10," + S / 2 + ")rotate(-90)").attr("text-anchor", "middle").text(yName);
  }
  var inner = [pad + 6, S - 8], upward = [S - pad, 8];

  function drawEigenvalues(row, detail) {
    var to = panel(row, "eigenvalues (folded)"), first = (state.layer * shape.heads + state.head) * shape.modes * 2, points = [];
    for (var i = 0; i < shape.modes; i++) {
      var re = detail.eigenvalues[first + 2 * i], im = detail.eigenvalues[first + 2 * i + 1];
      if (re !== null && im !== null) points.push([re, im]);
    }
    var reach = 1.08 * (d3.max(points, function (p) { return Math.hypot(p[0], p[1]); }) || 1);
    var x = d3.scaleLinear().domain([-reach, reach]).range(inner), y = d3.scaleLinear().domain([-reach, reach]).range(upward);
    frame(to, x, y, "Re", "Im");
    to.append("path").attr("class", "zero").attr("d", "M" + x(-reach) + "," + y(0) + "H" + x(reach) + "M" + x(0) + "," + y(-reach) + "V" + y(reach));
    to.selectAll("circle").data(points).enter().append("circle").attr("cx", function (p) { return x(p[0]); })
      .attr("cy", function (p) { return y(p[1]); }).attr("r", 4).attr("fill", palette()[0]).attr("fill-opacity", 0.75)
      .on("mousemove", function (p) { show(format(p[0]) + (p[1] < 0 ? " \u2212 " : " + ") + format(Math.abs(p[1])) + " i"); }).on("mouseout", hide);
  }
  function drawAttention(row, detail) {
    var to = panel(row, "mean attention"), n = shape.across, cell = (S - pad - 14) / n;
    var bytes = detail.bytes || (detail.bytes = atob(detail.maps)), place = state.layer * shape.heads + state.head;
    var blue = d3.interpolateRgb(dark.matches ? "#14181c" : "#ffffff", dark.matches ? "#7fc4ff" : "#08306b"), cells = [];
    for (var i = 0; i < n * n; i++) cells.push(bytes.charCodeAt(place * n * n + i));
    to.selectAll("rect").data(cells).enter().append("rect").attr("x", function (v, k) { return pad + 6 + k % n * cell; })
      .attr("y", function (v, k) { return 8 + Math.floor(k / n) * cell; }).attr("width", cell + 0.2).attr("height", cell + 0.2)
      .attr("fill", function (v) { return blue(v / 255); })
      .on("mousemove", function (v, k) { show("query " + Math.floor(k / n) * shape.block + ", key " + k % n * shape.block + "<br>" + format(v / 255 * detail.largest[place])); }).on("mouseout", hide);
    to.append("text").attr("class", "name").attr("x", (S + pad) / 2).attr("y", S - 3).attr("text-anchor", "middle")
      .text("key \u2192   strongest: " + format(detail.largest[place]));
    to.append("text").attr("class", "name").attr("transform", "translate(16," + S / 2 + ")rotate(-90)").attr("text-anchor", "middle").text("\u2190 query");
  }
  function drawHeads(row, heads) {
    var to = panel(row, "heads by " + data.headNames[state.map]), cell = Math.min(46, (S - pad - 14) / shape.heads, (S - pad - 20) / shape.layers);
    var extent = d3.extent(heads, function (h) { return h[3 + state.map]; });
    var shade = d3.scaleSequential(d3.interpolateViridis).domain(extent[0] === extent[1] ? [0, 1] : extent);
    to.selectAll("rect").data(heads).enter().append("rect").attr("x", function (h) { return pad + 6 + h[2] * cell; })
      .attr("y", function (h) { return 8 + h[1] * cell; }).attr("width", cell - 1.5).attr("height", cell - 1.5)
      .attr("fill", function (h) { return h[3 + state.map] === null ? "#8888" : shade(h[3 + state.map]); })
      .attr("class", function (h) { return h[1] === state.layer && h[2] === state.head ? "chosen" : null; })
      .on("click", function (h) { pick(h[0], h[1], h[2]); })
      .on("mousemove", function (h) { show("layer " + h[1] + ", head " + h[2] + "<br>" + format(h[3 + state.map])); }).on("mouseout", hide);
    d3.range(shape.layers).forEach(function (l) {
      if (cell >= 10 || l % 4 === 0) to.append("text").attr("class", "name").attr("x", pad).attr("y", 8 + (l + 0.65) * cell).attr("text-anchor", "end").text(l);
    });
    to.append("text").attr("class", "name").attr("x", pad + 6).attr("y", Math.min(S - 3, 26 + shape.layers * cell))
      .text("head \u2192  from " + format(extent[0]) + " to " + format(extent[1]));
    to.append("text").attr("class", "name").attr("transform", "translate(12," + (8 + shape.layers * cell / 2) + ")rotate(-90)").attr("text-anchor", "middle").text("layer");
  }
  function drawOwnCurves(row) {
    var curve = data.curves.filter(function (c) { return c.trial === state.trial; })[0];
    if (!curve) return;
    var values = curve.values[state.curve], to = panel(row, data.curveNames[state.curve]);
    var x = d3.scaleLinear().domain(d3.extent(curve.steps)).range(inner), y = d3.scaleLinear().domain(d3.extent(values)).nice().range(upward);
    frame(to, x, y, "step", "");
    to.append("path").attr("fill", "none").attr("stroke", palette()[1]).attr("stroke-width", 2)
      .attr("d", d3.line().defined(function (p) { return p[1] !== null; }).x(function (p) { return x(p[0]); }).y(function (p) { return y(p[1]); })(d3.zip(curve.steps, values)));
  }
  function drawPager() {
    var focused = document.activeElement && below.node().contains(document.activeElement) ? document.activeElement.getAttribute("data-control") : null;
    below.html("");
    if (!paged.length) return;
    if (state.trial === null || !byId[state.trial]) {
      below.append("p").append("button").attr("type", "button").attr("data-control", "open").text("page through " + data.unit + "s and heads")
        .on("click", function () { pick(paged[0], 0, 0); below.select("[data-control=pager]").node().focus(); });
      return;
    }
    var box = below.append("div").attr("class", "pager").attr("tabindex", 0).attr("role", "group").attr("data-control", "pager")
      .attr("aria-label", data.unit + ", layer and head; arrow keys page").on("keydown", function () {
        var moves = { ArrowLeft: [false, -1], ArrowRight: [false, 1], ArrowUp: [true, -1], ArrowDown: [true, 1] }, move = moves[d3.event.key];
        if (!move || d3.event.target.tagName === "SELECT") return;
        d3.event.preventDefault(); page(move[0], move[1]);
      });
    var line = box.append("div").attr("class", "controls");
    function choose(name, values, texts, value, change) {
      var list = line.append("label").text(name + " ").append("select").attr("data-control", name)
        .on("change", function () { change(values[+this.value]); });
      list.selectAll("option").data(texts).enter().append("option").attr("value", function (d, i) { return i; }).text(function (d) { return d; });
      list.property("value", Math.max(0, values.indexOf(value)));
    }
    function step(text, name, byTrial, by) {
      line.append("button").attr("type", "button").attr("aria-label", name).attr("data-control", name).text(text).on("click", function () { page(byTrial, by); });
    }
    var list = paged.indexOf(state.trial) < 0 ? [state.trial].concat(paged) : paged;
    step("\u2039", "previous " + data.unit, true, -1);
    choose(data.unit, list, list.map(function (t) { return t + ": " + byId[t].label; }), state.trial, function (t) { pick(t, state.layer, state.head); });
    step("\u203a", "next " + data.unit, true, 1);
    choose("layer", d3.range(shape.layers), d3.range(shape.layers), state.layer, function (l) { pick(state.trial, l, state.head); });
    step("\u2039", "previous head", false, -1);
    choose("head", d3.range(shape.heads), d3.range(shape.heads), state.head, function (h) { pick(state.trial, state.layer, h); });
    step("\u203a", "next head", false, 1);
    choose("heads by", d3.range(data.headNames.length), data.headNames, state.map, function (m) { state.map = m; draw(); });
    var row = box.append("div").attr("class", "panels"), detail = details[state.trial], heads = headsOf[state.trial] || [];
    if (detail && detail.eigenvalues.length) drawEigenvalues(row, detail);
    if (detail && detail.maps) drawAttention(row, detail);
    if (heads.length) drawHeads(row, heads);
    drawOwnCurves(row);
    var own = heads.filter(function (h) { return h[1] === state.layer && h[2] === state.head; })[0];
    box.append("p").attr("class", "note").attr("aria-live", "polite").text(data.unit + " " + state.trial + ", layer " + state.layer + ", head " + state.head + (own ? ": " +
      data.headNames.map(function (name, i) { return name + " " + format(own[3 + i]); }).join(", ") : ""));
    if (focused) { var again = below.select("[data-control='" + focused + "']").node(); if (again) again.focus(); }
  }

  function draw() {
    hide();
    drawControls();
    svg.html("");
    var keys = Array.from(new Set(data.trials.map(colourKey)));
    var colour = d3.scaleOrdinal(palette()).domain(keys), shown = {};
    data.trials.forEach(function (trial) { if (!state.hidden[colourKey(trial)]) shown[trial.id] = true; });
    drawLegend(keys, colour);
    if (state.view === "curves") {
      drawCurves(shown, colour);
    } else if (state.view === "trials") {
      var points = data.trials.filter(function (t) { return shown[t.id]; }).map(function (t) {
        return { trial: t, x: trialValue(t, state.tx), y: trialValue(t, state.ty), text: "" };
      }).filter(function (p) { return p.x !== null && p.y !== null; });
      drawPoints(points, trialFields[state.tx], trialFields[state.ty], colour, 5);
    } else {
      var heads = data.heads.filter(function (h) { return shown[h[0]]; }).map(function (h) {
        return { trial: byId[h[0]], x: h[3 + state.hx], y: h[3 + state.hy], text: "layer " + h[1] + ", head " + h[2] + "<br>" };
      }).filter(function (p) { return p.x !== null && p.y !== null; });
      drawPoints(heads, data.headNames[state.hx], data.headNames[state.hy], colour, 3);
    }
    drawPager();
  }
  if (!data.curves.length) state.view = data.metrics.length ? "trials" : "heads";
  draw();
  dark.addListener(draw);
})();
