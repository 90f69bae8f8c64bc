// Elements from values. Text is always text: nothing here reads markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function show(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

export function table(titles, rows, { numbers = [], caption } = {}) {
  const kind = (index) => (numbers.includes(index) ? "number" : null);
  return h("div", { class: "scroll" }, h("table", {},
    caption && h("caption", { class: "quiet" }, caption),
    h("thead", {}, h("tr", {}, titles.map((title, i) => h("th", { scope: "col", class: kind(i) }, title)))),
    h("tbody", {}, rows.map((row) => row instanceof Node ? row
      : h("tr", {}, row.map((cell, i) => h("td", { class: kind(i) }, cell)))))));
}

export const empty = (...words) => h("p", { class: "empty" }, ...words);
export const problem = (error) => h("p", { class: "problem", role: "alert" }, error.message ?? String(error));
export const number = (value) => Number(value).toLocaleString("en-US");
export const bytes = (count) => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) { count /= 1024; unit += 1; }
  return `${unit ? count.toFixed(1) : count} ${units[unit]}`;
};
export const plural = (count, word, more = word + "s") => `${number(count)} ${count === 1 ? word : more}`;

let noteTimer;
export function note(text) {
  const place = document.getElementById("note");
  place.textContent = text;
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => { place.textContent = ""; }, 6000);
}

// The line that does the same in a terminal.
export function command(words) {
  const quoted = words.map((word) => (/^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
  const text = ["backstitch", ...quoted].join(" ");
  return h("p", { class: "command" }, "The same as a command:", h("code", {}, text),
    h("button", { type: "button", onclick: () => navigator.clipboard.writeText(text).then(() => note("Copied.")) }, "Copy"));
}

// Asks for the name of the store before something is changed; the answer is nil if it is not given.
export function confirmByName(title, what, name) {
  const dialog = document.getElementById("dialog");
  return new Promise((resolve) => {
    const input = h("input", { name: "store", autocomplete: "off", required: true });
    const finish = (value) => { dialog.close(); resolve(value); };
    show(dialog, h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); finish(input.value); } },
      h("h2", { id: "dialog-title" }, title), h("p", {}, what),
      h("label", {}, `Type the name of the store, ${name}, to go on`, input),
      h("p", { class: "tools" }, h("button", { class: "main", type: "submit" }, title),
        h("button", { type: "button", onclick: () => finish(null) }, "Cancel"))));
    dialog.onclose = () => { if (!dialog.open) resolve(null); };
    dialog.showModal();
    input.focus();
  });
}

export function download(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
