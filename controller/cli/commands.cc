#include "controller/cli/commands.h"

#include <set>

#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/select.h"
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

// Whether a fieldsV1 contains the field of these keys, or a map around it that is owned as a whole.
bool Owns(const Json& fields, const std::vector<std::string>& keys) {
  const Json* here = &fields;
  for (const std::string& key : keys) {
    const auto found = here->find("f:" + key);
    if (found == here->end()) return false;
    here = &*found;
    if (here->empty()) return true;
  }
  return true;
}

std::string OwnersOf(const Json& managed, const std::vector<std::string>& keys) {
  std::set<std::string> owners;
  for (const Json& entry : managed) {
    if (!entry.is_object() || !entry.contains("fieldsV1") || !entry.at("fieldsV1").is_object()) continue;
    if (Owns(entry.at("fieldsV1"), keys)) owners.insert(entry.value("manager", "?"));
  }
  return owners.empty() ? "another manager" : fmt::format("{}", fmt::join(owners, ", "));
}

}  // namespace

Result<std::vector<Applied>> ApplyObjects(store::Store& store, const std::vector<api::ParsedObject>& objects,
                                          ApplyMode mode) {
  std::vector<Applied> applied;
  for (const api::ParsedObject& object : objects) {
    const auto before = store.Get(api::KeyOf(object));
    if (!before && before.error().code != Code::kNotFound) return tl::make_unexpected(before.error());
    const store::Object wanted{
        .metadata = object.metadata, .kind = object.kind, .spec = api::SpecToJson(object), .status = {}};
    Applied one;
    one.wanted_spec = wanted.spec;
    if (before) one.before = *before;
    ASSIGN_OR_RETURN(one.after, mode == ApplyMode::kDryRun ? store.DryApply(wanted) : store.Apply(wanted));
    applied.push_back(std::move(one));
  }
  return applied;
}

std::vector<text::Difference> DifferencesOf(const Applied& applied) {
  if (!applied.before) return text::Differences(Json(), store::ToDocument(applied.after));
  return text::Differences(store::ToDocument(store::WithDefaults(*applied.before)),
                           store::ToDocument(store::WithDefaults(applied.after)));
}

std::string OutcomeOf(const Applied& applied) {
  if (!applied.before) return "created";
  return DifferencesOf(applied).empty() ? "unchanged" : "changed";
}

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
    text += fmt::format("  {}: {}, set by {}\n", field.path, DumpJson(*field.after), OwnersOf(managed, field.keys));
  }
  return text;
}

Status DeleteObject(store::Store& store, const api::Key& key) {
  ASSIGN_OR_RETURN(const store::Object object, command::GetOrHint(store, key));
  return store.Delete(key, object.metadata.uid);
}

}  // namespace longshore::cli
