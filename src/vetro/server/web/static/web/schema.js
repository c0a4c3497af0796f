// Values against the published schema of a form: the rules of vetro.forms.validation, the same outcome
// (tests/forms/test_browser_validation.py). docs/forms/schema.md lists the keywords.
// evaluate(schema, value) -> [{path, code, limit?, message?}]; texts that the author did not write are the page's.

const LENGTHS = { minLength: "string", minItems: "array", minProperties: "object", maxLength: "string", maxItems: "array", maxProperties: "object" };
const CODES = { minLength: "min_length", minItems: "min_length", minProperties: "min_length", maxLength: "max_length", maxItems: "max_length", maxProperties: "max_length", exclusiveMinimum: "minimum", exclusiveMaximum: "maximum" };
const WITHIN = {
  minimum: (value, limit) => value >= limit,
  maximum: (value, limit) => value <= limit,
  exclusiveMinimum: (value, limit) => value > limit,
  exclusiveMaximum: (value, limit) => value < limit,
};
const KEPT = new Set(["secret", "at"]);

/** What is wrong with the answers to a form. */
export function evaluateForm(schema, answers) {
  const given = Object.fromEntries(Object.entries(answers).filter(([key]) => key !== "?"));
  const problems = [];
  entries(schema, given, "", problems);
  return problems;
}

/** What is wrong with one value. */
export function evaluate(schema, value, path = "", messages = {}, problems = []) {
  if (typeof schema === "boolean") {
    if (!schema) problems.push({ path, code: "extra" });
    return problems;
  }
  messages = { ...messages, ...schema.messages };
  if (schema.secret) return isMarker(value) ? problems : evaluate(schema.anyOf[0], value, path, messages, problems);
  const kind = jsonType(value);
  if (!fits(schema, value, kind)) {
    problems.push({ path, code: value === null ? "required" : "type" });
    return problems;
  }
  const found = (code, more = {}) => {
    const message = messages[code] || ("limit" in more ? "" : messages.invalid);
    problems.push(message ? { path, code, ...more, message } : { path, code, ...more });
  };
  own(schema, value, kind, found);
  if (schema.anyOf) evaluate(schema.anyOf.find((part) => fits(part, value, kind)), value, path, messages, problems);
  for (const part of schema.allOf ?? []) evaluate(part, value, path, messages, problems);
  if (kind === "array") {
    if (schema.uniqueItems && value.some((one, i) => value.slice(0, i).some((other) => same(one, other)))) found("unique");
    const leading = schema.prefixItems ?? [];
    value.forEach((item, i) => evaluate(i < leading.length ? leading[i] : schema.items ?? true, item, `${path}/${i}`, {}, problems));
  } else if (kind === "object" && schema.properties) entries(schema, value, path, problems);
  return problems;
}

/** The keywords about the value itself. */
function own(schema, value, kind, found) {
  for (const [keyword, about] of Object.entries(LENGTHS)) {
    const limit = schema[keyword];
    if (limit === undefined || kind !== about) continue;
    const count = kind === "string" ? [...value].length : kind === "array" ? value.length : Object.keys(value).length;
    if (keyword.startsWith("min") ? count < limit : count > limit) found(CODES[keyword], { limit });
  }
  if (kind === "integer" || kind === "number") {
    for (const [keyword, holds] of Object.entries(WITHIN)) {
      const limit = schema[keyword];
      if (limit === undefined || holds(value, limit)) continue;
      found(CODES[keyword] ?? keyword, keyword in CODES ? { limit, exclusive: true } : { limit });
    }
  }
  if (schema.enum && !schema.enum.some((one) => same(one, value))) found("invalid_choice");
  if (schema.pattern !== undefined && kind === "string" && !new RegExp(schema.pattern, "u").test(value)) found("pattern");
}

function entries(schema, values, path, problems) {
  const known = schema.properties ?? {};
  for (const [name, part] of Object.entries(known)) {
    if (Object.hasOwn(values, name)) evaluate(part, values[name], path + step(name), {}, problems);
    else if (schema.required?.includes(name)) problems.push({ path: path + step(name), code: "required" });
  }
  const others = schema.additionalProperties ?? true;
  for (const [key, value] of Object.entries(values)) {
    if (Object.hasOwn(known, key)) continue;
    if (others !== false && schema.propertyNames) evaluate(schema.propertyNames, key, path + step(key), {}, problems);
    evaluate(others, value, path + step(key), {}, problems);
  }
}

/** The JSON types of values that a schema lets through. */
export function typesOf(schema) {
  if (schema.anyOf) return schema.anyOf.flatMap(typesOf);
  return [schema.type ?? []].flat();
}

function fits(schema, value, kind) {
  if (value === null && schema.enum) return schema.enum.includes(null);
  const types = typesOf(schema);
  return !types.length || types.includes(kind) || (kind === "integer" && types.includes("number"));
}

function jsonType(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value; // boolean, string, object
}

function isMarker(value) {
  return jsonType(value) === "object" && value.secret === "kept" && Object.keys(value).every((key) => KEPT.has(key));
}

function same(a, b) {
  const kind = jsonType(a);
  if (kind === "array") return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (kind !== "object") return a === b;
  const keys = Object.keys(a);
  return jsonType(b) === "object" && keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function step(key) {
  return "/" + String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
