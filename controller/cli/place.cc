#include "controller/cli/place.h"

#include <algorithm>
#include <cstdlib>

#include "controller/store/kube/kube_store.h"
#include "controller/store/local/local_store.h"

namespace longshore::cli {
namespace {

// Returns the first existing file of KUBECONFIG, or of ~/.kube/config if KUBECONFIG is unset; "" if no such file
// exists.
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

// Returns the word as a shell reads it back.
std::string Quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool IsInEnvironment(const Path& manifests) {
  const char* known = std::getenv("LONGSHORE_MANIFESTS");
  return known != nullptr && manifests == known;
}

}  // namespace

std::string ArgumentsFor(const Options& options, const Place& place) {
  std::string arguments;
  // Command lines name every namespace but this one.
  if (options.namespace_ == "default" && place.namespace_ != "default") arguments += " -n default";
  if (!options.manifests.empty() && !IsInEnvironment(options.manifests))
    arguments += " --manifests " + Quoted(options.manifests.string());
  if (!options.kubeconfig.empty()) arguments += " --kubeconfig " + Quoted(options.kubeconfig.string());
  if (!options.context.empty()) arguments += " --context " + Quoted(options.context);
  return arguments;
}

Result<kube::Cluster> ClusterOf(const Options& options) {
  const Path file = options.kubeconfig.empty() ? DefaultKubeconfig() : options.kubeconfig;
  if (!file.empty()) return kube::FromKubeconfig(file, options.context);
  auto pod = kube::FromPod();
  if (pod) return pod;
  if (const char* named = std::getenv("KUBECONFIG"); named != nullptr && *named != '\0')
    return NotFound(
        "the variable KUBECONFIG names {}, which does not exist; for a controller on this host, use --manifests=DIR "
        "with its directory of manifests",
        named);
  return FailedPrecondition(
      "no cluster and no directory of manifests is configured: use --manifests=DIR with the directory of the "
      "longshore-controller on this host, or --kubeconfig=FILE for a cluster");
}

Result<Place> OpenPlace(const Options& options, const MonotonicClock& clock) {
  Place place;
  if (!options.manifests.empty()) {
    if (!std::filesystem::is_directory(options.manifests))
      return NotFound("directory {} does not exist", options.manifests.string());
    ASSIGN_OR_RETURN(place.store, store::local::LocalStore::Open({.dir = options.manifests}));
    place.manifests = options.manifests;
    return place;
  }
  ASSIGN_OR_RETURN(const kube::Cluster cluster, ClusterOf(options));
  place.home = api::Home::kCluster;
  place.cluster = cluster;
  place.namespace_ = cluster.namespace_;
  store::kube::KubeStoreOptions store_options{.fails_if_forbidden = true};
  store_options.first_list_max = std::min(store_options.first_list_max, options.timeout);
  if (!options.all_namespaces)
    store_options.namespaces = {options.namespace_.empty() ? cluster.namespace_ : options.namespace_};
  ASSIGN_OR_RETURN(place.store, store::kube::KubeStore::Open(cluster, store_options, clock));
  return place;
}

Result<std::unique_ptr<store::Store>> StoreOfAllNamespaces(const kube::Cluster& cluster, const MonotonicClock& clock) {
  ASSIGN_OR_RETURN(auto store, store::kube::KubeStore::Open(cluster, {}, clock));
  return std::unique_ptr<store::Store>(std::move(store));
}

}  // namespace longshore::cli
