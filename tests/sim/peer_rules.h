// Runs longshore-peer-rules, a program that judges simulated rollouts by the rules of Argo Rollouts, Flagger and
// Kayenta. tests/sim/peers/README.md describes its input and output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "common/os/process/process.h"

namespace longshore::sim {

// What one setting of a peer did with a rollout.
struct PeerDecision {
  bool rolled_back = false;
  double candidate_requests = 0;  // Until the decision.
};

// A running process, which judges every rollout by the same settings. Not thread-safe.
class PeerRules {
 public:
  // Starts the program. `settings` is a list of settings. Returns NotFound if there is no such program.
  static Result<std::unique_ptr<PeerRules>> Start(const std::string& program, const Json& settings);
  ~PeerRules();
  PeerRules(const PeerRules&) = delete;
  PeerRules& operator=(const PeerRules&) = delete;

  // Judges a rollout, which is one line of JSON without its end. Returns a decision for each setting, in their order.
  // Returns FailedPrecondition, with the program's exit code and message, if the program has ended, for example because
  // it refuses a setting, and DeadlineExceeded if it does not answer within kAnswerSecondsMax.
  Result<std::vector<PeerDecision>> Judge(const std::string& rollout);
  static constexpr int kAnswerSecondsMax = 300;

 private:
  PeerRules(std::string program, process::Process process, process::Descriptor lines, process::Descriptor messages)
      : program_(std::move(program)),
        process_(std::move(process)),
        lines_(std::move(lines)),
        messages_(std::move(messages)) {}

  Status Send(std::string_view text);
  Result<std::string> ReadLine();
  // Why the program does not read or write any more.
  tl::unexpected<Error> Ended();

  std::string program_;
  process::Process process_;
  process::Descriptor lines_;     // A socket: the program's standard input and output.
  process::Descriptor messages_;  // A file in memory: its standard error output.
  std::string read_;              // What has been read after the last line.
};

}  // namespace longshore::sim
