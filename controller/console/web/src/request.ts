// Requests to the controller: every one of the console is sent here.
import { forgetToken, token } from "./token";

// The controller has answered, but does not do what it was asked.
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

// Sends a request with a token, that of the page unless another one is given, and returns the JSON of the answer. Forgets
// the token of the page if it is no longer valid: a page that goes on sending it would lock out others, because the
// controller accepts no token after too many wrong ones.
export async function send<T>(path: string, options: RequestInit, sent: string = token()): Promise<T> {
  const headers = new Headers(options.headers);
  if (sent !== "") headers.set("Authorization", `Bearer ${sent}`);
  const response = await fetchFromLeader(path, { ...options, headers });
  if (response.status === 401) forgetToken(sent);
  const json = await response.json();
  if (!response.ok) throw new Refused(response.status, json.error ?? `status ${response.status}`);
  return json;
}

const STANDBY_ANSWERS_MAX = 10;
const STANDBY_PAUSE_MS = 100;

// A controller on standby executes nothing and closes the connection after its answer. The next connection may lead to
// the leader.
async function fetchFromLeader(path: string, options: RequestInit): Promise<Response> {
  let response = await fetch(path, options);
  for (let answers = 1; isOfStandby(response) && answers < STANDBY_ANSWERS_MAX; ++answers) {
    await new Promise((resolve) => setTimeout(resolve, STANDBY_PAUSE_MS));
    response = await fetch(path, options);
  }
  return response;
}

function isOfStandby(response: Response): boolean {
  return response.status === 503 && response.headers.get("X-Longshore-Standby") === "1";
}

// Why a request failed, for people.
export function messageOf(error: unknown): string {
  if (error instanceof TypeError) return "The controller cannot be reached.";
  if (error instanceof DOMException) return "The controller did not answer in time.";
  return error instanceof Error ? error.message : String(error);
}
