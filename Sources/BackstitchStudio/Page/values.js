// Values as the commands write them: an object with one member named by the type.

import { h, bytes, download } from "./dom.js";

const shownMax = 160;

export function text(value) {
  if (!value) return "";
  const [type, content] = Object.entries(value)[0] ?? [];
  switch (type) {
    case "date": return new Date(content).toISOString().replace(".000Z", "Z");
    case "location": return `${content.latitude}, ${content.longitude}`;
    case "list": return content.map(text).join(", ");
    case "bytes": return `${bytes(Math.floor(content.length * 3 / 4))} of data`;
    case "null": return "";
    case "duration": return typeof content === "object" ? JSON.stringify(content) : String(content);
    default: return typeof content === "object" ? JSON.stringify(content) : String(content);
  }
}

export const plain = (value) => (value ? Object.values(value)[0] : null);
// What a record has of an attribute: an attribute that was renamed has its first name as the name of its field.
export const valueOf = (values, attribute) => values?.[attribute.field] ?? values?.[attribute.name];
export const same = (left, right) => JSON.stringify(left ?? null) === JSON.stringify(right ?? null);
export const address = (entity, record) => `#/record/${encodeURIComponent(entity)}/${encodeURIComponent(record)}`;

// Bytes and long text are masked until they are asked for.
export function cell(value, attribute) {
  if (value === undefined || value === null || "null" in value) return h("span", { class: "quiet" }, "none");
  if ("bytes" in value) {
    return h("span", {}, h("span", { class: "quiet" }, text(value) + " "),
      h("button", { class: "plain", type: "button", onclick: () => save(value.bytes, attribute?.name ?? "value") }, "download"));
  }
  if ("unknown" in value || "sealed" in value) return masked(text(value), "hidden value");
  if ("reference" in value && attribute?.target) return h("a", { href: address(attribute.target, value.reference) }, value.reference);
  const words = text(value);
  return words.length > shownMax ? masked(words, words.slice(0, shownMax) + "…") : words;
}

function masked(words, mask) {
  const place = h("span", {}, mask + " ");
  place.append(h("button", { class: "plain", type: "button", onclick: () => place.replaceChildren(words) }, "show"));
  return place;
}

function save(base64, name) {
  const raw = atob(base64);
  download(name + ".bin", "application/octet-stream", [Uint8Array.from(raw, (letter) => letter.charCodeAt(0))]);
}

export function csvCell(value) {
  const words = value ? text(value) : "";
  // A spreadsheet takes what begins so for a formula.
  const safe = /^[=+\-@\t\r]/.test(words) && !/^-?[\d.]+$/.test(words) ? "'" + words : words;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// A record's name as the language of conditions takes it.
export const quoted = (name) => `'${name.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
export const named = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : "`" + name + "`");

export const operationLine = (operation) => operation.changes.map((change) => h("div", {},
  h("span", { class: "quiet" }, change.attribute + ": "),
  change.before && change.after && h("span", { class: "old" }, text(change.before).slice(0, shownMax)),
  change.before && change.after && " → ",
  change.after ? text(change.after).slice(0, shownMax) : h("span", { class: "old" }, text(change.before).slice(0, shownMax))));
