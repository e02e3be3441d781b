#include "controller/cli/imports/kserve_predictor.h"

#include <utility>

#include "controller/api/format.h"
#include "controller/cli/imports/kserve_fields.h"

namespace longshore::cli::imports {
namespace {

using api::Fields;
using api::Need;

constexpr int64_t kReplicasMax = 1000;
constexpr size_t kVolumeNameMax = 50;

class PredictorReader {
 public:
  PredictorReader(std::string name, const Notes& notes) : name_(std::move(name)), notes_(notes) {}

  Predictor Read(Fields& predictor) {
    ReadServer(predictor);
    ReadReplicas(predictor);
    ReadScaling(predictor);
    ReadRollout(predictor);
    ReadBatcher(predictor);
    ReadPods(predictor);
    NoteAll(predictor, kOfPredictor, out_.fleet_notes);
    return std::move(out_);
  }

 private:
  void NoteFleet(const Fields& fields, const char* key, const std::string& what) {
    notes_.Add(fields.PathOf(key), what, out_.fleet_notes);
  }
  void NoteModel(const Fields& fields, const char* key, const std::string& what) {
    notes_.Add(fields.PathOf(key), what, out_.model_notes);
  }

  template <typename List>
  void NoteAll(Fields& fields, const List& known, std::vector<std::string>& notes) {
    for (const auto& [field, why] : known) {
      if (fields.Take(field) != nullptr) notes_.Add(fields.PathOf(field), why, notes);
    }
  }

  void ReadServer(Fields& predictor) {
    for (const char* format : kOtherFormats) {
      if (predictor.Has(format)) predictor.Refuse(format, "is not supported: Longshore serves TensorFlow SavedModels");
    }
    if (predictor.Has("model") == predictor.Has("tensorflow"))
      return predictor.Refuse("model", "exactly one of model and tensorflow is required");
    predictor.Object("tensorflow", [&](Fields& server) { ReadRuntime(server); });
    predictor.Object("model", [&](Fields& server) {
      server.Object(
          "modelFormat",
          [&](Fields& format) {
            std::string name;
            format.Text("name", name, Need::kRequired);
            if (!name.empty() && name != "tensorflow")
              format.Refuse("name", fmt::format("{} is not supported: Longshore serves TensorFlow SavedModels", name));
            if (format.Take("version") != nullptr) NoteModel(format, "version", kPlain);
          },
          Need::kRequired);
      ReadRuntime(server);
    });
    if (predictor.Has("storageUris"))
      predictor.Refuse("storageUris", "is not supported: a Model has one source; use storageUri");
  }

  void ReadRuntime(Fields& server) {
    std::string uri;
    server.Text("storageUri", uri);
    if (server.Take("storage") != nullptr) {
      if (!uri.empty()) server.Refuse("storage", "is not allowed together with storageUri");
      Elsewhere(server, "storage", "the storage of this field");
    } else if (uri.empty()) {
      server.Refuse("storageUri", "is required");
    } else {
      ReadStorage(server, uri);
    }
    out_.model["versionPolicy"] = "Latest";
    std::string protocol;
    server.Text("protocolVersion", protocol);
    if (!protocol.empty() && protocol != "v1" && protocol != "grpc-v1")
      NoteModel(server, "protocolVersion",
                fmt::format("{} is not imported: nodes serve TensorFlow Serving's API, v1", protocol));
    if (const Json* resources = server.Take("resources"); resources != nullptr) out_.fleet["resources"] = *resources;
    NoteAll(server, kOfRuntime, out_.fleet_notes);
  }

  void Elsewhere(const Fields& server, const char* key, const std::string& uri) {
    out_.model["source"] = {{"uri", FolderFor(name_)}};
    NoteModel(server, key, CopyNote(uri, name_));
  }

  // Reads a URI of the form pvc://CLAIM/PATH. Any other URI becomes a note.
  void ReadStorage(const Fields& server, const std::string& uri) {
    constexpr std::string_view kClaim = "pvc://";
    if (!uri.starts_with(kClaim)) {
      Elsewhere(server, "storageUri", uri);
      if (uri.starts_with("https://"))
        NoteModel(server, "storageUri",
                  "is an archive; a Model can fetch a tar archive with source: {uri, sha256}, but the import does not "
                  "know its "
                  "digest");
      return;
    }
    const std::string place = uri.substr(kClaim.size());
    const std::string claim = place.substr(0, place.find('/'));
    const std::string path = claim.size() < place.size() ? place.substr(claim.size()) : "";
    const std::string mount = "/pvc/" + claim;
    out_.fleet["modelVolumes"] = {{{"name", ObjectName(claim, kVolumeNameMax)},
                                   {"mountPath", mount},
                                   {"persistentVolumeClaim", {{"claimName", claim}}}}};
    out_.model["source"] = {{"uri", "file://" + mount + path}};
  }

  void ReadReplicas(Fields& predictor) {
    int64_t min = 1;
    predictor.Integer("minReplicas", min, 0, kReplicasMax);
    if (min == 0) {
      NoteFleet(predictor, "minReplicas", "0 is not imported: a fleet has at least one node");
      min = 1;
    }
    int64_t max = min;
    predictor.Integer("maxReplicas", max, 0, kReplicasMax);
    if (max == 0) {
      NoteFleet(predictor, "maxReplicas", "0 (no limit) is not imported: set a maximum number of nodes");
      max = min;
    }
    out_.fleet["replicas"] = {{"min", min}};
    if (max <= min) return;
    out_.fleet["replicas"]["max"] = max;
    out_.fleet["autoscaling"] = Json::object();
  }

  void ReadScaling(Fields& predictor) {
    std::string metric;
    predictor.Choice<std::string>(
        "scaleMetric", metric, {{"cpu", "cpu"}, {"memory", "memory"}, {"concurrency", "concurrency"}, {"rps", "rps"}});
    int64_t target = 0;
    predictor.Integer("scaleTarget", target, 0, INT64_MAX);
    const char* const how =
        "a fleet scales by the queue delay (autoscaling.queueDelay) and the utilization of its nodes";
    const bool scales = out_.fleet.contains("autoscaling");
    if (metric == "cpu" && scales && target >= 1 && target <= 100) {
      out_.fleet["autoscaling"]["utilization"] = fmt::format("{}%", target);
      NoteFleet(
          predictor, "scaleTarget",
          fmt::format(
              "{} % of the processors becomes autoscaling.utilization, the share of a node's concurrent runs in use",
              target));
      return;
    }
    if (!metric.empty()) NoteFleet(predictor, "scaleMetric", fmt::format("{} is not imported: {}", metric, how));
    if (predictor.Has("scaleTarget")) NoteFleet(predictor, "scaleTarget", fmt::format("is not imported: {}", how));
  }

  void ReadRollout(Fields& predictor) {
    out_.model["rollout"] = {{"strategy", "Immediate"}};
    if (!predictor.Has("canaryTrafficPercent")) return;
    int64_t percent = 0;
    predictor.Integer("canaryTrafficPercent", percent, 0, 100);
    if (percent == 100) return;
    out_.model["rollout"] = {{"strategy", "Canary"}};
    if (percent == 0) {
      out_.model["rollout"]["paused"] = true;
      return NoteModel(
          predictor, "canaryTrafficPercent",
          "0 becomes rollout.paused: a new version is loaded, but gets no requests until rollout.paused is false");
    }
    out_.model["rollout"]["steps"] = {{{"weight", percent}, {"pause", "Manual"}}};
    NoteModel(
        predictor, "canaryTrafficPercent",
        fmt::format("becomes a step of {} % that is judged and waits for `longshore promote {}`", percent, name_));
  }

  void ReadBatcher(Fields& predictor) {
    predictor.Object("batcher", [&](Fields& batcher) {
      int64_t size = 32;
      int64_t delay_ms = 5000;
      batcher.Integer("maxBatchSize", size, 1, INT32_MAX);
      batcher.Integer("maxLatency", delay_ms, 0, INT32_MAX);
      if (batcher.Take("timeout") != nullptr) NoteModel(batcher, "timeout", kPlain);
      out_.model["batching"] = {{"maxBatchSize", size},
                                {"maxDelay", api::FormatDuration(std::chrono::milliseconds(delay_ms))}};
    });
    int64_t runs = 0;
    predictor.Integer("containerConcurrency", runs, 0, 4096);
    if (runs == 0) return;
    out_.fleet["engine"] = {{"concurrentRuns", runs}};
    NoteFleet(predictor, "containerConcurrency",
              "becomes engine.concurrentRuns, the maximum number of concurrent runs; other runs wait in a queue");
  }

  // Copies a field that has the same form in a ServingFleet.
  void Copy(Fields& predictor, const char* key, const char* as) {
    if (const Json* value = predictor.Take(key); value != nullptr) out_.fleet[as] = *value;
  }

  void ReadPods(Fields& predictor) {
    Copy(predictor, "nodeSelector", "nodeSelector");
    Copy(predictor, "tolerations", "tolerations");
    Copy(predictor, "priorityClassName", "priorityClassName");
    Copy(predictor, "serviceAccountName", "serviceAccountName");
    Copy(predictor, "imagePullSecrets", "imagePullSecrets");
    CopyNames(predictor, "labels", "podLabels");
    CopyNames(predictor, "annotations", "podAnnotations");
    if (predictor.Has("serviceAccountName"))
      NoteFleet(predictor, "serviceAccountName",
                "is also the service account of the nodes, but its token is not mounted into them");
    int64_t grace = 0;
    predictor.Integer("terminationGracePeriodSeconds", grace, 0, 3600);
    if (grace > 0) out_.fleet["terminationGracePeriod"] = fmt::format("{}s", grace);
    predictor.List("topologySpreadConstraints", 4,
                   [&](const Json& item, const std::string& path) { ReadSpread(predictor.reader(), item, path); });
  }

  // Copies labels or annotations, except those that belong to KServe and those that the controller sets.
  void CopyNames(Fields& predictor, const char* key, const char* as) {
    std::map<std::string, std::string> names;
    predictor.TextMap(key, names);
    for (const auto& [name, text] : names) {
      const bool foreign =
          name.find("kserve.io/") != std::string::npos || name.find("knative.dev/") != std::string::npos;
      const bool ours = name.starts_with("app.kubernetes.io/") || name.starts_with("longshore.dev/");
      if (foreign || ours) {
        NoteFleet(predictor, key, fmt::format("{}: {}", name, foreign ? kPlain : "is set by the controller"));
      } else {
        out_.fleet[as][name] = text;
      }
    }
  }

  void ReadSpread(api::Reader& reader, const Json& item, const std::string& path) {
    Fields spread(reader, item, path);
    Json out = Json::object();
    for (const char* key : {"topologyKey", "maxSkew", "whenUnsatisfiable"}) {
      if (const Json* value = spread.Take(key); value != nullptr) out[key] = *value;
    }
    if (spread.Take("labelSelector") != nullptr)
      NoteFleet(spread, "labelSelector", "is replaced by the label of the fleet, because a fleet spreads its own pods");
    for (const char* key : {"minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"}) {
      if (spread.Take(key) != nullptr) NoteFleet(spread, key, kPlain);
    }
    spread.Done();
    out_.fleet["topologySpread"].push_back(out);
  }

  const std::string name_;
  const Notes& notes_;
  Predictor out_;
};

}  // namespace

Predictor ReadPredictor(Fields& predictor, const std::string& name, const Notes& notes) {
  return PredictorReader(name, notes).Read(predictor);
}

}  // namespace longshore::cli::imports
