// Start the sections that the page has.
import { drawCalibration, drawConfusion, startHistory, startImportance } from "./charts.js";
import { startExamples } from "./examples.js";
import { startFeatures } from "./features.js";
import { startNetwork } from "./network.js";
import { startPath } from "./path.js";
import { startPrinting } from "./printing.js";
import { byId, data, drawAndFollow } from "./theme.js";
import { startThreshold } from "./threshold.js";
import { startWhatIf } from "./whatif.js";

if (byId("whatif")) startWhatIf();
if (data.network) startNetwork();
if (data.path) startPath();
startImportance();
startFeatures();
if (byId("examples")) startExamples();
if (byId("history")) startHistory();
if (data.evaluation) drawAndFollow(() => { drawConfusion(); drawCalibration(); });
if (data.threshold) startThreshold();
startPrinting();
document.documentElement.dataset.ready = "yes";
