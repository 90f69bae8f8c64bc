import { h, show, table, number, empty, command, confirmByName, note, download } from "./dom.js";
import { read, act } from "./api.js";
import { address, operationLine } from "./values.js";

const remedies = [
  [/quota/i, "The user's storage is full. Make room there, then try again."],
  [/reference|violation/i, "It refers to a record that the service does not have. Push or make that one first; then try again."],
  [/permission|access|denied/i, "The user may not write this. Sign in as somebody who may, or discard the edit."],
  [/size|limit|large/i, "It is larger than the service takes. Shorten it in the app; an edit pushes it again."],
  [/conflict/i, "The app's resolver did not settle it. Open the record, decide, and save it."],
  [/argument|invalid|field|type/i, "The service has another type for a field. Correct the schema there, or the value here; then try again."],
];
const remedy = (parked) => remedies.find(([words]) => words.test(`${parked.code ?? ""} ${parked.reason}`))?.[1]
  ?? "Correct the cause on the service or edit the record; then try again.";

export async function outbox(view, route, context) {
  async function draw() {
    const box = await read("outbox");
    const open = new Set([...view.querySelectorAll("details[open]")].map((item) => item.dataset.record));
    const link = (row) => h("a", { href: address(row.entity, row.record) }, `${row.entity} ${row.record}`);
    const writes = context.session.writable;
    const unsentOf = async (row) => {
      const [state, steps] = await Promise.all([read("record", { entity: row.entity, record: row.record }), read("history", { entity: row.entity, record: row.record, limit: 50 })]);
      return steps.filter((step) => step.sequence > (state?.syncedSequence ?? 0) && step.origin !== "remote" && step.changes.length);
    };
    const save = async (rows, name) => {
      const lines = [];
      for (const row of rows) lines.push(JSON.stringify({ ...row, operations: await unsentOf(row) }) + "\n");
      download(name, "application/x-ndjson", lines);
    };
    const what = (row) => {
      const place = h("div", {}, "…");
      const id = `${row.entity} ${row.record}`;
      const load = async () => {
        const unsent = await unsentOf(row);
        show(place, unsent.map((operation) => h("div", {}, h("span", { class: "quiet" }, `seq ${operation.sequence} ${operation.kind} `), operationLine(operation))));
      };
      const details = h("details", { "data-record": id, ontoggle: () => { if (details.open) load(); } }, h("summary", {}, "show"), place);
      details.open = open.has(id);
      return details;
    };
    const act1 = async (call, row, title, words) => {
      const confirm = await confirmByName(title, words, context.session.name);
      if (confirm === null) return;
      try { note((await act(call, { entity: row.entity, record: row.record, confirm })).changed ? "Done." : "There was nothing to do."); await draw(); } catch (error) { note(error.message); }
    };
    show(view, h("h1", {}, "Outbox"),
      h("h2", {}, "Parked: the service refused them"),
      box.parked.length ? h("p", {}, h("button", { type: "button", onclick: () => save(box.parked, "parked.jsonl").catch((error) => note(error.message)) }, "Save as JSON Lines")) : null,
      box.parked.length ? table(["Record", "Reason", "What helps", "Would be sent", "Action"], box.parked.map((row) => h("tr", { "data-href": address(row.entity, row.record) },
        h("td", {}, link(row)), h("td", { class: "bad" }, row.reason), h("td", {}, remedy(row)), h("td", {}, what(row)),
        h("td", {}, writes ? [h("a", { href: `${address(row.entity, row.record)}?edit=1` }, "Edit"), " ", h("button", { type: "button", onclick: () => act1("parked/retry", row, "Try again", "The next round of synchronisation sends it again.") }, "Try again"), " ",
          h("button", { class: "danger", type: "button", onclick: () => act1("parked/discard", row, "Discard", "Gives up the edits; the record becomes what the service has, and what is lost goes to the conflict journal.") }, "Discard")]
          : h("span", { class: "quiet" }, "start with --allow-writes to act"))))) : empty("Nothing is parked."),
      h("h2", {}, `To push: ${number(context.info.outbox.records)}`),
      box.pending.length ? table(["Record", "Change", "Last operation", "Would be sent"], box.pending.map((row) => h("tr", { "data-href": address(row.entity, row.record) },
        h("td", {}, link(row)), h("td", {}, row.change), h("td", { class: "number" }, number(row.lastSequence)), h("td", {}, what(row)))))
        : empty("Everything was pushed, or nothing was written yet."),
      box.cut && h("p", { class: "quiet" }, "The lists are cut after 200 records."),
      command(["inspect", context.session.path, "--json"]));
  }
  await draw();
  return { keeps: () => true, refreshed: draw };
}
