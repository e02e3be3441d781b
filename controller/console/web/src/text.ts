// Numbers, times and names as people read them.

export function count(number: number): string {
  return number.toLocaleString("en");
}

// "1 row", "2 rows".
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function percent(share: number): string {
  return `${rounded(100 * share)}\u00a0%`;
}

// Three digits, without an exponent.
export function rounded(number: number): string {
  if (number === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number))));
  return Number(number.toFixed(Math.min(digits, 6))).toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "−");
}

// Differences may be very small or very large.
export function difference(number: number): string {
  return number === 0 || (number >= 1e-5 && number < 1e9) ? rounded(number) : number.toPrecision(3);
}

export function milliseconds(ms: number): string {
  if (ms === 0) return "–";
  return ms < 1 ? `${rounded(1000 * ms)} µs` : `${rounded(ms)} ms`;
}

export function bytes(number: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${rounded(number)} ${units[unit]}`;
}

export function duration(seconds: number): string {
  if (seconds < 120) return `${rounded(seconds)} s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

export function ago(at: string): string {
  return `${duration(Math.max(0, Math.floor((Date.now() - Date.parse(at)) / 1000)))} ago`;
}

export function version(number: number): string {
  return number === 0 ? "none" : `version\u00a0${number}`;
}

export function modelPath(model: { namespace: string; name: string }): string {
  return `/models/${model.namespace}/${model.name}`;
}

// `fleet`: "namespace/name".
export function fleetPath(fleet: string): string {
  return `/fleets/${fleet}`;
}

const PHASES: Record<string, string> = {
  "": "none",
  Validating: "is being checked",
  Loading: "is being loaded",
  Shadow: "runs without weight, on pairs",
  Preview: "can be tried by people",
  Step: "gets a part of the requests",
  Paused: "is paused",
  Promoting: "is being promoted",
  Completed: "was promoted",
  RolledBack: "was rolled back",
};

export function phase(name: string): string {
  return PHASES[name] ?? name;
}

const PROOFS: Record<string, string> = {
  Required: "proof that it is not worse",
  Sampled: "enough requests",
  None: "nothing but the time",
};

export function proof(name: string): string {
  return PROOFS[name] ?? name;
}
