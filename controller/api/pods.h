// What the nodes of a fleet are made of where they are pods. A manifest for a single host, whose nodes are processes,
// is refused when it says any of this.
//
// Texts are as Kubernetes takes them: amounts "500m" or "20Gi", names and labels by its rules. An empty one, and an
// empty list or mapping, was not given.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"

namespace longshore::api {

using Amounts = std::map<std::string, std::string>;  // Resource to amount.
using Labels = std::map<std::string, std::string>;

struct Toleration {
  std::string key;
  bool exists = false;  // Operator Exists; otherwise Equal.
  std::string value;
  std::string effect;
  std::optional<int64_t> seconds;
};

struct TopologySpread {
  std::string topology_key;
  int max_skew = 1;
  bool required = false;  // DoNotSchedule; otherwise ScheduleAnyway.
};

// Either claim_name or secret_name is given.
struct ModelVolume {
  std::string name;
  std::string mount_path;
  std::string claim_name;
  bool read_only = true;  // Of the claim.
  std::string secret_name;
};

// Who may call: addresses, or pods by their labels and those of their namespaces.
struct ClientPeer {
  std::string cidr;
  std::vector<std::string> except;
  std::optional<Labels> pods;
  std::optional<Labels> namespaces;
};

enum class ServiceType { kClusterIp, kNodePort, kLoadBalancer };

struct Pods {
  std::string image;
  std::vector<std::string> image_pull_secrets;
  Amounts limits;
  Amounts requests;
  Labels node_selector;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpread> topology_spread;
  std::string priority_class;
  std::string service_account;
  std::vector<ModelVolume> model_volumes;
  std::string cache_size_limit;
  std::string source_ca_file;  // PEM, of the hosts of archives; "": the image's authorities.
  int surge = 1;
  ServiceType service_type = ServiceType::kClusterIp;
  std::map<std::string, std::string> service_annotations;
  std::vector<ClientPeer> clients;  // Empty: everybody may call.
  Labels labels;
  std::map<std::string, std::string> annotations;
  std::string log_level = "info";
  Duration termination_grace_period = std::chrono::seconds(60);
};

}  // namespace longshore::api
