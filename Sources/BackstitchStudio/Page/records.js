import { h, show, table, number, plural, empty, problem, command, download, note } from "./dom.js";
import { read } from "./api.js";
import { cell, address, csvCell, valueOf } from "./values.js";

const pageSize = 100;
const rowsMax = 100000;
const key = "backstitch-searches";
const remembered = () => JSON.parse(localStorage.getItem(key) ?? "[]");

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
  const more = h("p");
  const count = h("span", { id: "count", class: "quiet" }, "counting…");
  const pill = h("p", { class: "pill", hidden: true }, h("button", { type: "button", onclick: () => load(true) }, "The store changed: show it"));
  const input = h("input", { class: "wide", name: "where", value: where, list: "searches", placeholder: "stars >= 4 and title contains 'x'", autocomplete: "off", spellcheck: "false" });
  let after = null;

  const row = (record) => h("tr", { "data-href": address(name, record.record) },
    h("td", {}, h("a", { href: address(name, record.record), class: "mono" }, record.record)),
    columns.map((attribute) => h("td", {}, cell(valueOf(record.values, attribute), attribute))));
  const fetchPage = (cursor, size = pageSize) => read("records", { entity: name, where, sort, after: cursor, limit: size });

  async function load(anew) {
    try {
      const started = performance.now();
      const page = await fetchPage(anew ? null : after);
      pill.hidden = true;
      if (anew) body.replaceChildren();
      body.append(...page.records.map(row));
      after = page.next;
      show(more, page.next ? h("button", { type: "button", onclick: () => load(false) }, "More rows") : null,
        h("span", { class: "quiet", id: "time" }, ` ${plural(body.rows.length, "row")} shown, the last ${page.records.length} in ${Math.round(performance.now() - started)} ms`));
      if (!body.rows.length) show(more, empty(where ? "No record matches. Change the condition, or take it away." : "There are no records of this entity."));
      if (anew) tell();
    } catch (error) {
      show(more, problem(error));
      count.textContent = "";
    }
  }
  const tell = () => read("count", { entity: name, where }).then((answer) => {
    count.textContent = (answer.atLeast ? "more than " : "") + plural(answer.count, "record");
  }, () => { count.textContent = ""; });

  async function all(write) {
    const parts = [];
    let cursor = null;
    let rows = 0;
    do {
      const page = await fetchPage(cursor, 200);
      page.records.forEach((record) => parts.push(write(record)));
      rows += page.records.length;
      cursor = page.next;
      note(`${number(rows)} rows…`);
    } while (cursor && rows < rowsMax);
    note(cursor ? `Cut after ${number(rows)} rows; the command export has all.` : `${number(rows)} rows.`);
    return parts;
  }
  const csv = async () => download(`${name}.csv`, "text/csv", [["record", ...columns.map((c) => c.name)].map((t) => csvCell({ string: t })).join(",") + "\n",
    ...await all((record) => [csvCell({ string: record.record }), ...columns.map((c) => csvCell(valueOf(record.values, c)))].join(",") + "\n")]);
  const lines = async () => download(`${name}.jsonl`, "application/x-ndjson", await all((record) => JSON.stringify(record) + "\n"));
  const sortBy = (attribute) => go({ sort: sort === attribute ? `-${attribute}` : sort === `-${attribute}` ? "" : attribute });
  const title = (attribute) => h("th", { scope: "col", "aria-sort": sort === attribute.field ? "ascending" : sort === `-${attribute.field}` ? "descending" : null },
    h("button", { class: "plain", type: "button", onclick: () => sortBy(attribute.field) }, attribute.name + (attribute.target ? " →" : "") + (sort === attribute.field ? " ▲" : sort === `-${attribute.field}` ? " ▼" : "")));

  show(view, h("h1", {}, `Records: ${name}`),
    h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); const text = input.value.trim(); if (text) localStorage.setItem(key, JSON.stringify([text, ...remembered().filter((other) => other !== text)].slice(0, 20))); go({ where: text }); } },
      h("label", {}, "Entity", h("select", { name: "entity", onchange: (event) => { location.hash = `#/records/${encodeURIComponent(event.target.value)}`; } },
        context.entities.map((other) => h("option", { value: other.name, selected: other.name === name }, other.name)))),
      h("label", {}, "Only where", input), h("datalist", { id: "searches" }, remembered().map((text) => h("option", { value: text }))),
      h("button", { class: "main", type: "submit" }, "Run"),
      h("button", { type: "button", onclick: csv }, "CSV"), h("button", { type: "button", onclick: lines }, "JSON Lines"),
      h("a", { href: `#/queries?${new URLSearchParams({ entity: name, where, sort })}` }, "Explain"), count),
    h("details", {}, h("summary", {}, "Columns"), h("div", { class: "tools" }, declared.map((attribute) => h("label", { class: "inline" },
      h("input", { type: "checkbox", checked: chosen.includes(attribute.name), onchange: (event) => go({ columns: declared.map((a) => a.name).filter((n) => n === attribute.name ? event.target.checked : chosen.includes(n)).join(",") }) }), attribute.name)))),
    pill, h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Record"), columns.map(title))), body)), more,
    command(["query", context.session.path, name, ...(where ? ["--where", where] : []), ...(sort ? ["--sort", sort] : []), "--json"]));
  await load(true);
  return { changed: () => { pill.hidden = false; tell(); } };
}
