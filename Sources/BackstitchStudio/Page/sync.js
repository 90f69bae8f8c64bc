import { h, show, table, number, empty, command } from "./dom.js";
import { read } from "./api.js";
import { address } from "./values.js";

// What the store says of synchronisation. The engine itself lives in the app's process.
export async function sync(view, route, context) {
  async function draw() {
    const page = await read("log", { limit: 200 });
    const { info } = context;
    const exchanged = page.operations.filter((operation) => operation.origin !== "local" && operation.origin !== "localOnly" || ["acknowledge", "park", "release"].includes(operation.kind));
    const state = info.zones.some((zone) => zone.suspension) ? ["suspended", "bad"] : info.outbox.records ? ["has something to push", "warn"] : info.zones.some((zone) => zone.needsPull) ? ["has something to pull", "warn"] : info.zones.length ? ["in step, as far as the store knows", "good"] : ["was never synchronised", "quiet"];
    show(view, h("h1", {}, "Sync"), h("p", {}, "The store ", h("b", { class: state[1], id: "state" }, state[0]), "."),
      h("div", { class: "cards" }, [["To push", info.outbox.records], ["Parked", info.parkedCount], ["Conflicts", info.conflicts], ["Incomplete", info.incompleteCount]].map(([title, value]) => h("div", { class: "card" }, title, h("b", {}, number(value))))),
      h("h2", {}, "Zones"), info.zones.length ? table(["Zone", "Set up", "Token", "Changes to pull", "Fetched anew", "Suspended"], info.zones.map((zone) => [zone.name, zone.setUp ? "yes" : "no", zone.hasToken ? "yes" : "no", zone.needsPull ? "yes" : "no", zone.fullFetch ? "yes" : "no", zone.suspension ?? "no"])) : empty("The store belongs to no zone yet: ", h("code", {}, "backstitch sync"), " or the app's engine connects it."),
      h("h2", {}, "Exchanged with the service, newest first"),
      exchanged.length ? table(["Sequence", "When", "What", "Record", "Tag"], exchanged.slice(0, 100).map((operation) => h("tr", { "data-href": address(operation.entity, operation.record) },
        h("td", { class: "number" }, number(operation.sequence)), h("td", {}, operation.date),
        h("td", { class: operation.kind === "park" ? "bad" : null }, operation.kind === "acknowledge" ? `pushed, through ${number(operation.acknowledgedThrough ?? 0)}` : operation.kind === "park" ? `refused: ${operation.parkReason}` : `${operation.origin === "remote" ? "pulled" : operation.origin}: ${operation.kind}`),
        h("td", {}, h("a", { href: address(operation.entity, operation.record) }, `${operation.entity} ${operation.record}`)), h("td", {}, operation.changeTag ?? "")))) : empty("Nothing among the last 200 operations."),
      command(["sync", context.session.path, "--zone", info.zones[0]?.name ?? "ZONE", "--json"]));
  }
  await draw();
  return { refreshed: draw };
}
