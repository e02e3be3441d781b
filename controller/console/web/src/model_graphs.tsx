// The graphs of a Model: what the evidence has shown against the limits, and what each version did in the last hour.
import type { EvidencePoint, History, Model, TrafficPoint, Verdict } from "./data";
import { Graph, type Line, type Point, type Times } from "./graph";
import { FoldingSection, Section } from "./parts";
import { milliseconds, percent, rounded } from "./text";

// Before there is evidence, the interval has no end. It is drawn to so many times the limit.
const LIMITS_SHOWN = 4;

function points(percentPoints: number): string {
  return `${rounded(100 * percentPoints)} points`;
}

interface IntervalProps extends Times {
  evidence: EvidencePoint[];
  until: number;
  isOver: boolean; // Whether the rollout has ended.
  verdict: Verdict;
}

// The limits, as far as the test is enabled.
function limitsOf(points: [at: number, limit: number | null][]): Line[] {
  const known = points.flatMap(([at, limit]): Point[] => (limit === null ? [] : [[at, limit]]));
  return known.length === 0 ? [] : [{ name: "Limit of the manifest", kind: "limit", points: known }];
}

// The reason of the verdict if the test fails, and the names of its numbers.
const ERROR_TEST = { reason: "ErrorRate", e: "eErrors", limit: "eErrorsLimit", proof: "eErrorsProof" };
const RUN_TIME_TEST = { reason: "Latency", e: "eLatency", limit: "eLatencyLimit", proof: "eLatencyProof" };

// What a test has shown. Its interval comes from another method, so only the verdict says it.
function shownBy(test: typeof ERROR_TEST, { result, reason, numbers }: Verdict, isOver: boolean): string {
  const { [test.e]: e = 0, [test.limit]: limit = Infinity, [test.proof]: proof = 0, eProofLimit = Infinity } = numbers;
  if (e >= limit || (result === "Fail" && reason === test.reason)) return "The test failed: the candidate is worse than stable.";
  if (proof >= eProofLimit) return "It is proven that the candidate is not worse than allowed.";
  return isOver ? "This test proved nothing." : "This test has proved nothing yet.";
}

// The end of the axis: `least`, or more if the interval from `low` to `high` would be beyond it.
function shownFor(least: number, low: number, high: number): number {
  const nearest = Math.max(low, -high); // The end of the interval that is next to 0, if 0 is not in it.
  return Math.max(least, 1.5 * nearest);
}

function noEvidence(isOver: boolean): string {
  return `There ${isOver ? "were too few requests" : "are too few requests yet"} to say how far the versions differ.`;
}

const NO_LIMIT = "The manifest disables this test, so there is no limit.";

function ErrorInterval({ evidence, isOver, verdict, ...times }: IntervalProps) {
  const last = evidence.at(-1);
  if (!last) return null;
  const [, low, high, limit] = last;
  const title = "Error rate of the candidate less stable's, in percentage points";
  if (low <= -1 && high >= 1) return <Graph {...times} title={title} summary="" lines={[]} empty={noEvidence(isOver)} format={points} />;
  const shown = shownFor(Math.max(LIMITS_SHOWN * (limit ?? 0), 1.5 * Math.min(high, 0.05), 0.001), low, high);
  const summary =
    `With 95 % confidence, the candidate's error rate less stable's is between ${points(low)} and ${points(high)}` +
    (limit === null ? `. ${NO_LIMIT}` : `; the limit is ${points(limit)}. ${shownBy(ERROR_TEST, verdict, isOver)}`);
  return (
    <div>
      <Graph
        {...times}
        title={title}
        summary={summary}
        band={{ name: "The true difference is in this interval", points: evidence.map(([at, from, to]) => [at, from, to]) }}
        lines={limitsOf(evidence.map(([at, , , max]) => [at, max]))}
        format={(share) => rounded(100 * share)}
        valuesMax={shown}
        valuesMin={-shown}
      />
      <p>{summary}</p>
    </div>
  );
}

interface RatioProps extends IntervalProps {
  told: number; // A larger ratio stands for any larger one.
  allowed: string; // "at most 10 % longer".
  ofPairs: boolean; // Whether the interval is that of pairs, and not of requests.
}

function RatioInterval({ evidence, isOver, verdict, told, allowed, ofPairs, ...times }: RatioProps) {
  const known = evidence.filter((point) => point[4] !== null && point[5] !== null);
  const last = known.at(-1);
  if (!last) return null;
  const change = (ratio: number) => (ratio >= told ? `more than ${percent(told - 1)}` : percent(ratio - 1));
  const where = ofPairs ? " in pairs" : "";
  const [low, high, limit] = [last[4] ?? 0, last[5] ?? 0, last[6]];
  const shown = shownFor(Math.max(LIMITS_SHOWN * ((limit ?? 1) - 1), 0.2), low - 1, high - 1);
  const summary =
    `With 95 % confidence, the candidate's median run time${where} differs from stable's by ${low >= told ? change(low) : `${change(low)} to ${change(high)}`}` +
    (limit === null ? `. ${NO_LIMIT}` : `; it may be ${allowed}. ${shownBy(RUN_TIME_TEST, verdict, isOver)}`);
  return (
    <div>
      <Graph
        {...times}
        title={`Median run time of the candidate${where} compared with stable's`}
        summary={summary}
        band={{ name: "The true change is in this interval", points: known.map((point) => [point[0], (point[4] ?? 1) - 1, (point[5] ?? 1) - 1]) }}
        lines={limitsOf(known.map((point) => [point[0], point[6] === null ? null : point[6] - 1]))}
        format={percent}
        valuesMax={shown}
        valuesMin={-shown}
      />
      <p>{summary}</p>
    </div>
  );
}

// The history has a point every few seconds. The newest numbers come with the Model, so that the graphs and the table
// above them say the same.
function evidenceOf(model: Model, history: History): EvidencePoint[] {
  const newest = model.evidence;
  return newest ? [...history.evidence.filter(([at]) => at < newest[0]), newest] : history.evidence;
}

export function EvidenceGraphs({ model, history }: { model: Model; history: History }) {
  if (history.evidence.length === 0 || history.evidenceAttempt !== model.rollout.attempt) return null;
  const isLast = model.isUnderWay ? "" : " of the last rollout";
  const evidence = evidenceOf(model, history);
  const now = Math.max(history.now, evidence.at(-1)?.[0] ?? 0);
  const until = model.isUnderWay ? now : 0;
  const { verdict } = model.rollout;
  const { runTimePairs = 0, candidateRequests = 0 } = verdict.numbers;
  const ofPairs = runTimePairs > 0 || candidateRequests === 0;
  const times = { now, intervalMs: history.intervalMs, until, isOver: !model.isUnderWay, verdict };
  return (
    <Section title={`Evidence against the limits${isLast}`}>
      <div class="graphs">
        <ErrorInterval {...times} evidence={evidence} />
        <RatioInterval {...times} evidence={evidence} told={history.ratioTold} allowed={model.limits.runTime} ofPairs={ofPairs} />
      </div>
    </Section>
  );
}

interface TrafficGraphProps {
  model: Model;
  history: History;
  title: string;
  value: (point: TrafficPoint) => number | null; // null: there is no number at this time.
  empty?: string; // Why there are no numbers.
  format: (value: number) => string;
}

const NO_RUNS = "No version has answered a request in the last hour.";

function TrafficGraph({ model, history, title, value, empty, format }: TrafficGraphProps) {
  const kindOf = (version: number): Line["kind"] => {
    if (version === model.stableVersion) return "stable";
    return version === model.rollout.candidate ? "candidate" : "other";
  };
  const lines = history.versions.map(
    ({ version, points: ofVersion }): Line => ({
      name: `Version ${version}`,
      kind: kindOf(version),
      points: ofVersion.flatMap((point): Point[] => {
        const shown = value(point);
        return shown === null ? [] : [[point[0], shown]];
      }),
    }),
  );
  const summary = lines
    .map((line) => {
      const last = line.points.at(-1);
      return last ? `${line.name}: ${format(last[1])} at the end.` : `${line.name}: no numbers.`;
    })
    .join(" ");
  const { now, intervalMs } = history;
  return <Graph title={title} summary={summary} lines={lines} empty={empty} format={format} now={now} intervalMs={intervalMs} until={now} />;
}

export function TrafficGraphs({ model, history }: { model: Model; history: History }) {
  const common = { model, history };
  return (
    <FoldingSection title="The last hour">
      <div class="graphs">
        <TrafficGraph {...common} title="Requests per second" value={(point) => point[1]} format={rounded} />
        <TrafficGraph {...common} title="Failed requests per second" value={(point) => point[2]} format={rounded} />
        <TrafficGraph {...common} title="Median run time" value={(point) => point[3] || null} empty={NO_RUNS} format={milliseconds} />
        <TrafficGraph {...common} title="Run time, 90 % quantile" value={(point) => point[4] || null} empty={NO_RUNS} format={milliseconds} />
      </div>
    </FoldingSection>
  );
}
