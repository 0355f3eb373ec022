"use strict";
// Check this release: the panel of share/report.html, and the worker that it starts.
//
// Everything happens in this page: nothing is asked of a network. The rules are those of "The
// format of certificates" in the documentation of sfumato, and so are the names of claims.

const EPSILON = 1e-9, KEPT = "stays with the owner";
// The fields of parts of a certificate; those with ? may be absent.
const FIELDS = {
  certificate: `sfumato_certificate shape created versions files digest ?signature data recipe input_commitment
    verdicts limits contract plan dropped_columns shuffled rehearsal ?utility ?attacks ?differential_privacy roles
    missing_rule classes suppressed_records ?labels ?story ?implied ?decision ?sampled ?synthetic`,
  data: "file sha256 format ?form ?formulas rows columns ?parts ?table",
  form: "?delimiter ?encoding ?decimal ?header ?null ?quote ?defused ?types",
  classes: "count smallest sizes risks risk_threshold",
  verdict: "model holds attained required failing_classes failing_records missing_rule ?of_persons",
};
const MARKS = { holds: "✓", fails: "✗", "needs original": "?", "not checked": "–" };

class Unreadable extends Error {}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const largest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);
const smallest = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
const isText = (value) => typeof value === "string", isNumber = (value) => typeof value === "number";
const asList = (value) => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

const near = (value, certified) => (value === null || certified === null ? value === certified
  : Math.abs(value - certified) <= EPSILON * Math.max(1, Math.abs(certified)));

const sameList = (one, other) => one.length === other.length && one.every((value, i) => value === other[i]);
const sameSet = (one, other) => sameList([...one].sort(), [...other].sort());

function fits(part, kind) {
  const names = FIELDS[kind].split(/\s+/), given = Object.keys(part);
  return names.every((name) => name[0] === "?" || given.includes(name))
    && given.every((name) => names.includes(name) || names.includes(`?${name}`));
}

// Whether the parts of a verdict or a limit are of their types: true is no number.
function typed(entry) {
  const fit = { failing_classes: Number.isInteger, failing_records: Number.isInteger };
  for (const name of ["attained", "required", "value", "limit"]) fit[name] = (part) => part === null || isNumber(part);
  for (const name of ["holds", "refuses", "of_persons"]) fit[name] = (part) => typeof part === "boolean";
  return Object.entries(fit).every(([name, test]) => entry[name] === undefined || test(entry[name]));
}

// Canonical JSON: the bytes that digest and signature cover. It is made from the text, because
// numbers keep there whether they are whole.

function byCodePoints(one, other) {
  const left = [...one], right = [...other];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const gap = left[i].codePointAt(0) - right[i].codePointAt(0);
    if (gap) return gap;
  }
  return left.length - right.length;
}

function canonicalNumber(text) {
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Unreadable("a number in the certificate is none");
  if (/^-?\d+$/.test(text)) return text === "-0" ? "0" : text;
  if (Object.is(number, -0)) return "-0.0";
  const [digits, power] = number.toExponential().split("e");
  const exponent = Number(power);
  if (number !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0 && number !== 0) {
    return `${number < 0 ? "-" : ""}0.${"0".repeat(-exponent - 1)}${digits.replace(/[-.]/g, "")}`;
  }
  const plain = String(number);
  return plain.includes(".") ? plain : `${plain}.0`;
}

function canonical(text, without) {
  const token = /\s*([{}[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+)\s*/y;
  const next = () => {
    const match = token.exec(text);
    if (!match) throw new Unreadable("the certificate is not valid JSON");
    return match[1];
  };
  const value = (first, depth) => {
    if (depth > 64) throw new Unreadable("the certificate is nested too deeply");
    if (first === "[") return list(depth);
    if (first === "{") return object(depth);
    if (first[0] === '"') return JSON.stringify(JSON.parse(first));
    return /^[-\d]/.test(first) ? canonicalNumber(first) : first;
  };
  const list = (depth) => {
    const parts = [];
    for (let part = next(); part !== "]"; part = next()) {
      if (part !== ",") parts.push(value(part, depth + 1));
    }
    return `[${parts.join(",")}]`;
  };
  const object = (depth) => {
    const parts = new Map();
    for (let part = next(); part !== "}"; part = next()) {
      if (part === ",") continue;
      const key = JSON.parse(part);
      if (parts.has(key)) throw new Unreadable("a key of the certificate stands twice");
      next();
      parts.set(key, value(next(), depth + 1));
    }
    const keys = [...parts.keys()].filter((key) => depth > 1 || !without.includes(key));
    const pairs = keys.sort(byCodePoints).map((key) => `${JSON.stringify(key)}:${parts.get(key)}`);
    return `{${pairs.join(",")}}`;
  };
  return value(next(), 1);
}

// Digests and signature.
async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const fromBase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

async function signatureClaim(certificate, text) {
  const { public_key: key, value, algorithm } = certificate.signature;
  const message = new TextEncoder().encode(canonical(text, ["signature"]));
  try {
    const imported = await crypto.subtle.importKey(
      "raw", fromBase64(key), { name: "Ed25519" }, false, ["verify"]);
    const holds = await crypto.subtle.verify("Ed25519", imported, fromBase64(value), message);
    return claim("signature", holds && algorithm === "Ed25519", `by the key ${key}: is it theirs?`);
  } catch {
    return claim("signature", "not checked", "this browser cannot check Ed25519");
  }
}

// How text is read: each column as codes of its different values, null for a missing one.
class Column {
  constructor() {
    this.codes = new Int32Array(1024);
    this.length = 0;
    this.codeOf = new Map();
    this.values = [];
  }

  push(value) {
    let code = this.codeOf.get(value);
    if (code === undefined) {
      code = this.values.length;
      this.codeOf.set(value, code);
      this.values.push(value);
    }
    if (this.length === this.codes.length) {
      const longer = new Int32Array(2 * this.length);
      longer.set(this.codes);
      this.codes = longer;
    }
    this.codes[this.length++] = code;
  }

  // Every value made what its type says; values that mean the same become one.
  convert(meaning) {
    const codes = new Map();
    const values = [];
    const newCodes = this.values.map((value) => {
      const meant = value === null ? null : meaning(value);
      if (!codes.has(meant)) {
        codes.set(meant, values.length);
        values.push(meant);
      }
      return codes.get(meant);
    });
    for (let row = 0; row < this.length; row++) this.codes[row] = newCodes[this.codes[row]];
    this.values = values;
  }
}

const fitting = (pattern, convert) => (text) => {
  if (!pattern.test(text)) throw new Unreadable("values do not fit their type");
  return convert(text);
};

function wholeNumber(text) {
  const number = BigInt(text.replace("+", ""));
  if (BigInt.asIntN(64, number) !== number) throw new Unreadable("a number is too large");
  return String(number);
}

function decimal(text) {
  const word = text.toLowerCase().replace(/^\+/, "").replace(/^(-?)inf$/, "$1infinity");
  if (/nan$/.test(word)) return null;
  return String(Number(word.replace("infinity", "Infinity")) + 0);
}

function day(text) {
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const real = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 10));
  if (!real || text.startsWith("0000")) throw new Unreadable("a date is none");
  return text;
}

function clock(text) {
  const [hours, minutes, seconds] = text.split(":").map(Number);
  if (hours > 23 || minutes > 59 || seconds >= 60) throw new Unreadable("a time is none");
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

const CLOCK = "[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?";
const DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
const moment = fitting(
  new RegExp(`^${DAY}[ T]${CLOCK}$`), (text) => `${day(text).slice(0, 10)} ${clock(text.slice(11))}`);
const TYPES = {
  __proto__: null, text: (text) => text,
  integer: fitting(/^[+-]?[0-9]+$/, wholeNumber),
  decimal: fitting(
    /^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)$/i, decimal),
  boolean: fitting(/^(true|false)$/, (text) => text),
  date: fitting(new RegExp(`^${DAY}$`), day),
  time: fitting(new RegExp(`^${CLOCK}$`), clock),
  "datetime[ms]": moment,
  "datetime[us]": moment,
  "datetime[ns]": moment,
};

// The records of a CSV, one after the other, as lists of text.
function* csvRecords(text, delimiter) {
  const mark = delimiter.charCodeAt(0), QUOTE = 34, LF = 10, CR = 13;
  let at = 0, fields = [];
  while (at < text.length) {
    const back = text.charCodeAt(at) === CR ? 1 : 0;
    if (!fields.length && text.charCodeAt(at + back) === LF) {
      at += back + 1;
      yield []; // an empty line
      continue;
    }
    let value;
    if (text.charCodeAt(at) === QUOTE) {
      let end = text.indexOf('"', at + 1);
      while (end >= 0 && text.charCodeAt(end + 1) === QUOTE) end = text.indexOf('"', end + 2);
      if (end < 0) throw new Unreadable("a quote is not closed");
      value = text.slice(at + 1, end);
      if (value.includes('"')) value = value.replaceAll('""', '"');
      at = end + 1;
    } else {
      let end = at, sign = text.charCodeAt(end);
      while (end < text.length && sign !== mark && sign !== LF && sign !== CR) {
        if (sign === QUOTE) throw new Unreadable("a quote is inside of a field without quotes");
        sign = text.charCodeAt(++end);
      }
      value = text.slice(at, end);
      at = end;
    }
    fields.push(value);
    const sign = text.charCodeAt(at);
    if (sign === mark) {
      at++;
      if (at === text.length) fields.push("");
      continue;
    }
    if (sign === CR && text.charCodeAt(at + 1) === LF) at++;
    if (at < text.length && text.charCodeAt(at) !== LF) {
      throw new Unreadable("a quote or a carriage return is where none may be");
    }
    at++;
    yield fields;
    fields = [];
  }
  if (fields.length) yield fields;
}

const restored = (text) => (/^'+[=+\-@\t\r\n]/.test(text) ? text.slice(1) : text);

function readCsv(bytes, form) {
  const encoding = (form.encoding ?? "utf-8").toLowerCase();
  const label = { "utf-8": "utf-8", "utf-8-sig": "utf-8", cp1252: "windows-1252" }[encoding];
  if (!label) throw new Unreadable(`text in ${encoding} is not read here`);
  const text = new TextDecoder(label, { fatal: true }).decode(bytes).replace(/^[\r\n]+/, "");
  if (text.includes("\0") || text[0] === "\ufeff") throw new Unreadable("it holds a NUL or two byte-order marks");
  const records = csvRecords(text, form.delimiter ?? ",");
  let names = Object.keys(form.types), columns = null, first = true;
  for (const fields of records) {
    const width = columns === null ? fields.length : columns.length;
    if (columns === null) columns = fields.map(() => new Column());
    if (!fields.length && width > 1) continue;
    if (!fields.length) fields.push("");
    if (fields.length !== width) throw new Unreadable("records have different numbers of fields");
    if (first && (form.header ?? true)) {
      names = fields.map((cell, i) => cell.trim() || `column_${i + 1}`);
    } else {
      for (let i = 0; i < width; i++) {
        const cell = form.defused ? restored(fields[i]) : fields[i];
        columns[i].push(cell === "" ? null : cell);
      }
    }
    first = false;
  }
  if (columns === null) throw new Unreadable("it is empty");
  if (form.defused) names = names.map(restored);
  if (new Set(names).size !== columns.length) throw new Unreadable("names of columns repeat");
  return new Map(names.map((name, i) => [name, columns[i]]));
}

function readJsonLines(bytes) {
  const columns = new Map();
  const pairs = /"((?:[^"\\]|\\.)*)"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s,}]+)/g;
  let rows = 0;
  for (const line of new TextDecoder("utf-8", { fatal: true }).decode(bytes).split("\n")) {
    if (!line.trim()) continue;
    const record = JSON.parse(line);
    let keys = 0;
    for (const [, name, raw] of line.matchAll(pairs)) {
      const key = name.includes("\\") ? JSON.parse(`"${name}"`) : name;
      if (raw[0] === "{" || raw[0] === "[") throw new Unreadable("it holds lists or objects");
      if (!columns.has(key)) columns.set(key, new Column());
      const column = columns.get(key);
      while (column.length < rows) column.push(null);
      column.push(raw === "null" ? null : raw[0] === '"' ? record[key] : raw);
      keys++;
    }
    rows++;
    if (keys !== Object.keys(record).length) throw new Unreadable("an object has a key twice");
  }
  if (!columns.size) throw new Unreadable("it is empty");
  for (const column of columns.values()) while (column.length < rows) column.push(null);
  return columns;
}

const MARKS_SWAPPED = { ".": ",", ",": "." };

function readTable(bytes, data) {
  const isCsv = data.format === "csv";
  const { null: none = "", quote = '"', decimal: point = ".", delimiter = "," } = data.form;
  if (none !== "" || quote !== '"' || ![".", ","].includes(point) || !/^[\x01-\x7f]$/.test(delimiter)) {
    throw new Unreadable("the certificate describes its form in unknown terms");
  }
  const columns = isCsv ? readCsv(bytes, data.form) : readJsonLines(bytes);
  for (const [name, type] of Object.entries(data.form.types)) {
    const column = columns.get(name);
    if (!column) throw new Unreadable("it lacks a column that the certificate describes");
    const comma = isCsv && type === "decimal" && point === ",";
    column.convert(comma ? (text) => TYPES[type](text.replace(/[.,]/g, (sign) => MARKS_SWAPPED[sign])) : TYPES[type]);
  }
  return { columns, rows: [...columns.values()][0].length, types: data.form.types };
}

// Classes: which class each row is in, and what the classes hold.

// Rows with the same pair of numbers get the same number.
function paired(numbers, count, codes, width) {
  const known = new Map();
  const together = new Int32Array(numbers.length);
  for (let row = 0; row < numbers.length; row++) {
    const key = numbers[row] * width + codes[row];
    let number = known.get(key);
    if (number === undefined) {
      number = known.size;
      known.set(key, number);
    }
    together[row] = number;
  }
  return { numbers: together, keys: [...known.keys()], count: known.size };
}

function makeClasses(table, certificate) {
  const roles = Object.entries(certificate.roles);
  const having = (role) => roles.filter(([, own]) => own.includes(role)).map(([name]) => name);
  const quasi = having("quasi");
  const [person] = having("person"), [weight] = having("weight");
  const wild = quasi.filter((name) => certificate.missing_rule[name] === "wildcard");
  if (!quasi.length || (person && wild.length)) return null;
  let of = new Int32Array(table.rows), count = Math.min(1, table.rows);
  for (const name of quasi) {
    const column = table.columns.get(name);
    ({ numbers: of, count } = paired(of, count, column.codes, column.values.length));
  }
  const records = new Array(count).fill(0), weights = new Array(count).fill(0);
  const examples = new Array(count);
  for (let row = 0; row < table.rows; row++) {
    records[of[row]]++;
    examples[of[row]] = row;
    if (weight) {
      const column = table.columns.get(weight);
      weights[of[row]] += Number(column.values[column.codes[row]] ?? NaN);
    }
  }
  if (weights.some(Number.isNaN)) throw new Unreadable("a weight is no number");
  const classes = { table, certificate, quasi, person, wild, of, count, records };
  classes.sizes = records;
  if (person) classes.sizes = countsOf(classes, [person]).map((values) => values.size);
  classes.frequencies = wild.length ? compatible(classes, examples) : classes.sizes;
  classes.weights = weight ? weights : null;
  return classes;
}

// Per class the records that equal it where neither lacks a value of a wildcard column.
function compatible({ table, quasi, wild, records }, examples) {
  const keys = examples.map((row) => quasi.map((name) => table.columns.get(name).codes[row]));
  const lacking = quasi.map((name) => wild.includes(name) && table.columns.get(name).values.indexOf(null));
  const gaps = keys.map((key) => key.map((code, i) => lacking[i] !== false && code === lacking[i]));
  const patterns = new Map(gaps.map((gap) => [gap.join(), gap]));
  const outside = (key, one, other) => key.map((code, i) => (one[i] || other[i] ? "" : code)).join();
  const sums = new Map();
  const label = (one, other, key) => `${one.map((gap, i) => gap || other[i])}|${other}|${key}`;
  keys.forEach((key, i) => {
    for (const pattern of new Set([...patterns.values()].map((p) => p.map((gap, j) => gap || gaps[i][j]).join()))) {
      const gone = pattern.split(",").map((word) => word === "true");
      const name = label(gone, gaps[i], outside(key, gone, gone));
      sums.set(name, (sums.get(name) ?? 0) + records[i]);
    }
  });
  return keys.map((key, i) => sum([...patterns.values()].map(
    (other) => sums.get(label(gaps[i], other, outside(key, gaps[i], other))) ?? 0)));
}

// Per class a map from the values of columns (together) to how often they occur.
function countsOf(classes, names) {
  const { columns, rows } = classes.table;
  let { codes, values: { length: width } } = columns.get(names[0]);
  for (const column of names.slice(1).map((name) => columns.get(name))) {
    ({ numbers: codes, count: width } = paired(codes.subarray(0, rows), width, column.codes, column.values.length));
  }
  const counts = Array.from({ length: classes.count }, () => new Map());
  for (let row = 0; row < classes.table.rows; row++) {
    const values = counts[classes.of[row]];
    values.set(codes[row], (values.get(codes[row]) ?? 0) + 1);
  }
  return counts;
}

function risksOf({ records, frequencies, weights }, threshold = 0.2) {
  const total = sum(records) || 1;
  const share = (test) => sum(records.filter((_, i) => test(frequencies[i]))) / total;
  const least = smallest(weights ?? frequencies);
  return {
    prosecutor_risk: 1 / smallest(frequencies),
    journalist_risk: least > 0 ? Math.min(1, 1 / least) : 1,
    marketer_risk: sum(records.map((n, i) => n / frequencies[i])) / total,
    records_at_risk: share((f) => 1 / f > threshold + 1e-12),
    unique_records: share((f) => f === 1),
  };
}

// Promises.
const PROMISES = {
  __proto__: null, k_anonymity: { required: "k" },
  p_sensitive: { required: "p" },
  l_diversity: { required: "l", kind: ["distinct", "entropy", "recursive"] },
  alpha_k_anonymity: { required: "alpha" },
  t_closeness: { required: "t", reference: ["original", "released"],
    distance: ["equal", "ordered", "numeric", "multiplicative"] },
  beta_likeness: { required: "beta", kind: ["basic", "enhanced"] },
  delta_disclosure: { required: "delta", absent: ["fail", "skip"] },
  maximum_risk: { required: "threshold" },
};
const COMPARING = ["t_closeness", "beta_likeness", "delta_disclosure"];
const OF_SIZES = ["k_anonymity", "p_sensitive", "alpha_k_anonymity", "maximum_risk"];

function makePromise(name, given) {
  const options = Object.entries(PROMISES[name]).filter(([option]) => option !== "required");
  const fields = { ...Object.fromEntries(options.map(([option, words]) => [option, words[0]])), ...given };
  const how = fields.distance ?? fields.kind;
  return { name, fields, how, required: given[PROMISES[name].required], k: given.k ?? 0,
    sensitive: asList(given.sensitive) };
}

function isValid({ name, fields, how, required, k, sensitive }) {
  const c = fields.c ?? null, t = name === "t_closeness";
  if (!isNumber(required) || !isNumber(k) || (c !== null && !(isNumber(c) && c > 0))) return false;
  if ((how === "recursive") !== (c !== null)) return false;
  if (!sensitive.length && !["k_anonymity", "maximum_risk"].includes(name)) return false;
  if (sensitive.length > 1 && (how === "ordered" || how === "numeric")) return false;
  const needsK = OF_SIZES.slice(0, 3).includes(name);
  if (needsK && !(Number.isInteger(k) && k >= 1)) return false;
  const whole = ["k_anonymity", "p_sensitive"].includes(name) || ["distinct", "recursive"].includes(how);
  if (whole && !Number.isInteger(required)) return false;
  if (t) return how === "multiplicative" ? required >= 1 : required >= 0 && required <= 1;
  if (["alpha_k_anonymity", "maximum_risk"].includes(name) && required > 1) return false;
  return name === "l_diversity" || whole ? required >= 1 : required > 0;
}

const effective = (counts) => Math.min(counts.length, Math.max(1, Math.exp(
  Math.log(sum(counts)) - sum(counts.map((c) => c * Math.log(c))) / sum(counts))));

const headToTail = (counts, rank) => (counts.length < rank ? Infinity : counts[0] / sum(counts.slice(rank - 1)));

function rankOf(counts, c) {
  let rank = counts.length;
  while (rank > 1 && !(headToTail(counts, rank) < c - EPSILON)) rank--;
  return rank;
}

// Per class what a promise compares, and what the class attains.
function valuesOf(promise, classes) {
  const { name, how, fields, required } = promise;
  if (name === "k_anonymity") return [classes.frequencies, classes.frequencies];
  const risks = classes.frequencies.map((f) => 1 / f);
  if (name === "maximum_risk") return [risks, risks];
  const counts = countsOf(classes, promise.sensitive);
  if (COMPARING.includes(name)) {
    const found = compared(promise, counts, classes);
    return [found, found];
  }
  const ordered = counts.map((values) => [...values.values()].sort((a, b) => b - a));
  const caps = classes.person ? classes.sizes : classes.sizes.map(() => Infinity);
  const capped = (measure) => ordered.map((values, i) => Math.min(measure(values), caps[i]));
  if (how === "recursive") {
    const ratios = ordered.map((v, i) => (caps[i] < required ? Infinity : headToTail(v, required)));
    return [ratios, capped((values) => rankOf(values, fields.c))];
  }
  if (name === "alpha_k_anonymity") {
    const shares = ordered.map((values) => values[0] / sum(values));
    return [shares, shares];
  }
  const found = capped(how === "entropy" ? effective : (values) => values.length);
  return [found, found];
}

// Distances from the table, gains or changes.
function compared(promise, counts, classes) {
  const total = new Map();
  for (const values of counts) {
    for (const [value, n] of values) total.set(value, (total.get(value) ?? 0) + n);
  }
  if (total.size < 2) return counts.map(() => Infinity);
  if (promise.how === "ordered" || promise.how === "numeric") {
    const line = placesOf(promise, classes);
    return counts.map((values) => distanceOnLine(values, total, line));
  }
  return counts.map((values) => comparedClass(promise, values, total, classes.table.rows));
}

function comparedClass({ name, how, fields }, values, total, records) {
  const size = sum([...values.values()]);
  const entries = [...values];
  if (how === "equal") {
    return sum(entries.map(([value, n]) => Math.max(0, n / size - total.get(value) / records)));
  }
  const ratios = entries.map(([value, n]) => (n * records) / (size * total.get(value)));
  if (name === "beta_likeness") {
    const beyond = entries.some(([value], i) =>
      ratios[i] > Math.max(1, 1 - Math.log(total.get(value) / records) + EPSILON));
    return beyond && how === "enhanced" ? Infinity : Math.max(0, largest(ratios) - 1);
  }
  if (values.size < total.size && fields.absent !== "skip") return Infinity;
  const factor = Math.max(largest(ratios), 1 / smallest(ratios));
  return name === "delta_disclosure" ? Math.log(factor) : factor;
}

// The codes of a column in the order of their values, each with its place on the line.
function placesOf({ sensitive, how }, { table, certificate }) {
  const numeric = certificate.recipe.columns[sensitive[0]]?.kind === "numeric";
  const values = table.columns.get(sensitive[0]).values;
  const places = values.map((value) => {
    const dated = !numeric && /^\d{4}-\d{2}-\d{2}/.test(value ?? "");
    const place = numeric && value !== null ? Number(value) : dated ? 0 : NaN;
    if (!Number.isFinite(place)) throw new Unreadable("a value is missing or has no place in the order");
    return place;
  });
  const order = values.map((_, code) => code);
  order.sort((a, b) => (numeric ? places[a] - places[b] : values[a] < values[b] ? -1 : 1));
  return order.map((code, rank) => [code, how === "numeric" ? places[code] : rank]);
}

function distanceOnLine(values, total, line) {
  const size = sum([...values.values()]), records = sum([...total.values()]);
  const span = line[line.length - 1][1] - line[0][1];
  let area = 0, own = 0, others = 0;
  for (let i = 0; i < line.length - 1; i++) {
    own += values.get(line[i][0]) ?? 0;
    others += total.get(line[i][0]);
    area += Math.abs(own / size - others / records) * (line[i + 1][1] - line[i][1]);
  }
  return span > 0 ? area / span : 0;
}

function fails({ name, how, required, fields, k }, value, frequency) {
  if (name === "maximum_risk") return frequency < Math.ceil(1 / required - EPSILON);
  if (name === "delta_disclosure") return value >= required - EPSILON;
  if (how === "recursive") return required > 1 && value >= fields.c - EPSILON;
  const above = COMPARING.includes(name) || name === "alpha_k_anonymity";
  const wrong = above ? value > required + EPSILON : value < required - EPSILON;
  return wrong || frequency < k;
}

function verdictOf(promise, classes) {
  const [values, reached] = valuesOf(promise, classes);
  const failing = classes.records.filter((_, i) => fails(promise, values[i], classes.frequencies[i]));
  const highest = [...COMPARING, "alpha_k_anonymity", "maximum_risk"].includes(promise.name);
  const attained = reached.length ? (highest ? largest : smallest)(reached) : null;
  const wild = OF_SIZES.includes(promise.name) && classes.wild.length;
  return {
    holds: failing.length === 0,
    attained: Number.isFinite(attained) ? attained : null,
    required: promise.required,
    failing_classes: failing.length,
    failing_records: sum(failing),
    missing_rule: wild ? "wildcard" : "category",
  };
}

// Specifications of a recipe.
function* wordsIn(spec) {
  if (isText(spec)) yield spec;
  if (spec === null || typeof spec !== "object") return;
  if (!Array.isArray(spec)) yield* Object.keys(spec);
  for (const part of Object.values(spec)) yield* wordsIn(part);
}

const hides = (spec) => [...wordsIn(spec)].includes(KEPT), rolesIn = (spec) => asList(spec.role);
const namesIn = (part) => (Array.isArray(part) ? part : Object.keys(part ?? {}));

function methodOf(spec) {
  const named = spec !== null && typeof spec === "object";
  return named ? Object.entries(spec)[0] ?? [null, {}] : [spec, {}];
}

const READ_ONLY = ["within", "label", "sensitive", "confidential", "weights", "importance"];

// Whether nothing in the certificate says that a step changed these columns.
function releasedUnchanged({ recipe, plan, synthetic }, columns) {
  const odd = (p) => p.step === "authorised" || (p.unit ?? "row") !== "row" || "certified" in p;
  if (recipe.steps.some(hides) || synthetic || plan.some(odd)) return false;
  const specs = Object.entries(recipe.columns);
  const changed = new Set(specs.filter(([, s]) => rolesIn(s).includes("quasi")).map(([name]) => name));
  for (const [, fields] of recipe.steps.map(methodOf)) {
    const parts = Object.entries(fields ?? {}).filter(([name]) => !READ_ONLY.includes(name));
    for (const word of wordsIn(Object.fromEntries(parts))) changed.add(word);
  }
  for (const part of ["levels", "columns", "masked", "suppressed_cells"]) {
    for (const p of plan) for (const name of namesIn(p[part])) changed.add(name);
  }
  return !columns.some((name) => changed.has(name));
}

// Claims.
const claim = (name, status, detail) =>
  ({ name, status: isText(status) ? status : status ? "holds" : "fails", detail });

function* promiseClaims(certificate, classes) {
  const { recipe: { meet }, verdicts, limits } = certificate;
  const promised = verdicts.length || limits.length || certificate.differential_privacy?.certified;
  if (!promised || meet.length !== verdicts.length) {
    yield claim("promises", false, "nothing is promised, or not what the recipe says");
  }
  for (let i = 0; i < Math.min(meet.length, verdicts.length); i++) {
    const [name, fields] = methodOf(meet[i]);
    let status = "fails", detail = "the certificate lacks what it needs";
    try {
      [status, detail] = judge(name, fields ?? {}, verdicts[i], certificate, classes);
    } catch (error) {
      if (error instanceof Unreadable) detail = error.message;
    }
    yield claim(`promise ${i + 1}: ${name}`, status, detail);
  }
}

function judge(name, fields, entry, certificate, classes) {
  if (entry.model !== name) return ["fails", "the recipe names another promise"];
  const known = PROMISES[name];
  const allowed = known && [...Object.keys(known), known.required, "k", "c", "sensitive", "values"];
  const odd = (word) => Array.isArray(known[word]) && !known[word].includes(fields[word] ?? known[word][0]);
  if (!known || Object.keys(fields).some((f) => !allowed.includes(f)) || Object.keys(known).some(odd)) {
    return ["not checked", "this page does not judge such promises; sfumato verify does"];
  }
  if (Object.values(fields).includes(KEPT)) return ["needs original", "its owner keeps a part of it"];
  const promise = makePromise(name, fields);
  if (!isValid(promise) || (fields.values ?? null) !== null) return ["fails", "its parameters are out of range"];
  const numbers = Object.values(fields).filter(isNumber);
  if (entry.required !== null && !numbers.some((number) => near(entry.required, number))) {
    return ["fails", "the certificate requires something else than its recipe"];
  }
  if (!entry.holds || promise.sensitive.some((column) => !classes.table.columns.has(column))) {
    return ["fails", "it says itself that it does not hold, or lacks its column"];
  }
  const roles = promise.sensitive.map((column) => certificate.roles[column] ?? []);
  const kinds = { ordered: ["numeric", "date"], numeric: ["numeric"] }[promise.how];
  const kind = certificate.recipe.columns[promise.sensitive[0]]?.kind;
  const unfit = roles.some((own) => !own.includes("sensitive") || own.includes("quasi"));
  if (unfit || (kinds && !kinds.includes(kind))) {
    return ["needs original", "roles or kinds that it needs are not told"];
  }
  if (COMPARING.includes(name) && promise.fields.reference !== "released") {
    return besideOriginal(promise, entry, certificate, classes);
  }
  return compareVerdicts(verdictOf(promise, classes), entry, certificate);
}

function compareVerdicts(verdict, entry, { synthetic }) {
  const wrong = Object.keys(verdict).filter((part) =>
    part === "attained" ? !near(verdict[part], entry[part]) : verdict[part] !== entry[part]);
  if ("of_persons" in entry !== (synthetic !== undefined)) wrong.push("of_persons");
  if (wrong.length) return ["fails", `the file gives another ${wrong.join(", ")}`];
  return [verdict.holds ? "holds" : "fails", `attained ${verdict.attained}, required ${verdict.required}`];
}

// What the released table alone decides of a promise that compares with the original.
function besideOriginal(promise, entry, certificate, classes) {
  const { suppressed_records: suppressed } = certificate;
  const told = suppressed !== null && entry.attained !== null && !classes.person;
  const bounded = promise.name === "t_closeness" && told && releasedUnchanged(certificate, promise.sensitive);
  let verdict = null;
  try {
    verdict = verdictOf(promise, classes);
  } catch (error) {
    if (bounded) throw error;
  }
  const open = ["needs original", `it compares with the original; the file alone gives ${verdict?.attained ?? "none"}`];
  if (!bounded) return open;
  if (suppressed === 0) return compareVerdicts(verdict, entry, certificate);
  if (verdict.attained === null || promise.how === "multiplicative") return open;
  const [distances] = valuesOf(promise, classes);
  const gaps = Math.max(1, classes.table.columns.get(promise.sensitive[0]).values.length - 1);
  let lows = distances, highs = distances;
  if (promise.how === "ordered") {
    const [equal] = valuesOf({ ...promise, how: "equal" }, classes);
    lows = distances.map((d) => (d * gaps) / (gaps + suppressed));
    highs = distances.map((d, i) => (d * gaps + equal[i] * suppressed) / (gaps + suppressed));
  } else if (promise.how === "numeric") lows = [0];
  const slack = suppressed / (classes.table.rows + suppressed);
  const low = Math.max(0, largest(lows) - slack), high = Math.min(1, largest(highs) + slack);
  const possible = low - EPSILON <= entry.attained && entry.attained <= high + EPSILON;
  if (low > promise.required + EPSILON || !possible) {
    return ["fails", `from the original it is between ${low.toPrecision(4)} and ${high.toPrecision(4)}`];
  }
  if (high > promise.required + EPSILON) return open;
  const none = { holds: true, attained: entry.attained, failing_classes: 0, failing_records: 0 };
  return compareVerdicts({ ...verdict, ...none }, entry, certificate);
}

const runs = (text) => text !== null && /^[=+\-@\t\r\n]/.test(text)
  && !/^[+-]?(?:\p{Nd}[\p{Nd}.,]*|[.,]\p{Nd}+)(?:[eE][+-]?\p{Nd}+)?$/u.test(text);

function* tableClaims(certificate, table, classes) {
  const { data, recipe, plan } = certificate;
  const names = [...table.columns.keys()];
  const same = data.rows === table.rows && sameList(data.columns, names);
  yield claim("rows and columns", same, `${table.rows} rows, ${names.length} columns`);
  if (data.format === "csv" && !sameFormulas(data.formulas, table)) {
    yield claim("formulas", false, "other cells than certified would run in a spreadsheet");
  }
  const masked = plan.filter((p) => p.step === "pseudonymize").flatMap((p) => namesIn(p.masked));
  const specs = Object.entries(recipe.columns);
  const direct = specs.filter(([, spec]) => rolesIn(spec).includes("drop")).map(([name]) => name);
  const left = direct.filter((name) => names.includes(name) && !masked.includes(name));
  yield claim("direct identifiers gone", !left.length, `${left.length} still there`);
  const problem = columnProblem(certificate, names, masked);
  yield claim("columns match the recipe", !problem, problem ?? "no others");
  const mistake = stepProblem(certificate);
  if (mistake) yield claim("steps", false, mistake);
  yield classClaim(certificate.classes, classes);
}

function sameFormulas(certified, table) {
  const counts = new Map();
  for (const [name, column] of table.columns) {
    const marked = column.values.map((value) => (table.types[name] ?? "text") === "text" && runs(value));
    let count = runs(name) ? 1 : 0;
    if (marked.includes(true)) for (let row = 0; row < table.rows; row++) count += marked[column.codes[row]] ? 1 : 0;
    if (count) counts.set(name, count);
  }
  const told = Object.entries(certified ?? { "": -1 });
  return told.length === counts.size && told.every(([name, count]) => counts.get(name) === count);
}

function columnProblem({ recipe, plan, roles, dropped_columns: dropped, missing_rule: rules }, names, replaced) {
  const specs = new Map(Object.entries(recipe.columns));
  const steps = recipe.steps.map((spec, i) => [...methodOf(spec), hides(spec), plan[i] ?? {}]);
  const hidden = steps.filter(([, , secret]) => secret).flatMap(([, , , p]) => namesIn(p.masked));
  const weights = steps.filter(([name]) => name === "sample").map(([, fields]) => fields?.weight);
  for (const name of names) {
    if (replaced.includes(name) || weights.includes(name)) continue;
    let expected = specs.has(name) ? rolesIn(specs.get(name)) : ["drop"];
    if (expected.includes("drop") && hidden.includes(name)) expected = ["keep"];
    if (!specs.has(name) && !hidden.includes(name)) return "a column is not in the recipe";
    if (!sameSet(roles[name] ?? [], expected)) return "a column has another role than in the recipe";
  }
  const free = ["drop"];
  for (const [name, fields] of steps) {
    if (name === "suppression" && fields?.what === "attribute") free.push("quasi");
    if (name === "synthesize_privately") free.push("person", "household");
  }
  const removed = plan.filter((p) => p.kind === "attribute suppression").flatMap((p) => namesIn(p.columns));
  const gone = [...specs.keys()].filter((name) => !names.includes(name));
  const excused = (name) => removed.includes(name) || rolesIn(specs.get(name)).some((r) => free.includes(r));
  if (!gone.every(excused)) return "a column of the recipe is missing";
  if (!sameSet(dropped, gone)) return "other columns were dropped than certified";
  const quasi = Object.keys(roles).filter((name) => roles[name].includes("quasi"));
  if (!sameSet(Object.keys(rules), quasi)) return "missing_rule is not about the quasi-identifiers";
  const emptied = plan.flatMap((p) => namesIn(p.suppressed_cells));
  const open = steps.some(([, , secret, p]) => secret && "suppressed_cells" in p);
  const wrong = ([name, rule]) => rule !== (recipe.columns[name]?.missing ?? "category")
    && !(rule === "wildcard" && (open || emptied.includes(name)));
  return Object.entries(rules).some(wrong) ? "a missing value counts otherwise than in the recipe" : null;
}

function stepProblem({ recipe, plan, suppressed_records: total }) {
  const steps = recipe.steps.map((spec) => methodOf(spec)[0]);
  if (!sameList(steps, plan.map((p) => p.step))) return "the plan names other steps than the recipe";
  const drawn = (p) => (p.step === "sample" && p.unit === "row" ? Math.round(p.rows / p.fraction) - p.rows : 0);
  const gone = sum(plan.map((p) => (p.suppressed_records ?? 0) + drawn(p)));
  const exact = plan.every((p) => "suppressed_records" in p);
  if (total === null || gone === total || (gone < total && !exact)) return null;
  return "the steps suppressed another number of records";
}

function classClaim(section, classes) {
  const sizes = new Map();
  for (const f of classes.frequencies) sizes.set(String(f), (sizes.get(String(f)) ?? 0) + 1);
  const told = Object.entries(section.sizes), risks = risksOf(classes);
  const least = classes.count ? smallest(classes.frequencies) : null;
  const same = told.length === sizes.size && told.every(([size, n]) => sizes.get(size) === n)
    && section.count === classes.count && section.smallest === least && section.risk_threshold === 0.2
    && Object.entries(section.risks).every(([name, value]) => name in risks && near(risks[name], value));
  return claim("class sizes and risks", same, `${classes.count} classes, counted again`);
}

function* limitClaims({ recipe, limits }, classes) {
  const expected = [];
  for (const [name, given] of Object.entries(recipe.limits ?? {})) {
    for (const bound of asList(given)) {
      const { at_most: most, at_least: least, ...fields } = isNumber(bound) ? { at_most: bound } : bound;
      expected.push([name, most ?? least, fields]);
    }
  }
  const spelled = (name, limit, fields) => JSON.stringify([name, limit, Object.entries(fields).sort()]);
  const told = limits.map((entry) => spelled(entry.name, entry.limit, entry.parameters ?? {}));
  if (!sameList(expected.map((bound) => spelled(...bound)), told)) {
    yield claim("limits", false, "other limits than those of the recipe");
    return;
  }
  for (const [i, [name, limit, fields]] of expected.entries()) {
    const value = risksOf(classes, fields.threshold)[name], entry = limits[i];
    const judged = value !== undefined && Object.keys(fields).every((field) => field === "threshold");
    const holds = judged && near(value, entry.value) && value <= limit + 1e-12 && entry.holds && entry.refuses;
    const words = judged ? `measured ${value}` : "this page does not judge such limits";
    yield claim(`limit: ${name}`, judged ? holds : "not checked", words);
  }
}

// All claims of the files that were given, each with its path in the folder.
async function checkFiles(files) {
  const own = files.find(({ path }) => /(^|\/)certificate\.json$/.test(path));
  if (!own) throw new Unreadable("give certificate.json as well as the data file");
  const base = own.path.slice(0, -"certificate.json".length);
  const inside = files.filter(({ path }) => path.startsWith(base));
  const byPath = new Map(inside.map(({ path, file }) => [path.slice(base.length), file]));
  const text = new TextDecoder("utf-8", { fatal: true }).decode(await own.file.arrayBuffer());
  const digest = await sha256(new TextEncoder().encode(canonical(text, ["digest", "signature"])));
  const certificate = JSON.parse(text);
  if (certificate.sfumato_certificate !== 3) throw new Unreadable("this is not a certificate of version 3");
  const { data = {}, classes = {}, verdicts = [], shape } = certificate;
  const fit = fits(certificate, "certificate") && fits(data, "data") && fits(data.form ?? {}, "form")
    && fits(classes, "classes") && verdicts.every((entry) => fits(entry, "verdict"))
    && [...verdicts, ...certificate.limits].every(typed) && Object.getPrototypeOf(classes.risks) === Object.prototype;
  if (!isText(shape) || (shape === "table" && !fit)) throw new Unreadable("it has other fields than a certificate");
  const claims = [claim("certificate unedited", digest === certificate.digest, "its digest")];
  if (certificate.signature) claims.push(await signatureClaim(certificate, text));
  const contents = await readFiles(byPath, certificate, claims);
  if (certificate.shape === "table") {
    try {
      await dataClaims(certificate, contents, claims);
    } catch (error) {
      if (error instanceof Unreadable) claims.push(claim("readable data", false, error.message));
      else claims.push(claim("certificate", false, "it lacks what a claim needs; it was edited"));
    }
    claims.push(claim("the original is the committed one", "needs original", "ask the owner"));
  }
  claims.push(claim("besides", "not checked", "levels, default readers, figures that compare with the "
    + "original, attacks, decision, this page: see sfumato verify"));
  return claims;
}

// The bytes of the data file; what is listed and was given is compared with its digest. Files that
// were chosen one by one come without their folders.
async function readFiles(byPath, certificate, claims) {
  const extra = new Set(byPath.keys());
  let changed = 0, absent = 0, data = null;
  extra.delete("certificate.json");
  for (const [path, entry] of Object.entries(certificate.files)) {
    const given = byPath.has(path) ? path : path.split("/").pop();
    extra.delete(given);
    const bytes = await byPath.get(given)?.arrayBuffer();
    if (!bytes) absent++;
    else if (bytes.byteLength !== entry.bytes || (await sha256(bytes)) !== entry.sha256) changed++;
    if (path === certificate.data?.file) data = bytes ?? null;
  }
  const words = `${extra.size} files not listed, ${changed} changed, ${absent} listed ones not given`;
  const wrong = changed > 0 || extra.size > 0;
  claims.push(claim("folder", wrong ? false : absent ? "not checked" : true, words));
  return data;
}

async function dataClaims(certificate, bytes, claims) {
  const { data } = certificate;
  if (bytes === null) {
    claims.push(claim("data", "not checked", `give ${data.file}, too`));
    return;
  }
  claims.push(claim("data file unedited", (await sha256(bytes)) === data.sha256, "its SHA-256"));
  const known = [data.file, "report.html", "sfumato_verify.py"];
  const picture = /^pictures\/([^/]+\.(png|svg)|descriptions\.txt)$/;
  const loose = (path) => !known.includes(path) && !picture.test(path) && !path.startsWith(`${data.file}/`);
  if (Object.keys(certificate.files).some(loose)) {
    claims.push(claim("tables judged", false, "more files are listed, which no promise covers"));
  }
  const types = Object.values(data.form?.types ?? { none: "" });
  if (!["csv", "jsonl"].includes(data.format) || !types.every((type) => type in TYPES)) {
    claims.push(claim("data", "not checked", `${data.format} is not readable here; use sfumato verify`));
    return;
  }
  let table;
  try {
    table = readTable(bytes, data);
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable("the data file is not as described");
  }
  if (Object.keys(certificate.roles).some((name) => !table.columns.has(name))) {
    throw new Unreadable("it lacks a column that has a role");
  }
  const classes = makeClasses(table, certificate);
  if (classes === null) {
    claims.push(claim("class sizes and risks", false, "nothing forms classes that can be counted"));
  } else {
    claims.push(...tableClaims(certificate, table, classes));
    claims.push(...promiseClaims(certificate, classes), ...limitClaims(certificate, classes));
  }
}

async function check(files) {
  try {
    const claims = await checkFiles(files);
    const falsehood = claims.some(({ status }) => status === "fails");
    return { result: falsehood ? "false" : "not all verified", claims };
  } catch (error) {
    const words = error instanceof Unreadable ? error.message : "the certificate is not valid";
    return { result: "refused", claims: [claim("certificate", false, words)] };
  }
}

// The page. The worker runs the same script, which finds no document there.
function showPanel() {
  const panel = document.getElementById("check");
  const [input, output, list] = ["input", "output", "ol"].map((tag) => panel.getElementsByTagName(tag)[0]);
  const show = ({ result, claims }) => {
    const words = { false: "False: at least one claim is not true", refused: "No certificate that can be read" };
    output.textContent = words[result] ?? "Nothing is false; not everything can be checked here";
    list.replaceChildren(...claims.map(({ name, status, detail }) => {
      const item = document.createElement("li");
      item.textContent = `${MARKS[status]} ${name}: ${status}. ${detail}`;
      Object.assign(item.dataset, { name, status });
      return item;
    }));
    panel.dataset.result = result;
  };
  const start = (files) => {
    delete panel.dataset.result;
    output.textContent = "Checking …";
    const here = () => setTimeout(async () => show(await check(files)));
    try {
      const source = document.querySelector("script").textContent;
      const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const worker = new Worker(address);
      worker.onmessage = ({ data }) => { show(data); worker.terminate(); };
      worker.onerror = (event) => { event.preventDefault(); here(); };
      worker.postMessage(files);
      panel.dataset.worker = "yes";
    } catch {
      here(); // a browser that starts no worker from a page on disk
    }
  };
  const chosen = (files) => [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  input.addEventListener("change", () => {
    start(chosen(input.files));
    input.value = ""; // so that the same files can be chosen again
  });
  panel.addEventListener("dragover", (event) => event.preventDefault());
  panel.addEventListener("drop", async (event) => {
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    start((await Promise.all(entries.map(filesIn))).flat());
  });
}

// All files in what was dropped, folders opened.
async function filesIn(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path: entry.fullPath.slice(1), file }];
  }
  const reader = entry.createReader(), files = [];
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!entries.length) return files;
    files.push(...(await Promise.all(entries.map(filesIn))).flat());
  }
}

if (typeof document === "undefined") {
  self.onmessage = async ({ data }) => self.postMessage(await check(data));
} else {
  showPanel();
}
