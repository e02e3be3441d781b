#include "controller/console/console.h"

#include <utility>

#include "common/os/log.h"
#include "controller/store/document.h"

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

Result<std::unique_ptr<Console>> Console::Start(const Options& options, const Sources& sources) {
  std::unique_ptr<Console> console(new Console(options, sources));
  ASSIGN_OR_RETURN(console->server_,
                   http::Server::Start(HttpOptions(options), [raw = console.get()](const http::Request& request,
                                                                                   const http::Responder& respond) {
                     respond(raw->Respond(request));
                   }));
  console->ticker_ = std::make_unique<Ticker>(
      std::chrono::duration_cast<std::chrono::milliseconds>(kSampleInterval), [raw = console.get()] { raw->Sample(); },
      Ticker::First::kNow);
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
  switch (target.what) {
    case What::kModel: return ReadModel(target);
    case What::kFleet: return ReadFleet(target);
    case What::kHistory: {
      const std::lock_guard lock(mutex_);
      return HistoryJson(history_.Of(target.namespace_ + "/" + target.name));
    }
    default: break;
  }
  ASSIGN_OR_RETURN(const Objects objects, ReadObjects());
  return OverviewJson(objects,
                      {.version = options_.version, .epoch = sources_.nodes.epoch(), .problem = sources_.problem()});
}

Result<Json> Console::ReadModel(const Target& target) const {
  ASSIGN_OR_RETURN(const store::Object object, sources_.store.Get({api::kModelKind, target.namespace_, target.name}));
  ASSIGN_OR_RETURN(const api::Model model, store::ToModel(object));
  return ModelJson(model, {.epoch = sources_.nodes.epoch()}, sources_.clock.Now());
}

Result<Json> Console::ReadFleet(const Target& target) const {
  ASSIGN_OR_RETURN(const store::Object object,
                   sources_.store.Get({api::kServingFleetKind, target.namespace_, target.name}));
  ASSIGN_OR_RETURN(const api::ServingFleet fleet, store::ToFleet(object));
  const std::string name = target.namespace_ + "/" + target.name;
  ASSIGN_OR_RETURN(Objects objects, ReadObjects());
  std::erase_if(objects.models,
                [&](const api::Model& model) { return api::FleetOf(model.metadata, model.spec) != name; });
  return FleetJson(fleet, sources_.nodes.Nodes(name), objects.models, {.epoch = sources_.nodes.epoch()});
}

Result<Objects> Console::ReadObjects() const {
  Objects objects;
  for (const char* kind : {api::kServingFleetKind, api::kModelKind}) {
    ASSIGN_OR_RETURN(store::Listing listing, sources_.store.List(kind));
    std::ranges::move(listing.unreadable, std::back_inserter(objects.unreadable));
    const auto add = [&](const store::Object& object, auto parsed, auto& to) {
      if (parsed) return to.push_back(std::move(*parsed));
      objects.unreadable.push_back({store::KeyOf(object), parsed.error().message});
    };
    for (const store::Object& object : listing.objects) {
      if (kind == api::kModelKind) {
        add(object, store::ToModel(object), objects.models);
      } else {
        add(object, store::ToFleet(object), objects.fleets);
      }
    }
  }
  return objects;
}

void Console::Sample() {
  const Result<Objects> objects = ReadObjects();
  if (!objects) {
    spdlog::warn("the graphs of the console miss a point: {}", objects.error().message);
    return;
  }
  NodesOfFleets nodes;
  for (const api::ServingFleet& fleet : objects->fleets) {
    const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
    nodes[name] = sources_.nodes.Nodes(name);
  }
  const std::lock_guard lock(mutex_);
  sampler_.Sample(objects->models, nodes, sources_.clock.Now(), history_);
}

}  // namespace longshore::console
