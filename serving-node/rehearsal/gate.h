// The checks before a managed node loads a version: the quarantine, the pinned digest, and the rehearsal.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/os/process/descriptors.h"
#include "longshore/control.pb.h"
#include "serving-node/rehearsal/journal.h"
#include "serving-node/rehearsal/rehearsal.h"

namespace longshore::rehearsal {

struct GateOptions {
  RehearsalOptions rehearsal;  // Only the limits and the program: the gate sets the other options for each version.
  // Returns the folder that holds a version of the model. An empty function: all versions of a model are in one folder.
  std::function<Result<Path>(const control::ModelState& model, int64_t version)> folder_of{};
};

// As a models::LoadGate: `[&gate](auto& model, auto version, auto& dir) { return gate.Admit(model, version, dir); }`.
// Thread-safe. Rehearsals run one after the other.
class Gate {
 public:
  static constexpr size_t kResultsMax = 1000;

  Gate(GateOptions options, Journal& journal);

  void SetState(std::shared_ptr<const control::DesiredState> state);

  // Runs the rehearsal if the desired state requests one, once per attempt, and records "loading" in the journal.
  // Returns FailedPrecondition if the version is quarantined, failed its rehearsal, or its files do not have the pinned
  // digest; Unavailable if its files changed during the rehearsal, whose result is then discarded.
  Status Admit(const std::string& model, int64_t version, const Path& version_dir);
  // Must be called when a load that Admit allowed has ended, successfully or not: call it from models::OnChange for
  // every version that is available, failed or ended. No effect for other versions.
  void Loaded(const std::string& model, int64_t version);

  // Call when the node shuts down: ends the current rehearsal and the journal entries of loads in progress, so that
  // these versions are not quarantined, and lets no further load begin (Admit returns Cancelled).
  void Stop();

  std::optional<control::GoldenResult> Golden(const std::string& model, int64_t version) const;
  bool InRehearsal(const std::string& model, int64_t version) const;
  // Returns why the version is quarantined in its current attempt; nullopt if it is not quarantined.
  std::optional<std::string> Quarantined(const std::string& model, int64_t version) const;

 private:
  struct Requirements;
  Requirements RequirementsOf(const std::string& model, int64_t version) const;
  static Status CheckDigest(const Requirements& required, const Path& version_dir, const Result<std::string>& digest);
  Status BeginLoading(const Attempt& what);
  Status RunOnce(const Requirements& required, const Path& version_dir, const Result<std::string>& digest);
  Result<control::GoldenResult> Run(const Requirements& required, const Path& version_dir);
  void Note(const Attempt& what, const Result<control::GoldenResult>& result);

  const GateOptions options_;
  Journal& journal_;
  const process::Descriptor stop_;  // An eventfd that becomes readable in Stop.
  std::mutex rehearsals_mutex_;     // One rehearsal at a time: it may need as much memory as the node.
  mutable std::mutex mutex_;
  std::shared_ptr<const control::DesiredState> state_;
  bool stopping_ = false;
  int beginning_ = 0;  // Loads whose journal entry is being written.
  std::condition_variable begun_;
  std::optional<Attempt> in_rehearsal_;
  std::map<std::pair<std::string, int64_t>, Attempt> loading_;
  std::map<Attempt, control::GoldenResult> results_;  // Above kResultsMax, the smallest key is removed.
};

}  // namespace longshore::rehearsal
