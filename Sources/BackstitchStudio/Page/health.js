import { h, show, table, number, bytes, plural, problem, command, confirmByName, note } from "./dom.js";
import { read, act } from "./api.js";

const works = { verify: "Verify", doctor: "Examine the store's files", assets: "Verify files of records", compact: "Compact the log", backup: "Back up" };

export async function health(view, route, context) {
  const place = h("div", { id: "work", "aria-live": "polite" });
  const facts = h("div");
  const files = h("div", { id: "files" });
  let timer = null;
  let isLeft = false;

  async function start(kind) {
    let members = { kind };
    if (kind === "compact" || kind === "backup") {
      if (kind === "backup") members.target = view.querySelector("[name=target]").value.trim();
      members.confirm = await confirmByName(works[kind], kind === "compact" ? "Takes operations out of the log that are synced and that no one needs. The history of records becomes shorter." : `Copies and verifies the store, to ${members.target}.`, context.session.name);
      if (members.confirm === null) return;
    }
    try { await act("jobs", members); await watch(); } catch (error) { note(error.message); }
  }
  async function watch() {
    clearTimeout(timer);
    const status = await read("jobs");
    if (isLeft) return;
    show(place, status.kind ? result(status) : h("p", { class: "quiet" }, "Nothing was started yet."));
    for (const button of view.querySelectorAll("[data-work]")) button.disabled = status.running || (!context.session.writable && ["compact", "backup"].includes(button.dataset.work));
    if (status.running) timer = setTimeout(() => watch().catch((error) => show(place, problem(error))), 300);
  }
  function result(status) {
    const title = h("h2", {}, works[status.kind]);
    if (status.running) {
      const share = /(\d+) %/.exec(status.progress ?? "")?.[1];
      return [title, h("p", {}, h("progress", { max: 100, value: share ?? null, "aria-label": "Progress" }), " ", h("span", { class: "quiet" }, (status.progress ?? "running").replace(/\[[#.]*\]/, "")), " ",
        h("button", { type: "button", onclick: () => act("jobs/stop").then(watch) }, "Stop"))];
    }
    if (status.stopped) return [title, h("p", { class: "warn" }, "It was stopped.")];
    let document = null;
    try { document = JSON.parse(status.result); } catch { return [title, problem(new Error(status.complaint || `It ended with ${status.exitCode}.`))]; }
    const verdict = { verify: () => (document.consistent ? ["Consistent: the tables follow from the log.", "good"] : [`Not consistent. ${document.problems[0] ?? ""}`, "bad"]),
      assets: () => (document.corrupt.length + document.missing.length === 0 ? [`All ${number(document.checked)} files match their hashes${document.orphans ? `; ${number(document.orphans)} are named by nothing` : ""}.`, "good"]
        : [`${number(document.corrupt.length)} contents differ from their hashes, and ${number(document.missing.length)} are neither here nor on the service. Nothing was moved: backstitch assets --verify moves those that differ away, so that they are fetched again.`, "bad"]),
      doctor: () => (document.healthy ? ["Nothing is wrong with the files.", "good"] : [`What helps: ${document.remedy}`, "bad"]),
      compact: () => [`Removed ${plural(document.removed, "operation")}.${document.bytesAfter > document.bytesBefore ? " The log grew, because baselines hold whole records." : ""}`, "good"], backup: () => [`Copied and verified, to ${document.target}.`, "good"] }[status.kind]();
    return [title, h("p", { class: verdict[1], id: "verdict" }, verdict[0]), (document.problems ?? document.findings ?? [...(document.corrupt ?? []).map((hash) => `differs: ${hash}`), ...(document.missing ?? []).map((hash) => `missing: ${hash}`)]).slice(0, 100).map((item) => h("p", {}, typeof item === "string" ? item : `${item.part}: ${item.message}`)),
      table(["Figure", "Value"], Object.entries(document).filter(([, value]) => typeof value !== "object").map(([key, value]) => [key, typeof value === "number" ? number(value) : String(value)]))];
  }
  function draw() {
    const { info } = context;
    show(facts, h("h2", {}, "Space"), table(["Figure", "Value"], [["Length of the data file", bytes(info.space.fileBytes)], ["The data file on disk", bytes(info.space.allocatedBytes)], ["The journal on disk", bytes(info.space.journalBytes)], ["Pages in use", number(info.space.usedPages)], ["Free pages", number(info.space.freePages)], ["Room in the map", bytes(info.space.mapBytes)]], { numbers: [1] }),
      h("h2", {}, "Log"), h("p", {}, info.log.compactedThrough ? `Compacted through operation ${number(info.log.compactedThrough)}: ${number(info.log.operations)} are left.` : `Never compacted: all ${number(info.log.operations)} operations are there.`),
      h("h2", {}, "Views"), info.projections.length ? table(["View", "Version", "Checkpoint", "Entries", "State"], info.projections.map((view) => [view.name, view.version, number(view.checkpoint), number(view.entries), view.reason ? h("span", { class: "bad" }, `failed at ${view.failedAt}: ${view.reason}`) : view.complete ? "ready" : "being built"])) : h("p", { class: "quiet" }, "The store keeps no views."));
  }
  const button = (kind) => h("button", { type: "button", "data-work": kind, onclick: () => start(kind) }, works[kind]);
  show(view, h("h1", {}, "Health"), h("div", { class: "tools" }, button("verify"), button("doctor"), button("assets"), button("compact"),
    h("label", {}, "Folder of the copy", h("input", { name: "target", placeholder: "/path/of/a/new/folder", disabled: !context.session.writable })), button("backup")),
    context.session.writable ? null : h("p", { class: "quiet" }, "Compacting and backing up need --allow-writes."), place, facts, files, command(["verify", context.session.path, "--json"]));
  draw();
  // The folder of files may be large, so that it is looked at once.
  read("assets").then((assets) => show(files, h("h2", {}, "Files"), h("p", {}, assets.files
    ? `${number(assets.files)} contents with ${bytes(assets.bytes)} are on this device. `
    : "No content of a file is on this device. ", "“Verify files of records” compares them with their hashes, and so does ", h("code", {}, `backstitch assets ${context.session.path} --verify`), ", which also moves away what differs.")), (error) => show(files, problem(error)));
  await watch();
  return { refreshed: draw, leave: () => { isLeft = true; clearTimeout(timer); } };
}
