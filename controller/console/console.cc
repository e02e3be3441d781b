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

int HttpStatusOf(Code code) {
  if (code == Code::kNotFound) return 404;
  return code == Code::kUnavailable ? 503 : 500;
}

http::Options HttpOptions(const Options& options) {
  http::Options http_options;
  http_options.address = options.address;
  // A page waits for objects of the store; other pages should not wait with it.
  http_options.threads = 2;
  http_options.connections_max = kConnectionsMax;
  http_options.body_bytes_max = kBodyBytesMax;
  http_options.inflated_bytes_max = kBodyBytesMax;
  http_options.gzip_bytes_min = 1024;
  http_options.admit = [names = options.allowed_hosts](const http::Request& head) { return Refusal(head, names); };
  return http_options;
}

}  // namespace

Console::Console(const Options& options, const Sources& sources)
    : options_(options),
      sources_(sources),
      snapshots_([this] { return ReadSnapshot(sources_.store, sources_.manifests, sources_.nodes.epoch()); },
                 sources_.timer) {}

Result<std::unique_ptr<Console>> Console::Start(const Options& options, const Sources& sources) {
  std::unique_ptr<Console> console(new Console(options, sources));
  ASSIGN_OR_RETURN(console->server_,
                   http::Server::Start(HttpOptions(options), [raw = console.get()](const http::Request& request,
                                                                                   const http::Responder& respond) {
                     respond(raw->Respond(request));
                   }));
  console->ticker_ = std::make_unique<Ticker>(
      options.sample_interval, [raw = console.get()] { raw->Sample(); }, Ticker::First::kNow);
  return console;
}

http::Response Console::Respond(const http::Request& request) const {
  const Target target = TargetOf(request.target);
  if (target.what == What::kNothing) return ErrorAnswer(404, "The console has no such page.");
  if (target.what == What::kFile)
    return Answer(request, ContentTypeOf(target.file->name), std::string(target.file->bytes));
  const Result<Json> json = Read(target);
  return json ? JsonAnswer(request, *json) : ErrorAnswer(HttpStatusOf(json.error().code), json.error().message);
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
  ModelHistory history;
  {
    const std::lock_guard lock(mutex_);
    history = history_.Of(target.namespace_ + "/" + target.name);
  }
  return HistoryJson(history, sources_.clock.Now());
}

void Console::Sample() {
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
