#include "serving-node/golden_files/trusted_version.h"

#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/tensor/finite.h"

namespace longshore::golden_files {

TrustedVersion::TrustedVersion(Path dir) : dir_(std::move(dir)) {}

TrustedVersion::~TrustedVersion() = default;

Result<engine::LoadedModel*> TrustedVersion::Load() {
  if (!model_) {
    engine_ = engine::cpu::MakeEngine();
    ASSIGN_OR_RETURN(model_, engine_->Load(dir_, {}));
  }
  return model_.get();
}

Result<engine::TensorMap> TrustedVersion::Answer(const engine::RunRequest& request) {
  ASSIGN_OR_RETURN(engine::LoadedModel* const model, Load());
  ASSIGN_OR_RETURN(engine::TensorMap outputs, engine::RunAndWait(*model, request));
  for (const auto& [name, values] : outputs) {
    if (tensor::HasNonFinite(values))
      return InvalidArgument("{} answers with NaN or Inf in the output \"{}\"", dir_.string(), name);
  }
  return outputs;
}

}  // namespace longshore::golden_files
