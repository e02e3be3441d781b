// The page of a fleet: its nodes, and the Models that it serves.
import { useReading, type Fleet, type FleetNode } from "./data";
import { Announcement, Conditions, Facts, Frame, ModelsTable, Name, Section, State, Table, Text } from "./parts";
import { bytes, count, percent } from "./text";

function Versions({ node }: { node: FleetNode }) {
  if (node.versions.length === 0) return <>none</>;
  return (
    <ul class="versions">
      {node.versions.map((version) => (
        <li key={`${version.servedName}/${version.version}`}>
          <Text>{version.servedName}</Text> version {version.version}: {version.state}
          {version.weightPercent > 0 && `, ${percent(version.weightPercent / 100)} of the requests`}
          {version.memoryBytes > 0 && `, ${bytes(version.memoryBytes)}`}
          {version.message && (
            <>
              : <Text>{version.message}</Text>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function rowOf(node: FleetNode) {
  const load = node.load;
  return [
    <Name>{node.name}</Name>,
    node.state + (node.connected ? "" : ", not connected"),
    <Versions node={node} />,
    load ? `${count(load.running)} of ${count(load.slots)}` : "–",
    load ? count(load.queued) : "–",
    load ? count(load.connections) : "–",
    node.problem ? <Text>{node.problem}</Text> : "none",
    <Name>{node.adminAddress || "–"}</Name>,
    String(node.pid),
  ];
}

export function FleetPage({ namespace, name }: { namespace: string; name: string }) {
  const reading = useReading<Fleet>(`/api/v1/fleets/${namespace}/${name}`, 2000);
  const fleet = reading.data;
  return (
    <Frame title={`Fleet ${namespace}/${name}`} above={{ name: "Overview", path: "/" }} reading={reading}>
      {fleet && (
        <>
          <p class="summary">
            <State standing={fleet.standing} /> <Text>{fleet.why}</Text>
          </p>
          <Announcement>{`${fleet.standing}: ${fleet.why}`}</Announcement>
          <Facts
            facts={[
              ["Ready nodes", `${fleet.readyReplicas} of ${fleet.replicas}`],
              ["Allowed nodes", `${fleet.replicasMin} to ${fleet.replicasMax}`],
              ["gRPC", fleet.grpcAddress || "–"],
              ["REST", fleet.restAddress || "–"],
              ...(fleet.scaling
                ? [["Scaling", <Text>{`wants ${fleet.scaling.desired} nodes: ${fleet.scaling.message}`}</Text>] as [string, preact.JSX.Element]]
                : []),
            ]}
          />
          <Section title="Nodes">
            <Table
              label="Nodes"
              columns={["Node", "State", "Versions", "Busy run slots", "Waiting requests", "Connections", "Problem", "Administration", "Process"]}
              rows={fleet.nodes.map(rowOf)}
              empty="The fleet has no nodes."
            />
          </Section>
          <Section title="Models">
            <ModelsTable models={fleet.models} empty="No Model is on this fleet." />
          </Section>
          <Conditions conditions={fleet.conditions} />
        </>
      )}
    </Frame>
  );
}
