#include "serving-node/frontend/metered.h"

#include <array>
#include <atomic>
#include <compare>
#include <utility>

#include "serving-node/frontend/http_status.h"
#include "serving-node/inference/inference.h"
#include "serving-node/routing/version_series.h"

namespace longshore::frontend {
namespace {

using metrics::Distribution;
using metrics::Exposition;
using metrics::Labels;
using metrics::Name;
using routing::Api;
using routing::kNoVersion;
using routing::kOtherModels;
using routing::Protocol;
using std::chrono::steady_clock;
using tensorflow::serving::ModelSpec;

constexpr Name kRequests{"longshore_requests_total", "Requests to models by status code."};
constexpr Name kSeconds{"longshore_request_seconds", "Time from arrival to answer of successful requests."};
constexpr Name kRequestCount{":tensorflow:serving:request_count", "Requests to models by status code."};
constexpr Name kRequestLatency{":tensorflow:serving:request_latency",
                               "Time from arrival to answer of successful requests, in microseconds."};
constexpr Name kExampleCounts{":tensorflow:serving:request_example_counts", "tf.Examples per request."};
constexpr Name kExampleTotal{":tensorflow:serving:request_example_count_total", "tf.Examples of all requests."};

const char* NameOf(Protocol protocol) {
  switch (protocol) {
    case Protocol::kGrpc: return "grpc";
    case Protocol::kRest: return "rest";
    case Protocol::kPeer: return "peer";
    case Protocol::kOipGrpc: return "oip_grpc";
    case Protocol::kOipRest: return "oip_rest";
  }
  return "";
}

bool IsRest(Protocol protocol) { return protocol == Protocol::kRest || protocol == Protocol::kOipRest; }

// Returns the name of a call in TensorFlow Serving's metrics. A REST call has the name that its route has, in lower
// case.
std::string ServingNameOf(Api api, Protocol protocol) {
  std::string name = routing::NameOf(api);
  if (IsRest(protocol)) name[0] = static_cast<char>(name[0] - 'A' + 'a');
  return name;
}

struct Key {
  std::string model;
  int64_t version = kNoVersion;
  std::string signature;
  Api api = Api::kPredict;
  Protocol protocol = Protocol::kGrpc;
  auto operator<=>(const Key&) const = default;
};

constexpr size_t kCodes = 17;

struct Requests {
  std::array<std::atomic<int64_t>, kCodes> by_code{};
  Distribution microseconds{metrics::TimeBounds()};
  Distribution examples{metrics::CountBounds()};

  void Add(const Requests& other) {
    for (size_t i = 0; i < kCodes; ++i) by_code[i] += other.by_code[i];
    microseconds.Add(other.microseconds);
    examples.Add(other.examples);
  }
};

Key KeyOf(const std::string& model, Api api, Protocol protocol, const ModelSpec& answered) {
  Key key{.model = model, .signature = {}, .api = api, .protocol = protocol};
  if (answered.has_version()) key.version = answered.version().value();
  key.signature = inference::SignatureName(answered);
  return key;
}

void ShowCodes(const Key& key, const Labels& ours, const Requests& requests, Exposition* out) {
  for (size_t i = 0; i < kCodes; ++i) {
    const auto count = static_cast<double>(requests.by_code[i]);
    if (count == 0) continue;
    Labels labels = ours;
    labels["protocol"] = NameOf(key.protocol);
    labels["code"] = CodeName(static_cast<Code>(i));
    out->Count(kRequests, labels, count);
    if (key.protocol == Protocol::kPeer) continue;
    out->Count(kRequestCount, {{"model_name", key.model}, {"status", labels["code"]}}, count);
  }
}

void Show(const Key& key, const Requests& requests, Exposition* out) {
  const Labels ours = routing::LabelsOf(key);
  ShowCodes(key, ours, requests, out);
  auto seconds = routing::InSeconds(requests.microseconds);
  if (seconds.count() == 0) return;
  out->Observed(kSeconds, ours, std::move(seconds));
  if (key.protocol == Protocol::kPeer) return;
  out->Observed(kRequestLatency,
                {{"model_name", key.model},
                 {"API", ServingNameOf(key.api, key.protocol)},
                 {"entrypoint", IsRest(key.protocol) ? "REST" : "GRPC"}},
                requests.microseconds.Read(metrics::ServingBounds()));
  if (key.api == Api::kPredict) return;
  auto examples = requests.examples.Read(metrics::CountBounds());
  out->Count(kExampleTotal, {{"model", key.model}}, examples.sum);
  out->Observed(kExampleCounts, {{"model", key.model}}, std::move(examples));
}

}  // namespace

struct RequestMeter::State {
  std::function<bool(const std::string&)> knows;
  metrics::Series<Key, Requests> series{kSeriesMax, Key{.model = kOtherModels, .signature = kOtherModels}};
};

RequestMeter::RequestMeter(metrics::Registry& registry, std::function<bool(const std::string& model)> knows,
                           const tracing::Tracer* tracer)
    : tracer_(tracer), state_(std::make_shared<State>()) {
  state_->knows = std::move(knows);
  registry.AddSource([state = state_](Exposition* out) {
    state->series.ForEach([out](const Key& key, const Requests& requests) { Show(key, requests, out); });
  });
}

MeteredRequest RequestMeter::Begin(Api api, Protocol protocol, const std::string& model) const {
  MeteredRequest request;
  request.meter_ = this;
  request.api_ = api;
  request.protocol_ = protocol;
  request.arrived_ = steady_clock::now();
  request.model_ = model;
  return request;
}

void MeteredRequest::End(Code code, const ModelSpec& answered) const {
  if (meter_ != nullptr) meter_->End(*this, code, answered);
  if (trace_ && trace_->sampled()) EndTrace(code, answered);
}

void MeteredRequest::EndTrace(Code code, const ModelSpec& answered) const {
  tracing::Answered end{.code = code, .model = model_, .signature = answered.signature_name()};
  if (IsRest(protocol_)) end.http_status = HttpStatus(code);
  if (answered.has_version()) end.version = answered.version().value();
  trace_->End(end);
}

// A failed request is counted without a version, because its model may not even exist.
void RequestMeter::End(const MeteredRequest& request, Code code, const ModelSpec& answered) const {
  if (code == Code::kOk) {
    const std::chrono::duration<double, std::micro> took = steady_clock::now() - request.arrived_;
    const Key key = KeyOf(request.model_, request.api_, request.protocol_, answered);
    return state_->series.With(key, [&](Requests& requests) {
      requests.by_code[0].fetch_add(1, std::memory_order_relaxed);
      requests.microseconds.Observe(took.count());
      if (request.api_ != Api::kPredict) requests.examples.Observe(static_cast<double>(request.examples_));
    });
  }
  Key key{.model = request.model_, .signature = {}, .api = request.api_, .protocol = request.protocol_};
  if (!state_->series.Has(key) && !state_->knows(key.model)) key.model.clear();
  state_->series.With(key, [code](Requests& requests) {
    requests.by_code[static_cast<size_t>(code)].fetch_add(1, std::memory_order_relaxed);
  });
}

void RequestMeter::ForgetVersion(const std::string& model, int64_t version) const {
  routing::ForgetVersion(model, version, &state_->series);
}

void RequestMeter::ForgetModel(const std::string& model) const { routing::ForgetModel(model, &state_->series); }

}  // namespace longshore::frontend
