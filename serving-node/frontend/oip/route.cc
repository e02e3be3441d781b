#include "serving-node/frontend/oip/route.h"

#include <algorithm>
#include <array>
#include <vector>

#include "serving-node/frontend/rest_route.h"

namespace longshore::frontend::oip {
namespace {

using Kind = Route::Kind;

constexpr std::string_view kRoot = "/v2";

// A path below /v2: its segments are literals, or "{model}", "{version}", "{repository}" or "{region}".
struct Pattern {
  std::string_view method;
  std::string_view path;
  Kind kind;
};

// The first pattern that matches is used: "/models/stats" is not a model with the name "stats".
constexpr std::array kPatterns = {
    Pattern{"GET", "", Kind::kServerMetadata},
    Pattern{"GET", "/health/live", Kind::kServerLive},
    Pattern{"GET", "/health/ready", Kind::kServerReady},
    Pattern{"GET", "/models/stats", Kind::kModelStatistics},
    Pattern{"GET", "/models/{model}", Kind::kModelMetadata},
    Pattern{"GET", "/models/{model}/versions/{version}", Kind::kModelMetadata},
    Pattern{"GET", "/models/{model}/ready", Kind::kModelReady},
    Pattern{"GET", "/models/{model}/versions/{version}/ready", Kind::kModelReady},
    Pattern{"GET", "/models/{model}/config", Kind::kModelConfig},
    Pattern{"GET", "/models/{model}/versions/{version}/config", Kind::kModelConfig},
    Pattern{"GET", "/models/{model}/stats", Kind::kModelStatistics},
    Pattern{"GET", "/models/{model}/versions/{version}/stats", Kind::kModelStatistics},
    Pattern{"POST", "/models/{model}/infer", Kind::kInfer},
    Pattern{"POST", "/models/{model}/versions/{version}/infer", Kind::kInfer},
    Pattern{"GET", "/models/{model}/trace/setting", Kind::kTraceSettings},
    Pattern{"POST", "/models/{model}/trace/setting", Kind::kUpdateTraceSettings},
    Pattern{"GET", "/trace/setting", Kind::kTraceSettings},
    Pattern{"POST", "/trace/setting", Kind::kUpdateTraceSettings},
    Pattern{"GET", "/logging", Kind::kLogSettings},
    Pattern{"POST", "/logging", Kind::kUpdateLogSettings},
    Pattern{"POST", "/repository/index", Kind::kRepositoryIndex},
    Pattern{"POST", "/repository/{repository}/index", Kind::kRepositoryIndex},
    Pattern{"POST", "/repository/models/{model}/load", Kind::kLoad},
    Pattern{"POST", "/repository/models/{model}/unload", Kind::kUnload},
    Pattern{"POST", "/repository/{repository}/models/{model}/load", Kind::kLoad},
    Pattern{"POST", "/repository/{repository}/models/{model}/unload", Kind::kUnload},
    Pattern{"GET", "/systemsharedmemory/status", Kind::kSharedMemoryStatus},
    Pattern{"GET", "/systemsharedmemory/region/{region}/status", Kind::kSharedMemoryStatus},
    Pattern{"POST", "/systemsharedmemory/region/{region}/register", Kind::kSharedMemoryRegister},
    Pattern{"POST", "/systemsharedmemory/unregister", Kind::kSharedMemoryUnregister},
    Pattern{"POST", "/systemsharedmemory/region/{region}/unregister", Kind::kSharedMemoryUnregister},
    Pattern{"GET", "/cudasharedmemory/status", Kind::kSharedMemoryStatus},
    Pattern{"GET", "/cudasharedmemory/region/{region}/status", Kind::kSharedMemoryStatus},
    Pattern{"POST", "/cudasharedmemory/region/{region}/register", Kind::kSharedMemoryRegister},
    Pattern{"POST", "/cudasharedmemory/unregister", Kind::kSharedMemoryUnregister},
    Pattern{"POST", "/cudasharedmemory/region/{region}/unregister", Kind::kSharedMemoryUnregister},
};

// Removes and returns the first segment of a path "/a/b".
std::string_view TakeSegment(std::string_view* path) {
  path->remove_prefix(1);
  const std::string_view segment = path->substr(0, path->find('/'));
  path->remove_prefix(segment.size());
  return segment;
}

// Returns whether the path fits the pattern, and if so, sets the names of the route.
bool Fits(std::string_view pattern, std::string_view path, Route* route) {
  Route found;
  while (pattern.starts_with('/') && path.starts_with('/')) {
    const std::string_view wanted = TakeSegment(&pattern);
    const std::string_view segment = TakeSegment(&path);
    if (!wanted.starts_with('{')) {
      if (wanted != segment) return false;
      continue;
    }
    if (segment.empty()) return false;
    if (wanted == "{model}") found.model = PercentDecoded(segment);
    if (wanted == "{version}") found.version = PercentDecoded(segment);
    if (wanted == "{repository}") found.repository = PercentDecoded(segment);
  }
  if (!pattern.empty() || !path.empty()) return false;
  *route = std::move(found);
  return true;
}

}  // namespace

bool IsOipTarget(std::string_view target) {
  if (!target.starts_with(kRoot)) return false;
  target.remove_prefix(kRoot.size());
  return target.empty() || target.front() == '/' || target.front() == '?';
}

Route ParseOipRoute(std::string_view method, std::string_view target) {
  const std::string_view path = target.substr(kRoot.size(), target.find('?') - kRoot.size());
  Route route;
  for (const Pattern& pattern : kPatterns) {
    Route found;
    if (!Fits(pattern.path, path, &found)) continue;
    found.kind = pattern.method == method ? pattern.kind : Kind::kWrongMethod;
    if (found.kind != Kind::kWrongMethod) return found;
    route = std::move(found);
  }
  return route;
}

}  // namespace longshore::frontend::oip
