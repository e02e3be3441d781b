// Test doubles for the frontends: a predictor that doubles "x", a catalog of one model, a gRPC channel and an HTTP
// client.
#pragma once

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/base/budget.h"
#include "serving-node/engine/engine.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/routing/predict.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend {

inline constexpr int64_t kVersion = 3;

// Returns a channel that shares no connection with other channels and accepts answers of any size.
inline std::shared_ptr<::grpc::Channel> ChannelTo(const std::string& target) {
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return ::grpc::CreateCustomChannel(target, ::grpc::InsecureChannelCredentials(), arguments);
}

class FakePredictor final : public routing::Predictor {
 public:
  void Predict(routing::PredictCall call, routing::PredictDone done) override {
    if (throws_) throw std::bad_alloc();
    auto answer = Answer(call.request);
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    if (waits_) {
      waiting_.emplace(calls_.back().cancelled, [done = std::move(done)] { done(Fail(Code::kCancelled, "dropped")); });
    } else if (hold_) {
      held_.push_back(std::move(done));
    } else {
      done(std::move(answer));
    }
  }

  static Result<routing::PredictAnswer> Answer(const tensorflow::serving::PredictRequest& message) {
    return Answer(inference::Request::Parse(message).value());
  }
  static Result<routing::PredictAnswer> Answer(const inference::Request& request) {
    if (request.model_spec().name() != "digits")
      return NotFound("Servable not found for request: Latest({})", request.model_spec().name());
    ASSIGN_OR_RETURN(const auto inputs, request.ReadInputs(Budget().elements_max, tensor::kFilledBytesMaxForRequests));
    const tensor::Tensor& x = inputs.at("x");
    std::vector<float> doubled(x.values<float>().begin(), x.values<float>().end());
    for (float& value : doubled) value *= 2;
    routing::PredictAnswer answer;
    answer.model_spec.set_name("digits");
    answer.model_spec.set_signature_name("serving_default");
    answer.model_spec.mutable_version()->set_value(kVersion);
    answer.outputs["y"] = tensor::Tensor::Of<float>(x.shape(), doubled);
    return answer;
  }

  // From now on Predict throws std::bad_alloc.
  void ThrowBadAlloc() { throws_ = true; }

  void Hold() {
    std::lock_guard lock(mutex_);
    hold_ = true;
  }
  // From now on, the next call is only answered when its client no longer waits, as by a queue.
  void WaitForCancellation() { waits_ = true; }
  std::vector<routing::PredictDone> TakeHeld() {
    std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }
  routing::PredictCall last() const {
    std::lock_guard lock(mutex_);
    return calls_.back();
  }
  size_t calls() const {
    std::lock_guard lock(mutex_);
    return calls_.size();
  }

 private:
  mutable std::mutex mutex_;
  bool hold_ = false;
  std::atomic<bool> throws_ = false;
  std::vector<routing::PredictCall> calls_;
  std::vector<routing::PredictDone> held_;
  std::atomic<bool> waits_ = false;
  std::optional<std::stop_callback<std::function<void()>>> waiting_;
};

class FakeModel final : public engine::LoadedModel {
 public:
  FakeModel() {
    auto& signature = signatures_["serving_default"];
    auto& x = (*signature.mutable_inputs())["x"];
    x.set_dtype(tensorflow::DT_FLOAT);
    x.mutable_tensor_shape()->add_dim()->set_size(-1);
    (*signature.mutable_outputs())["y"].set_dtype(tensorflow::DT_FLOAT);
    signature.set_method_name("tensorflow/serving/predict");
  }
  const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const override {
    return signatures_;
  }
  void Run(engine::RunRequest, engine::RunDone) override {}
  int64_t memory_bytes() const override { return 0; }

 private:
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
};

class FakeCatalog final : public Catalog {
 public:
  Result<Described> Describe(const tensorflow::serving::ModelSpec& spec) const override {
    if (spec.name() != "digits") return NotFound("Servable not found for request: Latest({})", spec.name());
    if (spec.has_version() && spec.version().value() != kVersion) {
      return NotFound("Servable not found for request: Specific({}, {})", spec.name(), spec.version().value());
    }
    if (spec.has_version_label() && spec.version_label() != "canary")
      return NotFound("Unrecognized servable version label: {}", spec.version_label());
    return Described{.version = kVersion, .signatures = {loaded_, &loaded_->signatures()}};
  }
  // As in a fleet in which other nodes hold all other versions.
  Result<Described> DescribeSimilar(const tensorflow::serving::ModelSpec& spec) const override {
    tensorflow::serving::ModelSpec any;
    any.set_name(spec.name());
    return Describe(any);
  }
  Result<std::vector<models::VersionStatus>> Versions(const std::string& model) const override {
    if (model != "digits") return NotFound("Could not find any versions of model {}", model);
    models::VersionStatus broken;
    broken.version = 4;
    broken.state = models::State::kFailed;
    broken.error = {Code::kDataLoss, "no saved_model.pb"};
    models::VersionStatus good;
    good.version = kVersion;
    good.state = models::State::kAvailable;
    return std::vector{broken, good};
  }

 private:
  std::shared_ptr<engine::LoadedModel> loaded_ = std::make_shared<FakeModel>();
};

// Sends one request on a new connection, and returns the whole answer with its headers.
inline std::string Fetch(int port, const std::string& method, const std::string& target, const std::string& body = "",
                         const std::string& headers = "") {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "refused";
  const std::string request = method + " " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + headers +
                              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, 0)) > 0;) answer.append(bytes, static_cast<size_t>(got));
  close(fd);
  return answer;
}

}  // namespace longshore::frontend
