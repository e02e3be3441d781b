// What the console says about the token of the page.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { Refused, send } from "./request";
import { forgetToken, useToken } from "./token";

export interface Access {
  canCommand: boolean; // Whether the console knows any token.
  readingNeedsToken: boolean;
  howToSignIn: string;
  name: string; // Of the token; "" without one.
  mayCommand: boolean;
}

const TIMEOUT_MS = 5000;
const RETRY_MS = 2000;

export function fetchAccess(text: string): Promise<Access> {
  return send("/api/v1/access", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) }, text);
}

// A token that may not use this console is useless, too.
function isUseless(error: unknown): boolean {
  return error instanceof Refused && (error.status === 401 || error.status === 403);
}

// Reads the access again for each token, and until the console answers. For the whole page, which gives the result to
// its parts by AccessOfPage. null: not known yet.
export function useAccessReading(): Access | null {
  const current = useToken();
  const [access, setAccess] = useState<Access | null>(null);
  useEffect(() => {
    let timer = 0;
    let hasEnded = false;
    const again = async () => {
      try {
        const seen = await fetchAccess(current);
        if (!hasEnded) setAccess(seen);
      } catch (error) {
        if (isUseless(error)) forgetToken(current);
        if (!hasEnded) timer = window.setTimeout(again, RETRY_MS);
      }
    };
    void again();
    return () => {
      hasEnded = true;
      window.clearTimeout(timer);
    };
  }, [current]);
  return access;
}

export const AccessOfPage = createContext<Access | null>(null);

export function useAccess(): Access | null {
  return useContext(AccessOfPage);
}
