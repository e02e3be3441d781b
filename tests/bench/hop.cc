#include "tests/bench/hop.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <semaphore>
#include <vector>

#include "common/net/grpc_server/messages.h"
#include "common/net/grpc_server/server.h"
#include "common/net/tls/authority.h"
#include "serving-node/routing/forwarder.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::bench {
namespace {

using std::chrono::steady_clock;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;

constexpr int kRounds = 15;
constexpr auto kRound = std::chrono::milliseconds(200);
constexpr int kAtOnce = 32;
constexpr const char* kFleetName = "fleet.bench";

double MicrosecondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - start).count();
}

double ProcessorMicroseconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The client and the server of a hop.
class Hop {
 public:
  // The connection is in plain text if `identity` is null.
  Hop(std::shared_ptr<const identity::PeerIdentity> identity, std::string request)
      : identity_(std::move(identity)),
        request_(std::move(request)),
        server_(grpc_server::Start(ServerOptions(), EchoService()).value()) {
    Connect();
  }

  // Opens a new connection.
  void Connect() {
    routing::GrpcForwarderOptions options;
    if (identity_) options.identity = [this] { return identity_; };
    forwarder_ = routing::MakeGrpcForwarder(options);
  }

  // Makes one call and returns its latency in microseconds.
  double Call() {
    std::promise<bool> answered;
    const auto start = steady_clock::now();
    Send([&](bool ok) { answered.set_value(ok); });
    if (!answered.get_future().get()) failed_ = true;
    return MicrosecondsSince(start);
  }

  double OneAfterTheOther() {
    std::vector<double> times;
    for (const auto end = steady_clock::now() + kRound; steady_clock::now() < end;) times.push_back(Call());
    return Median(std::move(times));
  }

  // Keeps kAtOnce calls in flight. Returns the processor time per call in microseconds.
  double ManyAtOnce() {
    std::counting_semaphore<kAtOnce> room(kAtOnce);
    int calls = 0;
    const double before = ProcessorMicroseconds();
    for (const auto end = steady_clock::now() + kRound; steady_clock::now() < end; ++calls) {
      room.acquire();
      Send([&](bool ok) {
        if (!ok) failed_ = true;
        room.release();
      });
    }
    for (int i = 0; i < kAtOnce; ++i) room.acquire();
    return (ProcessorMicroseconds() - before) / calls;
  }

  bool failed() const { return failed_; }

 private:
  http2::Options ServerOptions() const {
    http2::Options options{.address = "127.0.0.1:0"};
    if (!identity_) return options;
    const tls::Identity shown{identity_->own.certificate, identity_->own.key, identity_->authorities, true};
    options.tls = tls::Identities::Start("hop", [shown] { return shown; }, {}).value();
    return options;
  }

  // The inputs come back as outputs.
  std::shared_ptr<const grpc_server::Service> EchoService() const {
    const auto service = std::make_shared<grpc_server::Service>();
    service->Add("/tensorflow.serving.PredictionService/Predict",
                 grpc_server::Unary<PredictRequest, PredictResponse>(
                     [](const PredictRequest& request) -> Result<PredictResponse> {
                       PredictResponse answer;
                       *answer.mutable_model_spec() = request.model_spec();
                       *answer.mutable_outputs() = request.inputs();
                       return answer;
                     }));
    if (!identity_) return service;
    service->gate = [](const grpc_server::CallHead& head) -> Status {
      if (head.HasDnsName(kFleetName)) return {};
      return InvalidArgument("another fleet");
    };
    return service;
  }

  void Send(std::function<void(bool ok)> done) {
    routing::ForwardCall call;
    call.target = "127.0.0.1:" + std::to_string(server_->port());
    call.serialized = request_;
    forwarder_->Forward(std::move(call), [done = std::move(done)](const auto& reply) { done(reply.has_value()); });
  }

  const std::shared_ptr<const identity::PeerIdentity> identity_;
  const Pieces request_;
  std::atomic<bool> failed_ = false;
  const std::unique_ptr<http2::Server> server_;
  std::unique_ptr<routing::Forwarder> forwarder_;
};

Result<std::shared_ptr<const identity::PeerIdentity>> MakeIdentity() {
  ASSIGN_OR_RETURN(const auto authority, tls::MakeAuthority("bench", std::chrono::hours(1)));
  ASSIGN_OR_RETURN(const auto own,
                   tls::Issue(authority, {.name = "node", .dns_names = {kFleetName}}, std::chrono::hours(1)));
  return std::make_shared<const identity::PeerIdentity>(
      identity::PeerIdentity{.own = own, .authorities = authority.certificate, .fleet_name = kFleetName});
}

std::string RequestOf(int floats) {
  PredictRequest request;
  request.mutable_model_spec()->set_name("digits");
  tensorflow::TensorProto& x = (*request.mutable_inputs())["x"];
  x.set_dtype(tensorflow::DT_FLOAT);
  x.mutable_tensor_shape()->add_dim()->set_size(floats);
  x.mutable_tensor_content()->assign(static_cast<size_t>(floats) * sizeof(float), '\x3f');
  return request.SerializeAsString();
}

}  // namespace

Result<HopCost> MeasureHop(int floats) {
  ASSIGN_OR_RETURN(const auto identity, MakeIdentity());
  Hop plain(nullptr, RequestOf(floats));
  Hop tls(identity, RequestOf(floats));
  std::vector<double> plain_us, tls_us, plain_cpu_us, tls_cpu_us, plain_connect_us, tls_connect_us;
  for (int round = 0; round < kRounds; ++round) {
    plain_us.push_back(plain.OneAfterTheOther());
    tls_us.push_back(tls.OneAfterTheOther());
    plain_cpu_us.push_back(plain.ManyAtOnce());
    tls_cpu_us.push_back(tls.ManyAtOnce());
    plain.Connect();
    plain_connect_us.push_back(plain.Call());
    tls.Connect();
    tls_connect_us.push_back(tls.Call());
  }
  if (plain.failed() || tls.failed()) return Internal("a call of the hop failed");
  return HopCost{.plain_us = Median(plain_us),
                 .tls_us = Median(tls_us),
                 .plain_cpu_us = Median(plain_cpu_us),
                 .tls_cpu_us = Median(tls_cpu_us),
                 .plain_connect_ms = Median(plain_connect_us) / 1000,
                 .tls_connect_ms = Median(tls_connect_us) / 1000};
}

}  // namespace longshore::bench
