#include "serving-node/rehearsal/journal.h"

#include "common/json/json.h"
#include "common/os/file.h"
#include "common/os/json_file.h"

namespace longshore::rehearsal {
namespace {

Json ToJson(const Attempt& what) {
  return {{"model", what.model}, {"version", what.version}, {"attempt", what.attempt}};
}

Attempt FromJson(const Json& entry) {
  return {entry.at("model").get<std::string>(), entry.at("version").get<int64_t>(),
          entry.at("attempt").get<std::string>()};
}

}  // namespace

std::string_view ActivityName(Activity activity) { return activity == Activity::kLoading ? "loading" : "first run"; }

Result<std::unique_ptr<Journal>> Journal::Open(const Path& state_dir) {
  std::unique_ptr<Journal> journal(new Journal(state_dir / "journal.json"));
  const std::lock_guard lock(journal->mutex_);
  RETURN_IF_ERROR(journal->Read());
  return journal;
}

Status Journal::Read() {
  ASSIGN_OR_RETURN(const auto json, ReadJsonFile(file_));
  if (!json) return {};
  try {
    for (const Json& entry : json->at("quarantined")) {
      quarantined_[FromJson(entry)] = entry.at("reason").get<std::string>();
    }
    for (const Json& entry : json->at("open")) {
      quarantined_[FromJson(entry)] =
          fmt::format("the process crashed during the {} of the version", entry.at("deed").get<std::string>());
    }
    if (json->at("open").empty()) return {};
  } catch (const Json::exception& e) {
    return DataLoss("{}: {}", file_.string(), e.what());
  }
  return Write();
}

Status Journal::Write() {
  while (quarantined_.size() > kEntriesMax) quarantined_.erase(quarantined_.begin());
  Json open = Json::array();
  for (const auto& [what, activity] : open_) {
    open.push_back(ToJson(what));
    open.back()["deed"] = ActivityName(activity);
  }
  Json quarantined = Json::array();
  for (const auto& [what, reason] : quarantined_) {
    quarantined.push_back(ToJson(what));
    quarantined.back()["reason"] = reason;
  }
  Status written = WriteFileAtomically(file_, Json{{"open", open}, {"quarantined", quarantined}}.dump(1));
  health_.Report(written);
  return written;
}

void Journal::WriteAgain() {
  const std::lock_guard lock(mutex_);
  (void)Write();  // health_ has the result.
}

Status Journal::Begin(const Attempt& what, Activity activity) {
  const std::lock_guard lock(mutex_);
  open_[what] = activity;
  auto written = Write();
  if (!written) open_.erase(what);
  return written;
}

void Journal::End(const Attempt& what) {
  const std::lock_guard lock(mutex_);
  if (open_.erase(what) == 0) return;
  // If this write fails, the entry stays in the file until WriteAgain succeeds. If the process ends before that, its
  // next start quarantines the version wrongly. That is better than a failed request.
  (void)Write();
}

std::optional<std::string> Journal::Quarantined(const Attempt& what) const {
  const std::lock_guard lock(mutex_);
  const auto found = quarantined_.find(what);
  if (found == quarantined_.end()) return std::nullopt;
  return found->second;
}

Status Journal::Quarantine(const Attempt& what, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  quarantined_[what] = reason;
  return Write();
}

}  // namespace longshore::rehearsal
