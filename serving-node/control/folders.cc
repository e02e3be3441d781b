#include "serving-node/control/folders.h"

#include <algorithm>

#include "serving-node/models/discovery.h"

namespace longshore::control {
namespace {

// Returns the versions that the state does not contain yet, without those that are still being copied.
std::vector<int64_t> FindIn(const ModelState& model, const sources::Sources& sources) {
  std::vector<int64_t> found;
  const auto source = sources.FolderOf(sources::SourceOf(model));
  if (!source) return found;
  const auto versions = models::ListVersions(*source);
  if (!versions) return found;
  for (auto version = versions->rbegin(); version != versions->rend(); ++version) {
    if (found.size() == FolderWatch::kFoundMax) break;
    if (std::ranges::count(model.versions(), *version, &VersionState::version) > 0) continue;
    const auto dir = models::FindVersionDir(*source, *version);
    if (dir && models::CheckComplete(*dir)) found.push_back(*version);
  }
  return found;
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

FoundVersions FolderWatch::found() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

void FolderWatch::Scan() {
  const auto state = state_();
  if (!state) return;
  retrier_.RetryChanged(*state, sources_, store_);
  FoundVersions now;
  for (const ModelState& model : state->models()) now[model.served_name()] = FindIn(model, sources_);
  {
    const std::lock_guard lock(mutex_);
    if (now == found_) return;
    found_ = std::move(now);
  }
  on_change_();
}

}  // namespace longshore::control
