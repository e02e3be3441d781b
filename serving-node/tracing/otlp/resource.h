// Describes this process to the collector. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "opentelemetry/resource.pb.h"
#include "serving-node/tracing/otlp/pairs.h"

namespace longshore::tracing::otlp {

using Resource = opentelemetry::proto::resource::v1::Resource;

// Empty texts are left out.
struct Process {
  std::string service_name{};  // "longshore-node"
  std::string version{};
  std::string node{};  // The name of the node: service.instance.id.
  std::string fleet{};
  std::string host{};
  std::string pod{};
  std::string pod_namespace{};
  int64_t pid = 0;
};

// Returns the resource. `attributes` of the user override those of the process, except service.name if it is set.
Resource ResourceOf(const Process& process, const Pairs& attributes);

}  // namespace longshore::tracing::otlp
