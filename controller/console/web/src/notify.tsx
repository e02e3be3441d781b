// Notifications of the browser about rollouts: only if a person asked for them, and only while a page of the console is
// open. Nothing is sent to another server.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ModelRow } from "./data";
import { storeChoice, storedChoice } from "./storage";

// Browsers allow notifications only on pages of this machine or with HTTPS.
const isPossible = () => window.isSecureContext && "Notification" in window;

export function mayNotify(): boolean {
  return isPossible() && Notification.permission === "granted" && storedChoice("notify") === "on";
}

function notify(model: ModelRow, text: string, id: string) {
  // A tag replaces an earlier notification with the same tag, such as that of another page of the console.
  const options = { body: text.replaceAll("`", ""), tag: `${model.namespace}/${model.name} ${id}`, icon: "/files/icon.svg" };
  const notification = new Notification(`Model ${model.namespace}/${model.name}`, options);
  notification.onclick = () => window.focus();
}

const SEEN_MAX = 100; // Notices that are remembered of a Model.

// Returns the ids with `id` as the last one.
function withLast(ids: string[], id: string): string[] {
  return ids.at(-1) === id ? ids : [...ids.filter((one) => one !== id), id].slice(-SEEN_MAX);
}

// Notifies of what has happened to the Models since the reading before. What the first reading contains is not new, and
// neither is what the page has seen at any time: a Model that fails for a moment has its old notice again afterwards.
export function useNotifications(models: ModelRow[] | undefined) {
  const seen = useRef(new Map<string, string[]>()); // The ids of notices by Model, the latest one last.
  useEffect(() => {
    if (!models) return;
    const before = seen.current;
    seen.current = new Map();
    for (const model of models) {
      const name = `${model.namespace}/${model.name}`;
      const ids = before.get(name);
      const notice = model.notice;
      if (notice && ids && !ids.includes(notice.id) && mayNotify()) notify(model, notice.text, notice.id);
      seen.current.set(name, notice ? withLast(ids ?? [], notice.id) : (ids ?? []));
    }
  }, [models]);
}

export function NotifyChoice() {
  const [isOn, setIsOn] = useState(mayNotify());
  const [isRefused, setIsRefused] = useState(false);
  if (!isPossible()) return null;
  const choose = async () => {
    const isWanted = !isOn && (await Notification.requestPermission()) === "granted";
    storeChoice("notify", isWanted ? "on" : "off");
    setIsRefused(!isOn && !isWanted);
    setIsOn(isWanted);
  };
  return (
    <span class="notify">
      <button type="button" aria-pressed={isOn} onClick={() => void choose()} title="When a rollout ends or needs a person, while a page of the console is open">
        {isOn ? "Notifications are on" : "Notify me"}
      </button>
      <span role="status">{isRefused ? " The browser refuses notifications of this page." : ""}</span>
    </span>
  );
}
