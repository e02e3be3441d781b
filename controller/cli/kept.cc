#include "controller/cli/kept.h"

#include <set>
#include <string_view>

#include "controller/kube/api.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// The object's managedFields; an empty list if they cannot be read.
Json ManagedFields(const kube::Cluster& cluster, const api::Key& key) {
  const SteadyClock timer;
  const auto api = kube::Api::Make(cluster, {}, timer);
  if (!api) return Json::array();
  const auto answer =
      (*api)->Send({.target = fmt::format("/apis/{}/namespaces/{}/{}/{}", api::kApiVersion, key.namespace_,
                                          key.kind == api::kModelKind ? "models" : "servingfleets", key.name)});
  const auto document = answer ? ParseJson(*answer) : tl::make_unexpected(answer.error());
  if (!document || !document->is_object()) return Json::array();
  return document->value("metadata", Json::object()).value("managedFields", Json::array());
}

// Whether a fieldsV1 contains the path, for example "spec.slo.errorRate", or the list or the map that it is in: a list
// is owned as a whole.
bool Owns(const Json& fields, std::string_view path) {
  const Json* here = &fields;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find_first_of(".[", begin), path.size());
    const auto found = here->find("f:" + std::string(path.substr(begin, end - begin)));
    if (found == here->end()) return false;
    here = &*found;
    if (here->empty() || (end < path.size() && path[end] == '[')) return true;
    begin = end + 1;
  }
  return true;
}

std::string OwnersOf(const Json& managed, const std::string& path) {
  std::set<std::string> owners;
  for (const Json& entry : managed) {
    if (!entry.is_object() || !entry.contains("fieldsV1") || !entry.at("fieldsV1").is_object()) continue;
    if (Owns(entry.at("fieldsV1"), path)) owners.insert(entry.value("manager", "?"));
  }
  return owners.empty() ? "another manager" : fmt::format("{}", fmt::join(owners, ", "));
}

}  // namespace

std::string KeptText(const Place& place, const Applied& applied) {
  if (!place.cluster || !applied.before) return "";
  store::Object wanted = applied.after;
  wanted.spec = applied.wanted_spec;
  std::vector<text::Difference> kept = text::Differences(store::ToDocument(store::WithDefaults(wanted)),
                                                         store::ToDocument(store::WithDefaults(applied.after)));
  std::erase_if(kept, [](const text::Difference& one) { return !one.after; });  // An empty map of the file.
  if (kept.empty()) return "";
  const api::Key key = store::KeyOf(applied.after);
  const Json managed = ManagedFields(*place.cluster, key);
  std::string text = fmt::format(
      "Warning: {} keeps what the file does not have, because other field managers set it; `kubectl replace -f FILE` "
      "removes it:\n",
      api::ToString(key));
  for (const text::Difference& field : kept) {
    text += fmt::format("  {}: {}, set by {}\n", field.path, DumpJson(*field.after), OwnersOf(managed, field.path));
  }
  return text;
}

}  // namespace longshore::cli
