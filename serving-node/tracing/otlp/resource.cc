#include "serving-node/tracing/otlp/resource.h"

#include <map>

#include "serving-node/tracing/span.h"

namespace longshore::tracing::otlp {

Resource ResourceOf(const Process& process, const Pairs& attributes) {
  std::map<std::string, std::string> texts = {
      {"service.name", "longshore-node"},    {"service.version", process.version},
      {"service.instance.id", process.node}, {"host.name", process.host},
      {"k8s.pod.name", process.pod},         {"k8s.namespace.name", process.pod_namespace},
      {"longshore.fleet", process.fleet}};
  for (const auto& [name, value] : attributes) texts[name] = value;
  if (!process.service_name.empty()) texts["service.name"] = process.service_name;
  Resource resource;
  for (const auto& [name, value] : texts) {
    if (!value.empty()) AddText(name, value, resource.mutable_attributes());
  }
  AddNumber("process.pid", process.pid, resource.mutable_attributes());
  return resource;
}

}  // namespace longshore::tracing::otlp
