// Graphs as SVG: a line or a band is told from the others by its dashes and its name, not only by its colour, and the
// numbers can also be read as a table.
import type { ComponentChildren } from "preact";
import { Table } from "./parts";

export type Point = [at: number, value: number];

export interface Line {
  name: string;
  kind: "stable" | "candidate" | "other" | "limit";
  points: Point[];
}

export interface Band {
  name: string;
  points: [at: number, low: number, high: number][];
}

// The times of a graph, in ms.
export interface Times {
  now: number; // By the clock that measured the points.
  intervalMs: number; // Between two points. A longer time is a gap in the measurements.
}

interface GraphProps extends Times {
  until: number; // The right end of the graph.
  title: string;
  summary: string; // What the graph shows, for people who do not see it.
  lines: Line[];
  band?: Band;
  empty?: string; // Why there are no numbers.
  format: (value: number) => string;
  valuesMax?: number; // Larger values are drawn at this one.
  valuesMin?: number;
}

const WIDTH = 520;
const HEIGHT = 190;
const LEFT = 72;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 24;
const BAR = 4; // The width of a band of one point.
const SPAN_MS_MIN = 2 * 60 * 1000;
const TABLE_ROWS_MAX = 12;
const OTHER_STYLES = 4; // .line-other-0 and so on in console.css.
const GAP_INTERVALS = 2.5; // One point may come late.

export function isPresent(at: number, { now, intervalMs }: Times): boolean {
  return now - at < GAP_INTERVALS * intervalMs;
}

// Returns a round number that is not below `value`: 1, 2 or 5 times a power of ten.
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= value) return factor * power;
  return value;
}

interface Scale {
  x: (at: number) => number;
  y: (value: number) => number;
  from: number;
  to: number;
  min: number;
  max: number;
}

function scaleOf({ lines, band, valuesMax, valuesMin, until }: GraphProps): Scale {
  const points = lines.flatMap((line) => line.points);
  const times = [...points.map((point) => point[0]), ...(band?.points ?? []).map((point) => point[0])];
  const values = [...points.map((point) => point[1]), ...(band?.points ?? []).flatMap((point) => [point[1], point[2]])];
  const to = Math.max(...times, until);
  const from = Math.min(Math.min(...times), to - SPAN_MS_MIN);
  const largest = Math.min(Math.max(...values, 0), valuesMax ?? Infinity);
  const smallest = Math.max(Math.min(...values, 0), valuesMin ?? -Infinity);
  const max = largest > 0 ? roundUp(largest) : smallest < 0 ? 0 : 1;
  const min = smallest < 0 ? -roundUp(-smallest) : 0;
  const clamped = (value: number) => Math.min(max, Math.max(min, value));
  return {
    x: (at) => LEFT + ((at - from) / (to - from)) * (WIDTH - LEFT - RIGHT),
    y: (value) => TOP + ((max - clamped(value)) / (max - min)) * (HEIGHT - TOP - BOTTOM),
    from,
    to,
    min,
    max,
  };
}

// The parts of a series between its gaps.
function partsOf<P extends [at: number, ...rest: number[]]>(points: P[], intervalMs: number): P[][] {
  const parts: P[][] = [];
  for (const point of points) {
    const before = parts.at(-1)?.at(-1);
    if (before && point[0] - before[0] < GAP_INTERVALS * intervalMs) parts.at(-1)?.push(point);
    else parts.push([point]);
  }
  return parts;
}

// A part of one point is drawn as a dot: its line has no length, but round ends.
function pathOf(points: Point[], scale: Scale): string {
  if (points.length === 1) points = [...points, ...points];
  return points.map(([at, value], index) => `${index === 0 ? "M" : "L"}${scale.x(at).toFixed(1)} ${scale.y(value).toFixed(1)}`).join("");
}

// A part of one point is drawn as a bar.
function areaOf(points: Band["points"], scale: Scale): string {
  const [first] = points;
  if (first && points.length === 1) {
    const [left, low, high] = [scale.x(first[0]) - BAR / 2, scale.y(first[1]), scale.y(first[2])];
    return `M${left.toFixed(1)} ${high.toFixed(1)}h${BAR}V${low.toFixed(1)}h${-BAR}Z`;
  }
  const upper = points.map(([at, , high]): Point => [at, high]);
  const lower = points.map(([at, low]): Point => [at, low]).reverse();
  return `${pathOf(upper, scale)}${pathOf(lower, scale).replace("M", "L")}Z`;
}

function minutesAgo(at: number, times: Times): string {
  return isPresent(at, times) ? "now" : `${Math.max(1, Math.round((times.now - at) / 60000))} min ago`;
}

function Axes({ scale, format, times }: { scale: Scale; format: (value: number) => string; times: Times }) {
  const values = [scale.min, (scale.min + scale.max) / 2, scale.max];
  if (scale.min < 0 && scale.max > 0 && scale.min !== -scale.max) values[1] = 0;
  return (
    <g class="axes">
      {values.map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={scale.y(value)} y2={scale.y(value)} class={value === 0 ? "zero" : ""} />
          <text x={LEFT - 6} y={scale.y(value) + 4} text-anchor="end">
            {value === 0 ? "0" : format(value)}
          </text>
        </g>
      ))}
      <text x={LEFT} y={HEIGHT - 6}>{minutesAgo(scale.from, times)}</text>
      <text x={WIDTH - RIGHT} y={HEIGHT - 6} text-anchor="end">
        {minutesAgo(scale.to, times)}
      </text>
    </g>
  );
}

// Lines of the kind "other" are told apart by their position among the shown ones: versions of any numbers may be shown.
function classOf(line: Line, lines: Line[]): string {
  const others = lines.filter((one) => one.kind === "other");
  const position = line.kind === "other" ? `-${others.indexOf(line) % OTHER_STYLES}` : "";
  return `line line-${line.kind}${position}`;
}

function Sample({ line }: { line?: string }) {
  return (
    <svg class="sample" viewBox="0 0 28 10" aria-hidden="true">
      {line ? <path class={line} d="M0 5H28" /> : <rect class="band" width="28" height="10" />}
    </svg>
  );
}

// At most TABLE_ROWS_MAX times, the newest first.
function timesOf(lines: Line[], band: Band | undefined): number[] {
  const all = [...new Set([...lines.flatMap((line) => line.points.map((point) => point[0])), ...(band?.points ?? []).map((point) => point[0])])];
  all.sort((a, b) => b - a);
  const every = Math.ceil(all.length / TABLE_ROWS_MAX);
  return all.filter((_, index) => index % every === 0);
}

function Numbers({ title, lines, band, format }: GraphProps) {
  const lineCell = (line: Line, at: number): ComponentChildren => {
    const point = line.points.find((one) => one[0] === at);
    return point ? format(point[1]) : "–";
  };
  const bandCell = (at: number): ComponentChildren => {
    const point = band?.points.find((one) => one[0] === at);
    return point ? `${format(point[1])} to ${format(point[2])}` : "–";
  };
  return (
    <details>
      <summary>
        Numbers as a table<span class="only-read-aloud"> of {title}</span>
      </summary>
      <Table
        label={`Numbers of ${title}`}
        columns={["Time", ...(band ? [band.name] : []), ...lines.map((line) => line.name)]}
        rows={timesOf(lines, band).map((at) => [
          new Date(at).toLocaleTimeString("en-GB"),
          ...(band ? [bandCell(at)] : []),
          ...lines.map((line) => lineCell(line, at)),
        ])}
        empty="There are no numbers yet."
      />
    </details>
  );
}

export function Graph(props: GraphProps) {
  const { title, summary, lines, band, format, intervalMs, empty = "There are no numbers yet. A new one comes every five seconds." } = props;
  const points = lines.reduce((sum, line) => sum + line.points.length, 0) + (band?.points.length ?? 0);
  if (points < 2) {
    return (
      <figure>
        <figcaption>{title}</figcaption>
        <p class="empty">{empty}</p>
      </figure>
    );
  }
  const scale = scaleOf(props);
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <svg class="graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}. ${summary}`}>
        <Axes scale={scale} format={format} times={props} />
        {band && <path class="band" d={partsOf(band.points, intervalMs).map((part) => areaOf(part, scale)).join("")} />}
        {lines.map((line) => (
          <path key={line.name} class={classOf(line, lines)} d={partsOf(line.points, intervalMs).map((part) => pathOf(part, scale)).join("")} />
        ))}
      </svg>
      <ul class="legend">
        {band && (
          <li>
            <Sample /> {band.name}
          </li>
        )}
        {lines.map((line) => (
          <li key={line.name}>
            <Sample line={classOf(line, lines)} /> {line.name}
          </li>
        ))}
      </ul>
      <Numbers {...props} />
    </figure>
  );
}
