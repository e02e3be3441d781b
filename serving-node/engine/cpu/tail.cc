#include "serving-node/engine/cpu/tail.h"

namespace longshore::engine::cpu {

std::map<std::string, Tensor> Tail::Feeds(const std::map<std::string, Tensor>& fed,
                                          std::span<const Tensor> of_head) const {
  std::map<std::string, Tensor> feeds;
  for (size_t i = 0; i < cut.crossing.size(); ++i) feeds[cut.crossing[i]] = of_head[i];
  for (const auto& [name, node] : cut.tail.fed) {
    if (const auto given = fed.find(name); given != fed.end()) feeds.insert(*given);
  }
  return feeds;
}

std::vector<Tensor> Tail::Outputs(std::span<const Tensor> of_head, std::span<const Tensor> of_tail) const {
  std::vector<Tensor> outputs;
  for (const size_t at : cut.outputs)
    outputs.push_back(at < of_head.size() ? of_head[at] : of_tail[at - of_head.size()]);
  return outputs;
}

}  // namespace longshore::engine::cpu
