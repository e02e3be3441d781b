#include <grpcpp/grpcpp.h>

#include <thread>

#include "tensorflow_serving/services.grpc.pb.h"
#include "tests/bench/echo.h"

namespace longshore::bench {
namespace {

using tensorflow::serving::PredictionService;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;

void Answer(const PredictRequest& request, PredictResponse* response) {
  *response->mutable_model_spec() = request.model_spec();
  *response->mutable_outputs() = request.inputs();
}

std::unique_ptr<grpc::Server> Listen(grpc::Service& service,
                                     const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                     grpc::ServerBuilder& builder, int* port) {
  builder.AddListeningPort("127.0.0.1:0", credentials, port);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

class CallbackService final : public PredictionService::CallbackService {
  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context, const PredictRequest* request,
                                    PredictResponse* response) override {
    Answer(*request, response);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class CallbackEcho final : public Echo {
 public:
  explicit CallbackEcho(std::shared_ptr<grpc::ServerCredentials> credentials) : credentials_(std::move(credentials)) {
    grpc::ServerBuilder builder;
    server_ = Listen(service_, credentials_, builder, &port_);
  }
  ~CallbackEcho() override { server_->Shutdown(std::chrono::system_clock::now()); }
  int port() const override { return port_; }

 private:
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  CallbackService service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

class QueueEcho final : public Echo {
 public:
  QueueEcho() {
    grpc::ServerBuilder builder;
    queue_ = builder.AddCompletionQueue();
    server_ = Listen(service_, grpc::InsecureServerCredentials(), builder, &port_);
    for (int i = 0; i < kCallsWaiting; ++i) (new Call(service_, *queue_))->Wait();
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
    Call(PredictionService::AsyncService& service, grpc::ServerCompletionQueue& queue)
        : service_(service), queue_(queue) {}

    void Wait() { service_.RequestPredict(&context_, &request_, &writer_, &queue_, &queue_, this); }

    void Proceed(bool ok) {
      if (!ok || answered_) {
        if (ok) (new Call(service_, queue_))->Wait();
        delete this;
        return;
      }
      answered_ = true;
      PredictResponse response;
      Answer(request_, &response);
      writer_.Finish(response, grpc::Status::OK, this);
    }

   private:
    PredictionService::AsyncService& service_;
    grpc::ServerCompletionQueue& queue_;
    grpc::ServerContext context_;
    PredictRequest request_;
    grpc::ServerAsyncResponseWriter<PredictResponse> writer_{&context_};
    bool answered_ = false;
  };

  void Serve() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<Call*>(tag)->Proceed(ok);
  }

  PredictionService::AsyncService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Echo> StartCallbackEcho(std::shared_ptr<grpc::ServerCredentials> credentials) {
  return std::make_unique<CallbackEcho>(std::move(credentials));
}
std::unique_ptr<Echo> StartQueueEcho() { return std::make_unique<QueueEcho>(); }

}  // namespace longshore::bench
