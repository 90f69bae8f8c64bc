// Fields in which values are changed, and what they become.

import { h } from "./dom.js";
import { text, plain } from "./values.js";

const cutMark = / bytes: the command 'export' has all\)$/;
const kinds = {
  string: "string", url: "string", bool: "bool", int16: "int64", int32: "int64", int64: "int64", float: "double", double: "double",
  decimal: "decimal", date: "date", uuid: "uuid", reference: "reference",
};

// A field for an attribute; null for types that only the app changes, and for what is not here as a whole.
export function fieldOf(attribute, value) {
  if (!kinds[attribute.type]) return null;
  const given = value && !("null" in value) ? value : null;
  if (given && "string" in given && cutMark.test(given.string)) return null;
  if (given && "unknown" in given) return null;
  const before = given ? (attribute.type === "date" ? text(given) : String(plain(given))) : null;
  const isLong = attribute.type === "string" && ((before ?? "").length > 60 || (before ?? "").includes("\n"));
  const input = attribute.type === "bool"
    ? h("select", { name: attribute.field }, ["", "true", "false"].map((word) => h("option", { value: word, selected: word === (before ?? "") }, word || "none")))
    : h(isLong ? "textarea" : "input", { name: attribute.field, value: before ?? "", autocomplete: "off", spellcheck: "false" });
  // An empty text is a text; of other types it is no value.
  const isText = attribute.type === "string";
  const none = attribute.optional && isText ? h("input", { type: "checkbox", checked: given === null, "aria-label": `${attribute.name} has no value` }) : null;
  const element = none ? h("span", {}, input, " ", none, " none") : input;
  if (none) input.addEventListener("input", () => { none.checked = false; });
  const current = () => (none?.checked ? null : !isText && input.value.trim() === "" ? null : isText ? input.value : input.value.trim());
  return { element, current, isChanged: () => current() !== before };
}

// The value as JSON. Whole numbers are sent by their digits, because a number of JavaScript may not hold them.
export function editedValue(attribute, field) {
  const content = field.current();
  if (content === null) return "null";
  const wrong = (what) => { throw new Error(`${attribute.name} is ${what}.`); };
  switch (kinds[attribute.type]) {
    case "bool": return `{"bool":${content}}`;
    case "int64": return /^-?\d{1,19}$/.test(content) ? `{"int64":${BigInt(content)}}` : wrong("a whole number");
    case "double": return content !== "" && Number.isFinite(Number(content)) ? `{"double":${Number(content)}}` : wrong("a number");
    case "date": {
      const milliseconds = Date.parse(content);
      return Number.isNaN(milliseconds) ? wrong("a date such as 2025-01-31T12:00:00Z") : `{"date":${milliseconds}}`;
    }
    default: return JSON.stringify({ [kinds[attribute.type]]: content });
  }
}
