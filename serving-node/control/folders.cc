#include "serving-node/control/folders.h"

#include <algorithm>

#include "common/os/log.h"
#include "common/version_files/folder.h"
#include "serving-node/models/discovery.h"

namespace longshore::control {
namespace {

// Adds the versions, without those that are still being copied. Includes those that the state contains: the controller
// may have removed the model and added it again since, and would otherwise take an older version for the newest.
void FindIn(const ModelState& model, const sources::Sources& sources, FolderFindings* findings) {
  std::vector<int64_t>& found = findings->versions[model.served_name()];
  const auto source = sources.FolderOf(sources::SourceOf(model));
  if (!source) return;
  const auto versions = version_files::ListVersions(*source);
  if (!versions) return;
  const Status checked = versions->empty() ? version_files::CheckBasePath(*source) : Status();
  if (!checked) findings->problems[model.served_name()] = {model.source_uri(), checked.error().message};
  for (auto version = versions->rbegin(); version != versions->rend(); ++version) {
    if (found.size() == FolderWatch::kFoundMax) break;
    const auto dir = version_files::FindVersionDir(*source, *version);
    if (dir && models::CheckComplete(*dir)) found.push_back(*version);
  }
}

// The problems of a mistyped folder last until a person changes something, so each is logged once.
void LogNew(const FolderFindings& now, const FolderFindings& before) {
  for (const auto& [model, problem] : now.problems) {
    const auto known = before.problems.find(model);
    if (known == before.problems.end() || known->second != problem)
      spdlog::warn("model \"{}\": {}", model, problem.message);
  }
}

}  // namespace

FolderWatch::FolderWatch(StateFunction state, const sources::Sources& sources, models::ModelStore& store,
                         std::chrono::milliseconds interval, std::function<void()> on_change)
    : state_(std::move(state)),
      sources_(sources),
      store_(store),
      on_change_(std::move(on_change)),
      ticker_(
          interval, [this] { Scan(); }, Ticker::First::kNow) {}

FolderFindings FolderWatch::found() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

void FolderWatch::Scan() {
  const auto state = state_();
  if (!state) return;
  retrier_.RetryChanged(*state, sources_, store_);
  FolderFindings now;
  for (const ModelState& model : state->models()) FindIn(model, sources_, &now);
  {
    const std::lock_guard lock(mutex_);
    if (now == found_) return;
    LogNew(now, found_);
    found_ = std::move(now);
  }
  on_change_();
}

}  // namespace longshore::control
