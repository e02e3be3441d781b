#include "controller/cli/set_version.h"

#include <iostream>
#include <optional>
#include <thread>

#include "common/base/doubled_wait.h"
#include "controller/api/parse.h"
#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/doctor/observe/reads.h"
#include "controller/cli/host/disagreement.h"
#include "controller/cli/input/source_check.h"
#include "controller/cli/input/version_edit.h"
#include "controller/cli/select.h"
#include "controller/cli/text/offers.h"
#include "controller/kube/api.h"
#include "controller/store/document.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli {
namespace {

// How often a patch is sent if the Model changes at the same moment, and the pauses between.
constexpr int kPatchesMax = 6;
constexpr std::chrono::milliseconds kPatchPauseFirst{10};
constexpr std::chrono::milliseconds kPatchPauseLongest{200};

struct Edit {
  store::local::ManifestFile file;
  std::string text;  // The new one.
};

// Returns the manifest file that defines the model, with the version; nullopt on a cluster, or if no file defines it.
Result<std::optional<Edit>> EditFor(const api::Key& model, int64_t version, const Place& place) {
  if (place.manifests.empty()) return std::nullopt;
  for (const store::local::ManifestFile& file : store::local::ReadManifestFiles(place.manifests)) {
    if (!file.objects.contains(model) && !file.not_taken.contains(model)) continue;
    const Path path = place.manifests / file.name;
    ASSIGN_OR_RETURN(std::string text, input::WithVersion(path.string(), file.text, model, version, place.namespace_));
    return Edit{file, std::move(text)};
  }
  return std::nullopt;
}

// Changes nothing but the version, and only if the Model is still the one that was read. The patch names no
// resourceVersion, because a controller writes the status at any time. The server merges a patch several times itself
// before it reports a conflict.
Status Patch(const kube::Cluster& cluster, const store::Object& object, int64_t version) {
  const SteadyClock timer;
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, {}, timer));
  const api::Metadata& metadata = object.metadata;
  const Json patch = {{"metadata", {{"uid", metadata.uid}}},
                      {"spec", {{"version", version}, {"versionPolicy", nullptr}}}};
  const kube::Call call{
      .method = "PATCH",
      .target = fmt::format("/apis/longshore.dev/v1alpha1/namespaces/{}/models/{}?fieldManager=longshore-set-version",
                            metadata.namespace_, metadata.name),
      .body = DumpJson(patch),
      .content_type = kube::kMergePatch};
  for (int attempt = 1;; ++attempt) {
    const auto sent = api->Send(call);
    if (sent) return {};
    if (sent.error().code != Code::kAborted || attempt == kPatchesMax) return tl::make_unexpected(sent.error());
    std::this_thread::sleep_for(DoubledWait(kPatchPauseFirst, kPatchPauseLongest, attempt - 1));
  }
}

// Names `retry` for a version that has failed, if the controller would execute it: setting the version again changes
// nothing. "" if there is nothing to name.
std::string RetryText(const store::Object& object, int64_t version, const std::string& place) {
  const auto model = store::ToModel(object);
  if (!model || !text::IsAccepted(*model, "retry")) return "";
  for (const api::FailedVersion& failed : model->status.failed) {
    if (failed.version != version || failed.generation != object.metadata.generation) continue;
    return fmt::format("; version {} has failed ({}); to try it again: {}", version, failed.reason,
                       text::CommandLine("retry", object.metadata, place));
  }
  return "";
}

// "1 -> 2" or "2 unchanged".
std::string ChangeText(const store::Object& object, const Json& before, int64_t version, const std::string& place) {
  if (before == Json(version)) return fmt::format("{} unchanged", version) + RetryText(object, version, place);
  return fmt::format("{} -> {}", before.is_null() ? "Latest" : before.dump(), version);
}

// Takes the lock of LockForEdit. Says what is awaited if another command holds it for long.
Result<process::Descriptor> Lock(const Path& manifests) {
  std::optional<Result<process::Descriptor>> lock;
  doctor::observe::RunAll({{"another command that changes an object of " + manifests.string(),
                            [&] { lock = store::local::LockForEdit(manifests); }}},
                          [](const std::string& what) { std::cerr << "still waiting for " << what << std::endl; });
  return std::move(*lock);
}

struct Change {
  store::Object object;  // With the new version.
  Json before;           // The version that it had; null for the latest.
  std::optional<Edit> edit{};
};

// Changes the Model and its manifest file. On a host, no other command changes them at the same time.
Result<Change> Set(const Options& options, const Place& place) {
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  process::Descriptor lock;
  if (!place.manifests.empty()) {
    ASSIGN_OR_RETURN(lock, Lock(place.manifests));
  }
  ASSIGN_OR_RETURN(store::Object object, command::GetOrHint(*place.store, key));
  ASSIGN_OR_RETURN(const std::optional<Edit> edit, EditFor(key, options.version, place));
  const Json before = object.spec.value("version", Json());
  object.spec["version"] = options.version;
  object.spec.erase("versionPolicy");
  RETURN_IF_ERROR(api::ModelSpecFromJson(object.spec, options.name, place.home));
  if (edit) RETURN_IF_ERROR(store::local::ReplaceText(place.manifests, edit->file, edit->text));
  if (place.cluster) {
    RETURN_IF_ERROR(Patch(*place.cluster, object, options.version));
    return Change{std::move(object), before, edit};
  }
  const auto applied = place.store->Apply(object);
  if (!applied && edit)
    return Prefixed(
        applied.error(),
        fmt::format("{} says version {} now, and longshore-controller will apply it; {} could not be changed",
                    (place.manifests / edit->file.name).string(), options.version, api::ToString(key)));
  RETURN_IF_ERROR(applied);
  return Change{std::move(object), before, edit};
}

}  // namespace

Status SetVersion(const Options& options, const Place& place, std::ostream& out) {
  ASSIGN_OR_RETURN(const Change change, Set(options, place));
  const api::Key key = store::KeyOf(change.object);
  out << fmt::format("{} version {}{}{}\n", api::ToString(key),
                     ChangeText(change.object, change.before, options.version, ArgumentsFor(options, place)),
                     change.edit ? ", also in " + (place.manifests / change.edit->file.name).string() : "",
                     change.before.is_null() ? "; newer versions are no longer rolled out by themselves" : "");
  out << host::DisagreementsText(place.manifests, {{key, change.object}});
  if (place.cluster) return {};
  ASSIGN_OR_RETURN(const api::ModelSpec spec, api::ModelSpecFromJson(change.object.spec, options.name, place.home));
  for (const input::FieldProblem& problem : input::SourceProblems(spec)) {
    if (problem.path == "spec.version") out << "but " << problem.why << "\n";
  }
  return {};
}

}  // namespace longshore::cli
