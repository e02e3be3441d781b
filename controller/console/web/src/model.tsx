// The page of a Model: its rollout, and how both versions behave.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Commands } from "./commands";
import { useReading, type History, type Model, type PairRun, type TrafficPoint, type WorstPair } from "./data";
import { isPresent } from "./graph";
import { EvidenceGraphs, TrafficGraphs } from "./model_graphs";
import { useNotifications } from "./notify";
import { Ago, Announcement, Conditions, Disagreement, Facts, FoldingSection, Frame, Name, Section, State, Table, Text } from "./parts";
import { capitalized, counted, difference, duration, fleetPath, milliseconds, percent, phase, proof, rounded, version } from "./text";

type StepState = "done" | "now" | "later" | "ended here";

// The index of the step 100 % is the number of steps.
function stateOfStep(model: Model, index: number): StepState {
  const { phase: name, step } = model.rollout;
  if (name === "Completed") return "done";
  if (name === "RolledBack") return index < step ? "done" : index === step ? "ended here" : "later";
  if (name === "Promoting") return index < model.steps.length ? "done" : "now";
  if (name !== "Step" && name !== "Paused") return "later";
  return index < step ? "done" : index === step ? "now" : "later";
}

function Steps({ model }: { model: Model }) {
  const weights = [...model.steps.map((step) => step.weightPercent), 100];
  return (
    <ol class="steps">
      {weights.map((weight, index) => {
        const state = stateOfStep(model, index);
        const step = model.steps[index];
        return (
          <li key={index} class={`step step-${state.replace(" ", "-")}`} aria-current={state === "now" ? "step" : undefined}>
            <span class="weight">{rounded(weight)} %</span>
            <span class="step-state">{state}</span>
            {step && (
              <span class="needs">
                at least {duration(step.holdSeconds)}; needs {step.waitsForPromote ? "the command promote" : proof(step.proof)}
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

// The split that the manifest and the evidence ask for, as a bar and as words.
function Split({ model }: { model: Model }) {
  const candidate = model.rollout.weight / 100;
  const words = `Version ${model.rollout.stable} gets ${percent(1 - candidate)} of the requests, version ${model.rollout.candidate} gets ${percent(candidate)}.`;
  return (
    <>
      <svg class="split" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="split-stable" width={100 - 100 * candidate} height="6" />
        <rect class="split-candidate" x={100 - 100 * candidate} width={100 * candidate} height="6" />
      </svg>
      <p>{words}</p>
    </>
  );
}

// A paragraph for each line that is not empty.
function Sentences({ text }: { text: string }) {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return (
    <>
      {lines.map((line) => (
        <p key={line}>
          <Text>{line}</Text>
        </p>
      ))}
    </>
  );
}

const NEW_MS = 5000;

// On a cluster the controller writes the numbers only now and then, unless it decides something.
function AgeOfNumbers({ at }: { at: string }) {
  if (!at || Date.now() - Date.parse(at) < NEW_MS) return null;
  return (
    <p>
      The numbers were last updated <Ago at={at} />.
    </p>
  );
}

function Verdict({ model }: { model: Model }) {
  const [first] = model.verdict.trim().split(/[ :]/);
  if (!first) return <p class="empty">There is no verdict yet.</p>;
  return (
    <div class={`verdict verdict-${first}`}>
      <Sentences text={model.verdict} />
      <AgeOfNumbers at={model.numbersAt} />
    </div>
  );
}

function Rollout({ model }: { model: Model }) {
  const { rollout } = model;
  if (!rollout.phase || rollout.phase === "None") {
    return (
      <Section title="Rollout">
        <p class="empty">There has been no rollout yet.</p>
      </Section>
    );
  }
  const isFirst = rollout.stable === 0;
  return (
    <Section title="Rollout">
      <p>
        Attempt {rollout.attempt}: {version(rollout.candidate)} {phase(rollout.phase)}
        {!isFirst && `; ${version(rollout.stable)} served before`}. It began <Ago at={rollout.startedAt} />.
      </p>
      {model.waits && (
        <p>
          <Text>{model.waits}</Text>
        </p>
      )}
      {model.strategy === "Canary" && !isFirst && <Steps model={model} />}
      {model.isUnderWay && !isFirst && <Split model={model} />}
      <Verdict model={model} />
    </Section>
  );
}

// The newest point of the version, if it is not older than the newest measurement.
function latest(history: History, number: number): TrafficPoint | undefined {
  const point = history.versions.find((one) => one.version === number)?.points.at(-1);
  return point && isPresent(point[0], history) ? point : undefined;
}

// The table of `longshore explain`, and what both versions do now.
function Comparison({ model, history }: { model: Model; history: History | null }) {
  const { stable, candidate } = model.rollout;
  const live = (name: string, format: (point: TrafficPoint) => string): ComponentChildren[] => [
    name,
    ...[stable, candidate].map((one) => {
      const point = history && latest(history, one);
      return point ? format(point) : "–";
    }),
    "–",
    "–",
  ];
  return (
    <Section title="Both versions side by side">
      <Table
        label="Both versions side by side"
        columns={["Number", `Stable, ${version(stable)}`, `Candidate, ${version(candidate)}`, "Difference, with 95 % confidence", "Allowed"]}
        rows={[
          ...model.compared.map((row) => [
            capitalized(row.what),
            ...[row.stable, row.candidate, row.difference, row.allowed].map((text) => text || "–"),
          ]),
          live("Requests per second now", (point) => rounded(point[1])),
          live("Failed requests per second now", (point) => rounded(point[2])),
        ]}
        empty=""
      />
      <Sentences text={`${model.comparedNote}\n${model.pairs}\n${model.outputs}`} />
    </Section>
  );
}

const EVENTS_MAX = 10; // More are shown on demand.
const FAILED_MAX = 5;
const NODES_MAX = 20;

function Events({ model }: { model: Model }) {
  return (
    <FoldingSection title="Events, newest first">
      <Table
        label="Events"
        columns={["When", "Version", "What", "Message"]}
        rows={[...model.history].reverse().map((event) => [
          <Ago at={event.at} />,
          event.version === 0 ? "–" : String(event.version),
          event.what,
          <Text>{event.message}</Text>,
        ])}
        empty="Nothing has happened yet."
        rowsMax={EVENTS_MAX}
      />
    </FoldingSection>
  );
}

function Failures({ model }: { model: Model }) {
  const golden = model.goldenSet?.failures ?? [];
  return (
    <>
      {model.failed.length > 0 && (
        <FoldingSection title="Versions that failed">
          <Table
            label="Versions that failed"
            columns={["Version", "When", "Reason", "Message"]}
            rows={[...model.failed].reverse().map((one) => [String(one.version), <Ago at={one.at} />, one.reason, <Text>{one.message}</Text>])}
            empty=""
            rowsMax={FAILED_MAX}
          />
        </FoldingSection>
      )}
      {golden.length > 0 && (
        <FoldingSection title="Failures of the golden set">
          <Table
            label="Failures of the golden set"
            columns={["Node", "When", "Message"]}
            rows={golden.map((one) => [<Text>{one.node}</Text>, <Ago at={one.at} />, <Text>{one.message}</Text>])}
            empty=""
          />
        </FoldingSection>
      )}
    </>
  );
}

function answerOf(run: PairRun): ComponentChildren {
  if (run.error) return <>failed: <Text>{run.error}</Text></>;
  return (
    <>
      <Name>{run.type || "not there"}</Name> in {milliseconds(run.ms)}
    </>
  );
}

function WorstPairs({ pairs }: { pairs: WorstPair[] }) {
  if (pairs.length === 0) return null;
  return (
    <FoldingSection title="Answers that differ most">
      <p>In a pair, a node ran one request on both versions, one run after the other. The worst pair of the newest rollout is the first.</p>
      <details class="more">
        <summary>What the columns mean</summary>
        <p>
          The differences are told whatever the rules of the manifest allow. A relative difference of 1 is the largest one. Values are
          not shown, because nodes do not report them. The times are those of these two runs. They are often shorter than the median of
          the requests, because both versions ran the input once before, and nothing else runs beside a pair.
        </p>
      </details>
      <Table
        label="Answers that differ most"
        columns={["Output", "Relative difference", "Absolute difference", "Stable's answer", "Candidate's answer", "Request", "Node", "Trace", "When"]}
        rows={pairs.map((pair) => [
          pair.output ? <Name>{pair.output}</Name> : "–",
          pair.output ? difference(pair.relativeDifference) : "–",
          pair.absoluteDifference === null ? "–" : difference(pair.absoluteDifference),
          answerOf(pair.stable),
          answerOf(pair.candidate),
          <>
            <Name>{pair.signature}</Name>
            {pair.rows > 0 && ` (${counted(pair.rows, "row")})`}
          </>,
          <Name>{pair.node}</Name>,
          pair.traceId ? <Text>{pair.traceId}</Text> : "–",
          <Ago at={new Date(pair.at).toISOString()} />,
        ])}
        empty=""
      />
    </FoldingSection>
  );
}

function Details({ model, history }: { model: Model; history: History | null }) {
  const hasTwoVersions = model.rollout.stable !== 0 && model.rollout.candidate !== 0;
  return (
    <>
      <p class="summary">
        <State standing={model.standing} /> <Text>{model.why}</Text>
      </p>
      <Disagreement text={model.disagreement} />
      <Announcement>{`${model.standing}: ${model.rolloutInShort || model.why}`}</Announcement>
      <Facts
        facts={[
          ["Serves", version(model.stableVersion)],
          ["Wanted", model.wantedVersion === null ? "the newest version" : version(model.wantedVersion)],
          ["Strategy", model.strategy],
          ["Fleet", <a href={fleetPath(model.fleet)}><Text>{model.fleet}</Text></a>],
          ["Called by clients", <Text>{model.servedName}</Text>],
          ["Source", <Text>{model.source}</Text>],
        ]}
      />
      <Rollout model={model} />
      <Commands model={model} />
      {hasTwoVersions && <Comparison model={model} history={history} />}
      {history && <EvidenceGraphs model={model} history={history} />}
      {history && <WorstPairs pairs={history.worstPairs} />}
      {history && <TrafficGraphs model={model} history={history} />}
      <Failures model={model} />
      <Events model={model} />
      <FoldingSection title="Nodes">
        <Table
          label="Nodes"
          columns={["Node", "Versions"]}
          rows={model.nodes.map((one) => [<Name>{one.node}</Name>, <Text>{one.state}</Text>])}
          empty="No node has a version of this Model."
          rowsMax={NODES_MAX}
        />
      </FoldingSection>
      <Conditions conditions={model.conditions} />
    </>
  );
}

export function ModelPage({ namespace, name }: { namespace: string; name: string }) {
  const path = `/api/v1/models/${namespace}/${name}`;
  const reading = useReading<Model>(path, 2000);
  const history = useReading<History>(`${path}/history`, 5000);
  const models = useMemo(() => (reading.data ? [reading.data] : undefined), [reading.data]);
  useNotifications(models);
  return (
    <Frame title={`Model ${namespace}/${name}`} above={{ name: "Overview", path: "/" }} reading={reading}>
      {reading.data && <Details model={reading.data} history={history.data} />}
    </Frame>
  );
}
