import { h, show, table, number, empty, command } from "./dom.js";
import { read } from "./api.js";
import { address } from "./values.js";

// What the store says of synchronisation, and what the engine tells of itself, which lives in another process.
export async function sync(view, route, context) {
  async function draw() {
    const page = await read("log", { limit: 200 });
    const { info } = context;
    const exchanged = page.operations.filter((operation) => operation.origin !== "local" && operation.origin !== "localOnly" || ["acknowledge", "park", "release"].includes(operation.kind));
    const state = info.zones.some((zone) => zone.suspension) ? ["is suspended", "bad"] : info.outbox.records ? ["has something to push", "warn"] : info.zones.some((zone) => zone.needsPull) ? ["has something to pull", "warn"] : info.zones.length ? ["is in step, as far as it knows", "good"] : ["was never synchronised", "quiet"];
    show(view, h("h1", {}, "Sync"), h("p", {}, "The store ", h("b", { class: state[1], id: "state" }, state[0]), "."), engine(info.engine),
      h("div", { class: "cards" }, [["To push", info.outbox.records], ["Parked", info.parkedCount], ["Conflicts", info.conflicts], ["Incomplete", info.incompleteCount], ["Undelivered", info.undeliveredCount]].map(([title, value]) => h("div", { class: "card" }, title, h("b", {}, number(value))))),
      h("h2", {}, "Zones"), info.zones.length ? table(["Zone", "Set up", "Token", "Changes to pull", "Fetched anew", "Suspended"], info.zones.map((zone) => [zone.name, zone.setUp ? "yes" : "no", zone.hasToken ? "yes" : "no", zone.needsPull ? "yes" : "no", zone.fullFetch ? "yes" : "no", zone.suspension ?? "no"])) : empty("The store belongs to no zone yet: ", h("code", {}, "backstitch sync"), " or the app's engine connects it."),
      h("h2", {}, "Exchanged with the service, newest first"),
      exchanged.length ? table(["Sequence", "When", "What", "Record", "Tag"], exchanged.slice(0, 100).map((operation) => h("tr", { "data-href": address(operation.entity, operation.record) },
        h("td", { class: "number" }, number(operation.sequence)), h("td", {}, operation.date),
        h("td", { class: operation.kind === "park" ? "bad" : null }, operation.kind === "acknowledge" ? `pushed, through ${number(operation.acknowledgedThrough ?? 0)}` : operation.kind === "park" ? `refused: ${operation.parkReason}` : `${operation.origin === "remote" ? "pulled" : operation.origin}: ${operation.kind}`),
        h("td", {}, h("a", { href: address(operation.entity, operation.record) }, `${operation.entity} ${operation.record}`)), h("td", {}, operation.changeTag ?? "")))) : empty("Nothing among the last 200 operations."),
      command(["sync", context.session.path, "--zone", info.zones[0]?.name ?? "ZONE", "--json"]));
  }
  await draw();
  return { refreshed: draw, synced: draw };
}

// The states of an engine, in the order in which a round goes through them, and those in which none runs.
const states = ["idle", "pulling", "pushing", "backingOff", "blocked", "suspended", "standby", "offline", "stopped"];
const words = { backingOff: "backing off" };
const reasons = { start: "the engine began", save: "a record was saved", retry: "a round had failed", notification: "the service announced changes", connectivity: "the network came back", manual: "the app asked", timer: "time went by" };
const clock = (date) => date.replace("T", " ").replace(/(\.\d+)?Z$/, "");

function engine(told) {
  if (!told) return empty("No engine has told what it does. It begins with the first round of an app, or of ", h("code", {}, "backstitch sync"), ".");
  const state = h("ol", { id: "states", class: "states", "aria-label": "States of the engine" }, states.map((name) =>
    h("li", { "aria-current": name === told.status ? "step" : null }, words[name] ?? name)));
  const cause = [told.trigger && `The round began because ${reasons[told.trigger] ?? told.trigger}. `, told.code && `The service said ${told.code}. `, told.nextAttempt && `It goes on by itself at ${clock(told.nextAttempt)}.`];
  return [h("h2", {}, "Engine"), state, h("p", {}, told.running ? "" : "No engine runs now; this is what the last one did. ", cause),
    told.queue && [h("h2", {}, "Waiting to begin"), h("div", { id: "queue" }, told.queue.offline && h("p", { class: "warn" }, "The app says that there is no network: nothing begins until it is back."),
      told.queue.next ? table(["Reason", "When", "Not before", "Calls of the app that wait"], [[reasons[told.queue.next] ?? told.queue.next, told.queue.due ? clock(told.queue.due) : "after the round that runs", told.queue.notBefore ? clock(told.queue.notBefore) : "", number(told.queue.calls)]], { numbers: [3] })
        : empty(told.queue.calls ? `${number(told.queue.calls)} calls of the app wait.` : "Nothing: the next save, announcement or call begins a round."))],
    told.lanes && [h("h2", {}, "Transfers of files"), h("div", { id: "lanes" }, table(["Lane", "Running", "Waiting", "Tried again later", "Next try", "Done", "Failed", "Last failure"], told.lanes.map((lane) => [lane.name, number(lane.running), number(lane.waiting), number(lane.delayed), lane.nextAttempt ? clock(lane.nextAttempt) : "", number(lane.done), number(lane.failed), lane.error ? h("span", { class: "bad" }, lane.error) : ""]), { numbers: [1, 2, 3, 5, 6] }))],
    h("h2", {}, "Rounds, newest first"),
    told.rounds.length ? table(["When", "Reason", "Time", "Pulled", "Pushed", "Conflicts", "Parked", "Result"], told.rounds.map((round) => [clock(round.date), reasons[round.trigger] ?? round.trigger, `${number(round.milliseconds)} ms`,
      number(round.pulled), number(round.pushed), number(round.conflicts), number(round.parked), round.error ? h("span", { class: "bad" }, round.error) : "OK"]), { numbers: [2, 3, 4, 5, 6] }) : empty("None has ended yet."),
    h("h2", {}, "Requests, newest first"),
    told.requests.length ? h("div", { id: "calls" }, table(["Number", "When", "Call", "Time", "Records", "Result"], told.requests.map((request) => [number(request.number), clock(request.date), request.call,
      request.milliseconds === undefined ? "under way" : `${number(request.milliseconds)} ms`, request.records === undefined ? "" : number(request.records),
      request.error ? h("span", { class: "bad" }, request.error) : request.milliseconds === undefined ? "" : "OK"]), { numbers: [0, 3, 4] })) : empty("None was sent yet.")];
}
