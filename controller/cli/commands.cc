#include "controller/cli/commands.h"

#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/select.h"
#include "controller/store/document.h"

namespace longshore::cli {

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

Status DeleteObject(store::Store& store, const api::Key& key) {
  ASSIGN_OR_RETURN(const store::Object object, command::GetOrHint(store, key));
  return store.Delete(key, object.metadata.uid);
}

}  // namespace longshore::cli
