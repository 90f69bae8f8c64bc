import { h, show, number, empty, problem, command } from "./dom.js";
import { read } from "./api.js";
import { address, operationLine } from "./values.js";

export async function log(view, route, context) {
  const entity = route.query.get("entity") ?? "";
  const record = route.query.get("record") ?? "";
  const list = h("ol", { class: "steps", id: "timeline" });
  const more = h("p");
  const pill = h("p", { class: "pill", hidden: true });
  let newest = 0;
  let before = null;

  // The operations of a transaction stand together.
  const items = (operations) => {
    const groups = [];
    for (const operation of operations) {
      if (groups.at(-1)?.[0].transaction === operation.transaction) groups.at(-1).push(operation);
      else groups.push([operation]);
    }
    return groups.map((group) => h("li", { "data-href": address(group[0].entity, group[0].record), "data-transaction": group[0].transaction },
      h("b", {}, `seq ${number(group[0].sequence)}`), " ", h("span", { class: "quiet" }, `${group[0].date}${group[0].author ? " by " + group[0].author : ""}${group[0].context ? ": " + group[0].context : ""} `),
      h("span", { class: "tag" }, group[0].origin),
      group.map((operation) => h("div", {}, `${operation.kind} `, h("a", { href: `${address(operation.entity, operation.record)}?at=${operation.sequence}` }, `${operation.entity} ${operation.record}`),
        operation.parkReason && h("span", { class: "bad" }, ` ${operation.parkReason}`), operation.conflict && h("span", { class: "warn" }, ` conflict, ${operation.conflict.policy}`),
        operation.acknowledgedThrough && h("span", { class: "quiet" }, ` through seq ${number(operation.acknowledgedThrough)}`), operationLine(operation)))));
  };
  // Operations that the filter leaves out are looked at part by part, until there is something to show.
  let turn = 0;
  let isWhole = false;
  async function older() {
    const mine = ++turn;
    isWhole = false;
    try {
      let found = 0;
      let examined = 0;
      do {
        const page = await read("log", { entity, record, before, limit: 100 - found });
        if (mine !== turn) return;
        if (before === null) newest = page.lastSequence;
        list.append(...items(page.operations));
        found += page.operations.length;
        examined += page.examined;
        before = page.before;
        if (before && found < 100) show(more, h("progress", { max: newest, value: newest - before, "aria-label": "Operations looked at" }), ` ${number(examined)} operations looked at `,
          h("button", { type: "button", id: "stop", onclick: () => { turn += 1; show(more, h("span", { class: "warn" }, "Stopped. "), h("button", { type: "button", onclick: older }, "Go on")); } }, "Stop"));
        shown();
      } while (before && found < 100);
      isWhole = true;
      show(more, before ? h("button", { type: "button", onclick: older }, "Older operations") : h("span", { class: "quiet" }, list.children.length ? "The beginning of the log." : ""));
      if (!list.children.length && !before) show(more, empty("No operation matches."));
    } catch (error) { show(more, problem(error)); }
  }
  let shown = () => {};
  async function newer() {
    const page = await read("log", { entity, record, limit: 200 });
    const fresh = page.operations.filter((operation) => operation.sequence > newest);
    const newestBefore = newest;
    newest = page.lastSequence;
    pill.hidden = true;
    // Operations between were not looked at.
    if (fresh.length === page.operations.length && page.before > newestBefore + 1) { list.replaceChildren(); before = null; return older(); }
    list.prepend(...items(fresh));
  }
  show(view, h("h1", {}, "Log"),
    h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); location.hash = `#/log?${new URLSearchParams(new FormData(event.target))}`; } },
      h("label", {}, "Entity", h("select", { name: "entity" }, h("option", { value: "" }, "all"), context.entities.map((other) => h("option", { value: other.name, selected: other.name === entity }, other.name)))),
      h("label", {}, "Record", h("input", { name: "record", value: record, autocomplete: "off" })), h("button", { class: "main", type: "submit" }, "Filter")),
    pill, list, more, command(["log", context.session.path, ...(entity ? ["--entity", entity] : []), ...(record ? ["--record", record] : []), "--follow", "--json"]));
  // What is looked through goes on beside the page.
  await new Promise((resolve) => { shown = resolve; older().then(resolve); });
  return { keeps: () => isWhole, leave: () => { turn += 1; }, changed: (last) => {
    // Who reads further down is not moved.
    if (window.scrollY < 120) return newer();
    pill.hidden = false;
    show(pill, h("button", { type: "button", onclick: () => { window.scrollTo(0, 0); newer(); } }, `${number(last - newest)} new: show`));
  } };
}
