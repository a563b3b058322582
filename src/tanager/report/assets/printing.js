// On paper the page is light, everything that can be opened is open except for CPTs that are wider than a sheet, and charts
// have the width of the sheet.
import { drawers } from "./theme.js";

export function startPrinting() {
  window.addEventListener("beforeprint", () => {
    document.documentElement.dataset.printing = "yes";
    document.querySelectorAll("details:not(#table-numbers)").forEach((details) => { details.open = true; });
    drawers.forEach((draw) => draw());
    document.querySelectorAll(".js-plotly-plot").forEach((chart) => Plotly.Plots.resize(chart));
  });
  window.addEventListener("afterprint", () => {
    delete document.documentElement.dataset.printing;
    drawers.forEach((draw) => draw());
  });
}
