// The explorer: curves of single trials, trials and heads as points, one trial's heads as a map.
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("explorer-data").textContent);
  var root = d3.select("#explorer"), W = 1100, H = 520, margin = { top: 16, right: 16, bottom: 46, left: 66 };
  var palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#882255"];
  var state = { view: "curves", colour: data.axes[0] || "status", hidden: {}, trial: null,
                curve: 0, logx: false, tx: 0, ty: 0, hx: 0, hy: 1, map: 0 };
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
    return "<b>trial " + trial.id + "</b> " + escape(trial.label) + "<br>" + trial.status + "<br>" +
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
    [["curves", "curves"], ["trials", "trials"], ["heads", "heads"]].forEach(function (view) {
      if (view[0] === "curves" && !data.curves.length) return;
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
      var entry = legend.append("span").classed("off", state.hidden[key]).on("click", function () {
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

  // One number of every head of the chosen trial, layer by head.
  function drawMap() {
    below.html("");
    if (state.trial === null || !data.heads.length) return;
    var heads = data.heads.filter(function (h) { return h[0] === state.trial; });
    below.append("p").attr("class", "note").text("trial " + state.trial + ": " + byId[state.trial].label);
    if (!heads.length) return;
    var line = below.append("div").attr("class", "controls");
    var box = line.append("label").text("heads of this trial by ").append("select")
      .on("change", function () { state.map = +this.value; drawMap(); });
    box.selectAll("option").data(data.headNames).enter().append("option")
      .attr("value", function (d, i) { return i; }).text(function (d) { return d; });
    box.property("value", state.map);
    var layers = 1 + d3.max(heads, function (h) { return h[1]; }), across = 1 + d3.max(heads, function (h) { return h[2]; });
    var cell = Math.min(46, (W - 80) / across), map = below.append("svg").attr("viewBox", "0 0 " + W + " " + (layers * cell + 30));
    var extent = d3.extent(heads, function (h) { return h[3 + state.map]; });
    var shade = d3.scaleSequential(d3.interpolateViridis).domain(extent[0] === extent[1] ? [0, 1] : extent);
    map.selectAll("rect").data(heads).enter().append("rect")
      .attr("x", function (h) { return 60 + h[2] * cell; }).attr("y", function (h) { return h[1] * cell; })
      .attr("width", cell - 1).attr("height", cell - 1)
      .attr("fill", function (h) { return h[3 + state.map] === null ? "#eee" : shade(h[3 + state.map]); })
      .on("mousemove", function (h) { show("layer " + h[1] + ", head " + h[2] + "<br>" + format(h[3 + state.map])); }).on("mouseout", hide);
    map.selectAll("text").data(d3.range(layers)).enter().append("text").attr("x", 4)
      .attr("y", function (l) { return (l + 0.6) * cell; }).attr("font-size", 13).text(function (l) { return "layer " + l; });
  }

  function draw() {
    hide();
    drawControls();
    svg.html("");
    var keys = Array.from(new Set(data.trials.map(colourKey)));
    var colour = d3.scaleOrdinal(palette).domain(keys), shown = {};
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
    drawMap();
  }
  if (!data.curves.length) state.view = "trials";
  draw();
})();
