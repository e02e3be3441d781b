#include "controller/cli/set_version.h"

#include <optional>
#include <ostream>

#include "common/os/file.h"
#include "controller/api/parse.h"
#include "controller/cli/input/version_edit.h"
#include "controller/cli/select.h"
#include "controller/store/document.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli {
namespace {

struct Edit {
  Path file;
  std::string text;
};

// Returns the manifest file that defines the model, with the version; nullopt on a cluster, or if no file defines it.
Result<std::optional<Edit>> EditFor(const api::Key& model, int64_t version, const Place& place) {
  if (place.manifests.empty()) return std::nullopt;
  for (const store::local::ManifestFile& file : store::local::ReadManifestFiles(place.manifests)) {
    if (!file.objects.contains(model) && !file.not_taken.contains(model)) continue;
    const Path path = place.manifests / file.name;
    ASSIGN_OR_RETURN(std::string text, input::WithVersion(path.string(), file.text, model, version, place.namespace_));
    return Edit{path, std::move(text)};
  }
  return std::nullopt;
}

}  // namespace

Status SetVersion(const Options& options, const Place& place, std::ostream& out) {
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  ASSIGN_OR_RETURN(store::Object object, GetOrHint(*place.store, key));
  ASSIGN_OR_RETURN(const std::optional<Edit> edit, EditFor(key, options.version, place));
  const Json before = object.spec.value("version", Json());
  object.spec["version"] = options.version;
  object.spec.erase("versionPolicy");
  RETURN_IF_ERROR(api::ModelSpecFromJson(object.spec, options.name, place.home));
  ASSIGN_OR_RETURN(const store::Object written, place.store->Apply(object));
  if (edit) RETURN_IF_ERROR(WriteFileAtomically(edit->file, edit->text));
  out << fmt::format("{} version {} -> {}{}\n", api::ToString(key), before.is_null() ? "latest" : before.dump(),
                     options.version, edit ? ", also in " + edit->file.string() : "");
  return {};
}

}  // namespace longshore::cli
