// Draw the chart of a page from the page's own JSON. Everything comes from this server; nothing is fetched elsewhere.
(async () => {
  const holder = document.getElementById("slipway-chart");
  if (!holder) return;
  const spec = JSON.parse(holder.dataset.spec);
  const answer = await fetch(holder.dataset.rows);
  const rows = await answer.json();
  if (!Array.isArray(rows) || rows.length === 0) {
    holder.hidden = true;
    return;
  }
  const full = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width: "container",
    autosize: { type: "fit-x", contains: "padding" },
    background: null,
    config: { axis: { labelLimit: 260 }, legend: { orient: "bottom", columns: 3 } },
    ...spec,
    data: { values: rows },
  };
  // Vega-Lite warns about its own default height for a bar chart; errors still show.
  await vegaEmbed(holder, full, { actions: false, renderer: "svg", logLevel: vega.Error });
  const picture = holder.querySelector("svg");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", holder.dataset.label);
})();
