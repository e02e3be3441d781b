#include "serving-node/control/failed_version_retrier.h"

#include <algorithm>
#include <set>

#include "common/version_files/folder.h"

namespace longshore::control {
namespace {

// The most files of a version that are compared. Real versions have fewer.
constexpr size_t kFilesMax = 10'000;

// Returns the error code of a failed version; kOk if the version has not failed.
Code FailureOf(const std::vector<models::VersionStatus>& statuses, int64_t version) {
  const auto found = std::ranges::find(statuses, version, &models::VersionStatus::version);
  return found != statuses.end() && found->state == models::State::kFailed ? found->error.code : Code::kOk;
}

// Returns the names, sizes and modification times of the files; "" if the folder does not exist.
std::string FolderContents(const ModelState& model, int64_t version, const sources::Sources& sources) {
  const auto source = sources.FolderOf(sources::SourceOf(model, version));
  const auto dir = source ? version_files::FindVersionDir(*source, version) : tl::make_unexpected(source.error());
  if (!dir) return "";
  std::set<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator file(*dir, error);
  for (; !error && file != std::filesystem::recursive_directory_iterator() && files.size() < kFilesMax;
       file.increment(error)) {
    std::error_code gone;
    const auto size = file->is_regular_file(gone) ? file->file_size(gone) : 0;
    const auto time = file->last_write_time(gone).time_since_epoch().count();
    files.insert(fmt::format("{} {} {}", file->path().string(), size, time));
  }
  return fmt::format("{}\n{}", dir->string(), fmt::join(files, "\n"));
}

}  // namespace

void FailedVersionRetrier::RetryChanged(const DesiredState& state, const sources::Sources& sources,
                                        models::ModelStore& store) {
  std::map<std::pair<std::string, int64_t>, std::string> now;
  for (const ModelState& model : state.models()) {
    const auto statuses = store.Statuses(model.served_name());
    for (const VersionState& version : model.versions()) {
      const std::pair key(model.served_name(), version.version());
      const auto before = seen_.find(key);
      const Code failure = version.load() ? FailureOf(statuses, version.version()) : Code::kOk;
      if (failure == Code::kOk) {
        // Kept, because a retried version may fail again.
        if (version.load() && before != seen_.end()) now.insert(*before);
        continue;
      }
      const std::string contents = FolderContents(model, version.version(), sources);
      now.emplace(key, contents);
      // The first check has no earlier contents to compare with. But a folder has changed if it did not exist at the
      // load and exists now.
      const bool appeared = failure == Code::kNotFound && !contents.empty();
      const bool changed = before == seen_.end() ? appeared : before->second != contents;
      if (changed) store.Retry(model.served_name(), version.version());
    }
  }
  seen_ = std::move(now);
}

}  // namespace longshore::control
