// The page "/": all Models and fleets.
import { useReading, type Overview } from "./data";
import { Announcement, Frame, ModelsTable, Name, Section, State, Table, Text } from "./parts";
import { fleetPath } from "./text";

function Fleets({ fleets }: { fleets: Overview["fleets"] }) {
  return (
    <Section title="Fleets">
      <Table
        label="Fleets"
        columns={["Fleet", "State", "Why", "Ready nodes", "Allowed nodes", "gRPC", "REST"]}
        rows={fleets.map((fleet) => [
          <a href={fleetPath(`${fleet.namespace}/${fleet.name}`)}>
            <Name>{`${fleet.namespace}/${fleet.name}`}</Name>
          </a>,
          <State standing={fleet.standing} />,
          <Text>{fleet.why}</Text>,
          `${fleet.readyReplicas} of ${fleet.replicas}`,
          `${fleet.replicasMin} to ${fleet.replicasMax}`,
          <Name>{fleet.grpcAddress || "–"}</Name>,
          <Name>{fleet.restAddress || "–"}</Name>,
        ])}
        empty="There are no fleets. Apply a manifest: longshore apply -f FILE"
      />
    </Section>
  );
}

function summaryOf({ models, fleets }: Overview): string {
  const all = [...models, ...fleets];
  const number = (standing: string) => all.filter((one) => one.standing === standing).length;
  return `${number("as wanted")} as wanted, ${number("under way")} under way, ${number("failed")} failed`;
}

export function OverviewPage() {
  const reading = useReading<Overview>("/api/v1/overview", 2000);
  const overview = reading.data;
  return (
    <Frame title="Overview" reading={reading}>
      {overview && (
        <>
          <p class="summary">{summaryOf(overview)}</p>
          <Announcement>{summaryOf(overview)}</Announcement>
          {overview.controller.problem && (
            <p class="warning" role="alert">
              {overview.controller.problem}
            </p>
          )}
          <Section title="Models">
            <ModelsTable models={overview.models} empty="There are no Models. Apply a manifest: longshore apply -f FILE" />
          </Section>
          <Fleets fleets={overview.fleets} />
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
