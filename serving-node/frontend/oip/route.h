// The routes of the Open Inference Protocol's REST API and of Triton's extensions.
#pragma once

#include <string>
#include <string_view>

namespace longshore::frontend::oip {

struct Route {
  enum class Kind {
    kUnknown,      // No such path: 404.
    kWrongMethod,  // The path does not have this method: 405.
    kServerMetadata,
    kServerLive,
    kServerReady,
    kModelMetadata,
    kModelReady,
    kModelConfig,
    kModelStatistics,  // Without a model in the path (`model` is ""), the answer has all models.
    kInfer,
    kRepositoryIndex,
    kLoad,
    kUnload,
    kTraceSettings,
    kUpdateTraceSettings,
    kLogSettings,
    kUpdateLogSettings,
    kSharedMemoryStatus,
    kSharedMemoryRegister,
    kSharedMemoryUnregister,
  };
  Kind kind = Kind::kUnknown;
  std::string model = {};
  std::string version = {};     // A number or a label; "" if the path has none.
  std::string repository = {};  // "" if the path has none.
};

// Returns whether the target is below /v2, and so belongs to this API.
bool IsOipTarget(std::string_view target);

// Parses the method and the target of a request. Names are percent-decoded. A query string is ignored, as in Triton.
Route ParseOipRoute(std::string_view method, std::string_view target);

}  // namespace longshore::frontend::oip
