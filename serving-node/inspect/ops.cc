#include "serving-node/inspect/ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "serving-node/engine/cpu/op_list.h"

namespace longshore::inspect {

std::string OpsAsMarkdown() {
  const auto ops = engine::cpu::SupportedOps();
  const auto fast = std::ranges::count(ops, true, &engine::cpu::OpSupport::has_fast);
  std::string page = fmt::format(
      "# Ops\n\n"
      "The {} ops that a model may use; `longshore model ops --markdown` writes this page. `longshore model check DIR` "
      "lists the\n"
      "unsupported ops of a model. Each op has a reference kernel that is compared with TensorFlow; {} also have a "
      "fast "
      "implementation\n"
      "for float. *types* are the supported values of the attribute `T`.\n\n"
      "| op | types | fast |\n|---|---|---|\n",
      ops.size(), fast);
  for (const auto& op : ops) page += fmt::format("| {} | {} | {} |\n", op.op, op.types, op.has_fast ? "yes" : "");
  return page;
}

std::string OpsAsText() {
  std::string text;
  for (const auto& op : engine::cpu::SupportedOps()) {
    text += fmt::format("{:<34}{:<5}{}\n", op.op, op.has_fast ? "fast" : "", op.types);
  }
  return text;
}

}  // namespace longshore::inspect
