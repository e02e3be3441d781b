// The REST API of the Open Inference Protocol, with Triton's extensions.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/oip/methods.h"
#include "serving-node/frontend/oip/route.h"
#include "serving-node/frontend/rest_reply.h"
#include "serving-node/frontend/rest_server.h"

namespace longshore::frontend::oip {

// Must be owned by a shared_ptr, because a request may outlive its server.
class Rest final : public RestApi, public std::enable_shared_from_this<Rest> {
 public:
  struct Options {
    std::chrono::milliseconds timeout{30000};  // The maximum time of a request.
    const RequestMeter* meter = nullptr;       // Null: requests are not counted.
    InFlight* in_flight = nullptr;             // Limits the predictions in flight. Null: no limit.
    bool cors = false;                         // Pages of other origins may change the node.
  };
  // `methods` must outlive this object.
  Rest(const Methods& methods, Options options) : methods_(methods), options_(options) {}

  bool Owns(std::string_view target) const override { return IsOipTarget(target); }
  std::string BodyHeader() const override;
  auth::Scope ScopeOf(std::string_view method, std::string_view target) const override;
  void Handle(http::Request request, http::Responder respond) override;

 private:
  void Infer(http::Request request, const Route& route, const http::Responder& respond);
  void Run(http::Request request, const Route& route, const Reply& reply);
  // Runs a request whose body is the only input of the model, without JSON.
  void RunRaw(http::Request request, const Route& route, const Reply& reply);
  // Runs a request after its body is read.
  void Send(codec::InferRequest infer, http::Request request, const Reply& reply) const;
  void AnswerModel(const Route& route, const http::Responder& respond) const;
  void AnswerRepository(const http::Request& request, const Route& route, const http::Responder& respond) const;
  Methods::TimePoint Deadline() const { return std::chrono::steady_clock::now() + options_.timeout; }

  const Methods& methods_;
  const Options options_;
};

}  // namespace longshore::frontend::oip
