// The token of the person who uses the page, and what the console says about it.
//
// The token is kept for this tab only (sessionStorage), and sent in a header: there is no cookie, so that a page of
// another site can give no command.
import { useEffect, useState } from "preact/hooks";

export interface Access {
  canCommand: boolean; // Whether the console knows any token.
  readingNeedsToken: boolean;
  howToSignIn: string;
  name: string; // Of the token; "" without one.
  mayCommand: boolean;
}

const KEY = "longshore-token";
const CHANGED = "longshore-token-changed";

export function token(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

export function setToken(text: string) {
  if (text === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, text);
  window.dispatchEvent(new Event(CHANGED));
}

export function headersWith(text: string): Record<string, string> {
  return text === "" ? {} : { Authorization: `Bearer ${text}` };
}

class NotAccepted extends Error {}

export async function fetchAccess(text: string): Promise<Access> {
  const response = await fetch("/api/v1/access", { cache: "no-store", headers: headersWith(text) });
  const json = await response.json();
  if (response.status === 401 || response.status === 403) throw new NotAccepted(json.error);
  if (!response.ok) throw new Error(json.error ?? `status ${response.status}`);
  return json;
}

export function useToken(): string {
  const [value, setValue] = useState(token());
  useEffect(() => {
    const update = () => setValue(token());
    window.addEventListener(CHANGED, update);
    return () => window.removeEventListener(CHANGED, update);
  }, []);
  return value;
}

// null: not known yet, or the console does not answer. A token that has become invalid is forgotten.
export function useAccess(): Access | null {
  const current = useToken();
  const [access, setAccess] = useState<Access | null>(null);
  useEffect(() => {
    let ended = false;
    const forget = (error: unknown) => error instanceof NotAccepted && !ended && setToken("");
    fetchAccess(current).then((seen) => !ended && setAccess(seen), forget);
    return () => {
      ended = true;
    };
  }, [current]);
  return access;
}
