#include "controller/cli/absent.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "controller/cli/watch/lease.h"
#include "controller/kube/api.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

constexpr size_t kNamespacesShownMax = 5;

// False also if it is not known.
bool IsMissing(const std::string& namespace_, const Place& place) {
  if (!place.cluster) return false;
  const SteadyClock timer;
  const auto api = kube::Api::Make(*place.cluster, {}, timer);
  if (!api) return false;
  const auto answer = (*api)->Send({.target = "/api/v1/namespaces/" + namespace_});
  return !answer && answer.error().code == Code::kNotFound;
}

// Adds the namespaces of the objects of the kind that have this name.
void AddNamespaces(store::Store& store, const input::Target& wanted, std::set<std::string>& namespaces) {
  const auto listing = store.List(wanted.kind);
  if (!listing) return;
  for (const store::Object& object : listing->objects) {
    if (object.metadata.name == wanted.name) namespaces.insert(object.metadata.namespace_);
  }
}

}  // namespace

std::string NothingText(const Options& options, const Place& place, const std::vector<std::string>& kinds) {
  std::vector<std::string> nouns;
  for (const std::string& kind : kinds) nouns.emplace_back(kind == api::kModelKind ? "no models" : "no fleets");
  std::string text = fmt::format("{}", fmt::join(nouns, " and "));
  text[0] = 'N';
  if (!options.selector.empty()) text += " with these labels";
  if (options.all_namespaces) return text + " in any namespace. Apply a manifest: longshore apply -f FILE\n";
  if (IsMissing(options.namespace_, place)) return fmt::format("Namespace {} does not exist.\n", options.namespace_);
  text += " in namespace " + options.namespace_;
  std::string unwatched = WhyUnwatched(options.namespace_, place);
  if (unwatched.empty()) return text + ". Apply a manifest: longshore apply -f FILE\n";
  unwatched[0] = 'N';
  return fmt::format("{}. {}\n", text, unwatched);
}

std::string WhyUnwatched(const std::string& namespace_, const Place& place) {
  if (!place.cluster) return "";
  const SteadyClock timer;
  const auto api = kube::Api::Make(*place.cluster, {}, timer);
  const auto unwatched = api ? watch::FindUnwatched(**api, namespace_, SystemClock().Now()) : std::nullopt;
  return unwatched ? unwatched->why + ": " + unwatched->cure : "";
}

std::string ElsewhereText(const Options& options, const Place& place) {
  if (!place.cluster) return "";
  std::vector<input::Target> wanted = options.targets;
  if (!options.name.empty()) wanted.push_back({api::kModelKind, options.name});
  std::erase_if(wanted, [](const input::Target& target) { return target.name.empty(); });
  if (wanted.empty()) return "";
  const SteadyClock timer;
  const auto everywhere = StoreOfAllNamespaces(*place.cluster, timer);
  if (!everywhere) return "";
  std::set<std::string> namespaces;
  for (const input::Target& one : wanted) AddNamespaces(**everywhere, one, namespaces);
  namespaces.erase(options.namespace_);
  if (namespaces.empty()) return "";
  const auto end = std::next(namespaces.begin(), static_cast<long>(std::min(namespaces.size(), kNamespacesShownMax)));
  return fmt::format("; there is one in namespace {}", fmt::join(namespaces.begin(), end, ", "));
}

}  // namespace longshore::cli
