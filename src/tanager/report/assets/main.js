if (data.network) startNetwork();
if (data.path) startPath();
if (byId("history")) startHistory();
if (data.evaluation) drawAndFollow(() => { drawConfusion(); drawCalibration(); });
if (data.weights) startWeights();
document.documentElement.dataset.ready = "yes";
