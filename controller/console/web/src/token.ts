// The token of the person who uses the page.
//
// The token is kept for this tab only (sessionStorage), and sent in a header: there is no cookie, so that a page of
// another site can give no command.
import { useEffect, useState } from "preact/hooks";

const KEY = "longshore-token";
const CHANGED = "longshore-token-changed";

// "": not signed in.
export function token(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

export function setToken(text: string) {
  if (text === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, text);
  window.dispatchEvent(new Event(CHANGED));
}

// Forgets the token, unless the person has signed in with another one meanwhile.
export function forgetToken(refused: string) {
  if (refused !== "" && refused === token()) setToken("");
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
