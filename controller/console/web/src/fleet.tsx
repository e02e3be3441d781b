// The page of a fleet: its nodes, and the Models that it serves.
import { useReading, type Fleet, type FleetNode } from "./data";
import { Announcement, Conditions, Disagreement, Facts, Frame, ModelsTable, Name, Section, State, Table, Text } from "./parts";
import { useNotifications } from "./notify";
import { bytes, count, percent } from "./text";

type Version = FleetNode["versions"][number];

function stateOf(version: Version): string {
  return version.state === "unknown" ? "not loaded here" : version.state;
}

// Each node gives the same share of its requests to a version. One that does not have it ready forwards them.
function shareOf(version: Version): string {
  const share = `${percent(version.weightPercent / 100)} of the requests`;
  return version.state === "ready" ? share : `${share}, which it forwards to a node that has the version ready`;
}

const isHeld = (version: Version) => version.state !== "unknown" || version.weightPercent > 0;

// The versions that are only in the source.
function Others({ versions }: { versions: Version[] }) {
  if (versions.length === 0) return null;
  const names = versions.map((version) => `${version.servedName} ${version.version}`).sort();
  return (
    <li class="quiet">
      not loaded: <Text>{names.join(", ")}</Text>
    </li>
  );
}

function Versions({ node }: { node: FleetNode }) {
  if (node.versions.length === 0) return <>none</>;
  return (
    <ul class="versions">
      {node.versions.filter(isHeld).map((version) => (
        <li key={`${version.servedName}/${version.version}`}>
          <Text>{version.servedName}</Text> version {version.version}: {stateOf(version)}
          {version.weightPercent > 0 && `, ${shareOf(version)}`}
          {version.memoryBytes > 0 && `, ${bytes(version.memoryBytes)}`}
          {version.message && (
            <>
              : <Text>{version.message}</Text>
            </>
          )}
        </li>
      ))}
      <Others versions={node.versions.filter((version) => !isHeld(version))} />
    </ul>
  );
}

const COLUMNS = ["Node", "State", "Versions", "Busy run slots", "Waiting requests", "Connections", "Problem"];
// A pod's administration port is not reachable from here, and the number of its process means nothing outside.
const HOST_COLUMNS = ["Administration", "Process"];

function hostCellsOf(node: FleetNode) {
  return [<Name>{node.adminAddress || "–"}</Name>, node.pid > 0 ? String(node.pid) : "–"];
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
  ];
}

export function FleetPage({ namespace, name }: { namespace: string; name: string }) {
  const reading = useReading<Fleet>(`/api/v1/fleets/${namespace}/${name}`, 2000);
  const fleet = reading.data;
  useNotifications(fleet?.models);
  return (
    <Frame title={`Fleet ${namespace}/${name}`} above={{ name: "Overview", path: "/" }} reading={reading}>
      {fleet && (
        <>
          <p class="summary">
            <State standing={fleet.standing} /> <Text>{fleet.why}</Text>
          </p>
          <Disagreement text={fleet.disagreement} />
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
              columns={[...COLUMNS, ...(fleet.hasPods ? [] : HOST_COLUMNS)]}
              rows={fleet.nodes.map((node) => [...rowOf(node), ...(fleet.hasPods ? [] : hostCellsOf(node))])}
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
