// A fitted classifier: one network, or the members of an ensemble whose log-probabilities or probabilities are averaged.
import { encodeRow } from "./cells.js";
import { Forest, OpenNetwork } from "./networks.js";

export function softmax(scores) {
  const highest = Math.max(...scores);
  const weights = Array.from(scores, (score) => Math.exp(score - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

function mean(arrays) {
  return Float64Array.from(arrays[0], (_, k) => arrays.reduce((sum, array) => sum + array[k], 0) / arrays.length);
}

export class Classifier {
  constructor({ features, classes, columns, combine, members }) {
    const cards = columns.map((column) => column.card);
    Object.assign(this, { features, classes, columns, cards, combine });
    this.members = members.map((member) => (member.pairs ? new OpenNetwork(member, cards) : new Forest(member, cards)));
    this.prior = mean(this.members.map((member) => member.prior));
  }

  // Codes of a row, which is an object from names of columns to cells, or an array. A column that is left out, or whose value
  // was not seen in training, is unknown; null and NaN are missing cells.
  encode(row) {
    return encodeRow(row, this.columns, this.features);
  }

  // Probability of each class, in the order of `classes`.
  predictProba(row) {
    return this.posterior(this.encode(row));
  }

  // The most probable class.
  predict(row) {
    const probabilities = this.predictProba(row);
    return this.classes[probabilities.indexOf(Math.max(...probabilities))];
  }

  // What the class prior and each feature add to the log-odds of two classes, by default of the two most probable ones.
  explain(row, classes = null) {
    const codes = this.encode(row);
    const [first, second] = classes ? classes.map((name) => this.numberOf(name)) : this.mostProbable(codes);
    const contributions = this.contributions(codes, first, second);
    return {
      classes: [this.classes[first], this.classes[second]],
      prior: this.prior[first] - this.prior[second],
      contributions: Object.fromEntries(this.features.map((name, i) => [name, contributions[i]])),
    };
  }

  numberOf(name) {
    const number = this.classes.indexOf(name);
    if (number < 0) throw new RangeError(`${JSON.stringify(name)} is not a class; the classes are ${this.classes.join(", ")}`);
    return number;
  }

  posterior(codes) {
    if (this.combine === "probability") return Array.from(mean(this.members.map((member) => softmax(this.score([member], codes)))));
    return softmax(this.score(this.members, codes));
  }

  // Numbers of the two most probable classes.
  mostProbable(codes) {
    const probabilities = this.posterior(codes);
    const [first, second] = probabilities.map((_, c) => c).sort((a, b) => probabilities[b] - probabilities[a]);
    return [first, second];
  }

  // What each feature adds to the log-odds of class `first` against class `second`.
  contributions(codes, first, second) {
    if (this.combine === "probability") throw new Error("an average of probabilities is not a sum over the features");
    const terms = this.terms(this.members, codes);
    return this.features.map((_, i) => terms[i * this.classes.length + first] - terms[i * this.classes.length + second]);
  }

  terms(members, codes) {
    return mean(members.map((member) => member.terms(codes)));
  }

  score(members, codes) {
    const terms = this.terms(members, codes);
    const scores = mean(members.map((member) => member.prior));
    terms.forEach((term, k) => { scores[k % this.classes.length] += term; });
    return scores;
  }
}
