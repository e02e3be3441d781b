// What stands before the load of a version on a managed node: the quarantine, the pinned digest and the trial.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/process/descriptors.h"
#include "longshore/control.pb.h"
#include "serving-node/trial/journal.h"
#include "serving-node/trial/trial.h"

namespace longshore::trial {

struct GateOptions {
  TrialOptions trial;  // Limits and program; the rest is filled in per version.
  // What holds a version of the model; empty: all lie beside each other.
  std::function<Result<Path>(const control::ModelState& model, int64_t version)> folder_of{};
};

// A models::LoadGate: `[&gate](auto& model, auto version, auto& dir) { return gate.Admit(model, version, dir); }`.
// Thread-safe; trials run one after the other.
class Gate {
 public:
  static constexpr size_t kResultsMax = 1000;

  Gate(GateOptions options, Journal& journal);

  void SetState(std::shared_ptr<const control::DesiredState> state);

  // Runs the trial when the state asks for one, once per attempt, and notes "loading" in the journal.
  // FailedPrecondition for a version that is quarantined, missed its golden set or has other files than the pinned
  // ones; Unavailable, and nothing is held against it, when its files changed while they were tried.
  Status Admit(const std::string& model, int64_t version, const Path& version_dir);
  // The load that Admit let through has ended, well or not: call it from models::OnChange when a version is available,
  // failed or ended. Nothing for others.
  void Loaded(const std::string& model, int64_t version);

  // The node leaves: the trial under way is ended, loads under way are blamed for nothing, and no other begins
  // (Cancelled).
  void Stop();

  std::optional<control::GoldenResult> Golden(const std::string& model, int64_t version) const;
  bool InTrial(const std::string& model, int64_t version) const;
  // Why the version is quarantined in its present attempt; nullopt when it is not.
  std::optional<std::string> Quarantined(const std::string& model, int64_t version) const;

 private:
  struct Asked;
  Asked Ask(const std::string& model, int64_t version) const;
  static Status CheckDigest(const Asked& asked, const Path& version_dir, const Result<std::string>& digest);
  Status BeginLoading(const Try& what);
  Status RunOnce(const Asked& asked, const Path& version_dir, const Result<std::string>& digest);
  Result<control::GoldenResult> Run(const Asked& asked, const Path& version_dir);
  void Note(const Try& what, const Result<control::GoldenResult>& result);

  const GateOptions options_;
  Journal& journal_;
  const process::Descriptor stop_;  // An eventfd, readable once the node leaves.
  std::mutex trials_mutex_;         // One trial at a time: it may need as much memory as the node.
  mutable std::mutex mutex_;
  std::shared_ptr<const control::DesiredState> state_;
  bool stopping_ = false;
  int beginning_ = 0;  // Loads that are being written into the journal.
  std::condition_variable begun_;
  std::optional<Try> in_trial_;
  std::map<std::pair<std::string, int64_t>, Try> loading_;
  std::map<Try, control::GoldenResult> results_;  // At most kResultsMax, the first in their order go.
};

}  // namespace longshore::trial
