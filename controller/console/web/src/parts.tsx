// What all pages have in common: the frame, states, tables and texts.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { SignIn } from "./commands";
import type { Answer, Condition, ModelRow, Reading, Standing } from "./data";
import { NotifyChoice } from "./notify";
import { storeChoice, storedChoice } from "./storage";
import { ago, count, fleetPath, modelPath, version } from "./text";

// A text from outside: a name or a message. It is isolated, so that its direction of writing does not change the page.
// Words in backquotes are commands.
export function Text({ children }: { children: string }) {
  const parts = children.split("`");
  if (parts.length < 3) return <bdi>{children}</bdi>;
  return <bdi>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</bdi>;
}

const WHOLE_LENGTH_MAX = 32;

// A name or an address: it is not broken into two lines unless it is long.
export function Name({ children }: { children: string }) {
  return <bdi class={children.length <= WHOLE_LENGTH_MAX ? "whole" : undefined}>{children}</bdi>;
}

// The sign is not read aloud; the words say the same.
const SIGNS: Record<Standing | "differs", string> = { "as wanted": "✓", "under way": "…", failed: "✕", differs: "≠" };

export function State({ standing }: { standing: Standing | "differs" }) {
  return (
    <span class={`state state-${standing.replace(" ", "-")}`}>
      <span aria-hidden="true">{SIGNS[standing]}</span> {standing}
    </span>
  );
}

// How the manifest file of an object differs from it.
export function Disagreement({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p class="differs">
      <Text>{text}</Text>
    </p>
  );
}

export function Why({ why, disagreement }: { why: string; disagreement: string }) {
  return (
    <>
      <Text>{why}</Text>
      <Disagreement text={disagreement} />
    </>
  );
}

export function Ago({ at }: { at: string | undefined }) {
  if (!at) return <>–</>;
  return (
    <time class="whole" dateTime={at} title={at}>
      {ago(at)}
    </time>
  );
}

interface SectionProps {
  title: string;
  children: ComponentChildren;
}

const idOf = (title: string) => title.toLowerCase().replace(/[^a-z]+/g, "-");

export function Section({ title, children }: SectionProps) {
  const id = idOf(title);
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

const WIDE = "(min-width: 40rem)"; // The width below which console.css makes cards of tables.

// A section that a person can fold. On a narrow screen it is folded at first, so that the page stays short.
export function FoldingSection({ title, children }: SectionProps) {
  const [isOpen] = useState(() => window.matchMedia(WIDE).matches);
  const id = idOf(title);
  return (
    <section aria-labelledby={id}>
      <details open={isOpen}>
        <summary>
          <h2 id={id}>{title}</h2>
        </summary>
        {children}
      </details>
    </section>
  );
}

interface TableProps {
  label: string;
  columns: string[];
  rows: ComponentChildren[][];
  empty: string;
  rowsMax?: number; // More rows are shown when a person asks for them.
}

interface RowProps {
  columns: string[];
  cells: ComponentChildren[];
}

// The name of a column in cards, where there is little room: "Stable" of "Stable, version 1".
const shortName = (column = "") => column.split(",")[0];

const isNothing = (cell: ComponentChildren) => cell === "" || cell === "–";

// The first cell is the heading. A narrow screen shows the row as a card, in which each cell has the name of its column
// and those without content are left out. The roles remain although the card is not laid out as a table.
function Row({ columns, cells }: RowProps) {
  const [heading, ...rest] = cells;
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        {heading}
      </th>
      {rest.map((cell, index) => (
        <td role="cell" data-column={shortName(columns[index + 1])} class={isNothing(cell) ? "nothing" : undefined}>
          <div>{cell}</div>
        </td>
      ))}
    </tr>
  );
}

// A table that is too wide scrolls, also by keyboard.
export function Table({ label, columns, rows, empty, rowsMax = Infinity }: TableProps) {
  const [isWhole, setWhole] = useState(false);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const shown = isWhole ? rows : rows.slice(0, rowsMax);
  return (
    <>
      <div class="scroll" role="group" aria-label={label} tabIndex={0}>
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              {columns.map((column) => (
                <th scope="col" role="columnheader" key={column}>
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {shown.map((cells, index) => (
              <Row key={index} columns={columns} cells={cells} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < rows.length && (
        <p class="more">
          <button onClick={() => setWhole(true)}>
            Show all {count(rows.length)}
            <span class="only-read-aloud"> rows of {label}</span>
          </button>
        </p>
      )}
    </>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ModelsTableProps {
  models: ModelRow[];
  empty: string;
  hasFleets: boolean; // Whether the Models may be on several fleets.
}

export function ModelsTable({ models, empty, hasFleets }: ModelsTableProps) {
  const fleetCell = (model: ModelRow) => (
    <a href={fleetPath(model.fleet)}>
      <Name>{model.fleet}</Name>
    </a>
  );
  return (
    <Table
      label="Models"
      columns={["Model", "State", "Why", "Serves", "Wanted", ...(hasFleets ? ["Fleet"] : [])]}
      rows={models.map((model) => [
        <a href={modelPath(model)}>
          <Name>{`${model.namespace}/${model.name}`}</Name>
        </a>,
        <State standing={model.standing} />,
        <Why {...model} />,
        <Name>{version(model.stableVersion)}</Name>,
        <Name>{model.wantedVersion === null ? "the newest" : version(model.wantedVersion)}</Name>,
        ...(hasFleets ? [fleetCell(model)] : []),
      ])}
      empty={empty}
    />
  );
}

const CONDITION_STATES: Record<string, string> = { True: "yes", False: "no", Unknown: "unknown" };

export function Conditions({ conditions }: { conditions: Condition[] }) {
  return (
    <FoldingSection title="Conditions">
      <Table
        label="Conditions"
        columns={["Condition", "Holds", "Since", "Reason", "Message"]}
        rows={conditions.map((condition) => [
          condition.type,
          CONDITION_STATES[condition.status] ?? condition.status,
          <Ago at={condition.lastTransitionTime} />,
          condition.reason,
          <Text>{condition.message}</Text>,
        ])}
        empty="No controller has processed this object yet."
      />
    </FoldingSection>
  );
}

// A text that screen readers read aloud when it changes.
export function Announcement({ children }: { children: string }) {
  return (
    <p class="only-read-aloud" role="status">
      {children}
    </p>
  );
}

type Theme = "system" | "light" | "dark";

function storedTheme(): Theme {
  const stored = storedChoice("theme");
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme = storedTheme()) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme());
  const choose = (chosen: Theme) => {
    storeChoice("theme", chosen);
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <label class="theme">
      <span class="label">Colours </span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
        <option value="system">of the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs]);
  return now;
}

const STALE_MS = 6000;

// Says that the page is not up to date, and since when.
function Staleness({ reading, now }: { reading: Reading<unknown>; now: number }) {
  const isStale = reading.data !== null && (reading.error !== "" || now - reading.readAt > STALE_MS);
  return (
    <div role="alert">
      {isStale && (
        <p class="warning">
          This page shows the state of {new Date(reading.readAt).toLocaleTimeString("en-GB")} and is not up to date.{" "}
          {reading.error}
        </p>
      )}
    </div>
  );
}

// Why the controller does not reconcile: then every page shows an old state.
function Problem({ problem }: { problem: string }) {
  return <div role="alert">{problem && <p class="warning"><Text>{problem}</Text></p>}</div>;
}

// Why there is nothing to show.
function Failure({ reading }: { reading: Reading<unknown> }) {
  return (
    <>
      <p class="warning" role="alert">
        <Text>{reading.error}</Text>
      </p>
      {reading.isMissing && (
        <p>
          It was deleted, or its name is mistyped. The <a href="/">overview</a> has all Models and fleets.
        </p>
      )}
    </>
  );
}

interface FrameProps {
  title: string;
  above?: { name: string; path: string };
  reading: Reading<Answer>;
  children: ComponentChildren;
}

export function Frame({ title, above, reading, children }: FrameProps) {
  const now = useNow(1000);
  useEffect(() => {
    document.title = `${title} – Longshore`;
  }, [title]);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <a class="brand" href="/">
          <img src="/files/icon.svg" alt="" width="24" height="24" /> Longshore
        </a>
        {above && (
          <nav aria-label="Where you are">
            <a href={above.path}>{above.name}</a> <span class="here"><span aria-hidden="true">/</span> <Text>{title}</Text></span>
          </nav>
        )}
        <div class="tools">
          <NotifyChoice />
          <SignIn />
          <ThemeChoice />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <h1>
          <Text>{title}</Text>
        </h1>
        <Staleness reading={reading} now={now} />
        <Problem problem={reading.data?.controller.problem ?? ""} />
        {reading.data === null && (reading.error ? <Failure reading={reading} /> : <p>Loading …</p>)}
        {children}
      </main>
      <footer>
        <p>
          Commands are given with <code>longshore</code> in a terminal, or on the page of a Model if the console knows your token.
        </p>
      </footer>
    </>
  );
}
