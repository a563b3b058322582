// Bars in plain HTML: probabilities of the classes, and what features add to the log-odds of two classes.
import { percent } from "./theme.js";

const MOST_BARS = 15;
const MOST_CLASSES = 12;

export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function bar(className, start, share) {
  const track = element("span", "track");
  const filled = element("span", className);
  filled.style.left = `${100 * start}%`;
  filled.style.width = `${100 * share}%`;
  track.append(filled);
  return track;
}

function line(label, track, number) {
  const made = element("div", "bar-line");
  made.append(element("span", "bar-label", label), track, element("span", "bar-number", number));
  return made;
}

// The most probable classes first if there are many, otherwise in their order.
export function showProbabilities(host, classes, probabilities) {
  const order = classes.map((_, c) => c);
  if (classes.length > MOST_CLASSES) order.sort((a, b) => probabilities[b] - probabilities[a]);
  const shown = order.slice(0, MOST_CLASSES);
  host.dataset.probabilities = JSON.stringify(Array.from(probabilities));
  host.replaceChildren(...shown.map((c) => line(classes[c], bar("filled", 0, probabilities[c]), percent(probabilities[c], 1))));
  const rest = order.slice(MOST_CLASSES);
  if (rest.length) host.append(element("p", "note", `${rest.length} other classes: ${percent(rest.reduce((sum, c) => sum + probabilities[c], 0), 1)}`));
}

export function signed(number) {
  return `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;
}

// Items are pairs of a label and a number; the largest come first, and the smallest of more than 15 are summed up.
export function showContributions(host, items) {
  const sorted = [...items].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const shown = sorted.length > MOST_BARS ? sorted.slice(0, MOST_BARS - 1) : sorted;
  const rest = sorted.slice(shown.length);
  if (rest.length) shown.push([`${rest.length} others`, rest.reduce((sum, item) => sum + item[1], 0)]);
  const top = Math.max(...shown.map(([, number]) => Math.abs(number)), 1e-9);
  host.replaceChildren(...shown.map(([label, number]) => {
    const share = Math.abs(number) / top / 2;
    return line(label, bar(number < 0 ? "filled against" : "filled", number < 0 ? 0.5 - share : 0.5, share), signed(number));
  }));
  const total = items.reduce((sum, item) => sum + item[1], 0);
  const sum = line("Log-odds (the sum)", element("span", "track empty"), signed(total));
  sum.classList.add("bar-total");
  host.append(sum);
}
