#include "controller/console/console.h"

#include <utility>

#include "common/os/log.h"

namespace longshore::console {
namespace {

using What = Target::What;

constexpr size_t kConnectionsMax = 100;
constexpr size_t kBodyBytesMax = 1024;

const char* ContentTypeOf(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "image/svg+xml";
}

http::Options HttpOptions(const Door& door, const Policy& policy) {
  http::Options http_options;
  http_options.address = door.address;
  http_options.tls = door.tls;
  // A page waits for objects of the store; other pages should not wait with it.
  http_options.threads = 2;
  http_options.connections_max = kConnectionsMax;
  http_options.body_bytes_max = kBodyBytesMax;
  http_options.inflated_bytes_max = kBodyBytesMax;
  http_options.gzip_bytes_min = 1024;
  http_options.admit = [policy](const http::Request& head) { return Refusal(head, policy); };
  return http_options;
}

}  // namespace

Console::Console(const Options& options, const Sources& sources)
    : options_(options),
      sources_(sources),
      snapshots_([this] { return ReadSnapshot(sources_.store, sources_.manifests, sources_.nodes.epoch()); },
                 sources_.timer),
      commands_(sources.store, sources.clock) {}

Result<std::unique_ptr<Console>> Console::Start(const Options& options, const Sources& sources) {
  std::unique_ptr<Console> console(new Console(options, sources));
  for (const Door& door : options.doors) RETURN_IF_ERROR(console->Open(door));
  console->ticker_ = std::make_unique<Ticker>(
      options.sample_interval, [raw = console.get()] { raw->Sample(); }, Ticker::First::kNow);
  return console;
}

Status Console::Open(const Door& door) {
  const Policy policy{options_.allowed_hosts, options_.access, door.reading_needs_token, sources_.standby};
  ASSIGN_OR_RETURN(auto server,
                   http::Server::Start(HttpOptions(door, policy),
                                       [this, policy](const http::Request& request, const http::Responder& respond) {
                                         Handle(request, policy, respond);
                                       }));
  servers_.push_back(std::move(server));
  return {};
}

void Console::Handle(const http::Request& request, const Policy& policy, const http::Responder& respond) {
  const Target target = TargetOf(request.target);
  if (target.what != What::kCommands) return respond(Respond(request, target, policy));
  const auto person = Admit(request, policy.access, Right::kCommand, policy.reading_needs_token);
  if (!person) return respond(ErrorAnswer(person.error()));  // The token has expired since the head was read.
  commands_.Give(*person, {api::kModelKind, target.namespace_, target.name}, request.body, respond);
}

http::Response Console::Respond(const http::Request& request, const Target& target, const Policy& policy) const {
  if (target.what == What::kNothing) return ErrorAnswer(404, "The console has no such page.");
  if (target.what == What::kFile)
    return Answer(request, ContentTypeOf(target.file->name), std::string(target.file->bytes));
  if (target.what == What::kAccess) return JsonAnswer(request, AccessJson(request, policy));
  const Result<Json> json = Read(target);
  return json ? JsonAnswer(request, *json) : ErrorAnswer(json.error());
}

Result<Json> Console::Read(const Target& target) const {
  Result<Json> json = target.what == What::kHistory ? ReadHistory(target) : ReadObjects(target);
  if (json) (*json)["controller"] = ControllerJson({.version = options_.version, .problem = sources_.problem()});
  return json;
}

Result<Json> Console::ReadObjects(const Target& target) const {
  ASSIGN_OR_RETURN(const auto snapshot, snapshots_.Get());
  const TimePoint now = sources_.clock.Now();
  if (target.what == What::kOverview) return OverviewJson(*snapshot, now);
  if (target.what == What::kModel) {
    ASSIGN_OR_RETURN(const api::Model* model, FindModel(*snapshot, {api::kModelKind, target.namespace_, target.name}));
    return ModelJson(*model, *snapshot, now);
  }
  ASSIGN_OR_RETURN(const api::ServingFleet* fleet,
                   FindFleet(*snapshot, {api::kServingFleetKind, target.namespace_, target.name}));
  return FleetJson(*fleet, sources_.nodes.Nodes(target.namespace_ + "/" + target.name), *snapshot, now);
}

Json Console::ReadHistory(const Target& target) const {
  const auto snapshot = snapshots_.Get();
  const auto model = snapshot ? FindModel(**snapshot, {api::kModelKind, target.namespace_, target.name})
                              : tl::make_unexpected(snapshot.error());
  ModelHistory history;
  if (model) {
    const std::lock_guard lock(mutex_);
    history = history_.Of((*model)->metadata.uid);
  }
  // The Model may have begun another rollout since the last sample.
  return HistoryJson(history, model ? (*model)->status.rollout.id : "", sources_.clock.Now());
}

void Console::Sample() {
  if (sources_.standby && !sources_.standby().empty()) return;  // A standby has no nodes.
  const auto snapshot = snapshots_.Get();
  if (!snapshot) {
    spdlog::warn("the graphs of the console miss a point: {}", snapshot.error().message);
    return;
  }
  NodesOfFleets nodes;
  for (const api::ServingFleet& fleet : (*snapshot)->fleets) {
    const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
    nodes[name] = sources_.nodes.Nodes(name);
  }
  const std::lock_guard lock(mutex_);
  sampler_.Sample((*snapshot)->models, nodes, sources_.clock.Now(), history_);
}

}  // namespace longshore::console
