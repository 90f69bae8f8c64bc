import { h, show, table, number, bytes, plural, empty, command } from "./dom.js";
import { read } from "./api.js";

export async function overview(view, route, context) {
  const recent = await read("log", { limit: 200 });
  // The folder of files may be large, so that it is counted once, and the page does not wait for it.
  let files = null;
  const draw = () => {
    const { info, entities } = context;
    const space = info.space;
    const card = (title, value, more, href) => h("div", { class: "card" }, href ? h("a", { href }, title) : title, h("b", {}, value), h("span", { class: "quiet" }, more));
    show(view, h("h1", {}, "Overview"),
      h("div", { class: "cards" },
        card("Operations", number(info.log.operations), `the last is ${number(context.lastSequence)}` + (info.log.compactedThrough ? `, compacted through ${number(info.log.compactedThrough)}` : ""), "#/log"),
        card("To push", number(info.outbox.records), plural(info.outbox.operations, "operation"), "#/outbox"),
        card("Parked", number(info.parkedCount), info.parkedCount ? "the service refused them" : "nothing was refused", "#/outbox"),
        card("Conflicts", number(info.conflicts), info.conflicts ? "settled; each can be undone" : "none so far", "#/conflicts"),
        info.engine && card("Synchronised", info.engine.running ? info.engine.status : "no engine", lastRound(info.engine), "#/sync"),
        card("On disk", bytes(space.allocatedBytes + space.journalBytes + (files?.bytes ?? 0)), `${bytes(space.allocatedBytes)} of data, ${bytes(space.journalBytes)} of journal, ${files ? `${bytes(files.bytes)} in ${plural(files.files, "file")}` : "files are being counted"}`, "#/health")),
      h("h2", {}, "Entities"),
      entities.length ? table(["Entity", "Records", "Tombstones", "Unreadable", "Indexed attributes"], entities.map((entity) => h("tr", { "data-href": `#/records/${encodeURIComponent(entity.name)}` },
        h("td", {}, h("a", { href: `#/records/${encodeURIComponent(entity.name)}` }, entity.name), entity.declared ? "" : " (not declared)"),
        h("td", { class: "number" }, number(entity.records)), h("td", { class: "number" }, number(entity.tombstones)),
        h("td", { class: entity.unreadable ? "number bad" : "number" }, number(entity.unreadable)),
        h("td", {}, entity.attributes.filter((a) => a.indexed).map((a) => a.name).join(", ")))), { numbers: [1, 2, 3] })
        : empty("The store has no entities yet. An app that opens it with a schema makes them."),
      h("h2", {}, "Growth of the log"), bars(recent.operations),
      info.zones.length ? [h("h2", {}, "Zones"), table(["Zone", "State"], info.zones.map((zone) => [zone.name,
        zone.suspension ? h("span", { class: "bad" }, zone.suspension) : zone.needsPull ? "has changes to pull" : zone.setUp ? "set up" : "not set up"]))] : null,
      command(["inspect", context.session.path, "--json"]));
  };
  draw();
  read("assets").then((answer) => { files = answer; draw(); }, () => {});
  return { refreshed: draw, synced: draw };
}

// What the last round exchanged, and when the next one comes.
function lastRound(engine) {
  const [round] = engine.rounds;
  const last = round && (round.error ?? `pulled ${number(round.pulled)}, pushed ${number(round.pushed)} in ${number(round.milliseconds)} ms`);
  return [last ?? "no round has ended", engine.nextAttempt && `next attempt ${engine.nextAttempt.slice(11, 19)} UTC`].filter(Boolean).join("; ");
}

// The last operations by the hour in which they were made.
function bars(operations) {
  if (!operations.length) return empty("Nothing was written yet.");
  const hours = new Map();
  for (const operation of operations) {
    const hour = operation.date.slice(0, 13);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  const rows = [...hours].reverse().slice(-24);
  const most = Math.max(...rows.map(([, count]) => count));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${rows.length * 12} 44`);
  svg.setAttribute("width", rows.length * 12);
  svg.setAttribute("height", 44);
  svg.setAttribute("class", "bars");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", rows.map(([hour, count]) => `${hour}: ${count}`).join("; "));
  rows.forEach(([, count], index) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const height = Math.max(2, 40 * count / most);
    for (const [name, value] of Object.entries({ x: index * 12, y: 42 - height, width: 9, height })) bar.setAttribute(name, value);
    svg.append(bar);
  });
  return h("p", {}, svg, h("br"), h("span", { class: "quiet" }, `The last ${plural(operations.length, "operation")}, from ${rows[0][0].replace("T", " ")} h to ${rows.at(-1)[0].replace("T", " ")} h (UTC).`));
}
