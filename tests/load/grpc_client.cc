#include "tests/load/grpc_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::load {
namespace {

using tensorflow::serving::PredictionService;
using tensorflow::serving::PredictResponse;

std::string MetadataValue(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata, const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

// Returns the value of a header, which a node may send as initial or as trailing metadata; "" if it is missing.
std::string Header(const grpc::ClientContext& context, const char* name) {
  const std::string early = MetadataValue(context.GetServerInitialMetadata(), name);
  return early.empty() ? MetadataValue(context.GetServerTrailingMetadata(), name) : early;
}

int64_t ParseVersion(const std::string& text) {
  int64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

struct Call {
  std::unique_ptr<PredictionService::Stub> stub;  // The stub of the request's own connection; null if it has none.
  grpc::ClientContext context;
  PredictResponse response;
  ReplyDone done;
};

Reply MakeReply(const Call& call, const grpc::Status& status) {
  Reply reply;
  reply.node = Header(call.context, "x-longshore-node");
  if (!status.ok()) {
    reply.code = static_cast<Code>(status.error_code());
    reply.message = status.error_message();
    reply.connection_died = IsConnectionDeath(status);
    return reply;
  }
  reply.version = call.response.model_spec().version().value();
  const std::string header = Header(call.context, "x-longshore-version");
  reply.version_disputed = !header.empty() && ParseVersion(header) != reply.version;
  reply.non_finite = HasNonFinite(call.response);
  return reply;
}

class GrpcClient final : public Client {
 public:
  GrpcClient(const GrpcOptions& options, const Samples& samples) : options_(options), samples_(samples) {
    for (int i = 0; i < options.connections && !options.fresh; ++i) stubs_.push_back(Connect());
  }

  ~GrpcClient() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return under_way_ == 0; });
  }

  void Send(const Ask& ask, ReplyDone done) override {
    auto* call = new Call;
    call->done = std::move(done);
    call->context.set_deadline(std::chrono::system_clock::now() + options_.deadline);
    if (ask.key) call->context.AddMetadata("x-user-id", KeyName(*ask.key));
    std::vector<std::unique_ptr<PredictionService::Stub>> spent;
    {
      const std::lock_guard lock(mutex_);
      under_way_ += 1;
      spent.swap(spent_);
    }
    if (options_.fresh) call->stub = Connect();
    auto& stub = options_.fresh ? call->stub : stubs_[turn_.fetch_add(1, std::memory_order_relaxed) % stubs_.size()];
    stub->async()->Predict(&call->context, &samples_.grpc[ask.sample], &call->response,
                           [this, call](const grpc::Status& status) { Finish(std::unique_ptr<Call>(call), status); });
  }

 private:
  std::unique_ptr<PredictionService::Stub> Connect() const {
    grpc::ChannelArguments arguments;
    // Without its own pool a channel shares the connection of other channels to the same address.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    // gRPC resends requests that no server has started. A request with its own connection must succeed without that.
    if (options_.fresh) arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    return PredictionService::NewStub(
        grpc::CreateCustomChannel(options_.target, grpc::InsecureChannelCredentials(), arguments));
  }

  void Finish(std::unique_ptr<Call> call, const grpc::Status& status) {
    call->done(MakeReply(*call, status));
    auto stub = std::move(call->stub);
    // Keeps the stub: otherwise destroying the call could destroy the last channel, and gRPC would then join this
    // thread from itself.
    call.reset();
    const std::lock_guard lock(mutex_);
    if (stub) spent_.push_back(std::move(stub));
    under_way_ -= 1;
    if (under_way_ == 0) idle_.notify_all();
  }

  const GrpcOptions options_;
  const Samples& samples_;
  std::vector<std::unique_ptr<PredictionService::Stub>> stubs_;
  std::atomic<size_t> turn_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
  int64_t under_way_ = 0;
  // The stubs of own connections whose request was answered; the thread that calls Send next destroys them.
  std::vector<std::unique_ptr<PredictionService::Stub>> spent_;
};

}  // namespace

bool IsConnectionDeath(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
  static constexpr std::array<const char*, 10> kWords = {
      "Socket closed",    "Connection reset", "Broken pipe",        "failed to connect", "GOAWAY",
      "Transport closed", "Endpoint closing", "Connection refused", "recvmsg",           "keepalive watchdog"};
  const std::string& text = status.error_message();
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

bool HasNonFinite(const PredictResponse& response) {
  for (const auto& [name, tensor] : response.outputs()) {
    for (const float value : tensor.float_val()) {
      if (!std::isfinite(value)) return true;
    }
    if (tensor.dtype() != tensorflow::DT_FLOAT) continue;
    const std::string& bytes = tensor.tensor_content();
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, bytes.data() + at, sizeof(float));
      if (!std::isfinite(value)) return true;
    }
  }
  return false;
}

std::unique_ptr<Client> MakeGrpcClient(const GrpcOptions& options, const Samples& samples) {
  return std::make_unique<GrpcClient>(options, samples);
}

}  // namespace longshore::load
