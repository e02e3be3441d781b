// Loads and runs the input as a saved_model.pb, with the variables of "half_plus_two_tf1", as a node does.
#include "serving-node/engine/cpu/cpu.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/source_tree/source_tree.h"

// The file comes from the operator, not from a client, so it may take more memory than a request.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 2, .fixed_bytes = size_t{256} << 10};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static const std::unique_ptr<engine::Engine> engine =
      engine::cpu::MakeEngine({.runs = 1, .loop_time_max = std::chrono::milliseconds(100)});
  static const fuzz::Folder folder;
  static const bool has_variables = [] {
    const Path from = source_tree::Root() / "tests" / "models" / "half_plus_two_tf1" / "1" / "variables";
    std::filesystem::copy(from, folder.path() / "variables");
    return true;
  }();
  CHECK(has_variables);
  folder.Write("saved_model.pb", fuzz::View(data, size));
  engine->EstimateLoad(folder.path(), {});
  const auto model = engine->Load(folder.path(), {});
  if (!model) return 0;
  for (const auto& [name, signature] : (*model)->signatures()) {
    engine::RunRequest run{name, {}, {}};
    for (const auto& [input, info] : signature.inputs()) {
      auto value = tensor::Tensor::Make(static_cast<tensor::DType>(info.dtype()), {2});
      if (!value) continue;
      if (value->type() != tensor::DType::kString) std::fill_n(value->mutable_data(), value->bytes(), std::byte{0});
      run.inputs.emplace(input, std::move(*value));
    }
    engine::RunAndWait(**model, std::move(run));
  }
  return 0;
}
