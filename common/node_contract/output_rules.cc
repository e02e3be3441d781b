#include "common/node_contract/output_rules.h"

#include <fmt/format.h>

namespace longshore::node_contract {

std::string TextOf(const control::OutputRule& rule) {
  switch (rule.measure()) {
    case control::OutputRule::TOPK:
      return fmt::format("{}: Top{}, overlap {}", rule.output(), rule.k(), rule.similarity());
    case control::OutputRule::COSINE: return fmt::format("{}: Cosine, at least {}", rule.output(), rule.similarity());
    case control::OutputRule::WITHIN:
      return fmt::format("{}: Within, absolute {}, relative {}", rule.output(), rule.absolute(), rule.relative());
    case control::OutputRule::EQUAL:
      return fmt::format("{}: Equal{}", rule.output(), rule.collapse_whitespace() ? ", whitespace collapsed" : "");
    default: return fmt::format("{}: Top1", rule.output());
  }
}

}  // namespace longshore::node_contract
