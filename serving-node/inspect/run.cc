#include "serving-node/inspect/run.h"

#include <algorithm>
#include <ostream>

#include "common/os/file.h"
#include "serving-node/frontend/json/response.h"
#include "serving-node/inspect/inputs.h"
#include "serving-node/inspect/profile.h"
#include "serving-node/inspect/text.h"
#include "serving-node/tensor/npy.h"

namespace longshore::inspect {
namespace {

using Clock = std::chrono::steady_clock;
using engine::RunRequest;
using engine::TensorMap;

std::string TimesText(std::vector<std::chrono::nanoseconds> took) {
  std::ranges::sort(took);
  return fmt::format("ran {}: median {}, minimum {}, maximum {}\n",
                     CountText(static_cast<int64_t>(took.size()), "time"), TimeText(took[took.size() / 2]),
                     TimeText(took.front()), TimeText(took.back()));
}

// Runs the request `repeat` times and returns the outputs of the last run.
Result<TensorMap> RunRepeatedly(engine::LoadedModel& model, const RunRequest& request, int repeat,
                                std::ostream& notes) {
  TensorMap outputs;
  std::vector<std::chrono::nanoseconds> took;
  for (int i = 0; i < repeat; ++i) {
    const auto began = Clock::now();
    ASSIGN_OR_RETURN(outputs, engine::RunAndWait(model, request));
    took.push_back(Clock::now() - began);
  }
  if (repeat > 1) notes << TimesText(std::move(took));
  return outputs;
}

// Returns the file of an output. Escapes characters that a file name cannot have: "a/b" becomes a%2Fb.npy. No two
// outputs get the same file name.
Path FileOf(const Path& dir, const std::string& output) {
  std::string name;
  for (const char letter : output) {
    const bool is_plain = letter != '/' && letter != '%' && letter != '\0';
    name += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", letter);
  }
  return dir / (name + ".npy");
}

Status WriteFiles(const TensorMap& outputs, const Path& dir, std::ostream& out) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return FailedPrecondition("{}: {}", dir.string(), error.message());
  for (const auto& [name, tensor] : outputs) {
    const auto bytes = tensor::ToNpy(tensor);
    if (!bytes) return Prefixed(bytes.error(), fmt::format("output \"{}\"", name));
    const Path file = FileOf(dir, name);
    RETURN_IF_ERROR(WriteFileAtomically(file, *bytes));
    out << fmt::format("{}  {} {}\n", file.string(), DTypeName(tensor.type()), tensor::ToString(tensor.shape()));
  }
  return {};
}

Status WriteJson(const TensorMap& outputs, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string json,
                   frontend::json::PredictionsToJson(outputs, frontend::json::JsonForm::kColumnar,
                                                     frontend::json::JsonBytes::kByContent));
  out << json << "\n";
  return {};
}

}  // namespace

Status RunSignature(engine::Engine& engine, const Path& version_dir, const Options& options, std::ostream& out,
                    std::ostream& notes) {
  ASSIGN_OR_RETURN(const auto model, engine.Load(version_dir, options.load()));
  ASSIGN_OR_RETURN(Inputs inputs, ReadInputs(options, *model));
  const RunRequest request{
      .signature = std::move(inputs.signature), .inputs = std::move(inputs.tensors), .outputs = options.outputs};
  auto outputs = RunRepeatedly(*model, request, options.repeat, notes);
  if (!outputs) {
    ASSIGN_OR_RETURN(const tensorflow::SignatureDef* signature, FindSignature(model->signatures(), request.signature));
    outputs.error().message += OtherShapes(request.inputs, *signature);
    return tl::make_unexpected(std::move(outputs.error()));
  }
  if (options.profile) {
    ASSIGN_OR_RETURN(const auto profile, model->Profile(request));
    notes << ToText(profile);
  }
  return options.out.empty() ? WriteJson(*outputs, out) : WriteFiles(*outputs, options.out, out);
}

}  // namespace longshore::inspect
