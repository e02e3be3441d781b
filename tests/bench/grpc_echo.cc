#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>

#include "tensorflow_serving/services.grpc.pb.h"
#include "tests/bench/echo.h"

namespace longshore::bench {
namespace {

using tensorflow::serving::PredictionService;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;

PredictResponse MakeAnswer(int floats) {
  PredictResponse response;
  auto& tensor = (*response.mutable_outputs())["y"];
  tensor.set_dtype(tensorflow::DT_FLOAT);
  tensor.mutable_tensor_shape()->add_dim()->set_size(1);
  tensor.mutable_tensor_shape()->add_dim()->set_size(floats);
  tensor.mutable_tensor_content()->assign(static_cast<size_t>(floats) * sizeof(float), '\0');
  return response;
}

grpc::ByteBuffer Serialized(const PredictResponse& response) {
  const grpc::Slice bytes(response.SerializeAsString());
  return {&bytes, 1};
}

class Answers {
 public:
  explicit Answers(int floats)
      : floats_(floats), message_(MakeAnswer(std::max(1, floats))), bytes_(Serialized(message_)) {}

  void Write(const PredictRequest& request, PredictResponse* response) const {
    if (floats_ > 0) {
      *response = message_;
      return;
    }
    *response->mutable_model_spec() = request.model_spec();
    *response->mutable_outputs() = request.inputs();
  }
  // All answers share the same memory.
  void Write(const grpc::ByteBuffer&, grpc::ByteBuffer* response) const { *response = bytes_; }

 private:
  const int floats_;
  const PredictResponse message_;
  const grpc::ByteBuffer bytes_;
};

std::unique_ptr<grpc::Server> Listen(grpc::Service& service, grpc::ServerBuilder& builder, int* port) {
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), port);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

class CallbackService final : public PredictionService::CallbackService {
 public:
  explicit CallbackService(int answer_floats) : answers_(answer_floats) {}

 private:
  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context, const PredictRequest* request,
                                    PredictResponse* response) override {
    answers_.Write(*request, response);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const Answers answers_;
};

class CallbackEcho final : public Echo {
 public:
  explicit CallbackEcho(const GrpcEchoOptions& options) : service_(options.answer_floats) {
    grpc::ServerBuilder builder;
    server_ = Listen(service_, builder, &port_);
  }
  ~CallbackEcho() override { server_->Shutdown(std::chrono::system_clock::now()); }
  int port() const override { return port_; }

 private:
  CallbackService service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

// A service with RequestPredict for these messages.
template <typename Service, typename Request, typename Response>
class QueueEcho final : public Echo {
 public:
  explicit QueueEcho(const GrpcEchoOptions& options) : answers_(options.answer_floats) {
    grpc::ServerBuilder builder;
    queue_ = builder.AddCompletionQueue();
    server_ = Listen(service_, builder, &port_);
    for (int i = 0; i < kCallsWaiting; ++i) (new Call(*this))->Wait();
    thread_ = std::thread([this] { Serve(); });
  }
  ~QueueEcho() override {
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    thread_.join();
  }
  int port() const override { return port_; }

 private:
  static constexpr int kCallsWaiting = 100;

  // Waits for a request and answers it. Creates another Call for the next request, and then deletes itself.
  class Call {
   public:
    explicit Call(QueueEcho& echo) : echo_(echo) {}

    void Wait() {
      grpc::ServerCompletionQueue* queue = echo_.queue_.get();
      echo_.service_.RequestPredict(&context_, &request_, &writer_, queue, queue, this);
    }

    void Proceed(bool ok) {
      if (!ok || answered_) {
        if (ok) (new Call(echo_))->Wait();
        delete this;
        return;
      }
      answered_ = true;
      Response response;
      echo_.answers_.Write(request_, &response);
      writer_.Finish(response, grpc::Status::OK, this);
    }

   private:
    QueueEcho& echo_;
    grpc::ServerContext context_;
    Request request_;
    grpc::ServerAsyncResponseWriter<Response> writer_{&context_};
    bool answered_ = false;
  };

  void Serve() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<Call*>(tag)->Proceed(ok);
  }

  const Answers answers_;
  Service service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

using MessagesEcho = QueueEcho<PredictionService::AsyncService, PredictRequest, PredictResponse>;
using BytesEcho =
    QueueEcho<PredictionService::WithRawMethod_Predict<PredictionService::Service>, grpc::ByteBuffer, grpc::ByteBuffer>;

}  // namespace

std::unique_ptr<Echo> StartCallbackEcho(const GrpcEchoOptions& options) {
  return std::make_unique<CallbackEcho>(options);
}
std::unique_ptr<Echo> StartQueueEcho(const GrpcEchoOptions& options) { return std::make_unique<MessagesEcho>(options); }
std::unique_ptr<Echo> StartBytesEcho(const GrpcEchoOptions& options) { return std::make_unique<BytesEcho>(options); }

}  // namespace longshore::bench
