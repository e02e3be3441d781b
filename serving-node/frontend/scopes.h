// Which scope a call needs, on a listener whose clients have tokens.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/net/auth/caller.h"

namespace longshore::frontend {

// The gRPC methods that change what the node serves or how it works.
inline constexpr std::array kAdminMethods = {
    std::string_view("/tensorflow.serving.ModelService/HandleReloadConfigRequest"),
    std::string_view("/inference.GRPCInferenceService/RepositoryModelLoad"),
    std::string_view("/inference.GRPCInferenceService/RepositoryModelUnload"),
    std::string_view("/inference.GRPCInferenceService/TraceSetting"),
    std::string_view("/inference.GRPCInferenceService/LogSettings"),
    std::string_view("/tensorflow.ProfilerService/Profile"),
    std::string_view("/tensorflow.ProfilerService/Terminate"),
};

// `path` is a gRPC method as the head of the call names it: "/tensorflow.serving.PredictionService/Predict".
inline auth::Scope ScopeOfMethod(std::string_view path) {
  return std::ranges::find(kAdminMethods, path) == kAdminMethods.end() ? auth::Scope::kPredict : auth::Scope::kAdmin;
}

}  // namespace longshore::frontend
