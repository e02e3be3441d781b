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

// Notifies of what has happened to the Models since the reading before. What the first reading contains is not new.
export function useNotifications(models: ModelRow[] | undefined) {
  const known = useRef<Map<string, string> | null>(null);
  useEffect(() => {
    if (!models) return;
    const before = known.current;
    known.current = new Map(models.map((model) => [`${model.namespace}/${model.name}`, model.notice?.id ?? ""]));
    if (!before || !mayNotify()) return;
    for (const model of models) {
      const id = before.get(`${model.namespace}/${model.name}`);
      if (model.notice && id !== undefined && id !== model.notice.id) notify(model, model.notice.text, model.notice.id);
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
