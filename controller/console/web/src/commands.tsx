// Signing in, and the commands of a Model.
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchAccess, useAccess } from "./access";
import type { Model, Offer } from "./data";
import { Section, Text } from "./parts";
import { messageOf, send } from "./request";
import { setToken } from "./token";

interface DialogProps {
  title: string;
  children: preact.ComponentChildren;
  close: () => void;
}

// A dialog of the browser: it keeps the focus inside, ends with Escape, and then gives the focus back.
function Dialog({ title, children, close }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={close}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

function SignInDialog({ hint, close }: { hint: string; close: () => void }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const signIn = async (event: Event) => {
    event.preventDefault();
    try {
      await fetchAccess(text.trim());
      setToken(text.trim());
      close();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Dialog title="Sign in with a token" close={close}>
      <form onSubmit={signIn}>
        <p>
          <Text>{hint}</Text> This tab keeps the token until it is closed.
        </p>
        <p>
          <label>
            Token{" "}
            <input type="password" autocomplete="off" required value={text} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        </p>
        <p class="bad" role="alert">
          {problem}
        </p>
        <p class="buttons">
          <button type="submit">Sign in</button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

// In the head of each page. Shows nothing if the console knows no tokens.
export function SignIn() {
  const access = useAccess();
  const [isOpen, setOpen] = useState(false);
  if (!access?.canCommand) return null;
  if (access.name !== "") {
    return (
      <p class="person">
        <Text>{access.name}</Text> <button onClick={() => setToken("")}>Sign out</button>
      </p>
    );
  }
  return (
    <p class="person">
      <button onClick={() => setOpen(true)}>Sign in</button>
      {isOpen && <SignInDialog hint={access.howToSignIn} close={() => setOpen(false)} />}
    </p>
  );
}

const COMMAND_TIMEOUT_MS = 60_000;

// Returns the answer of the controller, or why it refused the command.
async function give(model: Model, offer: Offer): Promise<string> {
  try {
    const { answer } = await send<{ answer: string }>(`/api/v1/models/${model.namespace}/${model.name}/commands`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ verb: offer.verb, seen: offer.seen }),
      signal: AbortSignal.timeout(COMMAND_TIMEOUT_MS),
    });
    return answer;
  } catch (error) {
    return messageOf(error);
  }
}

function ConfirmDialog({ model, offer, close }: { model: Model; offer: Offer; close: (answer: string) => void }) {
  const [isSent, setSent] = useState(false);
  const confirm = async () => {
    setSent(true);
    close(await give(model, offer));
  };
  return (
    <Dialog title={`${offer.verb} ${model.namespace}/${model.name}?`} close={() => !isSent && close("")}>
      <p>
        This will <Text>{offer.effect}</Text>.
      </p>
      {offer.warning && (
        <p class="warning">
          <Text>{offer.warning}</Text>
        </p>
      )}
      <p class="buttons">
        <button disabled={isSent} onClick={confirm}>
          {isSent ? "Waiting for the controller …" : `Yes, ${offer.verb}`}
        </button>
        <button disabled={isSent} onClick={() => close("")}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}

// The commands that the controller would execute now.
export function Commands({ model }: { model: Model }) {
  const access = useAccess();
  const [chosen, setChosen] = useState<Offer | null>(null);
  const [answer, setAnswer] = useState("");
  if (!access?.canCommand) return null;
  const close = (text: string) => {
    setChosen(null);
    setAnswer(text);
  };
  return (
    <Section title="Commands">
      {!access.mayCommand && <p class="empty">Sign in with a token of the scope admin to give commands.</p>}
      {access.mayCommand && model.offers.length === 0 && <p class="empty">No command would be accepted now.</p>}
      {access.mayCommand && (
        <ul class="commands">
          {model.offers.map((offer) => (
            <li key={offer.verb}>
              <button onClick={() => setChosen(offer)}>{offer.verb}</button> <Text>{offer.effect}</Text>
            </li>
          ))}
        </ul>
      )}
      <p role="status">
        <Text>{answer}</Text>
      </p>
      {chosen && <ConfirmDialog model={model} offer={chosen} close={close} />}
    </Section>
  );
}
