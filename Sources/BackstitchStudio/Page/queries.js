import { h, show, empty, problem, command, plural } from "./dom.js";
import { read } from "./api.js";

export async function queries(view, route, context) {
  const given = Object.fromEntries(route.query);
  const name = given.entity ?? context.entities.find((entity) => entity.records)?.name ?? "";
  const place = h("div", { id: "plan" });
  const field = (label, name, more = {}) => h("label", {}, label, h("input", { name, value: given[name] ?? "", autocomplete: "off", ...more }));
  show(view, h("h1", {}, "Queries"),
    h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); location.hash = `#/queries?${new URLSearchParams(new FormData(event.target))}`; } },
      h("label", {}, "Entity", h("select", { name: "entity" }, context.entities.map((entity) => h("option", { value: entity.name, selected: entity.name === name }, entity.name)))),
      field("Filter", "where", { class: "wide", placeholder: "stars >= 4" }), field("Sorted by", "sort", { placeholder: "-stars,title" }), field("Limit", "limit", { inputmode: "numeric", size: 5 }),
      h("button", { class: "main", type: "submit" }, "Explain")), place);
  if (!name) { show(place, empty("The store has no entities yet.")); return {}; }
  const words = { entity: name, where: given.where, sort: given.sort, limit: given.limit };
  try {
    const explained = await read("explain", words);
    const started = performance.now();
    const page = await read("records", words);
    const time = performance.now() - started;
    show(place, h("h2", {}, "How it is answered"), h("ol", {}, explained.steps.map((step) => h("li", {}, h("code", {}, step)))),
      h("p", {}, page.scan?.through ? `It has to look at all ${page.scan.total.toLocaleString("en-US")} rows; the first ${page.scan.examined.toLocaleString("en-US")} took ${time.toFixed(1)} ms. ` : `${plural(page.records.length, "row")}${page.next ? " and more" : ""} in ${time.toFixed(1)} ms. `, h("a", { href: `#/records/${encodeURIComponent(name)}?${new URLSearchParams({ where: given.where ?? "", sort: given.sort ?? "" })}` }, "Show them")),
      h("h2", {}, "In Swift"), explained.swift ? h("pre", { id: "swift" }, h("code", {}, explained.swift)) : h("p", { class: "quiet" }, "This condition has no short form in code."),
      h("p", { class: "quiet" }, "Fetch it in store.read. It goes by names, so it needs no type of your app. With a type, begin with Query<Type>() and write typed tests: .where(\\.stars, atLeast: 4)."),
      command(["query", context.session.path, name, ...(given.where ? ["--where", given.where] : []), ...(given.sort ? ["--sort", given.sort] : []), "--explain"]));
  } catch (error) { show(place, problem(error)); }
  return {};
}
