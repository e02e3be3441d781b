// The JSON of the controller (docs/console.md), and how a page reads it again and again.
import { useEffect, useState } from "preact/hooks";
import { mayNotify } from "./notify";
import { messageOf, Refused, send } from "./request";
import { useToken } from "./token";

export type Standing = "as wanted" | "under way" | "failed";

export interface Named {
  namespace: string;
  name: string;
}

// What every answer of the controller has.
export interface Answer {
  controller: { version: string; problem: string };
}

// An event that people can be told of. `id` identifies it.
export interface Notice {
  id: string;
  text: string;
}

export interface ModelRow extends Named {
  standing: Standing;
  why: string;
  disagreement: string; // How the manifest file differs from the object; "": it does not.
  notice: Notice | null;
  fleet: string;
  stableVersion: number;
  wantedVersion: number | null;
  rolloutInShort: string;
}

export interface FleetRow extends Named {
  standing: Standing;
  why: string;
  disagreement: string;
  replicas: number;
  readyReplicas: number;
  replicasMin: number;
  replicasMax: number;
  grpcAddress: string;
  restAddress: string;
}

export interface Overview extends Answer {
  models: ModelRow[];
  fleets: FleetRow[];
  unreadable: { object: string; why: string }[];
  manifests: { file: string; state: Standing | "differs"; why: string }[];
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime?: string;
}

export interface Step {
  weightPercent: number;
  holdSeconds: number;
  proof: string;
  waitsForPromote: boolean;
}

export interface Verdict {
  result: string;
  reason: string;
  message: string;
  numbers: Record<string, number>;
}

export interface Rollout {
  phase: string;
  stable: number;
  candidate: number;
  attempt: number;
  step: number;
  weight: number;
  pausedReason: string;
  startedAt: string;
  stepStartedAt: string;
  verdict: Verdict;
}

// A command that the controller would execute now.
export interface Offer {
  verb: string;
  effect: string;
  warning: string; // What a person should know before; "": nothing.
  seen: { generation: number; attempt: number; step: number; from: number };
}

// A comparison of both versions, as texts; "" where there is nothing to say.
export interface Compared {
  what: string;
  stable: string;
  candidate: string;
  difference: string;
  allowed: string;
}

export interface Model extends ModelRow, Answer {
  servedName: string;
  source: string;
  strategy: string;
  steps: Step[];
  isUnderWay: boolean;
  waits: string;
  verdict: string; // Sentences, one per line.
  numbersAt: string; // When the numbers of the verdict were last updated; "" unless a rollout is judged.
  compared: Compared[];
  comparedNote: string; // What is to be said about the table of `compared`; "": nothing.
  limits: { errorDifference: number | null; runTimeRatio: number | null; runTime: string }; // "at most 10 % longer".
  evidence: EvidencePoint | null; // What it shows now, or showed at the end of the rollout: the numbers of `compared`.
  rollout: Rollout;
  conditions: Condition[];
  history: { at: string; version: number; what: string; message: string }[];
  failed: { version: number; reason: string; message: string; at: string }[];
  nodes: { node: string; state: string }[];
  goldenSet: { version: number; failures?: { node: string; at: string; message: string }[] } | null;
  offers: Offer[];
  pairs: string;
  outputs: string;
}

// [time in ms, requests per second, errors per second, median of the run times in ms, their 90 % quantile in ms].
export type TrafficPoint = [number, number, number, number, number];
// [time in ms, error difference: low, high, limit; run time ratio: low, high, limit].
// A limit is null if its test is disabled.
export type EvidencePoint = [number, number, number, number | null, number | null, number | null, number | null];

// One run of a pair.
export interface PairRun {
  type: string; // Of the output: its type and shape; "": the answer does not have it.
  error: string; // Why the run failed; "": it did not.
  ms: number;
}

// A pair whose answers differ. It has no values.
export interface WorstPair {
  node: string;
  at: number; // In ms.
  traceId: string;
  signature: string;
  rows: number; // 0: the inputs have no number of rows in common.
  output: string; // The one that differs most; "": a run failed.
  relativeDifference: number; // From 0 to 1.
  absoluteDifference: number | null; // null: there is none, for example because the outputs are texts.
  stable: PairRun;
  candidate: PairRun;
}

export interface History extends Answer {
  now: number; // In ms, by the clock of the controller, as the times of the points.
  intervalMs: number; // Between two points.
  versions: { version: number; points: TrafficPoint[] }[];
  evidenceAttempt: number; // The attempt of the rollout of which `evidence` is.
  evidence: EvidencePoint[];
  worstPairs: WorstPair[]; // Of the newest rollout, the worst first.
  ratioTold: number; // A larger ratio of run times stands for any larger one.
}

export interface FleetNode {
  name: string;
  state: string;
  pid: number;
  adminAddress: string;
  connected: boolean;
  problem: string;
  softwareVersion: string;
  load: { running: number; queued: number; slots: number; connections: number } | null;
  versions: { servedName: string; version: number; state: string; message: string; memoryBytes: number; weightPercent: number }[];
}

export interface Fleet extends FleetRow, Answer {
  hasPods: boolean; // Nodes are pods, and not processes of one host.
  scaling: { desired: number; message: string } | null;
  conditions: Condition[];
  nodes: FleetNode[];
  models: ModelRow[];
}

export interface Reading<T> {
  data: T | null;
  readAt: number; // When `data` was last confirmed, by the clock of the browser.
  error: string; // Why the last reading failed; "": it did not.
  isMissing: boolean; // What the page is about does not exist, or not any more. Then `data` is null.
}

const TIMEOUT_MS = 5000;

// "no-cache": the browser asks whether its copy is still valid, so that unchanged data is not sent again.
function read<T>(path: string): Promise<T> {
  return send(path, { cache: "no-cache", signal: AbortSignal.timeout(TIMEOUT_MS) });
}

// A hidden page is read only for notifications, and less often.
const HIDDEN_EVERY_MS = 15_000;

// Reads the path now and `everyMs` after each answer. A hidden page is not read, unless it may notify, and is read at
// once when it is shown again.
export function useReading<T>(path: string, everyMs: number): Reading<T> {
  const owner = useToken();
  const [reading, setReading] = useState<Reading<T>>({ data: null, readAt: 0, error: "", isMissing: false });
  useEffect(() => {
    let timer = 0;
    let isReading = false;
    let hasEnded = false;
    const again = async () => {
      if (isReading || hasEnded) return;
      window.clearTimeout(timer);
      isReading = true;
      try {
        const data = await read<T>(path);
        if (!hasEnded) setReading({ data, readAt: Date.now(), error: "", isMissing: false });
      } catch (error) {
        const isMissing = error instanceof Refused && error.status === 404;
        if (!hasEnded) setReading((before) => ({ ...before, data: isMissing ? null : before.data, error: messageOf(error), isMissing }));
      }
      isReading = false;
      schedule();
    };
    const schedule = () => {
      window.clearTimeout(timer);
      if (hasEnded || (document.hidden && !mayNotify())) return;
      timer = window.setTimeout(again, document.hidden ? Math.max(everyMs, HIDDEN_EVERY_MS) : everyMs);
    };
    const onVisibility = () => (document.hidden ? schedule() : void again());
    document.addEventListener("visibilitychange", onVisibility);
    void again();
    return () => {
      hasEnded = true;
      window.clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [path, everyMs, owner]);
  return reading;
}
