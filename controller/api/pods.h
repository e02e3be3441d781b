// Settings of the pods of a fleet in a cluster. Manifests for standalone mode, where nodes are processes, must not
// contain them.
//
// Texts have the format of Kubernetes: amounts are "500m" or "20Gi", for example, and names and labels follow its
// rules. An empty text, list or mapping means that the field was not given.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"

namespace longshore::api {

using Amounts = std::map<std::string, std::string>;  // Key: resource. Value: amount.
using Labels = std::map<std::string, std::string>;

struct Toleration {
  std::string key;
  bool exists = false;  // True: operator Exists; false: Equal.
  std::string value;
  std::string effect;
  std::optional<int64_t> seconds;
};

struct TopologySpread {
  std::string topology_key;
  int max_skew = 1;
  bool required = false;  // True: DoNotSchedule; false: ScheduleAnyway.
};

// Exactly one of claim_name and secret_name is set.
struct ModelVolume {
  std::string name;
  std::string mount_path;
  std::string claim_name;
  bool read_only = true;  // For the claim; secrets are always read-only.
  std::string secret_name;
};

// Clients that may connect: an address range, or pods selected by their own labels and the labels of their namespaces.
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
  std::string source_ca_file;  // PEM file with the CAs of archive hosts; "": the CAs of the image.
  int surge = 1;
  ServiceType service_type = ServiceType::kClusterIp;
  std::map<std::string, std::string> service_annotations;
  std::vector<ClientPeer> clients;  // Empty: all clients may connect.
  Labels labels;
  std::map<std::string, std::string> annotations;
  std::string log_level = "info";
  Duration termination_grace_period = std::chrono::seconds(60);
};

}  // namespace longshore::api
