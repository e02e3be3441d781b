#include "serving-node/frontend/oip/grpc_service.h"

#include <memory>
#include <utility>

#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/frontend/oip/settings.h"

namespace longshore::frontend::oip {
namespace {

using grpc_server::Done;
using grpc_server::Service;
using grpc_server::Unary;

constexpr std::string_view kPrefix = "/inference.GRPCInferenceService/";

std::string Path(std::string_view method) { return std::string(kPrefix) + std::string(method); }

CallOptions OfOip(CallOptions options) {
  options.protocol = routing::Protocol::kOipGrpc;
  return options;
}

// Converts the end of a Load or an Unload to an answer without content.
template <typename Response>
Repository::Done Emptied(Done<Response> done) {
  return [done = std::move(done)](const Status& status) {
    done(status ? Result<Response>(Response()) : tl::make_unexpected(status.error()));
  };
}

// No region can be registered, so the lists of regions are empty, and there is nothing to unregister.
template <typename Request, typename Response>
grpc_server::Method Empty() {
  return Unary<Request, Response>([](const Request&) -> Result<Response> { return Response(); });
}
template <typename Request, typename Response>
grpc_server::Method NoRegions() {
  return Unary<Request, Response>(
      [](const Request&) -> Result<Response> { return tl::make_unexpected(Methods::NoRegions()); });
}

void AddSharedMemory(Service& service) {
  using namespace ::inference;
  service.Add(Path("SystemSharedMemoryStatus"),
              Empty<SystemSharedMemoryStatusRequest, SystemSharedMemoryStatusResponse>());
  service.Add(Path("SystemSharedMemoryRegister"),
              NoRegions<SystemSharedMemoryRegisterRequest, SystemSharedMemoryRegisterResponse>());
  service.Add(Path("SystemSharedMemoryUnregister"),
              Empty<SystemSharedMemoryUnregisterRequest, SystemSharedMemoryUnregisterResponse>());
  service.Add(Path("CudaSharedMemoryStatus"), Empty<CudaSharedMemoryStatusRequest, CudaSharedMemoryStatusResponse>());
  service.Add(Path("CudaSharedMemoryRegister"),
              NoRegions<CudaSharedMemoryRegisterRequest, CudaSharedMemoryRegisterResponse>());
  service.Add(Path("CudaSharedMemoryUnregister"),
              Empty<CudaSharedMemoryUnregisterRequest, CudaSharedMemoryUnregisterResponse>());
}

}  // namespace

GrpcService::GrpcService(const Methods& methods, CallOptions options)
    : methods_(methods), options_(OfOip(std::move(options))), streams_(methods_, options_) {}

void GrpcService::ModelInfer(const std::shared_ptr<Prediction>& prediction) const {
  Asked asked;
  auto decoded = Decode(prediction->TakeRequest(), methods_.elements_max(), &prediction->metered(), &asked);
  if (!decoded) return prediction->Fail(decoded.error());
  methods_.Infer(std::move(*decoded), prediction->Info(), [prediction](Result<Answered> answer) {
    prediction->Finish(std::move(answer), [](Answered each) {
      return Encoded{std::move(each.model_spec), grpc_server::ToPieces(codec::ToProto(each.answer))};
    });
  });
}

void GrpcService::AddModels(Service& service) const {
  using namespace ::inference;
  service.Add(Path("ModelReady"),
              Query<ModelReadyRequest, ModelReadyResponse>(
                  [this](const CallPtr& call, const ModelReadyRequest& request, Done<ModelReadyResponse> done) {
                    methods_.ModelReady({request.name(), request.version()}, call->deadline(),
                                        [done = std::move(done)](const Result<bool>& ready) {
                                          if (!ready) return done(tl::make_unexpected(ready.error()));
                                          ModelReadyResponse answer;
                                          answer.set_ready(*ready);
                                          done(std::move(answer));
                                        });
                  }));
  service.Add(
      Path("ModelMetadata"),
      Query<ModelMetadataRequest, ModelMetadataResponse>(
          [this](const CallPtr& call, const ModelMetadataRequest& request, const Done<ModelMetadataResponse>& done) {
            methods_.ModelMetadata({request.name(), request.version()}, call->deadline(), done);
          }));
  service.Add(Path("ModelConfig"),
              Query<ModelConfigRequest, ModelConfigResponse>(
                  [this](const CallPtr& call, const ModelConfigRequest& request, Done<ModelConfigResponse> done) {
                    methods_.ModelConfig({request.name(), request.version()}, call->deadline(),
                                         [done = std::move(done)](Result<::inference::ModelConfig> config) {
                                           if (!config) return done(tl::make_unexpected(config.error()));
                                           ModelConfigResponse answer;
                                           *answer.mutable_config() = std::move(*config);
                                           done(std::move(answer));
                                         });
                  }));
  service.Add(Path("ModelStatistics"),
              Unary<ModelStatisticsRequest, ModelStatisticsResponse>([this](const ModelStatisticsRequest& request) {
                return methods_.Statistics({request.name(), request.version()});
              }));
}

void GrpcService::AddRepository(Service& service) const {
  using namespace ::inference;
  service.Add(Path("RepositoryIndex"), Unary<RepositoryIndexRequest, RepositoryIndexResponse>(
                                           [this](const auto& request) { return methods_.Index(request); }));
  service.Add(Path("RepositoryModelLoad"), Query<RepositoryModelLoadRequest, RepositoryModelLoadResponse>(
                                               [this](const CallPtr& call, const RepositoryModelLoadRequest& request,
                                                      Done<RepositoryModelLoadResponse> done) {
                                                 methods_.Load(request, call->deadline(), Emptied(std::move(done)));
                                               }));
  service.Add(Path("RepositoryModelUnload"), Query<RepositoryModelUnloadRequest, RepositoryModelUnloadResponse>(
                                                 [this](const CallPtr&, const RepositoryModelUnloadRequest& request,
                                                        Done<RepositoryModelUnloadResponse> done) {
                                                   methods_.Unload(request, Emptied(std::move(done)));
                                                 }));
}

void GrpcService::AddServer(Service& service) const {
  using namespace ::inference;
  service.Add(Path("ServerLive"),
              Unary<ServerLiveRequest, ServerLiveResponse>([](const ServerLiveRequest&) -> Result<ServerLiveResponse> {
                ServerLiveResponse answer;
                answer.set_live(true);
                return answer;
              }));
  service.Add(Path("ServerReady"), Unary<ServerReadyRequest, ServerReadyResponse>(
                                       [this](const ServerReadyRequest&) -> Result<ServerReadyResponse> {
                                         ServerReadyResponse answer;
                                         answer.set_ready(methods_.ServerReady());
                                         return answer;
                                       }));
  service.Add(Path("ServerMetadata"), Unary<ServerMetadataRequest, ServerMetadataResponse>(
                                          [this](const ServerMetadataRequest&) -> Result<ServerMetadataResponse> {
                                            return methods_.ServerMetadata();
                                          }));
  service.Add(Path("TraceSetting"), Unary<TraceSettingRequest, TraceSettingResponse>(
                                        [](const TraceSettingRequest& request) { return TraceSettings(request); }));
  service.Add(Path("LogSettings"), Unary<LogSettingsRequest, LogSettingsResponse>(
                                       [this](const auto& request) { return methods_.LogSettings(request); }));
}

void GrpcService::AddTo(Service& service) {
  service.Add(Path("ModelInfer"),
              Predicting(options_, routing::Api::kPredict,
                         [this](const std::shared_ptr<Prediction>& prediction) { ModelInfer(prediction); }));
  service.Add(Path("ModelStreamInfer"), {.kind = grpc_server::Method::Kind::kStreaming,
                                         .handler = [this](const CallPtr& call) { streams_.Open(call); }});
  AddModels(service);
  AddRepository(service);
  AddServer(service);
  AddSharedMemory(service);
}

}  // namespace longshore::frontend::oip
