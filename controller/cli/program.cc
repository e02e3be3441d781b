#include "controller/cli/program.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <mutex>

#include "common/http_client/client.h"
#include "controller/api/format.h"
#include "controller/cli/ca.h"
#include "controller/cli/commands.h"
#include "controller/cli/explain.h"
#include "controller/cli/text.h"
#include "controller/store/document.h"
#include "controller/store/kube/kube_store.h"
#include "controller/store/local/local_store.h"

namespace longshore::cli {
namespace {

constexpr std::chrono::minutes kCaPatience{1};
// So that a busy rollout does not flood the terminal.
constexpr auto kWatchInterval = std::chrono::milliseconds(200);

Result<store::Listing> Select(const Options& options, store::Store& store) {
  if (!options.name.empty()) {
    ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, {options.kind, options.namespace_, options.name}));
    return store::Listing{{object}, {}};
  }
  ASSIGN_OR_RETURN(store::Listing listing, store.List(options.kind));
  if (!options.all_namespaces) {
    std::erase_if(listing.objects,
                  [&](const store::Object& object) { return object.metadata.namespace_ != options.namespace_; });
    std::erase_if(listing.unreadable,
                  [&](const store::Unreadable& object) { return object.key.namespace_ != options.namespace_; });
  }
  return listing;
}

// Said after what could be read was shown.
Status CheckReadable(const store::Listing& listing) {
  if (listing.unreadable.empty()) return {};
  std::string all;
  for (const store::Unreadable& object : listing.unreadable) {
    all += fmt::format("{}{}: {}", all.empty() ? "" : "\n", ToString(object.key), object.why);
  }
  return DataLoss("not everything can be read:\n{}", all);
}

Json ListDocument(const std::vector<store::Object>& objects) {
  Json items = Json::array();
  for (const store::Object& object : objects) items.push_back(store::ToDocument(object));
  return {{"kind", "List"}, {"items", items}};
}

std::string Written(const Json& document, Output output) {
  return output == Output::kJson ? document.dump(2) + "\n" : api::ToYaml(document);
}

Result<std::string> TextOf(const std::vector<store::Object>& objects, const std::string& kind, TimePoint now) {
  std::vector<api::Model> models;
  std::vector<api::ServingFleet> fleets;
  for (const store::Object& object : objects) {
    if (kind == api::kModelKind) {
      ASSIGN_OR_RETURN(models.emplace_back(), ToModel(object));
    } else {
      ASSIGN_OR_RETURN(fleets.emplace_back(), ToFleet(object));
    }
  }
  return kind == api::kModelKind ? ModelsTable(models, now) : FleetsTable(fleets);
}

Status GetOnce(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Listing listing, Select(options, store));
  const std::vector<store::Object>& objects = listing.objects;
  if (options.output != Output::kText) {
    out << Written(options.name.empty() ? ListDocument(objects) : store::ToDocument(objects[0]), options.output);
  } else {
    ASSIGN_OR_RETURN(const std::string text, TextOf(objects, options.kind, clock.Now()));
    out << text;
  }
  out << std::flush;
  return CheckReadable(listing);
}

// Ends only when the program is interrupted or the output cannot be written.
Status GetAndWatch(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  std::mutex mutex;
  std::condition_variable noticed;
  bool changed = true;
  ASSIGN_OR_RETURN(const auto watch, store.WatchAll([&](const api::Key& key) {
    const std::lock_guard lock(mutex);
    changed = changed || key.kind == options.kind;
    noticed.notify_all();
  }));
  std::unique_lock lock(mutex);
  while (out) {
    noticed.wait(lock, [&] { return changed; });
    changed = false;
    lock.unlock();
    out << api::FormatTime(clock.Now()) << "\n";
    RETURN_IF_ERROR(GetOnce(options, store, clock, out));
    out << std::endl;
    lock.lock();
    noticed.wait_for(lock, kWatchInterval, [] { return false; });
  }
  return {};
}

Status Describe(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, {options.kind, options.namespace_, options.name}));
  if (options.output != Output::kText) {
    out << Written(store::ToDocument(object), options.output);
  } else if (options.kind == api::kModelKind) {
    ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
    out << DescribeModel(model, clock.Now());
  } else {
    ASSIGN_OR_RETURN(const api::ServingFleet fleet, ToFleet(object));
    out << DescribeFleet(fleet, clock.Now());
  }
  return {};
}

Status Explain(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, {api::kModelKind, options.namespace_, options.name}));
  ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
  out << ExplainModel(model, clock.Now());
  return {};
}

Result<std::string> ReadManifest(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return ReadFile(file);
}

Status Apply(const Options& options, const Place& place, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string text, ReadManifest(options.file));
  ASSIGN_OR_RETURN(const std::vector<Applied> applied,
                   ApplyManifest(*place.store, options.file, text, place.home, options.namespace_));
  for (const Applied& object : applied) out << api::ToString(object.key) << " " << object.what << "\n";
  return {};
}

Status Delete(const Options& options, store::Store& store, std::ostream& out) {
  const api::Key key{options.kind, options.namespace_, options.name};
  RETURN_IF_ERROR(DeleteObject(store, key));
  out << api::ToString(key) << " deleted\n";
  return {};
}

Status Command(const Options& options, store::Store& store, std::ostream& out) {
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  ASSIGN_OR_RETURN(const std::string result, SendCommand(store, key, options.command, options.timeout));
  if (IsRefusal(result)) return FailedPrecondition("{}", result);
  out << result << "\n";
  return {};
}

// As kubectl finds it: KUBECONFIG, of whose files the first that is there counts, or ~/.kube/config.
Path DefaultKubeconfig() {
  std::string files;
  if (const char* named = std::getenv("KUBECONFIG"); named != nullptr) files = named;
  const char* home = std::getenv("HOME");
  if (files.empty() && home != nullptr) files = std::string(home) + "/.kube/config";
  for (size_t begin = 0; begin < files.size();) {
    const size_t end = std::min(files.find(':', begin), files.size());
    const Path file = files.substr(begin, end - begin);
    if (std::error_code error; std::filesystem::exists(file, error)) return file;
    begin = end + 1;
  }
  return {};
}

Result<kube::Cluster> ClusterOf(const Options& options) {
  const Path file = options.kubeconfig.empty() ? DefaultKubeconfig() : options.kubeconfig;
  if (!file.empty()) return kube::FromKubeconfig(file, options.context);
  auto pod = kube::FromPod();
  if (pod) return pod;
  return FailedPrecondition(
      "where are the models? Say --manifests=DIR, the directory that a longshore-controller on this host was started "
      "with, or --kubeconfig=FILE for a cluster");
}

}  // namespace

Result<Place> OpenPlace(const Options& options, const MonotonicClock& clock) {
  Place place;
  if (!options.manifests.empty()) {
    if (!std::filesystem::is_directory(options.manifests))
      return NotFound("there is no directory {}", options.manifests.string());
    ASSIGN_OR_RETURN(place.store, store::LocalStore::Open({.dir = options.manifests}));
    return place;
  }
  ASSIGN_OR_RETURN(const kube::Cluster cluster, ClusterOf(options));
  place.home = api::Home::kCluster;
  place.namespace_ = cluster.namespace_;
  store::KubeStoreOptions store_options;
  if (!options.all_namespaces)
    store_options.namespaces = {options.namespace_.empty() ? cluster.namespace_ : options.namespace_};
  ASSIGN_OR_RETURN(place.store, store::KubeStore::Open(cluster, store_options, clock));
  return place;
}

Status Run(Options options, const Place& place, const Clock& clock, std::ostream& out) {
  if (options.namespace_.empty()) options.namespace_ = place.namespace_;
  store::Store& store = *place.store;
  switch (options.verb) {
    case Verb::kGet:
      return options.watch ? GetAndWatch(options, store, clock, out) : GetOnce(options, store, clock, out);
    case Verb::kDescribe: return Describe(options, store, clock, out);
    case Verb::kExplain: return Explain(options, store, clock, out);
    case Verb::kApply: return Apply(options, place, out);
    case Verb::kDelete: return Delete(options, store, out);
    case Verb::kCommand: return Command(options, store, out);
    case Verb::kEnsureCa: break;  // Asks no store: see Main.
  }
  return {};
}

Result<std::string> EnsureCaOf(const Options& options, const MonotonicClock& clock) {
  ASSIGN_OR_RETURN(const kube::Cluster cluster, ClusterOf(options));
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, {}, clock));
  return EnsureCa(*api, options.namespace_.empty() ? cluster.namespace_ : options.namespace_, options.secret,
                  kCaPatience);
}

int Main(int argc, char** argv) {
  http_client::Init();
  const auto fail = [](const Error& error) {
    std::cerr << "longshore: " << error.message << "\n";
    return ExitCodeOf(error);
  };
  const auto options = ParseOptions(argc, argv);
  if (!options) return fail(options.error());
  if (!*options) return kExitOk;
  const SteadyClock timer;
  if ((*options)->verb == Verb::kEnsureCa) {
    const auto ensured = EnsureCaOf(**options, timer);
    if (!ensured) return fail(ensured.error());
    std::cout << *ensured << "\n";
    return kExitOk;
  }
  const auto place = OpenPlace(**options, timer);
  if (!place) return fail(place.error());
  const Status done = Run(**options, *place, SystemClock(), std::cout);
  return done ? kExitOk : fail(done.error());
}

}  // namespace longshore::cli
