#include "controller/cli/text/golden_run.h"

#include "common/base/error.h"

namespace longshore::cli::text {
namespace {

std::string LineOf(const api::GoldenRun& run) {
  switch (run.state) {
    case api::GoldenRunState::kPassed: return fmt::format("node {}: passed: {}\n", run.node, run.message);
    case api::GoldenRunState::kFailed: return fmt::format("node {}: failed: {}\n", run.node, run.message);
    case api::GoldenRunState::kWaiting: break;
  }
  return fmt::format("node {}: has not ended the run; a busy node runs records only in idle slots\n", run.node);
}

}  // namespace

std::string GoldenRunText(const api::GoldenRequest& request) {
  std::string text;
  for (const api::GoldenRun& run : request.nodes) text += LineOf(run);
  const int64_t nodes = request.passed + request.failed + request.waiting;
  const auto more = nodes - static_cast<int64_t>(request.nodes.size());
  if (more > 0) text += fmt::format("and {} more nodes\n", more);
  text += fmt::format("passed on {} of {} nodes, failed on {}", request.passed, nodes, request.failed);
  return text + (request.waiting > 0 ? fmt::format(", and {} have not ended the run\n", request.waiting) : "\n");
}

}  // namespace longshore::cli::text
