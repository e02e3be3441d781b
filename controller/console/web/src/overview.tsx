// The page "/": all Models and fleets.
import { useState } from "preact/hooks";
import { useReading, type Overview } from "./data";
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
        <Name>{fleet.grpcAddress || "–"}</Name>,
        <Name>{fleet.restAddress || "–"}</Name>,
      ])}
      empty={empty}
    />
  );
}

function summaryOf({ models, fleets }: Overview): string {
  const all = [...models, ...fleets];
  const number = (standing: string) => all.filter((one) => one.standing === standing).length;
  return `${number("as wanted")} as wanted, ${number("under way")} under way, ${number("failed")} failed`;
}

const ROWS_MAX = 200;

// The filter is a part of the URL, so that a link to the filtered list can be shared.
function useFilter(): [string, (filter: string) => void] {
  const [filter, setFilter] = useState(new URLSearchParams(location.search).get("filter") ?? "");
  const change = (next: string) => {
    history.replaceState(null, "", next ? `/?filter=${encodeURIComponent(next)}` : "/");
    setFilter(next);
  };
  return [filter, change];
}

function matching<Row extends { namespace: string; name: string; standing: string }>(rows: Row[], filter: string): Row[] {
  const words = filter.toLowerCase().split(/\s+/);
  return rows.filter((row) => words.every((word) => `${row.namespace}/${row.name} ${row.standing}`.includes(word)));
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
  const models = matching(overview?.models ?? [], filter).slice(0, ROWS_MAX);
  const fleets = matching(overview?.fleets ?? [], filter).slice(0, ROWS_MAX);
  return (
    <Frame title="Overview" reading={reading}>
      {overview && (
        <>
          <p class="summary">{summaryOf(overview)}</p>
          <Announcement>{summaryOf(overview)}</Announcement>
          <p>
            <label>
              Filter by name or state <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
            </label>
          </p>
          <Section title="Models">
            <ModelsTable models={models} empty={overview.models.length > 0 ? "No Model matches the filter." : `There are no Models. ${APPLY}`} />
            <Rest shown={models.length} all={overview.models.length} />
          </Section>
          <Section title="Fleets">
            <FleetsTable fleets={fleets} empty={overview.fleets.length > 0 ? "No fleet matches the filter." : `There are no fleets. ${APPLY}`} />
            <Rest shown={fleets.length} all={overview.fleets.length} />
          </Section>
          {overview.manifests.length > 0 && (
            <Section title="Manifest files that differ from their objects">
              <Table
                label="Manifest files that differ from their objects"
                columns={["File", "State", "Why"]}
                rows={overview.manifests.map((one) => [<Text>{one.file}</Text>, <State standing={one.state} />, <Text>{one.why}</Text>])}
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
