#include "serving-node/inspect/profile.h"

#include <algorithm>
#include <map>

#include "serving-node/inspect/text.h"

namespace longshore::inspect {
namespace {

using engine::NodeRun;
using engine::RunProfile;
using std::chrono::nanoseconds;

constexpr size_t kNodesShown = 10;

struct OpRuns {
  std::string op;
  nanoseconds took{0};
  double flops = 0;
  int nodes = 0;
};

nanoseconds Total(const RunProfile& profile) {
  nanoseconds sum{0};
  for (const NodeRun& node : profile.nodes) sum += node.took;
  return sum;
}

double Percent(nanoseconds part, nanoseconds whole) {
  return whole.count() == 0 ? 0 : 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// Sums up the time of the nodes of each op. Sorted by time, the slowest op first.
std::vector<OpRuns> ByOp(const RunProfile& profile) {
  std::map<std::string, OpRuns> by_op;
  for (const NodeRun& node : profile.nodes) {
    OpRuns& runs = by_op[node.op];
    runs.op = node.op;
    runs.took += node.took;
    runs.flops += static_cast<double>(node.flops);
    ++runs.nodes;
  }
  std::vector<OpRuns> ops;
  for (auto& [_, runs] : by_op) ops.push_back(std::move(runs));
  std::ranges::stable_sort(ops, [](const OpRuns& a, const OpRuns& b) { return a.took > b.took; });
  return ops;
}

std::string RateText(double flops, nanoseconds took) {
  return took.count() == 0 ? "" : FlopsText(flops * 1e9 / static_cast<double>(took.count())) + "/s";
}

std::string NodesText(const RunProfile& profile) {
  std::vector<NodeRun> nodes = profile.nodes;
  std::ranges::stable_sort(nodes, [](const NodeRun& a, const NodeRun& b) { return a.took > b.took; });
  nodes.resize(std::min(nodes.size(), kNodesShown));
  std::string text = fmt::format("  {:>7}  {:>9}  {:<24}  {:<30}  {}\n", "SHARE", "TIME", "OP", "RUNS AS", "NODE");
  for (const NodeRun& node : nodes) {
    text += fmt::format("  {:>5.1f} %  {:>9}  {:<24}  {:<30}  {}\n", Percent(node.took, Total(profile)),
                        TimeText(node.took), node.op, node.how, node.node);
  }
  return text;
}

}  // namespace

double TotalFlops(const RunProfile& profile) {
  double sum = 0;
  for (const NodeRun& node : profile.nodes) sum += static_cast<double>(node.flops);
  return sum;
}

std::string MostlyText(const RunProfile& profile) {
  if (profile.nodes.empty()) return "nothing to compute";
  const OpRuns most = ByOp(profile).front();
  return fmt::format("{:.0f} % of the time in {}", Percent(most.took, Total(profile)), most.op);
}

std::string ToText(const RunProfile& profile) {
  const nanoseconds total = Total(profile);
  std::string text = fmt::format("one run: {}, {}, {}, at most {} of memory besides weights and inputs\n",
                                 CountText(static_cast<int64_t>(profile.nodes.size()), "node"), TimeText(total),
                                 FlopsText(TotalFlops(profile)), BytesText(static_cast<int64_t>(profile.bytes_peak)));
  text += fmt::format("  {:>7}  {:>9}  {:>5}  {:>14}  {}\n", "SHARE", "TIME", "NODES", "RATE", "OP");
  for (const OpRuns& runs : ByOp(profile)) {
    text += fmt::format("  {:>5.1f} %  {:>9}  {:>5}  {:>14}  {}\n", Percent(runs.took, total), TimeText(runs.took),
                        runs.nodes, RateText(runs.flops, runs.took), runs.op);
  }
  return text + NodesText(profile);
}

}  // namespace longshore::inspect
