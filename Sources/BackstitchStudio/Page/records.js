import { h, show, table, number, plural, empty, problem, command, download, note } from "./dom.js";
import { read, act } from "./api.js";
import { cell, address, csvCell, valueOf } from "./values.js";

const pageSize = 100;
const rowsMax = 100000;
const countMax = 10000;
const key = "backstitch-searches";
// Whatever used the address before may have left something else.
function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(found) ? found.filter((text) => typeof text === "string") : [];
  } catch { return []; }
}

export async function records(view, route, context) {
  const name = route.parts[0] ?? context.entities.find((entity) => entity.records)?.name ?? context.entities[0]?.name;
  const entity = context.entities.find((other) => other.name === name);
  if (!entity) {
    show(view, h("h1", {}, "Records"), empty(name ? `There is no entity ${name}.` : "The store has no entities yet."));
    return {};
  }
  const where = route.query.get("where") ?? "";
  const sort = route.query.get("sort") ?? "";
  const declared = entity.attributes.filter((attribute) => attribute.declared);
  const chosen = route.query.get("columns")?.split(",") ?? declared.map((attribute) => attribute.name);
  const columns = declared.filter((attribute) => chosen.includes(attribute.name));
  const go = (changes) => {
    const next = new URLSearchParams(route.query);
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    location.hash = `#/records/${encodeURIComponent(name)}${next.size ? "?" + next : ""}`;
  };
  const body = h("tbody");
  // Above the table, because the rows may fill the screen: what is shown is not the answer yet.
  const partial = h("p", { id: "partial", class: "partial", hidden: true });
  const showPartial = (words) => { partial.hidden = !words; show(partial, words); body.classList.toggle("dim", Boolean(words)); };
  const more = h("p");
  const exporting = h("span");
  const count = h("span", { id: "count", class: "quiet" }, "counting…");
  const pill = h("p", { class: "pill", hidden: true }, h("button", { type: "button", onclick: () => load(true) }, "The store changed: show it"));
  const input = h("input", { class: "wide", name: "where", value: where, list: "searches", placeholder: "stars >= 4 and title contains 'x'", autocomplete: "off", spellcheck: "false" });
  let after = null;

  const row = (record) => h("tr", { "data-href": address(name, record.record) },
    h("td", {}, h("a", { href: address(name, record.record), class: "mono" }, record.record)),
    columns.map((attribute) => h("td", {}, cell(valueOf(record.values, attribute), attribute))));
  const fetchPage = (cursor, more = {}) => read("records", { entity: name, where, sort, after: cursor, limit: pageSize, ...more });

  // What looks at every row comes in parts: rows are shown as they are found, and it can be stopped.
  let turn = 0;
  let place = null;
  let through = null;
  let isScan = false;
  let countScans = false;
  let isWhole = false;
  let isCounted = false;
  const show100 = (page, base) => { while (body.rows.length > base) body.deleteRow(base); body.append(...page.map(row)); };
  const unfinished = sort ? "Partial: rows that are not read yet may belong before and between these." : "Partial: further rows may match.";
  const progress = (examined, total) => [h("b", {}, unfinished), " ", h("progress", { max: total || 1, value: examined, "aria-label": "Rows looked at" }), ` ${number(examined)} of ${number(total)} rows looked at `,
    h("button", { type: "button", id: "stop", onclick: () => { turn += 1; showPartial([h("b", { class: "warn" }, unfinished), ` Stopped after ${number(examined)} of ${number(total)} rows. `, h("button", { type: "button", onclick: () => load(true) }, "Begin again")]); } }, "Stop")];

  async function load(anew) {
    const mine = ++turn;
    isWhole = false;
    try {
      const started = performance.now();
      if (anew) { after = null; place = null; through = null; isScan = false; }
      const page = isScan ? await read("records", { entity: name, where, sort, scan: 1, place: sort ? place : null, through, limit: pageSize + 1 })
        : await fetchPage(after);
      if (mine !== turn) return;
      pill.hidden = true;
      if (anew) body.replaceChildren();
      if (anew) tell(mine);
      if (page.scan) { isScan = true; await scan(page, mine, body.rows.length, started); } else {
        body.append(...page.records.map(row));
        after = page.next;
        ended(page.next, page.records.length, started);
      }
    } catch (error) {
      if (mine !== turn) return;
      // Rows of a look that failed are no answer either.
      if (!partial.hidden) showPartial(h("b", { class: "warn" }, unfinished));
      show(more, problem(error));
      count.textContent = "";
    }
  }
  async function scan(page, mine, base, started) {
    let found = [];
    let examined = 0;
    place = page.scan.after ?? place;
    const isShown = new Set([...body.rows].slice(0, base).map((row) => row.cells[0].textContent));
    for (;;) {
      examined += page.scan.examined;
      found.push(...page.records.filter((record) => !isShown.has(record.record)));
      if (sort) found.sort((one, other) => (one.place < other.place ? -1 : 1));
      found = found.slice(0, pageSize + 1);
      show100(found.slice(0, pageSize), base);
      const isFull = !sort && found.length > pageSize;
      if (!page.scan.through || isFull) break;
      showPartial(progress(examined, page.scan.total));
      page = await read("records", { entity: name, where, sort, scan: 1, place: sort ? place : null, through: page.scan.through, limit: sort ? pageSize + 1 : pageSize + 1 - found.length });
      if (mine !== turn) return;
    }
    const hasMore = found.length > pageSize;
    const shown = found.slice(0, pageSize);
    place = shown.at(-1)?.place ?? place;
    // Without a sort the order is that of the names, so that a place is a row to go on after.
    through = sort ? null : place && btoa(String.fromCharCode(...place.match(/../g).map((digits) => parseInt(digits, 16))));
    ended(hasMore, shown.length, started);
  }
  function ended(hasMore, size, started) {
    isWhole = true;
    showPartial(null);
    show(more, hasMore ? h("button", { type: "button", onclick: () => load(false) }, "More rows") : null,
      h("span", { class: "quiet", id: "time" }, ` ${plural(body.rows.length, "row")} shown, the last ${size} in ${Math.round(performance.now() - started)} ms`));
    if (!body.rows.length) show(more, empty(where ? "No record matches. Change the condition, or take it away." : "There are no records of this entity."));
  }
  async function tell(mine) {
    isCounted = false;
    try {
      let answer = await read("count", { entity: name, where });
      let sum = answer.count;
      countScans = Boolean(answer.scan);
      while (answer.scan?.through && sum < countMax && mine === turn) {
        count.textContent = `${plural(sum, "record")} so far…`;
        answer = await read("count", { entity: name, where, through: answer.scan.through });
        sum += answer.count;
      }
      if (mine !== turn) return;
      count.textContent = (answer.atLeast ? "more than " : "") + plural(sum, "record");
      isCounted = true;
    } catch { count.textContent = ""; }
  }

  async function all(write) {
    const parts = [];
    let cursor = null;
    let rows = 0;
    let isStopped = false;
    show(exporting, h("button", { type: "button", onclick: () => { isStopped = true; } }, "Stop the download"));
    do {
      const page = await fetchPage(cursor, { limit: 200, whole: 1 });
      page.records.forEach((record) => parts.push(write(record)));
      rows += page.records.length;
      cursor = page.next;
      note(`${number(rows)} rows…`);
    } while (cursor && rows < rowsMax && !isStopped);
    show(exporting);
    note(isStopped ? `Stopped after ${number(rows)} rows.` : cursor ? `Cut after ${number(rows)} rows; the command export has all.` : `${number(rows)} rows.`);
    return parts;
  }
  const attempt = (work) => () => work().catch((error) => { show(exporting); note(error.message); });
  const csv = async () => download(`${name}.csv`, "text/csv", [["record", ...columns.map((c) => c.name)].map((t) => csvCell({ string: t })).join(",") + "\n",
    ...await all((record) => [csvCell({ string: record.record }), ...columns.map((c) => csvCell(valueOf(record.values, c)))].join(",") + "\n")]);
  const lines = async () => download(`${name}.jsonl`, "application/x-ndjson", await all((record) => JSON.stringify(record) + "\n"));
  const sortBy = (attribute) => go({ sort: sort === attribute ? `-${attribute}` : sort === `-${attribute}` ? "" : attribute });
  const title = (attribute) => h("th", { scope: "col", "aria-sort": sort === attribute.field ? "ascending" : sort === `-${attribute.field}` ? "descending" : null },
    h("button", { class: "plain", type: "button", onclick: () => sortBy(attribute.field) }, attribute.name + (attribute.target ? " →" : "") + (sort === attribute.field ? " ▲" : sort === `-${attribute.field}` ? " ▼" : "")));

  // Searches with a name, which the server keeps for the user: a browser forgets what belongs to another port.
  const saved = h("details", { id: "saved" }, h("summary", {}, "Saved searches"));
  const list = h("div");
  const searchName = h("input", { name: "search-name", autocomplete: "off", required: true, maxlength: 100 });
  const showSaved = (all) => {
    const mine = all.filter((one) => one.entity === name);
    show(list, mine.length ? h("ul", {}, mine.map((one) => h("li", {}, h("a", { href: `#/records/${encodeURIComponent(name)}?${new URLSearchParams(Object.entries({ where: one.condition, sort: one.sort, columns: one.columns }).filter(([, value]) => value))}` }, one.name), " ",
      h("code", {}, [one.condition, one.sort && `sorted by ${one.sort}`].filter(Boolean).join(", ")), " ",
      h("button", { type: "button", class: "plain", "aria-label": `Remove ${one.name}`, onclick: () => act("searches/remove", { name: one.name, entity: name }).then(showSaved, failed) }, "remove")))) : h("p", { class: "quiet" }, "None yet: search for something, give it a name, and save it."));
  };
  const failed = (error) => note(error.message);
  saved.append(list, h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); act("searches/save", { name: searchName.value.trim(), entity: name, where, sort, columns: route.query.get("columns") ?? "" }).then((all) => { searchName.value = ""; note("Saved."); showSaved(all); }, failed); } },
    h("label", {}, "Name of this search", searchName), h("button", { type: "submit" }, "Save")));
  saved.ontoggle = () => { if (saved.open) read("searches").then(showSaved, failed); };

  show(view, h("h1", {}, `Records: ${name}`),
    h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); const text = input.value.trim(); if (text) localStorage.setItem(key, JSON.stringify([text, ...remembered().filter((other) => other !== text)].slice(0, 20))); go({ where: text }); } },
      h("label", {}, "Entity", h("select", { name: "entity", onchange: (event) => { location.hash = `#/records/${encodeURIComponent(event.target.value)}`; } },
        context.entities.map((other) => h("option", { value: other.name, selected: other.name === name }, other.name)))),
      h("label", {}, "Filter", input), h("datalist", { id: "searches" }, remembered().map((text) => h("option", { value: text }))),
      h("button", { class: "main", type: "submit" }, "Run"),
      h("button", { type: "button", onclick: attempt(csv) }, "CSV"), h("button", { type: "button", onclick: attempt(lines) }, "JSON Lines"),
      h("a", { href: `#/queries?${new URLSearchParams({ entity: name, where, sort })}` }, "Explain"), count, exporting),
    saved,
    h("details", {}, h("summary", {}, "Columns"), h("div", { class: "tools" }, declared.map((attribute) => h("label", { class: "inline" },
      h("input", { type: "checkbox", checked: chosen.includes(attribute.name), onchange: (event) => go({ columns: declared.map((a) => a.name).filter((n) => n === attribute.name ? event.target.checked : chosen.includes(n)).join(",") }) }), attribute.name)))),
    pill, partial, h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Record"), columns.map(title))), body)), more,
    command(["query", context.session.path, name, ...(where ? ["--where", where] : []), ...(sort ? ["--sort", sort] : []), "--json"]));
  const first = load(true);
  // A scan goes on beside the page.
  await Promise.race([first, new Promise((resolve) => { const look = setInterval(() => { if (body.rows.length || isScan) { clearInterval(look); resolve(); } }, 10); first.finally(() => clearInterval(look)); })]);
  return { changed: () => { pill.hidden = false; if (!isScan && !countScans) tell(turn); }, keeps: () => isWhole && isCounted, leave: () => { turn += 1; } };
}
