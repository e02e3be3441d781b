// The JSON of the controller (docs/console.md), and how a page reads it again and again.
import { useEffect, useState } from "preact/hooks";

export type Standing = "as wanted" | "under way" | "failed";

export interface Named {
  namespace: string;
  name: string;
}

export interface ModelRow extends Named {
  standing: Standing;
  why: string;
  fleet: string;
  stableVersion: number;
  wantedVersion: number | null;
  rolloutInShort: string;
}

export interface FleetRow extends Named {
  standing: Standing;
  why: string;
  replicas: number;
  readyReplicas: number;
  replicasMin: number;
  replicasMax: number;
  grpcAddress: string;
  restAddress: string;
}

export interface Overview {
  controller: { version: string; problem: string };
  models: ModelRow[];
  fleets: FleetRow[];
  unreadable: { object: string; why: string }[];
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
  verdict: { result: string; reason: string; message: string; numbers: Record<string, number> };
}

export interface Model extends ModelRow {
  servedName: string;
  source: string;
  strategy: string;
  steps: Step[];
  isUnderWay: boolean;
  waits: string;
  verdict: string; // Sentences, one per line.
  limits: { errorDifference: number | null; runTimeRatio: number };
  rollout: Rollout;
  conditions: Condition[];
  history: { at: string; version: number; what: string; message: string }[];
  failed: { version: number; reason: string; message: string; at: string }[];
  nodes: { node: string; state: string }[];
  goldenSet: { version: number; failures?: { node: string; at: string; message: string }[] } | null;
  pairs: string;
  outputs: string;
}

// [time in ms, requests per second, errors per second, median of the run times in ms, their 90 % quantile in ms].
export type TrafficPoint = [number, number, number, number, number];
// [time in ms, error difference: low, high, limit; run time ratio: low, high, limit].
export type EvidencePoint = [number, number, number, number, number | null, number | null, number];

export interface History {
  versions: { version: number; points: TrafficPoint[] }[];
  evidenceAttempt: number; // The attempt of the rollout of which `evidence` is.
  evidence: EvidencePoint[];
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

export interface Fleet extends FleetRow {
  scaling: { desired: number; message: string } | null;
  conditions: Condition[];
  nodes: FleetNode[];
  models: ModelRow[];
}

export interface Reading<T> {
  data: T | null;
  readAt: number; // When `data` was last confirmed, by the clock of the browser.
  error: string; // Why the last reading failed; "": it did not.
}

async function read<T>(path: string): Promise<T> {
  // "no-cache": the browser asks whether its copy is still valid, so that unchanged data is not sent again.
  const response = await fetch(path, { cache: "no-cache", signal: AbortSignal.timeout(5000) });
  const json = await response.json();
  if (!response.ok) throw new Error(json.error ?? `status ${response.status}`);
  return json;
}

function messageOf(error: unknown): string {
  if (error instanceof TypeError) return "The controller cannot be reached.";
  if (error instanceof DOMException) return "The controller did not answer within five seconds.";
  return error instanceof Error ? error.message : String(error);
}

// Reads the path now and `everyMs` after each answer, but not while nobody sees the page.
export function useReading<T>(path: string, everyMs: number): Reading<T> {
  const [reading, setReading] = useState<Reading<T>>({ data: null, readAt: 0, error: "" });
  useEffect(() => {
    let timer = 0;
    let ended = false;
    const again = async () => {
      if (!document.hidden) {
        try {
          const data = await read<T>(path);
          if (!ended) setReading({ data, readAt: Date.now(), error: "" });
        } catch (error) {
          if (!ended) setReading((before) => ({ ...before, error: messageOf(error) }));
        }
      }
      if (!ended) timer = window.setTimeout(again, everyMs);
    };
    void again();
    return () => {
      ended = true;
      window.clearTimeout(timer);
    };
  }, [path, everyMs]);
  return reading;
}
