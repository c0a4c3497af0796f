// The rules of vetro.forms.rules in the browser: the same rule sets, the same outcome (tests/forms/test_rules_js.py).
// evaluateForm(rules, answers) -> [{path, code, message?}]; messages that are missing are the page's to word.

const KEPT = new Set(["secret", "at"]);

/** What is wrong with the answers to a form. */
export function evaluateForm(rules, answers) {
  const own = Object.fromEntries(Object.entries(answers).filter(([key]) => key !== "?"));
  const problems = [];
  entries({ fields: rules, closed: true }, own, "", problems);
  return problems;
}

/** What is wrong with one value; undefined is no value. */
export function evaluate(rules, value, path = "", problems = []) {
  if (value === undefined) {
    if (rules.required) problems.push({ path, code: "required" });
    return problems;
  }
  if (rules.secret && isMarker(value)) return problems;
  const kind = jsonType(value);
  if (!rules.types.includes(kind) && !(kind === "integer" && rules.types.includes("number"))) {
    problems.push({ path, code: value === null ? "required" : "type" });
    return problems;
  }
  for (const rule of rules.rules ?? []) {
    if (!holds(rule, value, kind)) {
      const problem = { path, code: rule.code.replace("exclusive_", "") };
      if (rule.message) problem.message = rule.message;
      problems.push(problem);
    }
  }
  if (kind === "array") items(rules, value, path, problems);
  else if (kind === "object" && rules.fields) entries(rules, value, path, problems);
  return problems;
}

function items(rules, values, path, problems) {
  const leading = rules.leading ?? [];
  values.forEach((value, i) => {
    const part = leading[i] ?? rules.items;
    if (part) evaluate(part, value, `${path}/${i}`, problems);
    else if (rules.closed) problems.push({ path: `${path}/${i}`, code: "extra" });
  });
}

function entries(rules, values, path, problems) {
  const own = new Set(rules.fields.map((part) => part.name));
  for (const part of rules.fields) {
    const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined;
    evaluate(part, value, path + step(part.name), problems);
  }
  for (const [key, value] of Object.entries(values)) {
    if (own.has(key)) continue;
    const here = path + step(key);
    if (rules.closed) {
      problems.push({ path: here, code: "extra" });
      continue;
    }
    if (rules.keys) evaluate(rules.keys, key, here, problems);
    evaluate(rules.items, value, here, problems);
  }
}

function holds(rule, value, kind) {
  const { code, limit } = rule;
  if (code === "min_length" || code === "max_length") {
    if (kind !== rule.of || limit === undefined) return true;
    const count = kind === "string" ? [...value].length : kind === "array" ? value.length : Object.keys(value).length;
    return code === "min_length" ? count >= limit : count <= limit;
  }
  if (code === "invalid_choice") return value === null || rule.values.some((one) => same(one, value));
  if (code === "pattern") return kind !== "string" || !rule.regex || new RegExp(rule.regex, "u").test(value);
  if (code === "unique") {
    return kind !== "array" || !value.some((one, i) => value.slice(0, i).some((other) => same(one, other)));
  }
  if (kind !== "integer" && kind !== "number") return true;
  if (code === "minimum") return value >= limit;
  if (code === "maximum") return value <= limit;
  return code === "exclusive_minimum" ? value > limit : value < limit;
}

function jsonType(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value; // boolean, string, object
}

function isMarker(value) {
  return (
    jsonType(value) === "object" && value.secret === "kept" && Object.keys(value).every((key) => KEPT.has(key))
  );
}

function same(a, b) {
  const kind = jsonType(a);
  if (kind === "array") {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  }
  if (kind === "object") {
    const keys = Object.keys(a);
    return (
      jsonType(b) === "object" &&
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
    );
  }
  return a === b;
}

function step(key) {
  return "/" + String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
