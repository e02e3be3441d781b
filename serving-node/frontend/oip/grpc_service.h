// The gRPC service of the Open Inference Protocol.
#pragma once

#include <string>

#include "common/net/grpc/answer_deadlines.h"
#include "inference/service.grpc.pb.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/oip/grpc_stream.h"
#include "serving-node/frontend/oip/methods.h"

namespace longshore::frontend::oip {

// The inference methods receive raw bytes, so that an overloaded node rejects a request before it is parsed.
using Oip = ::inference::GRPCInferenceService;
using GrpcServiceBase = Oip::WithRawCallbackMethod_ModelInfer<
    Oip::WithRawCallbackMethod_ModelStreamInfer<Oip::WithCallbackMethod_ServerLive<Oip::WithCallbackMethod_ServerReady<
        Oip::WithCallbackMethod_ModelReady<Oip::WithCallbackMethod_ServerMetadata<Oip::WithCallbackMethod_ModelMetadata<
            Oip::WithCallbackMethod_ModelConfig<Oip::WithCallbackMethod_ModelStatistics<
                Oip::WithCallbackMethod_RepositoryIndex<Oip::WithCallbackMethod_RepositoryModelLoad<
                    Oip::WithCallbackMethod_RepositoryModelUnload<Oip::WithCallbackMethod_SystemSharedMemoryStatus<
                        Oip::WithCallbackMethod_SystemSharedMemoryRegister<
                            Oip::WithCallbackMethod_SystemSharedMemoryUnregister<
                                Oip::WithCallbackMethod_CudaSharedMemoryStatus<
                                    Oip::WithCallbackMethod_CudaSharedMemoryRegister<
                                        Oip::WithCallbackMethod_CudaSharedMemoryUnregister<
                                            Oip::WithCallbackMethod_TraceSetting<
                                                Oip::WithCallbackMethod_LogSettings<Oip::Service>>>>>>>>>>>>>>>>>>>>;

class GrpcService final : public GrpcServiceBase {
 public:
  struct Options {
    std::string node;                     // "": answers have neither x-longshore-node nor x-longshore-version.
    const RequestMeter* meter = nullptr;  // Null: requests are not counted.
    InFlight* in_flight = nullptr;        // Limits the predictions in flight. Null: no limit.
    rpc::AnswerTime answer_time = {};     // A call ends if its client does not read the answer within this time.
  };
  // `methods` must outlive the service.
  GrpcService(const Methods& methods, Options options)
      : methods_(methods), options_(std::move(options)), deadlines_(options_.answer_time) {}

  // Ends each stream after its current answer, at once if it has none, and all later ones: the server is draining.
  void EndStreams() { streams_.End(); }

  using Context = ::grpc::CallbackServerContext;
  using Reactor = ::grpc::ServerUnaryReactor;

  Reactor* ServerLive(Context* context, const ::inference::ServerLiveRequest* request,
                      ::inference::ServerLiveResponse* response) override;
  Reactor* ServerReady(Context* context, const ::inference::ServerReadyRequest* request,
                       ::inference::ServerReadyResponse* response) override;
  Reactor* ModelReady(Context* context, const ::inference::ModelReadyRequest* request,
                      ::inference::ModelReadyResponse* response) override;
  Reactor* ServerMetadata(Context* context, const ::inference::ServerMetadataRequest* request,
                          ::inference::ServerMetadataResponse* response) override;
  Reactor* ModelMetadata(Context* context, const ::inference::ModelMetadataRequest* request,
                         ::inference::ModelMetadataResponse* response) override;
  Reactor* ModelInfer(Context* context, const ::grpc::ByteBuffer* request, ::grpc::ByteBuffer* response) override;
  // Answers the requests of a stream one after the other.
  ::grpc::ServerBidiReactor<::grpc::ByteBuffer, ::grpc::ByteBuffer>* ModelStreamInfer(Context* context) override;
  Reactor* ModelConfig(Context* context, const ::inference::ModelConfigRequest* request,
                       ::inference::ModelConfigResponse* response) override;
  Reactor* ModelStatistics(Context* context, const ::inference::ModelStatisticsRequest* request,
                           ::inference::ModelStatisticsResponse* response) override;
  Reactor* RepositoryIndex(Context* context, const ::inference::RepositoryIndexRequest* request,
                           ::inference::RepositoryIndexResponse* response) override;
  Reactor* RepositoryModelLoad(Context* context, const ::inference::RepositoryModelLoadRequest* request,
                               ::inference::RepositoryModelLoadResponse* response) override;
  Reactor* RepositoryModelUnload(Context* context, const ::inference::RepositoryModelUnloadRequest* request,
                                 ::inference::RepositoryModelUnloadResponse* response) override;
  Reactor* SystemSharedMemoryStatus(Context* context, const ::inference::SystemSharedMemoryStatusRequest* request,
                                    ::inference::SystemSharedMemoryStatusResponse* response) override;
  Reactor* SystemSharedMemoryRegister(Context* context, const ::inference::SystemSharedMemoryRegisterRequest* request,
                                      ::inference::SystemSharedMemoryRegisterResponse* response) override;
  Reactor* SystemSharedMemoryUnregister(Context* context,
                                        const ::inference::SystemSharedMemoryUnregisterRequest* request,
                                        ::inference::SystemSharedMemoryUnregisterResponse* response) override;
  Reactor* CudaSharedMemoryStatus(Context* context, const ::inference::CudaSharedMemoryStatusRequest* request,
                                  ::inference::CudaSharedMemoryStatusResponse* response) override;
  Reactor* CudaSharedMemoryRegister(Context* context, const ::inference::CudaSharedMemoryRegisterRequest* request,
                                    ::inference::CudaSharedMemoryRegisterResponse* response) override;
  Reactor* CudaSharedMemoryUnregister(Context* context, const ::inference::CudaSharedMemoryUnregisterRequest* request,
                                      ::inference::CudaSharedMemoryUnregisterResponse* response) override;
  Reactor* TraceSetting(Context* context, const ::inference::TraceSettingRequest* request,
                        ::inference::TraceSettingResponse* response) override;
  Reactor* LogSettings(Context* context, const ::inference::LogSettingsRequest* request,
                       ::inference::LogSettingsResponse* response) override;

 private:
  // Ends a call with the answer or with its error.
  template <typename Response>
  Reactor* Finish(Context* context, Result<Response> answer, Response* response);
  // Ends a call whose response is complete.
  Reactor* Finish(Context* context, const google::protobuf::MessageLite& response);
  // Metadata that all answers have.
  void Begin(Context* context) const;
  MeteredRequest Metered(const Context& context, std::string_view method) const;
  Result<InFlight::Slot> Enter(const Context& context) const;
  bool sends_version() const { return !options_.node.empty(); }

  const Methods& methods_;
  const Options options_;
  rpc::AnswerDeadlines deadlines_;
  Streams streams_;
};

}  // namespace longshore::frontend::oip
