#include "controller/cli/doctor/observe/host.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "common/os/file.h"
#include "controller/cli/doctor/clocks.h"
#include "controller/cli/doctor/controller.h"
#include "controller/cli/doctor/host.h"
#include "controller/cli/doctor/objects.h"
#include "controller/cli/doctor/observe/processes.h"
#include "controller/cli/doctor/observe/reads.h"
#include "controller/cli/doctor/observe/stored.h"
#include "controller/cli/host/definitions.h"
#include "controller/cli/host/disagreement.h"
#include "controller/store/document.h"
#include "controller/store/local/controller_lock.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli::doctor::observe {
namespace {

// The defaults of longshore-controller's flags.
constexpr const char* kAdminPort = "8600";
constexpr const char* kConsolePort = "8620";
constexpr size_t kPortFileBytesMax = 4096;
constexpr size_t kModelsMax = 1000;  // Folders of further models are not examined.
constexpr const char* kFileScheme = "file://";

struct Host {
  store::local::ControllerLockState lock;
  ProgramFlags flags;  // The flags of the running controller; empty if no controller runs.
  Stored stored;
};

int NumberIn(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The port of a flag of the controller, or the one that it chose and wrote to its port file; 0: not known.
int ControllerPort(const ProgramFlags& flags, const std::string& flag, const char* in_file, const char* otherwise) {
  const int number = NumberIn(FlagOf(flags, flag, otherwise));
  const std::string file = FlagOf(flags, "port_file", "");
  if (number != 0 || file.empty()) return number;
  const auto text = ReadFile(file, kPortFileBytesMax);
  const auto json = text ? ParseJson(*text) : tl::make_unexpected(text.error());
  return json && json->is_object() && json->contains(in_file) && json->at(in_file).is_number_integer()
             ? json->at(in_file).get<int>()
             : 0;
}

int AdminPortOf(const Host& host) { return ControllerPort(host.flags, "admin_port", "admin", kAdminPort); }

void AddControllerPorts(const Host& host, std::vector<Port>& ports) {
  const bool runs = host.lock.is_running;
  const auto add = [&](const char* what, int number, const char* setting) {
    if (number == 0) return;
    ports.push_back({.what = what, .number = number, .is_needed = runs, .is_certain = runs, .setting = setting});
    if (runs) ports.back().owners.insert(host.lock.pid);
  };
  add("administration of the controller", AdminPortOf(host), "--admin_port of the controller");
  if (!host.flags.contains("no-console")) {
    add("web console", ControllerPort(host.flags, "console_port", "console", kConsolePort),
        "--console_port of the controller");
  }
}

void AddFleetPorts(const Host& host, std::vector<Port>& ports) {
  for (const api::ServingFleet& fleet : host.stored.fleets) {
    std::set<int64_t> owners = {host.lock.is_running ? host.lock.pid : 0};
    for (const api::FleetNodeStatus& node : fleet.status.nodes) owners.insert(node.pid);
    owners.erase(0);
    const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
    const auto add = [&](const char* protocol, int wanted, const std::string& address, const char* field) {
      const int number = wanted != 0 ? wanted : NumberIn(address.substr(address.rfind(':') + 1));
      if (number == 0) return;
      ports.push_back({.what = fmt::format("{} of fleet {}", protocol, name),
                       .number = number,
                       .owners = owners,
                       .is_needed = fleet.status.ready_replicas > 0,
                       .setting = fmt::format("spec.ports.{} of the fleet", field)});
    };
    add("gRPC", fleet.spec.grpc_port, fleet.status.grpc_address, "grpc");
    add("REST", fleet.spec.rest_port, fleet.status.rest_address, "rest");
  }
}

Findings ExaminePorts(const Host& host) {
  std::vector<Port> ports;
  AddControllerPorts(host, ports);
  AddFleetPorts(host, ports);
  std::set<int> numbers;
  for (const Port& port : ports) numbers.insert(port.number);
  const auto holders = HoldersOf(numbers);
  Findings findings;
  for (Port& port : ports) {
    if (const auto found = holders.find(port.number); found != holders.end()) port.holders = found->second;
    findings.push_back(CheckPort(port));
  }
  return findings;
}

// The objects that the files define. Objects of a kind that cannot be listed are not among them.
host::Objects ObjectsOfFiles(store::Store& store, const std::vector<store::local::ManifestFile>& files) {
  host::Objects objects;
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    const auto listing = store.List(kind);
    if (!listing) continue;
    for (const store::local::ManifestFile& file : files) {
      for (const api::Key& key : file.objects) {
        if (key.kind == kind) objects[key] = std::nullopt;
      }
    }
    for (const store::Unreadable& one : listing->unreadable) objects.erase(one.key);
    for (const store::Object& one : listing->objects) objects[store::KeyOf(one)] = one;
  }
  return objects;
}

Findings ExamineManifests(store::Store& store, const Path& dir, const std::string& place) {
  const std::vector<store::local::ManifestFile> files = store::local::ReadManifestFiles(dir);
  const auto disagreements = host::DisagreementsOf(files, dir, ObjectsOfFiles(store, files));
  std::vector<Manifest> manifests;
  for (const store::local::ManifestFile& file : files) {
    Manifest manifest{.file = file.name, .mistake = file.mistake, .is_taken = file.is_taken};
    const auto differing = std::ranges::find(disagreements, (dir / file.name).string(), &host::Disagreement::file);
    if (differing != disagreements.end()) manifest.differs = differing->text;
    for (const api::Key& key : file.refused) {
      manifest.refused.push_back(api::ToString(key));
      const auto* other = host::OtherDefinition(key, file.name, files);
      if (other != nullptr && manifest.defined_twice.empty())
        manifest.defined_twice = host::AlreadyDefined(key, *other);
    }
    manifests.push_back(std::move(manifest));
  }
  return CheckManifests(dir.string(), manifests, place);
}

Folder ReadFolder(const std::string& what, const std::string& path) {
  Folder folder{.what = what, .path = path};
  std::error_code error;
  const auto space = std::filesystem::space(path, error);
  if (!error) std::filesystem::directory_iterator(path, error);
  if (error) folder.read = Unavailable("{}: {}", path, error.message());
  folder.available_bytes = space.available;
  folder.capacity_bytes = space.capacity;
  return folder;
}

Findings ExamineFolders(const Host& host, const Path& manifests) {
  std::map<std::string, std::string> folders = {{manifests.string(), "manifests"}};  // From the path to what it is.
  const std::string state = FlagOf(host.flags, "state_dir", "");
  if (state.starts_with("/")) folders.emplace(state, "state of the controller and its nodes");
  for (const api::Model& model : host.stored.models) {
    if (folders.size() == kModelsMax) break;
    if (!model.spec.source_uri.starts_with(kFileScheme)) continue;
    folders.emplace(model.spec.source_uri.substr(std::string_view(kFileScheme).size()),
                    fmt::format("source of model {}/{}", model.metadata.namespace_, model.metadata.name));
  }
  Findings findings;
  for (const auto& [path, what] : folders) findings.push_back(CheckFolder(ReadFolder(what, path)));
  return findings;
}

// The certificates that the controller passes to its nodes by --node_flag=tls_cert_file=FILE.
Findings ExamineCertificates(const Host& host, TimePoint now) {
  constexpr std::string_view kOfNodes = "tls_cert_file=";
  std::set<std::string> files;
  const auto [begin, end] = host.flags.equal_range("node_flag");
  for (auto at = begin; at != end; ++at) {
    if (at->second.starts_with(kOfNodes)) files.insert(at->second.substr(kOfNodes.size()));
  }
  Findings findings;
  for (const std::string& file : files) {
    findings.push_back(CheckCertificate(
        CertificateOfFile(file, "replace the file and its key; the nodes read them again by themselves"), now));
  }
  return findings;
}

constexpr const char* kControllerProgram = "controller";

// Asks the running programs for their versions, all at once.
std::vector<ProgramVersion> AskVersions(const Examination& examination, const Host& host) {
  std::map<std::string, std::string> addresses;  // By program.
  if (host.lock.is_running && AdminPortOf(host) != 0)
    addresses[kControllerProgram] = fmt::format("127.0.0.1:{}", AdminPortOf(host));
  for (const api::ServingFleet& fleet : host.stored.fleets) {
    for (const api::FleetNodeStatus& node : fleet.status.nodes) {
      if (!node.admin_address.empty()) addresses["node " + node.name] = node.admin_address;
    }
  }
  std::vector<ProgramVersion> versions;
  for (const auto& [program, address] : addresses) versions.push_back({program, NotFound("it was not asked")});
  std::vector<Read> reads;
  for (ProgramVersion& one : versions) {
    const std::string address = addresses[one.program];
    reads.push_back(
        {one.program, [&one, address, limit = examination.limit] { one.version = AskVersion(address, limit); }});
  }
  RunAll(reads, examination.on_slow);
  return versions;
}

HostLife LifeOf(const Host& host, const Path& manifests, const std::vector<ProgramVersion>& versions) {
  HostLife life{.manifests = manifests.string(),
                .is_running = host.lock.is_running,
                .pid = host.lock.pid,
                .last_active_at = host.lock.last_active_at};
  const auto asked = std::ranges::find(versions, kControllerProgram, &ProgramVersion::program);
  if (asked != versions.end() && !asked->version) life.answer = tl::make_unexpected(asked->version.error());
  return life;
}

Findings ExaminePrometheus(const Examination& examination, const Host& host) {
  std::vector<Findings> found(host.stored.fleets.size());
  std::vector<Read> reads;
  for (size_t i = 0; i < found.size(); ++i) {
    const api::ServingFleet& fleet = host.stored.fleets[i];
    if (!fleet.spec.autoscaling || fleet.spec.autoscaling->prometheus_url.empty()) continue;
    reads.push_back({fleet.spec.autoscaling->prometheus_url, [&, i] {
                       const Series series = AskPrometheus(fleet, examination.limit);
                       found[i] = CheckPrometheus(fleet, series, Reach::kLikeController, examination.clock.Now());
                     }});
  }
  RunAll(reads, examination.on_slow);
  Findings findings;
  for (Findings& one : found) Append(findings, std::move(one));
  return findings;
}

}  // namespace

Findings ExamineHost(const Examination& examination, store::Store& store, const Path& manifests, text::HostSeen seen) {
  Host host;
  host.lock = store::local::ReadControllerLock(manifests).value_or(store::local::ControllerLockState{});
  if (host.lock.is_running) host.flags = FlagsOf(host.lock.pid);
  host.stored = ReadStored(store, examination.namespace_);
  seen.fleets = host.stored.to_observe;
  const TimePoint now = examination.clock.Now();
  const std::vector<ProgramVersion> versions = AskVersions(examination, host);
  Findings findings = {CheckHostLife(LifeOf(host, manifests, versions), now)};
  Append(findings, CheckVersions(examination.own_version, versions));
  Append(findings, ExamineManifests(store, manifests, examination.place));
  Append(findings, ExaminePorts(host));
  Append(findings, ExamineFolders(host, manifests));
  Append(findings, host.stored.problems);
  Append(findings, CheckFleets(host.stored.fleets, seen, examination.place));
  Append(findings, CheckModels(host.stored.models, seen, examination.place));
  Append(findings, ExaminePrometheus(examination, host));
  Append(findings, ExamineCertificates(host, now));
  return findings;
}

}  // namespace longshore::cli::doctor::observe
