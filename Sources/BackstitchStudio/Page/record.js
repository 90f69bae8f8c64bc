import { h, show, table, number, plural, empty, problem, command, confirmByName, note } from "./dom.js";
import { read, act } from "./api.js";
import { fieldOf, editedValue } from "./edit.js";
import { cell, same, valueOf, address, quoted, named, operationLine } from "./values.js";

const relationsMax = 20;

export async function record(view, route, context) {
  const [entityName, name] = route.parts;
  const entity = context.entities.find((other) => other.name === entityName);
  if (!entity) throw new Error(`There is no entity ${entityName}.`);
  let steps = [];
  let state = null;
  let position = 0;
  const fields = h("div", { id: "fields" });
  const differences = h("div", { id: "differences" });
  const label = h("output", { id: "moment" });
  const slider = h("input", { type: "range", id: "time", min: 0, "aria-label": "Moment in the history", oninput: () => choose(Number(slider.value)) });
  const list = h("ol", { class: "steps", id: "history" });
  const relations = h("div", { id: "relations" });
  const actions = h("p", { class: "tools" });
  const form = h("div", { id: "editor" });
  let isEditing = context.session.writable && route.query.get("edit") === "1";

  async function load() {
    // Oldest first: to the right is later.
    steps = (await read("history", { entity: entityName, record: name })).reverse();
    state = await read("record", { entity: entityName, record: name });
    const parked = state?.parked;
    const isParked = state?.state === "parked";
    const pending = state && !isParked && state.lastSequence > state.syncedSequence && ["dirty", "deleted", "unreadable"].includes(state.state);
    if (!steps.length) {
      show(view, h("h1", {}, name), empty("The log has no operation of this record. Check the name: those of UUIDs are in upper case."));
      return;
    }
    const at = route.query.get("at");
    const found = at ? steps.findLastIndex((step) => step.sequence <= Number(at)) : steps.length - 1;
    slider.max = steps.length - 1;
    show(list, [...steps].reverse().map((step) => h("li", { "data-sequence": step.sequence },
      h("button", { class: "plain", type: "button", onclick: () => choose(steps.indexOf(step)) }, `seq ${number(step.sequence)}`),
      ` ${step.kind} `, h("span", { class: "tag" }, step.origin), " ", h("span", { class: "quiet" }, `${step.date}${step.author ? " by " + step.author : ""}${step.context ? ": " + step.context : ""}`),
      step.changeTag && h("span", { class: "quiet" }, ` tag ${step.changeTag}`), operationLine(step),
      context.session.writable && step.origin === "local" && h("button", { type: "button", onclick: () => undo(step) }, `Undo transaction ${number(step.transaction)}`))));
    show(actions,
      pending && h("span", { class: "warn" }, `● changed here and not pushed: ${state.state === "deleted" ? "delete" : state.onService ? "update" : "create"}`),
      isParked && h("a", { href: "#/outbox", class: "bad" }, `parked: ${parked?.reason ?? "see the outbox"}`),
      !pending && !isParked && h("span", { class: "good" }, "The service has everything, or nothing was synchronised yet."),
      context.session.writable && state && state.state !== "deleted" && h("button", { type: "button", id: "edit", onclick: () => { isEditing = !isEditing; editor(); } }, "Edit"),
      context.session.writable && (pending || isParked) && h("button", { class: "danger", type: "button", onclick: revert }, state?.onService ? "Revert to base" : "Discard what was not pushed"),
      h("button", { type: "button", onclick: () => navigator.clipboard.writeText(JSON.stringify(steps[position], null, 2)).then(() => note("Copied.")) }, "Copy as JSON"));
    show(view, h("h1", {}, `${entityName} `, h("span", { class: "mono" }, name)), actions, form,
      h("h2", {}, "History"), h("p", {}, slider), h("p", {}, label), differences,
      h("h2", {}, "Fields"), fields, h("h2", {}, "Relations"), relations,
      h("h2", {}, "Operations, newest first"), list,
      command(["history", context.session.path, entityName, name, "--json"]));
    choose(Math.max(0, found), false);
    relate();
    if (!isEditing || !form.firstChild) editor();
  }

  // The fields as they are now, to be changed; what the service refused is pushed again then.
  function editor() {
    if (!isEditing || !state) return show(form);
    const values = steps.at(-1)?.values ?? {};
    const known = state.lastSequence;
    const fields = entity.attributes.filter((attribute) => attribute.declared).map((attribute) => ({ attribute, field: fieldOf(attribute, valueOf(values, attribute)) }));
    show(form, h("form", { class: "card", "aria-label": "Edit the record", onsubmit: async (event) => {
      event.preventDefault();
      try {
        const changed = fields.filter(({ field }) => field && field.isChanged()).map(({ attribute, field }) => `${JSON.stringify(attribute.field)}:${editedValue(attribute, field)}`);
        if (!changed.length) return note("Nothing is different.");
        const confirm = await confirmByName("Save", `Saves ${changed.length === 1 ? "a field" : `${changed.length} fields`} of this record, as the app would: it is pushed like any edit.`, context.session.name);
        if (confirm === null) return;
        const answer = await act("records/edit", { entity: entityName, record: name, lastSequence: String(known), values: `{${changed.join(",")}}`, confirm });
        note(answer.changed ? "Saved." : "The record has these values already.");
        isEditing = false;
        await load();
      } catch (error) { note(error.message); }
    } }, fields.map(({ attribute, field }) => field ? h("label", {}, `${attribute.name} (${attribute.type}${attribute.optional ? ", optional" : ""})`, field.element)
      : h("p", { class: "quiet" }, `${attribute.name} (${attribute.type ?? "unknown"}) is changed by the app alone.`)),
    h("p", { class: "tools" }, h("button", { class: "main", type: "submit" }, "Save the record"), h("button", { type: "button", onclick: () => { isEditing = false; editor(); } }, "Cancel"))));
  }

  function choose(index, notes = true) {
    position = index;
    slider.value = index;
    const step = steps[index];
    const before = steps[index - 1]?.values ?? {};
    const now = steps.at(-1).values ?? {};
    const isNow = index === steps.length - 1;
    const values = step.values ?? {};
    label.textContent = `${isNow ? "Now" : "As it was"} at seq ${step.sequence}, ${step.date} (${index + 1} of ${steps.length})`;
    for (const item of list.children) item.dataset.sequence === String(step.sequence) ? item.setAttribute("aria-current", "step") : item.removeAttribute("aria-current");
    show(fields, step.values ? table(["Field", "Value", "Type", "On the service"], entity.attributes.filter((a) => a.declared || valueOf(values, a)).map((attribute) =>
      h("tr", { "data-field": attribute.name }, h("th", { scope: "row" }, attribute.name),
        h("td", { class: same(valueOf(values, attribute), valueOf(now, attribute)) ? null : "changed" }, cell(valueOf(values, attribute), attribute)),
        h("td", {}, attribute.type ?? "unknown", attribute.optional ? ", optional" : ""),
        h("td", {}, attribute.localOnly ? "stays here" : attribute.field)))) : empty("The record did not exist after this operation."));
    const names = [...new Set([...Object.keys(before), ...Object.keys(values)])].filter((field) => !same(before[field], values[field])).sort();
    show(differences, names.length ? table(["Changed here", "Before", "After"], names.map((field) => [field, cell(before[field]), h("span", { class: "changed" }, cell(values[field]))])) : h("p", { class: "quiet" }, "This operation changed no value."));
    if (notes) history.replaceState(null, "", `${address(entityName, name)}${isNow ? "" : "?at=" + step.sequence}`);
  }

  async function relate() {
    const values = steps.at(-1).values ?? {};
    const out = entity.attributes.filter((attribute) => attribute.target && valueOf(values, attribute)?.reference);
    const into = context.entities.flatMap((other) => other.attributes.filter((a) => a.declared && a.target === entityName).map((attribute) => ({ other, attribute })));
    if (!out.length && !into.length) return show(relations, h("p", { class: "quiet" }, "The entity has no relations."));
    show(relations, h("ul", {}, out.map((attribute) => h("li", {}, `${attribute.name} → `, cell(valueOf(values, attribute), attribute))),
      into.slice(0, relationsMax).map(({ other, attribute }) => {
        const where = `${named(attribute.field)} = ${quoted(name)}`;
        const count = h("span", { class: "quiet" }, "…");
        read("count", { entity: other.name, where }).then((answer) => { count.textContent = (answer.atLeast ? "more than " : "") + number(answer.count); }, (error) => { count.textContent = error.message; });
        return h("li", {}, "← ", h("a", { href: `#/records/${encodeURIComponent(other.name)}?where=${encodeURIComponent(where)}` }, `${other.name}.${attribute.name}`), " ", count);
      })));
  }

  async function undo(step) {
    const confirm = await confirmByName("Undo", `Gives all records of transaction ${step.transaction} back what they had before it, by new operations that are synchronised like any other.`, context.session.name);
    if (confirm !== null) await attempt("transactions/undo", { transaction: step.transaction, confirm });
  }
  async function revert() {
    const confirm = await confirmByName("Revert", "Gives up the edits of this record that the service does not have.", context.session.name);
    if (confirm !== null) await attempt("records/revert", { entity: entityName, record: name, confirm });
  }
  async function attempt(call, members) {
    try {
      note((await act(call, members)).changed ? "Done." : "There was nothing to do.");
      await load();
    } catch (error) { note(error.message); }
  }
  await load();
  const stays = () => position === steps.length - 1;
  return { changed: () => { if (stays()) load().catch((error) => show(view, problem(error))); else note("The store changed."); } };
}
