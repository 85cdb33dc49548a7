// Talks to the server of this page. The token of the link is kept by the browser for this address only.
const KEEP = "s2g-token";

function readToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token) {
    localStorage.setItem(KEEP, token);
    given.delete("token");
    // The address bar shows no token, and a link to a moment that is copied from it has none.
    history.replaceState(null, "", given.size ? `#${given}` : location.pathname);
  }
  return token || localStorage.getItem(KEEP) || "";
}

const token = readToken();
const headers = { authorization: `Bearer ${token}` };

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function check(answer) {
  if (answer.ok) return answer;
  let message = `the server answered ${answer.status}`;
  try {
    const said = await answer.json();
    message = said.error || (said.mistakes || []).map((one) => [one.where, one.what, one.hint].filter(Boolean).join(": ")).join("; ") || message;
  } catch {
    // Its own words are missing; the status tells enough.
  }
  throw new Refused(answer.status, message);
}

export async function get(path, query = {}) {
  const words = new URLSearchParams(query);
  const answer = await check(await fetch(`/api/${path}${words.size ? `?${words}` : ""}`, { headers }));
  return answer.json();
}

export async function post(path, body) {
  const answer = await check(await fetch(`/api/${path}`, {
    method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body),
  }));
  return answer.json();
}

// Reads frames until the server sends the last one. Returns that one.
export async function readFrames(query, onFrame, signal) {
  const answer = await check(await fetch(`/api/stream?${new URLSearchParams(query)}`, { headers, signal }));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return null;
    text += value;
    let end;
    let newest = null;
    while ((end = text.indexOf("\n\n")) >= 0) {
      newest = JSON.parse(text.slice(6, end));
      text = text.slice(end + 2);
      onFrame(newest);
      if (newest.last) return newest;
    }
  }
}
