// The terms of the log-joint of one row: log p(x_i | parent, c) for each feature i and class c, as an array [D, C].
// Unknown values are summed out. The term of a known feature below an unknown parent is the log-probability of its value
// given all that was observed before it, depth first; branches without a known value add nothing.

// Numbers in single precision from base 64, little-endian as all machines with a browser are.
export function readFloats(text) {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

// Add to out[c] the log-sum over x of lines[x, c].
function addLogSum(lines, nLines, nClasses, out) {
  for (let c = 0; c < nClasses; c++) {
    let highest = -Infinity;
    for (let x = 0; x < nLines; x++) highest = Math.max(highest, lines[x * nClasses + c]);
    let total = 0;
    for (let x = 0; x < nLines; x++) total += Math.exp(lines[x * nClasses + c] - highest);
    out[c] += highest + Math.log(total);
  }
}

// A network in which features have at most one extra parent. If the parents form a cycle, its order is empty, and terms
// that need an unknown value are zero.
export class Forest {
  constructor({ parents, order, groups, prior, theta }, cards) {
    Object.assign(this, { parents, groups, prior, cards, order, nClasses: prior.length, theta: readFloats(theta) });
    this.children = parents.map(() => []);
    for (const i of order) if (parents[i] >= 0) this.children[parents[i]].push(i);
    this.start = [];
    let size = 0;
    parents.forEach((parent, i) => {
      this.start.push(size);
      size += this.nLines(parent) * cards[i] * this.nClasses;
    });
  }

  // Lines of a CPT for the values of a parent, which are those of its groups where values are grouped.
  nLines(parent) {
    if (parent < 0) return 1;
    return this.groups ? Math.max(...this.groups[parent]) + 1 : this.cards[parent];
  }

  lineOf(parent, value) {
    if (parent < 0) return 0;
    return this.groups ? this.groups[parent][value] : value;
  }

  // Place of p(x_i = 0 | line of the parent, c = 0) in theta.
  place(i, line) {
    return this.start[i] + line * this.cards[i] * this.nClasses;
  }

  terms(codes) {
    const { nClasses, parents, theta } = this;
    const row = { codes, terms: new Float64Array(parents.length * nClasses) };
    const knows = (i) => i < 0 || codes[i] < this.cards[i];
    parents.forEach((parent, i) => {
      if (!knows(i) || !knows(parent)) return;
      const first = this.place(i, this.lineOf(parent, codes[parent])) + codes[i] * nClasses;
      for (let c = 0; c < nClasses; c++) row.terms[i * nClasses + c] = theta[first + c];
    });
    row.isInformed = this.findInformed(knows);
    for (const i of this.order) if (!knows(i) && knows(parents[i]) && row.isInformed[i]) this.sumOut(i, null, row);
    return row.terms;
  }

  // Whether a feature or one below it is known.
  findInformed(knows) {
    const isInformed = this.parents.map((_, i) => knows(i));
    for (const i of [...this.order].reverse()) if (this.parents[i] >= 0 && isInformed[i]) isInformed[this.parents[i]] = true;
    return isInformed;
  }

  // Sum out an unknown feature and all unknown ones below it; above is the state of its parent if that is unknown too.
  // A state has, for each value, the log-probability of what came before (ahead) and of what was observed below it, and
  // the log-sum of both over the values.
  sumOut(i, above, row) {
    const { cards, nClasses, theta } = this;
    const state = { ahead: this.lookAhead(i, above, row), below: new Float64Array(cards[i] * nClasses), total: above?.total ?? new Float64Array(nClasses) };
    this.updateTotal(i, i, state, row);
    for (const child of this.children[i]) {
      if (!row.isInformed[child]) continue;
      if (row.codes[child] < cards[child]) {
        this.spread(i, state.below, (line, c) => theta[this.place(child, line) + row.codes[child] * nClasses + c]);
        this.updateTotal(i, child, state, row);
      } else {
        const lower = this.sumOut(child, state, row);
        const messages = this.messages(child, lower.below);
        this.spread(i, state.below, (line, c) => messages[line * nClasses + c]);
        state.total = lower.total;
      }
    }
    return state;
  }

  // Log-probability of each value of an unknown feature with what came before.
  lookAhead(i, above, row) {
    const { cards, nClasses, parents, theta } = this;
    const size = cards[i] * nClasses;
    if (!above) {
      const first = this.place(i, this.lineOf(parents[i], row.codes[parents[i]]));
      return Float64Array.from(theta.subarray(first, first + size));
    }
    const nLines = this.nLines(parents[i]);
    const ofLines = this.gather(parents[i], above, nLines);
    const ahead = new Float64Array(size);
    const lines = new Float64Array(nLines * nClasses);
    for (let x = 0; x < cards[i]; x++) {
      for (let line = 0; line < nLines; line++) {
        const first = this.place(i, line) + x * nClasses;
        for (let c = 0; c < nClasses; c++) lines[line * nClasses + c] = ofLines[line * nClasses + c] + theta[first + c];
      }
      addLogSum(lines, nLines, nClasses, ahead.subarray(x * nClasses, (x + 1) * nClasses));
    }
    return ahead;
  }

  // Log-sum of the state of a parent over the values that share a line.
  gather(parent, { ahead, below }, nLines) {
    const { nClasses } = this;
    const sums = new Float64Array(nLines * nClasses);
    for (let line = 0; line < nLines; line++) {
      const values = [...Array(this.cards[parent]).keys()].filter((x) => this.lineOf(parent, x) === line);
      const lines = new Float64Array(values.length * nClasses);
      values.forEach((x, k) => {
        for (let c = 0; c < nClasses; c++) lines[k * nClasses + c] = ahead[x * nClasses + c] + below[x * nClasses + c];
      });
      addLogSum(lines, values.length, nClasses, sums.subarray(line * nClasses, (line + 1) * nClasses));
    }
    return sums;
  }

  // What the values below an unknown child say of each line of its parent, [line, c].
  messages(child, below) {
    const { cards, nClasses, parents, theta } = this;
    const nLines = this.nLines(parents[child]);
    const messages = new Float64Array(nLines * nClasses);
    const lines = new Float64Array(cards[child] * nClasses);
    for (let line = 0; line < nLines; line++) {
      const first = this.place(child, line);
      for (let k = 0; k < lines.length; k++) lines[k] = theta[first + k] + below[k];
      addLogSum(lines, cards[child], nClasses, messages.subarray(line * nClasses, (line + 1) * nClasses));
    }
    return messages;
  }

  // Add what a child says of each line to all values of its parent.
  spread(parent, below, message) {
    const { nClasses } = this;
    for (let x = 0; x < this.cards[parent]; x++) {
      const line = this.lineOf(parent, x);
      for (let c = 0; c < nClasses; c++) below[x * nClasses + c] += message(line, c);
    }
  }

  // Take the log-sum over the values of feature i; what it grows by is the term of feature k.
  updateTotal(i, k, state, row) {
    const { nClasses } = this;
    const total = new Float64Array(nClasses);
    addLogSum(state.ahead.map((value, place) => value + state.below[place]), this.cards[i], nClasses, total);
    for (let c = 0; c < nClasses; c++) row.terms[k * nClasses + c] = total[c] - state.total[c];
    state.total = total;
  }
}

// A network in which features have up to two extra parents. Its CPTs [x_a, x_b, x_i, c] have one more entry for an unknown
// value on each axis, where they are averaged.
export class OpenNetwork {
  constructor({ pairs, prior, theta }, cards) {
    Object.assign(this, { pairs, prior, cards, nClasses: prior.length, theta: readFloats(theta) });
    this.start = [];
    let size = 0;
    pairs.forEach(([a, b], i) => {
      this.start.push(size);
      size += this.nLines(a) * this.nLines(b) * (cards[i] + 1) * this.nClasses;
    });
  }

  nLines(parent) {
    return parent < 0 ? 1 : this.cards[parent] + 1;
  }

  terms(codes) {
    const { nClasses } = this;
    const terms = new Float64Array(codes.length * nClasses);
    this.pairs.forEach(([a, b], i) => {
      const line = (a < 0 ? 0 : codes[a]) * this.nLines(b) + (b < 0 ? 0 : codes[b]);
      const first = this.start[i] + (line * (this.cards[i] + 1) + codes[i]) * nClasses;
      for (let c = 0; c < nClasses; c++) terms[i * nClasses + c] = this.theta[first + c];
    });
    return terms;
  }
}
