// The page "/": all Models and fleets.
import { useState } from "preact/hooks";
import { useReading, type Named, type Overview, type Standing } from "./data";
import { Announcement, Frame, ModelsTable, Name, Section, State, Table, Text, Why } from "./parts";
import { useNotifications } from "./notify";
import { count, fleetPath } from "./text";

const APPLY = "Apply a manifest: longshore apply -f FILE";

function FleetsTable({ fleets, empty }: { fleets: Overview["fleets"]; empty: string }) {
  return (
    <Table
      label="Fleets"
      columns={["Fleet", "State", "Why", "Ready nodes", "Allowed nodes", "gRPC", "REST"]}
      rows={fleets.map((fleet) => [
        <a href={fleetPath(`${fleet.namespace}/${fleet.name}`)}>
          <Name>{`${fleet.namespace}/${fleet.name}`}</Name>
        </a>,
        <State standing={fleet.standing} />,
        <Why {...fleet} />,
        `${fleet.readyReplicas} of ${fleet.replicas}`,
        `${fleet.replicasMin} to ${fleet.replicasMax}`,
        fleet.grpcAddress ? <Name>{fleet.grpcAddress}</Name> : "–",
        fleet.restAddress ? <Name>{fleet.restAddress}</Name> : "–",
      ])}
      empty={empty}
    />
  );
}

const STANDINGS: Standing[] = ["as wanted", "under way", "failed"];

function countsOf({ models, fleets, manifests }: Overview): [Standing, string][] {
  const all = [...[...models, ...fleets].map((one) => one.standing), ...manifests.map((one) => one.state)];
  return STANDINGS.map((standing) => [standing, `${count(all.filter((one) => one === standing).length)} ${standing}`]);
}

// Each number leads to what it counts.
function Summary({ overview }: { overview: Overview }) {
  const counts = countsOf(overview);
  return (
    <>
      <p class="summary counts">
        {counts.map(([standing, text]) => (
          <a key={standing} href={pathOf({ words: "", state: standing })}>
            {text}
          </a>
        ))}
      </p>
      <Announcement>{counts.map(([, text]) => text).join(", ")}</Announcement>
    </>
  );
}

const ROWS_MAX = 200;

interface Filter {
  words: string; // Which a row has in its name or state.
  state: string; // Which a row has; "": any.
}

function pathOf({ words, state }: Filter): string {
  const query = new URLSearchParams();
  if (words) query.set("filter", words);
  if (state) query.set("state", state);
  return query.size > 0 ? `/?${query}` : "/";
}

// The filter is a part of the URL, so that a link to the filtered list can be shared.
function useFilter(): [Filter, (words: string) => void] {
  const query = new URLSearchParams(location.search);
  const [filter, setFilter] = useState<Filter>({ words: query.get("filter") ?? "", state: query.get("state") ?? "" });
  const change = (words: string) => {
    const next = { ...filter, words };
    history.replaceState(null, "", pathOf(next));
    setFilter(next);
  };
  return [filter, change];
}

function matching<Row>(rows: Row[] | undefined, filter: Filter, nameOf: (row: Row) => string, stateOf: (row: Row) => string): Row[] {
  const words = filter.words.toLowerCase().split(/\s+/);
  const matches = (row: Row) => {
    const text = `${nameOf(row)} ${stateOf(row)}`.toLowerCase();
    return (!filter.state || stateOf(row) === filter.state) && words.every((word) => text.includes(word));
  };
  return (rows ?? []).filter(matches);
}

const nameOf = (row: Named) => `${row.namespace}/${row.name}`;
const standingOf = (row: { standing: Standing }) => row.standing;

function StateShown({ filter }: { filter: Filter }) {
  if (!filter.state) return null;
  return (
    <p class="note">
      Only those that are {filter.state} are shown. <a href={pathOf({ ...filter, state: "" })}>Show all states</a>
    </p>
  );
}

// How many rows there are, if not all are shown.
function Rest({ shown, all }: { shown: number; all: number }) {
  return <p class="note" role="status">{shown < all ? `${count(shown)} of ${count(all)} are shown.` : ""}</p>;
}

export function OverviewPage() {
  const reading = useReading<Overview>("/api/v1/overview", 2000);
  const [filter, setFilter] = useFilter();
  const overview = reading.data;
  useNotifications(overview?.models);
  const models = matching(overview?.models, filter, nameOf, standingOf).slice(0, ROWS_MAX);
  const fleets = matching(overview?.fleets, filter, nameOf, standingOf).slice(0, ROWS_MAX);
  const manifests = matching(overview?.manifests, filter, (row) => row.file, (row) => row.state);
  return (
    <Frame title="Overview" reading={reading}>
      {overview && (
        <>
          <Summary overview={overview} />
          <p>
            <label>
              Filter by name or state <input type="search" value={filter.words} onInput={(event) => setFilter(event.currentTarget.value)} />
            </label>
          </p>
          <StateShown filter={filter} />
          <Section title="Models">
            <ModelsTable hasFleets models={models} empty={overview.models.length > 0 ? "No Model matches the filter." : `There are no Models. ${APPLY}`} />
            <Rest shown={models.length} all={overview.models.length} />
          </Section>
          <Section title="Fleets">
            <FleetsTable fleets={fleets} empty={overview.fleets.length > 0 ? "No fleet matches the filter." : `There are no fleets. ${APPLY}`} />
            <Rest shown={fleets.length} all={overview.fleets.length} />
          </Section>
          {manifests.length > 0 && (
            <Section title="Manifest files that differ from their objects">
              <Table
                label="Manifest files that differ from their objects"
                columns={["File", "State", "Why"]}
                rows={manifests.map((one) => [<Text>{one.file}</Text>, <State standing={one.state} />, <Text>{one.why}</Text>])}
                empty=""
              />
            </Section>
          )}
          {overview.unreadable.length > 0 && (
            <Section title="Objects that cannot be read">
              <Table
                label="Objects that cannot be read"
                columns={["Object", "Why"]}
                rows={overview.unreadable.map((one) => [<Text>{one.object}</Text>, <Text>{one.why}</Text>])}
                empty=""
              />
            </Section>
          )}
          <p class="note">The controller has version {overview.controller.version}.</p>
        </>
      )}
    </Frame>
  );
}
