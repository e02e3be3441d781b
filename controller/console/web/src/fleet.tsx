// The page of a fleet: its nodes, and the Models that it serves.
import { useReading, type Fleet, type FleetNode } from "./data";
import { Announcement, Conditions, Disagreement, Facts, Frame, ModelsTable, Name, Section, State, Table, Text } from "./parts";
import { useNotifications } from "./notify";
import { bytes, count, counted, percent } from "./text";

type Version = FleetNode["versions"][number];
type NodeLoad = NonNullable<FleetNode["load"]>;

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

// Parts that are not broken into two lines.
function Parts({ parts }: { parts: string[] }) {
  return (
    <>
      {parts.map((part, index) => (
        <>
          <Name>{index < parts.length - 1 ? `${part},` : part}</Name>{" "}
        </>
      ))}
    </>
  );
}

function loadOf(load: NodeLoad): string[] {
  return [
    `${count(load.running)} of ${counted(load.slots, "run slot")} busy`,
    counted(load.queued, "waiting request"),
    counted(load.connections, "connection"),
  ];
}

const NODES_MAX = 20; // More are shown on demand.
const COLUMNS = ["Node", "State", "Versions", "Load", "Problem"];
// A pod's administration port is not reachable from here, and the number of its process means nothing outside.
const PROCESS_COLUMN = "Process, administration";

function rowOf(node: FleetNode, hasPods: boolean) {
  return [
    <Name>{node.name}</Name>,
    node.state + (node.connected ? "" : ", not connected"),
    <Versions node={node} />,
    node.load ? <Parts parts={loadOf(node.load)} /> : "–",
    node.problem ? <Text>{node.problem}</Text> : "none",
    ...(hasPods ? [] : [node.pid > 0 ? <Parts parts={[String(node.pid), node.adminAddress]} /> : "–"]),
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
              columns={[...COLUMNS, ...(fleet.hasPods ? [] : [PROCESS_COLUMN])]}
              rows={fleet.nodes.map((node) => rowOf(node, fleet.hasPods))}
              empty="The fleet has no nodes."
              rowsMax={NODES_MAX}
            />
          </Section>
          <Section title="Models">
            <ModelsTable hasFleets={false} models={fleet.models} empty="No Model is on this fleet." />
          </Section>
          <Conditions conditions={fleet.conditions} />
        </>
      )}
    </Frame>
  );
}
