#include "serving-node/app/flags/refused_flags.h"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>

namespace longshore::app::flags {
namespace {

enum class Takes { kSwitch, kNumber, kText };

struct Refused {
  const char* name;
  Takes takes;
  const char* harmless;  // The values that change nothing, separated by "|"; kAny: all of them.
  const char* why;
};

constexpr const char* kAny = "*";
constexpr const char* kNoLite = "TensorFlow Lite models cannot be served: export a SavedModel";

constexpr std::array kRefused = {
    Refused{"use_alts_credentials", Takes::kSwitch, "false", "ALTS exists only in Google's networks"},
    Refused{"prefer_tflite_model", Takes::kSwitch, "false", kNoLite},
    Refused{"use_tflite_model", Takes::kSwitch, "false", kNoLite},
    Refused{"xla_cpu_compilation_enabled", Takes::kSwitch, "false", "the engine does not use XLA"},
    Refused{"xla_gpu_compilation_enabled", Takes::kSwitch, "false", "the engine does not use XLA"},
    Refused{"remove_unused_fields_from_bundle_metagraph", Takes::kSwitch, "true",
            "the engine always drops the parts of a model that it does not need"},
    Refused{"skip_initialize_tpu", Takes::kSwitch, kAny, ""},
    Refused{"enable_grpc_healthcheck_service", Takes::kSwitch, kAny, "grpc.health.v1 is always served"},
    Refused{"platform_config_file", Takes::kText, "",
            "only SavedModels are served: use the flags of batching and of the engine"},
    Refused{"num_tflite_pools", Takes::kNumber, kAny, kNoLite},
    Refused{"num_tflite_interpreters_per_pool", Takes::kNumber, kAny, kNoLite},
    Refused{"thread_pool_factory_config_file", Takes::kText, "", "the engine has its own threads: use --threads"},
    Refused{"mixed_precision", Takes::kText, "", "bfloat16 computation is not supported"},
    Refused{"grpc_max_threads", Takes::kNumber, kAny,
            "requests do not use a thread each: use --max_concurrent_runs and --grpc_max_connections"},
    Refused{"use_saved_model", Takes::kSwitch, "true", "only SavedModels are served, no SessionBundles"},
    Refused{"model_version_policy", Takes::kText, "LATEST_VERSION",
            "name the versions with model_version_policy in --model_config_file"},
};

bool IsHarmless(const Refused& flag, const std::string& value) {
  if (flag.harmless == std::string_view(kAny)) return true;
  return fmt::format("|{}|", flag.harmless).find(fmt::format("|{}|", value)) != std::string::npos;
}

bool IsWholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// CLI11 cannot do this: the errors of its checks do not name hidden flags.
Status CheckType(const Refused& flag, const std::string& value) {
  if (flag.takes == Takes::kSwitch && value != "true" && value != "false")
    return InvalidArgument("--{}={}: must be true or false", flag.name, value);
  if (flag.takes == Takes::kNumber && !IsWholeNumber(value))
    return InvalidArgument("--{}={}: must be a whole number", flag.name, value);
  return {};
}

}  // namespace

void RefusedFlags::AddTo(CLI::App& app) {
  for (const Refused& flag : kRefused) {
    std::string& given = given_[flag.name];
    const bool is_switch = flag.takes == Takes::kSwitch;
    CLI::Option* option = is_switch ? app.add_flag(fmt::format("--{}{{true}}", flag.name), given)
                                    : app.add_option(fmt::format("--{}", flag.name), given);
    option->group("");
  }
}

Status RefusedFlags::Check() const {
  for (const Refused& flag : kRefused) {
    const std::string& value = given_.at(flag.name);
    if (value.empty()) continue;  // Not given, or without a value.
    RETURN_IF_ERROR(CheckType(flag, value));
    if (IsHarmless(flag, value)) continue;
    return Unimplemented("--{}={} is not supported: {}", flag.name, value, flag.why);
  }
  return {};
}

std::vector<std::string> RefusedFlags::Notes() const {
  std::vector<std::string> notes;
  for (const Refused& flag : kRefused) {
    const bool has_no_effect = !given_.at(flag.name).empty() && flag.harmless == std::string_view(kAny);
    if (has_no_effect && *flag.why != '\0') notes.push_back(fmt::format("--{} has no effect: {}", flag.name, flag.why));
  }
  return notes;
}

}  // namespace longshore::app::flags
