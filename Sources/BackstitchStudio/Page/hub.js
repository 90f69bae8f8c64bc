// The pages of a hub's folder: its containers, users, credentials, databases and slow requests.

import { h, show, table, number, bytes, plural, empty, command, confirmByName, note, problem } from "./dom.js";
import { read, act } from "./api.js";

const most = (count, hasMore) => (hasMore ? "more than " : "") + number(count);
const moment = (text, none) => text ?? h("span", { class: "quiet" }, none);

export async function hubOverview(view, route, context) {
  const draw = () => {
    const hub = context.info;
    const card = (title, value, more, href) => h("div", { class: "card" }, href ? h("a", { href }, title) : title, h("b", {}, value), h("span", { class: "quiet" }, more));
    show(view, h("h1", {}, "Overview"),
      h("div", { class: "cards" },
        card("Sessions", most(hub.sessions, hub.hasMoreSessions), "that have not ended", "#/sessions"),
        card("Slow requests", number(hub.slowRequests), "of the last ones, over 250 ms", "#/requests"),
        card("Records", bytes(hub.containers.reduce((sum, one) => sum + one.bytes, 0)), "as quotas count them, with files", "#/zones"),
        card("On disk", bytes(hub.fileBytes), "data and journal, without files"),
        card("Service", hub.served ? "running" : "not running", hub.served ? "a hub serves this folder" : `start it with: backstitch hub --data ${context.session.path}`)),
      h("h2", {}, "Containers"),
      hub.containers.length ? table(["Container", "Environment", "Users", "Databases", "Size"], hub.containers.map((one) => [
        one.container, one.environment,
        h("a", { href: `#/users?${new URLSearchParams({ container: one.container, environment: one.environment })}` }, most(one.users, one.hasMoreUsers)),
        h("a", { href: `#/zones?${new URLSearchParams({ container: one.container, environment: one.environment })}` }, most(one.databases, one.hasMoreDatabases)),
        bytes(one.bytes)]), { numbers: [2, 3, 4] })
        : empty("The hub has no container yet: ", h("code", {}, "backstitch hub containers add"), " makes one."),
      command(["hub", "containers", "list", "--data", context.session.path, "--json"]));
  };
  draw();
  return { refreshed: draw };
}

// The container that the address names, and a choice of others.
function container(route, context, page) {
  const given = Object.fromEntries(route.query);
  const name = (one) => `${one.container} ${one.environment}`;
  const chosen = context.entities.find((one) => one.container === given.container && one.environment === given.environment) ?? context.entities[0];
  const choice = h("label", {}, "Container", h("select", { name: "container", onchange: (event) => {
    const one = context.entities[event.target.selectedIndex];
    location.hash = `#/${page}?${new URLSearchParams({ container: one.container, environment: one.environment })}`;
  } }, context.entities.map((one) => h("option", { selected: one === chosen }, name(one)))));
  return { chosen, choice, given };
}

// A list in pages; a row of the answer may make several rows of the table.
async function list(place, call, words, titles, made, none, options) {
  const rows = [];
  const more = h("p", {});
  async function load(after) {
    const page = await read(call, { ...words, after });
    rows.push(...page.rows.flatMap(made));
    show(place, rows.length ? table(titles, rows, options) : empty(none), more);
    show(more, page.next && h("button", { type: "button", onclick: () => load(page.next).catch((error) => show(more, problem(error))) }, "More rows"));
  }
  await load();
}

export async function users(view, route, context) {
  const { chosen, choice, given } = container(route, context, "users");
  const place = h("div", { id: "users" });
  if (!chosen) { show(view, h("h1", {}, "Users"), empty("The hub has no container yet.")); return {}; }
  const input = h("input", { name: "name", value: given.name ?? "", autocomplete: "off" });
  show(view, h("h1", {}, "Users"),
    h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); location.hash = `#/users?${new URLSearchParams({ container: chosen.container, environment: chosen.environment, name: input.value.trim() })}`; } },
      choice, h("label", {}, "Name, in full", input), h("button", { class: "main", type: "submit" }, "Find")), place,
    command(["hub", "users", "list", "--data", context.session.path, "--container", chosen.container, "--environment", chosen.environment, "--json"]));
  const draw = () => list(place, "users", { container: chosen.container, environment: chosen.environment, name: given.name },
    ["Name", "Name in records", "E-mail", "Discoverable", "Private database"],
    ({ user, bytes: size }) => [[user.name + (user.erased ? " (being erased)" : ""), h("span", { class: "mono" }, user.userRecordName), user.emailAddress ?? "", user.discoverable ? "yes" : "no", bytes(size)]],
    given.name ? "There is no user of this name." : "There are no users yet.", { numbers: [4] });
  await draw();
  return { keeps: () => true, refreshed: draw };
}

export async function sessions(view, route, context) {
  const places = { sessions: h("div", { id: "sessions" }), tokens: h("div", { id: "tokens" }), keys: h("div", { id: "keys" }) };
  const revoke = (one, title, what) => (context.session.writable ? h("button", { class: "danger", type: "button", onclick: async () => {
    const confirm = await confirmByName(title, what, context.session.name);
    if (confirm === null) return;
    try { note((await act("credentials/revoke", { id: one.id, confirm })).changed ? "Done." : "It was gone already."); await draw(); } catch (error) { note(error.message); }
  } }, title) : h("span", { class: "quiet" }, "start with --allow-writes to act"));
  const at = (one) => `${one.container} ${one.environment}`;
  const id = (one) => h("span", { class: "mono" }, one.id);
  show(view, h("h1", {}, "Sessions"), places.sessions, h("h2", {}, "API tokens"), places.tokens, h("h2", {}, "Server keys"), places.keys,
    command(["hub", "sessions", "list", "--data", context.session.path, "--json"]));
  const draw = async () => {
    await list(places.sessions, "sessions", {}, ["Id", "User", "Began", "Used", "Ends", "Container", "Action"],
      (one) => [[id(one), one.user ?? one.userRecordName, moment(one.created, "not known"), moment(one.used, "not after its first days"), one.ends, at(one), revoke(one, "End session", `The devices of this session of ${one.user ?? "the user"} have to sign in again.`)]],
      "Nobody is signed in.");
    await list(places.tokens, "tokens", {}, ["Id", "Label", "Signs in for", "Container", "Action"],
      (one) => [[id(one), one.label ?? "", one.callback ?? (one.origins ?? []).join(" "), at(one), revoke(one, "Revoke", "Programs that use this API token are refused from then on.")]], "There are no API tokens.");
    await list(places.keys, "keys", {}, ["Id", "Label", "Name in records", "Container", "Action"],
      (one) => [[id(one), one.label ?? "", h("span", { class: "mono" }, one.userRecordName ?? ""), at(one), revoke(one, "Revoke", "Servers that sign with this key are refused from then on.")]], "There are no server keys.");
  };
  await draw();
  return { keeps: () => true, refreshed: draw };
}

export async function zones(view, route, context) {
  const { chosen, choice } = container(route, context, "zones");
  const place = h("div", { id: "databases" });
  if (!chosen) { show(view, h("h1", {}, "Zones"), empty("The hub has no container yet.")); return {}; }
  show(view, h("h1", {}, "Zones"), h("div", { class: "tools" }, choice), place,
    command(["hub", "doctor", "--data", context.session.path, "--json"]));
  const draw = () => list(place, "databases", { container: chosen.container, environment: chosen.environment },
    ["Database", "Size", "Zone", "Size of the zone", "Changes"],
    (one) => {
      const cells = (zone) => [h("td", {}, zone.name), h("td", { class: "number" }, bytes(zone.bytes)), h("td", { class: "number" }, number(zone.changes))];
      const owner = one.scope === "public" ? "public" : one.user ?? one.userRecordName;
      const rows = one.zones.length ? one.zones : [{ name: "", bytes: 0, changes: 0 }];
      return rows.map((zone, index) => h("tr", {}, index ? [h("td", {}), h("td", {})] : [h("td", {}, owner), h("td", { class: "number" }, bytes(one.bytes))], cells(zone)))
        .concat(one.hasMoreZones ? [h("tr", {}, h("td", {}), h("td", {}), h("td", { class: "quiet" }, "and more"), h("td", {}), h("td", {}))] : []);
    }, "Nothing was stored yet.", { numbers: [1, 3, 4] });
  await draw();
  return { keeps: () => true, refreshed: draw };
}

export async function requests(view, route, context) {
  const place = h("div", { id: "requests" });
  show(view, h("h1", {}, "Requests"), h("p", { class: "quiet" }, "The last requests that took over 250 ms, newest first; long polls are not counted. The access log (--access-log) has all requests."), place);
  const draw = async () => {
    const rows = await read("requests");
    show(place, rows.length ? table(["When", "Call", "Status", "Time", "Sent", "Answered", "User", "Container", "Request"], rows.map((one) => [
      new Date(one.time).toISOString(), one.call, h("span", { class: one.status >= 400 ? "bad" : null }, String(one.status)), `${number(Math.round(one.microseconds / 1000))} ms`,
      bytes(one.requestBytes), bytes(one.responseBytes), h("span", { class: "mono" }, one.user ?? ""), one.container ? `${one.container} ${one.environment}` : "", h("span", { class: "mono" }, one.request ?? "")]), { numbers: [3, 4, 5] })
      : empty("No request was slow since the hub was started with this version."));
  };
  await draw();
  return { refreshed: draw, synced: draw };
}
