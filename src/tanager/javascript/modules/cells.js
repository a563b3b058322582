// From the cells of a row to codes. A code that equals the number of values of its column is unknown.

// Code of one cell. undefined is unknown; null and NaN are a missing cell, which some columns have a code for.
export function encodeCell(column, cell, label) {
  if (cell === undefined) return column.card;
  if (cell === null || Number.isNaN(cell)) return column.missing;
  if (cell === Infinity || cell === -Infinity) throw new RangeError(`column ${label} has an infinite value`);
  return column.cuts ? encodeNumber(column, cell, label) : encodeCategory(column, cell);
}

// Number of cuts at or below the cell, found by bisection.
function encodeNumber({ cuts }, cell, label) {
  const number = typeof cell === "boolean" ? Number(cell) : cell;
  if (typeof number !== "number") throw new TypeError(`column ${label} is numeric, but it holds ${JSON.stringify(cell)}`);
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Position among the categories; rare values share the code behind them, and values that training did not show are unknown.
function encodeCategory(column, cell) {
  column.codes ??= codesOf(column);
  return column.codes.get(keyOf(cell)) ?? column.card;
}

function codesOf({ categories, pooled }) {
  const codes = new Map(categories.map((value, code) => [keyOf(value), code]));
  for (const value of pooled) codes.set(keyOf(value), categories.length);
  return codes;
}

// As in Python, true is 1 and false is 0, and the text "1" is neither.
function keyOf(value) {
  return typeof value === "boolean" ? Number(value) : value;
}

// Codes of a row: an object from names of columns to cells, or an array of all cells.
export function encodeRow(row, columns, features) {
  if (Array.isArray(row)) {
    if (row.length !== columns.length) throw new RangeError(`a row must have ${columns.length} cells, got ${row.length}`);
    return columns.map((column, i) => encodeCell(column, row[i], features[i]));
  }
  const foreign = Object.keys(row).find((name) => !features.includes(name));
  if (foreign !== undefined) throw new RangeError(`there is no column ${JSON.stringify(foreign)}; the columns are ${features.join(", ")}`);
  return columns.map((column, i) => encodeCell(column, Object.hasOwn(row, features[i]) ? row[features[i]] : undefined, features[i]));
}
