#include "serving-node/frontend/oip/grpc_service.h"

#include <memory>
#include <new>
#include <utility>

#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/frontend/oip/grpc_stream.h"
#include "serving-node/frontend/oip/settings.h"

namespace longshore::frontend::oip {
namespace {

using ::grpc::ByteBuffer;
using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;

// Converts the end of a Load or an Unload to an answer without content.
template <typename Response>
Repository::Done Emptied(std::function<void(Result<Response>)> done) {
  return [done = std::move(done)](const Status& status) {
    done(status ? Result<Response>(Response()) : tl::make_unexpected(status.error()));
  };
}

}  // namespace

template <typename Response>
ServerUnaryReactor* GrpcService::Finish(Context* context, Result<Response> answer, Response* response) {
  if (!answer) return Refuse(context, deadlines_, tl::make_unexpected(answer.error()));
  *response = std::move(*answer);
  return Finish(context, *response);
}

GrpcService::Reactor* GrpcService::Finish(Context* context, const google::protobuf::MessageLite& response) {
  return rpc::FinishCall(context, deadlines_, ::grpc::Status::OK, response.ByteSizeLong());
}

void GrpcService::Begin(Context* context) const {
  if (!options_.node.empty()) context->AddInitialMetadata(kNodeHeader, options_.node);
}

MeteredRequest GrpcService::Metered(const Context& context, std::string_view method) const {
  if (options_.meter == nullptr) return {};
  return options_.meter->Begin(routing::Api::kPredict, routing::Protocol::kOipGrpc, "",
                               {.service = "inference.GRPCInferenceService", .method = method},
                               [&context] { return ParentOf(context); });
}

Result<InFlight::Slot> GrpcService::Enter(const Context& context) const {
  if (options_.in_flight == nullptr) return InFlight::Slot();
  return options_.in_flight->Enter(ConnectionOf(context, routing::Protocol::kOipGrpc));
}

ServerUnaryReactor* GrpcService::ModelInfer(Context* context, const ByteBuffer* request, ByteBuffer* response) {
  Begin(context);
  MeteredRequest metered = Metered(*context, "ModelInfer");
  auto slot = Enter(*context);
  if (!slot) return Refuse(context, deadlines_, metered, slot.error());
  Asked asked;
  auto decoded = Decode(*request, methods_.elements_max(), &metered, &asked);
  if (!decoded) {
    metered.End(decoded.error().code, {});
    return Refuse(context, deadlines_, tl::make_unexpected(decoded.error()));
  }
  CallInfo info = InfoOf(*context, metered);
  auto* reactor = new frontend::Reactor<ByteBuffer>(context, response, deadlines_, sends_version(), std::move(metered),
                                                    std::move(*slot));
  info.cancelled = reactor->cancelled();
  const auto done = reactor->Done<Encoded>();
  try {
    methods_.Infer(std::move(*decoded), std::move(info), [done](Result<Answered> answer) {
      FinishEncoded(std::move(answer), done, [](Answered each) {
        return Encoded{std::move(each.model_spec), ToByteBuffer(codec::ToProto(each.answer))};
      });
    });
  } catch (const std::bad_alloc&) {
    done(OutOfMemory());
  }
  return reactor;
}

::grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* GrpcService::ModelStreamInfer(Context* context) {
  Begin(context);
  return streams_.Open({.context = context,
                        .methods = methods_,
                        .deadlines = deadlines_,
                        .meter = [this, context] { return Metered(*context, "ModelStreamInfer"); },
                        .enter = [this, context] { return Enter(*context); }});
}

ServerUnaryReactor* GrpcService::ServerLive(Context* context, const ::inference::ServerLiveRequest*,
                                            ::inference::ServerLiveResponse* response) {
  response->set_live(true);
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::ServerReady(Context* context, const ::inference::ServerReadyRequest*,
                                             ::inference::ServerReadyResponse* response) {
  response->set_ready(methods_.ServerReady());
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::ModelReady(Context* context, const ::inference::ModelReadyRequest* request,
                                            ::inference::ModelReadyResponse* response) {
  auto* reactor = new frontend::Reactor<::inference::ModelReadyResponse>(context, response, deadlines_, false);
  methods_.ModelReady({request->name(), request->version()}, SteadyDeadline(*context),
                      [done = reactor->Done<::inference::ModelReadyResponse>()](const Result<bool>& ready) {
                        if (!ready) return done(tl::make_unexpected(ready.error()));
                        ::inference::ModelReadyResponse answer;
                        answer.set_ready(*ready);
                        done(std::move(answer));
                      });
  return reactor;
}

ServerUnaryReactor* GrpcService::ServerMetadata(Context* context, const ::inference::ServerMetadataRequest*,
                                                ::inference::ServerMetadataResponse* response) {
  *response = methods_.ServerMetadata();
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::ModelMetadata(Context* context, const ::inference::ModelMetadataRequest* request,
                                               ::inference::ModelMetadataResponse* response) {
  auto* reactor = new frontend::Reactor<::inference::ModelMetadataResponse>(context, response, deadlines_, false);
  methods_.ModelMetadata({request->name(), request->version()}, SteadyDeadline(*context),
                         reactor->Done<::inference::ModelMetadataResponse>());
  return reactor;
}

ServerUnaryReactor* GrpcService::ModelConfig(Context* context, const ::inference::ModelConfigRequest* request,
                                             ::inference::ModelConfigResponse* response) {
  auto* reactor = new frontend::Reactor<::inference::ModelConfigResponse>(context, response, deadlines_, false);
  methods_.ModelConfig(
      {request->name(), request->version()}, SteadyDeadline(*context),
      [done = reactor->Done<::inference::ModelConfigResponse>()](Result<::inference::ModelConfig> config) {
        if (!config) return done(tl::make_unexpected(config.error()));
        ::inference::ModelConfigResponse answer;
        *answer.mutable_config() = std::move(*config);
        done(std::move(answer));
      });
  return reactor;
}

ServerUnaryReactor* GrpcService::ModelStatistics(Context* context, const ::inference::ModelStatisticsRequest* request,
                                                 ::inference::ModelStatisticsResponse* response) {
  return Finish(context, methods_.Statistics({request->name(), request->version()}), response);
}

ServerUnaryReactor* GrpcService::RepositoryIndex(Context* context, const ::inference::RepositoryIndexRequest* request,
                                                 ::inference::RepositoryIndexResponse* response) {
  return Finish(context, methods_.Index(*request), response);
}

ServerUnaryReactor* GrpcService::RepositoryModelLoad(Context* context,
                                                     const ::inference::RepositoryModelLoadRequest* request,
                                                     ::inference::RepositoryModelLoadResponse* response) {
  using Answer = ::inference::RepositoryModelLoadResponse;
  auto* reactor = new frontend::Reactor<Answer>(context, response, deadlines_, false);
  methods_.Load(*request, SteadyDeadline(*context), Emptied<Answer>(reactor->Done<Answer>()));
  return reactor;
}

ServerUnaryReactor* GrpcService::RepositoryModelUnload(Context* context,
                                                       const ::inference::RepositoryModelUnloadRequest* request,
                                                       ::inference::RepositoryModelUnloadResponse* response) {
  using Answer = ::inference::RepositoryModelUnloadResponse;
  auto* reactor = new frontend::Reactor<Answer>(context, response, deadlines_, false);
  methods_.Unload(*request, Emptied<Answer>(reactor->Done<Answer>()));
  return reactor;
}

// No region can be registered, so the lists of regions are empty, and there is nothing to unregister.
ServerUnaryReactor* GrpcService::SystemSharedMemoryStatus(Context* context,
                                                          const ::inference::SystemSharedMemoryStatusRequest*,
                                                          ::inference::SystemSharedMemoryStatusResponse* response) {
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::SystemSharedMemoryRegister(Context* context,
                                                            const ::inference::SystemSharedMemoryRegisterRequest*,
                                                            ::inference::SystemSharedMemoryRegisterResponse*) {
  return Refuse(context, deadlines_, tl::make_unexpected(Methods::NoRegions()));
}

ServerUnaryReactor* GrpcService::SystemSharedMemoryUnregister(
    Context* context, const ::inference::SystemSharedMemoryUnregisterRequest*,
    ::inference::SystemSharedMemoryUnregisterResponse* response) {
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::CudaSharedMemoryStatus(Context* context,
                                                        const ::inference::CudaSharedMemoryStatusRequest*,
                                                        ::inference::CudaSharedMemoryStatusResponse* response) {
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::CudaSharedMemoryRegister(Context* context,
                                                          const ::inference::CudaSharedMemoryRegisterRequest*,
                                                          ::inference::CudaSharedMemoryRegisterResponse*) {
  return Refuse(context, deadlines_, tl::make_unexpected(Methods::NoRegions()));
}

ServerUnaryReactor* GrpcService::CudaSharedMemoryUnregister(Context* context,
                                                            const ::inference::CudaSharedMemoryUnregisterRequest*,
                                                            ::inference::CudaSharedMemoryUnregisterResponse* response) {
  return Finish(context, *response);
}

ServerUnaryReactor* GrpcService::TraceSetting(Context* context, const ::inference::TraceSettingRequest* request,
                                              ::inference::TraceSettingResponse* response) {
  return Finish(context, TraceSettings(*request), response);
}

ServerUnaryReactor* GrpcService::LogSettings(Context* context, const ::inference::LogSettingsRequest* request,
                                             ::inference::LogSettingsResponse* response) {
  return Finish(context, methods_.LogSettings(*request), response);
}

}  // namespace longshore::frontend::oip
