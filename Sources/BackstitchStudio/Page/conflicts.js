import { h, show, number, empty, problem, command, confirmByName, note } from "./dom.js";
import { read, act } from "./api.js";
import { address, cell, same } from "./values.js";

export async function conflicts(view, route, context) {
  const entity = route.query.get("entity") ?? "";
  const list = h("div", { id: "conflicts" });
  const more = h("p");
  const pill = h("p", { class: "pill", hidden: true }, h("button", { type: "button", onclick: () => { pill.hidden = true; restart(); } }, "New conflicts: show them"));
  let before = null;
  let known = context.info.conflicts;

  function card(conflict) {
    const sides = [conflict.base, conflict.local, conflict.server, conflict.outcome];
    const names = [...new Set(sides.flatMap((side) => Object.keys(side ?? {})))].sort();
    const values = (side, name) => (side ? cell(side[name]) : h("span", { class: "quiet" }, "no such record"));
    const undo = async (take, words) => {
      const confirm = await confirmByName("Undo", words, context.session.name);
      if (confirm === null) return;
      try {
        note((await act("conflicts/undo", { sequence: conflict.sequence, take, confirm })).changed ? "The record has these values now." : "The record has them already.");
      } catch (error) { note(error.message); }
    };
    return h("section", { class: "card", "data-sequence": conflict.sequence, "aria-label": `Conflict ${conflict.sequence}` },
      h("h2", {}, h("a", { href: address(conflict.entity, conflict.record) }, `${conflict.entity} ${conflict.record}`), " ", h("span", { class: "tag" }, conflict.policy), " ", h("span", { class: "quiet" }, conflict.date ?? "")),
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["Field", "Base", "Local", "Server", "Result"].map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, names.map((name) => {
          const base = conflict.base?.[name];
          const mark = (side) => (side && !same(side[name], base) ? "changed" : null);
          return h("tr", { "data-field": name }, h("th", { scope: "row" }, name), h("td", {}, values(conflict.base, name)), h("td", { class: mark(conflict.local) }, values(conflict.local, name)),
            h("td", { class: mark(conflict.server) }, values(conflict.server, name)), h("td", {}, values(conflict.outcome, name)));
        })))),
      conflict.copy && h("p", {}, "Both were kept; the local version is ", h("a", { href: address(conflict.entity, conflict.copy) }, conflict.copy)),
      context.session.writable ? h("p", { class: "tools" },
        h("button", { type: "button", onclick: () => undo("", "Gives the record back what it lost in this conflict, as an edit that is synchronised.") }, "Undo"),
        ["base", "local", "server"].map((side) => h("button", { type: "button", onclick: () => undo(side, `Gives the record the values of the side ${side}, as an edit that is synchronised.`) }, `Take ${side}`)))
        : h("p", { class: "quiet" }, "Start with --allow-writes to undo it."));
  }
  async function older() {
    try {
      const page = await read("conflicts", { entity, before, limit: 50 });
      list.append(...page.map(card));
      before = page.at(-1)?.sequence;
      show(more, page.length && page.length % 2 === 0 ? h("button", { type: "button", onclick: older }, "Older conflicts") : null);
      if (!list.children.length) show(more, empty("There were no conflicts. When a record is changed here and on the service, what was decided is shown here, and can be undone."));
    } catch (error) { show(more, problem(error)); }
  }
  const restart = () => { before = null; list.replaceChildren(); return older(); };
  show(view, h("h1", {}, `Conflicts`), h("p", { class: "quiet" }, `${number(known)} in the journal, newest first. What each side changed is marked.`),
    pill, list, more, command(["conflicts", context.session.path, ...(entity ? ["--entity", entity] : []), "--json"]));
  await older();
  return { keeps: () => true, refreshed: () => { if (context.info.conflicts !== known) { known = context.info.conflicts; pill.hidden = false; } } };
}
