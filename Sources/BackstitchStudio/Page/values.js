// Values as the commands write them: an object with one member named by the type.

import { h, bytes, download, note } from "./dom.js";
import { bytesOf } from "./api.js";

const shownMax = 160;
// Larger files are only downloaded.
const imageBytesMax = 16 << 20;
// By how their bytes begin, whatever they are said to be. SVG is none of them: it is a program.
const images = [["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]], ["image/jpeg", [0xff, 0xd8, 0xff]], ["image/gif", [0x47, 0x49, 0x46, 0x38]]];
export const imageType = (raw) => images.find(([, magic]) => magic.every((byte, at) => raw[at] === byte))?.[0]
  ?? (String.fromCharCode(...raw.slice(0, 4)) === "RIFF" && String.fromCharCode(...raw.slice(8, 12)) === "WEBP" ? "image/webp" : null);

export function text(value) {
  if (!value) return "";
  const [type, content] = Object.entries(value)[0] ?? [];
  switch (type) {
    case "date": return moment(content);
    case "location": return `${content.latitude}, ${content.longitude}`;
    case "list": return content.map(text).join(", ");
    case "bytes": return `${bytes(Math.floor(content.length * 3 / 4))} of data`;
    case "asset": return `${content.fileName ?? "a file"}, ${bytes(content.byteCount)}`;
    case "null": return "";
    case "duration": return typeof content === "object" ? JSON.stringify(content) : String(content);
    default: return typeof content === "object" ? JSON.stringify(content) : String(content);
  }
}

// Dates that JavaScript can't hold are shown as their milliseconds.
function moment(milliseconds) {
  const date = new Date(Number(milliseconds));
  return Number.isNaN(date.getTime()) ? `${milliseconds} ms since 1970` : date.toISOString().replace(".000Z", "Z");
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
  if ("asset" in value) return file(value.asset);
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

// A file is downloaded, and shown if its bytes are those of an image.
function file(asset) {
  const place = h("span", { class: "file" });
  const failed = (error) => note(error.message);
  const name = (asset.fileName ?? "file").replace(/[\u0000-\u001f/\\]/g, "_");
  const look = async () => {
    const raw = await bytesOf(asset);
    const type = imageType(raw);
    if (!type) return note("It is no image that can be shown: PNG, JPEG, GIF or WebP.");
    const url = URL.createObjectURL(new Blob([raw], { type }));
    const image = h("img", { src: url, alt: name, onload: () => URL.revokeObjectURL(url), onerror: () => { URL.revokeObjectURL(url); note("The image can't be read."); } });
    place.append(image);
  };
  place.append(h("span", { class: "quiet" }, text({ asset }) + " "),
    h("button", { class: "plain", type: "button", onclick: () => bytesOf(asset).then((raw) => download(name, "application/octet-stream", [raw])).catch(failed) }, "download"), " ",
    asset.byteCount <= imageBytesMax ? h("button", { class: "plain", type: "button", onclick: () => look().catch(failed) }, "look") : "");
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
