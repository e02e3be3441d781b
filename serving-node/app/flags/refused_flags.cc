#include "serving-node/app/flags/refused_flags.h"

#include <CLI/CLI.hpp>
#include <array>

namespace longshore::app::flags {
namespace {

struct Refused {
  const char* name;
  const char* harmless;  // The values that change nothing, separated by "|"; kAny: all of them.
  const char* why;
};

constexpr const char* kAny = "*";
constexpr const char* kNoLite = "TensorFlow Lite models cannot be served: export a SavedModel";

constexpr std::array kSwitches = {
    Refused{"use_alts_credentials", "false", "ALTS exists only in Google's networks"},
    Refused{"prefer_tflite_model", "false", kNoLite},
    Refused{"xla_cpu_compilation_enabled", "false", "the engine does not use XLA"},
    Refused{"xla_gpu_compilation_enabled", "false", "the engine does not use XLA"},
    Refused{"remove_unused_fields_from_bundle_metagraph", "true",
            "the engine always drops the parts of a model that it does not need"},
    Refused{"skip_initialize_tpu", kAny, ""},
    Refused{"enable_grpc_healthcheck_service", kAny, "grpc.health.v1 is always served"},
};

constexpr std::array kValues = {
    Refused{"platform_config_file", "", "only SavedModels are served: use the flags of batching and of the engine"},
    Refused{"num_tflite_pools", kAny, kNoLite},
    Refused{"num_tflite_interpreters_per_pool", kAny, kNoLite},
    Refused{"thread_pool_factory_config_file", "", "the engine has its own threads: use --threads"},
    Refused{"mixed_precision", "", "bfloat16 computation is not supported"},
    Refused{"grpc_max_threads", kAny,
            "requests do not use a thread each: use --max_concurrent_runs and --grpc_max_connections"},
};

bool IsHarmless(const Refused& flag, const std::string& value) {
  if (flag.harmless == std::string_view(kAny)) return true;
  return fmt::format("|{}|", flag.harmless).find(fmt::format("|{}|", value)) != std::string::npos;
}

}  // namespace

void RefusedFlags::AddTo(CLI::App& app) {
  for (const Refused& flag : kSwitches)
    app.add_flag(fmt::format("--{}{{true}}", flag.name), given_[flag.name])->group("");
  for (const Refused& flag : kValues) app.add_option(fmt::format("--{}", flag.name), given_[flag.name])->group("");
}

Status RefusedFlags::Check() const {
  const auto check = [this](const auto& flags) -> Status {
    for (const Refused& flag : flags) {
      const std::string& value = given_.at(flag.name);
      if (value.empty() || IsHarmless(flag, value)) continue;
      return Unimplemented("--{}={} is not supported: {}", flag.name, value, flag.why);
    }
    return {};
  };
  RETURN_IF_ERROR(check(kSwitches));
  return check(kValues);
}

std::vector<std::string> RefusedFlags::Notes() const {
  std::vector<std::string> notes;
  const auto add = [&](const auto& flags) {
    for (const Refused& flag : flags) {
      const bool is_given = !given_.at(flag.name).empty();
      if (is_given && flag.harmless == std::string_view(kAny) && *flag.why != '\0')
        notes.push_back(fmt::format("--{} has no effect: {}", flag.name, flag.why));
    }
  };
  add(kSwitches);
  add(kValues);
  return notes;
}

}  // namespace longshore::app::flags
