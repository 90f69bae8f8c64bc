// The shell: signing in, the address, the keyboard, and news of changes.

import { h, show, problem, number, plural, note } from "./dom.js";
import * as api from "./api.js";
import { address } from "./values.js";
import { overview } from "./overview.js";
import { records } from "./records.js";
import { record } from "./record.js";
import { log } from "./log.js";
import { outbox } from "./outbox.js";
import { conflicts } from "./conflicts.js";
import { sync } from "./sync.js";
import { queries } from "./queries.js";
import { health } from "./health.js";
import { hubOverview, users, sessions, zones, requests } from "./hub.js";

// What there is to show: the pages, what each of them needs to know, and what the head says of it.
const kinds = {
  store: {
    pages: { overview, records, log, outbox, conflicts, sync, queries, health },
    keys: { o: "overview", r: "records", l: "log", u: "outbox", c: "conflicts", s: "sync", q: "queries", h: "health" },
    call: "inspect",
    search: "id or text ( / )",
    find,
    last: (info) => info.log.lastSequence,
    facts: (info) => [`${number(info.outbox.records)} pending`, `${number(info.parkedCount)} parked`, plural(info.conflicts, "conflict"), `seq ${number(context.lastSequence)}`,
      ...(info.engine?.running ? [`engine ${info.engine.status}`] : [])],
  },
  hub: {
    pages: { overview: hubOverview, users, sessions, zones, requests },
    keys: { o: "overview", u: "users", s: "sessions", z: "zones", r: "requests" },
    call: "hub",
    search: "name of a user ( / )",
    find: (words) => {
      const first = context.entities[0];
      if (first && words) location.hash = `#/users?${new URLSearchParams({ container: first.container, environment: first.environment, name: words })}`;
    },
    last: () => 0,
    facts: (info) => [info.served ? "served" : "not served", plural(info.sessions, "session"), plural(info.slowRequests, "slow request")],
  },
};
const main = document.getElementById("main");
const context = { session: null, lastSequence: 0, entities: [] };
const kind = () => kinds[context.session.kind];
let current = null;
let turn = 0;
// Lists that were left, by their entries of the history: who comes back finds the same rows at the same place.
const kept = new Map();
const keptMax = 20;
let place = null;
history.scrollRestoration = "manual";

// An entry of the history has a number once its page was opened.
function entry() {
  if (!history.state?.entry) history.replaceState({ entry: Math.random() }, "");
  return history.state.entry;
}

// An address may be cut or mistyped.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decoded);
  return { page: parts[0] || "overview", parts: parts.slice(1), query: new URLSearchParams(query ?? "") };
}

async function open(focuses) {
  const mine = ++turn;
  // It asked, or told, about the page before.
  document.getElementById("dialog").close();
  const focused = document.activeElement;
  const where = route();
  const page = where.page === "record" && context.session.kind === "store" ? record : kind().pages[where.page];
  const nav = where.page === "record" ? "records" : where.page;
  for (const link of document.querySelectorAll("#pages a")) {
    if (link.dataset.page === nav) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (current?.keeps?.()) {
    kept.set(place.entry, { ...place, page: current, top: window.scrollY, lastSequence: context.lastSequence });
    if (kept.size > keptMax) kept.delete(kept.keys().next().value);
  }
  current?.leave?.();
  current = null;
  const at = entry();
  const back = kept.get(at);
  kept.delete(at);
  const view = back?.view ?? h("div", { "data-page": where.page });
  if (back) current = back.page;
  else try {
    if (!page) throw new Error("There is no such page. Choose one above.");
    const opened = await page(view, where, context);
    if (mine !== turn) return opened?.leave?.();
    current = opened;
  } catch (error) {
    if (mine !== turn) return;
    show(view, h("h1", {}, "That did not work"), problem(error));
  }
  place = { entry: at, view };
  show(main, view);
  document.title = `${view.querySelector("h1")?.textContent ?? "Studio"} – ${context.session.name}`;
  if (!focuses) return;
  // Who went on to another place meanwhile, as to the search, stays there.
  if ([focused, document.body].includes(document.activeElement)) main.focus({ preventScroll: true });
  window.scrollTo(0, back?.top ?? 0);
  if (!back || back.lastSequence === context.lastSequence) return;
  current.changed?.(context.lastSequence, back.lastSequence);
  current.refreshed?.();
}

async function head() {
  const info = await api.read(kind().call);
  context.lastSequence = Math.max(context.lastSequence, kind().last(info));
  context.info = info;
  const search = h("input", { id: "search", name: "search", type: "search", placeholder: kind().search, "aria-label": `Search: ${kind().search}` });
  const facts = h("span", { class: "fact", id: "facts" });
  show(document.getElementById("head"),
    h("strong", {}, "backstitch studio"), h("span", {}, context.session.name), facts,
    h("span", { class: "tag", id: "mode" }, context.session.writable ? "may write" : "read-only"),
    h("form", { role: "search", onsubmit: (event) => { event.preventDefault(); Promise.resolve(kind().find(search.value.trim())).catch((error) => note(error.message)); } }, search));
  headFacts();
}

function headFacts(trouble) {
  const info = context.info;
  const facts = document.getElementById("facts");
  facts.textContent = trouble ? `not connected: ${trouble.message}`
    : kind().facts(info).join(" · ");
  facts.classList.toggle("bad", Boolean(trouble));
}

// A record's name leads to it; other text is looked for in the texts of the entity in view.
async function find(words) {
  if (!words) return;
  // What can be no name is looked for as text.
  const [found] = await api.read("find", { record: words }).catch(() => []);
  if (found) { location.hash = address(found, words); return; }
  const here = route();
  const name = here.parts[0] ?? context.entities.find((entity) => entity.records)?.name;
  const entity = context.entities.find((other) => other.name === name);
  const texts = entity?.attributes.filter((attribute) => attribute.type === "string") ?? [];
  if (!texts.length) return note("There is no record of this name.");
  const quoted = `'${words.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const where = texts.map((attribute) => `\`${attribute.field}\` contains ${quoted}`).join(" or ");
  location.hash = `#/records/${encodeURIComponent(name)}?where=${encodeURIComponent(where)}`;
}

const keys = () => [["/", "search"], ["j  k", "the next and the previous row"], ["Enter", "open the row"],
  ["g then a letter", "a page: " + Object.entries(kind().keys).map(([key, page]) => page.replace(key, key.toUpperCase())).join(", ")], ["?", "this list"]];
let isGoing = false;

function help() {
  const dialog = document.getElementById("dialog");
  show(dialog, h("h2", { id: "dialog-title" }, "Keys"),
    h("dl", {}, keys().map(([key, what]) => [h("dt", {}, h("code", {}, key)), h("dd", {}, what)])),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  dialog.showModal();
}

function move(step) {
  const rows = [...main.querySelectorAll("tbody tr[data-href], li[data-href]")];
  if (!rows.length) return;
  const now = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const next = Math.min(rows.length - 1, Math.max(0, now + step));
  rows[now]?.removeAttribute("aria-selected");
  rows[next].setAttribute("aria-selected", "true");
  rows[next].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
  if (/^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/.test(event.target.tagName) && event.key !== "?" && event.key !== "/") return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (isGoing) {
    isGoing = false;
    const page = kind().keys[event.key];
    if (page) location.hash = `#/${page}`;
    return;
  }
  switch (event.key) {
    case "/": event.preventDefault(); document.getElementById("search").focus(); break;
    case "j": move(1); break;
    case "k": move(-1); break;
    case "g": isGoing = true; break;
    case "?": help(); break;
    case "Enter": {
      const row = main.querySelector("[data-href][aria-selected=true]");
      if (row) location.hash = row.dataset.href;
      break;
    }
  }
});

async function begin() {
  try {
    context.session = await api.begin();
    show(document.getElementById("pages"), Object.keys(kind().pages).map((page) =>
      h("a", { href: `#/${page}`, "data-page": page }, page[0].toUpperCase() + page.slice(1))));
  } catch (error) {
    show(main, h("h1", {}, "Not signed in"), problem(error),
      h("p", {}, "Start ", h("code", {}, "backstitch studio"), " again, and open the address that it prints."));
    return;
  }
  context.entities = await api.read("entities");
  await head();
  await open(false);
  window.addEventListener("hashchange", () => open(true));
  api.follow({ lastSequence: context.lastSequence, engine: 0 }, async (moment, before) => {
    context.lastSequence = moment.lastSequence;
    headFacts();
    if (moment.lastSequence === before.lastSequence) {
      // Nothing was written: only what the engine, or the hub, does is another.
      context.info = await api.read(kind().call);
      headFacts();
      return current?.synced?.();
    }
    current?.changed?.(moment.lastSequence, before.lastSequence);
    [context.info, context.entities] = await Promise.all([api.read(kind().call), api.read("entities")]);
    headFacts();
    current?.refreshed?.();
  }, (trouble) => headFacts(trouble));
}

begin().catch((error) => show(main, h("h1", {}, "That did not work"), problem(error)));
