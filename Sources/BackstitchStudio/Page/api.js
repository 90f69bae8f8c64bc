// The calls of the server. Reading is by GET, and what may change something by POST.

let secret = "";
const header = "X-Backstitch-Studio";

// Whole numbers that a number of JavaScript can't hold stay as their digits.
const whole = (key, value, source) => (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source?.source ?? "") ? source.source : value);

function parsed(text) {
  try { return JSON.parse(text, /\d{16}/.test(text) ? whole : undefined); } catch { return {}; }
}

async function reply(response) {
  const body = parsed(await response.text());
  if (!response.ok) {
    const error = new Error(body.error ?? `The server answered ${response.status}.`);
    error.status = response.status;
    throw error;
  }
  secret = response.headers.get(header) ?? secret;
  return body;
}

const send = (name, members, headers = {}) => fetch(`/api/1/${name}`, {
  method: "POST", body: JSON.stringify(members), credentials: "same-origin",
  headers: { "Content-Type": "application/json", ...headers },
}).then(reply);

export function read(name, parameters = {}, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return fetch(`/api/1/${name}${query ? "?" + query : ""}`, { credentials: "same-origin", signal }).then(reply);
}

// The address of a file that records hold.
export const fileAddress = (asset) => `/api/1/file?${new URLSearchParams(asset.content ? { content: asset.content } : { checksum: asset.serviceChecksum ?? "" })}`;

export async function bytesOf(asset) {
  const response = await fetch(fileAddress(asset), { credentials: "same-origin" });
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? `The server answered ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
}

export const act = (name, members = {}) => send(name, members, { [header]: secret });

// Signs in with the token of the address, or goes on with a session that there is.
export async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return read("session");
  history.replaceState(null, "", "/#/overview");
  return send("session", { token });
}

// Calls back whenever something was written, or the engine told something, until the page is left.
export async function follow(known, changed, failed) {
  for (;;) {
    try {
      const moment = await read("changes", { after: known.lastSequence, engine: known.engine });
      if (moment.lastSequence !== known.lastSequence || moment.engine !== known.engine) {
        const before = known;
        known = moment;
        changed(moment, before);
      }
      failed(null);
    } catch (error) {
      failed(error);
      if (error.status === 401) return;
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}
