#include "serving-node/tracing/trace.h"

#include <fmt/format.h>

#include <new>
#include <random>

namespace longshore::tracing {
namespace {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

// The flags of OTLP: those of traceparent, and SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK. The second is set if it is known
// whether the parent is in another process, the third if it is.
constexpr uint32_t kSampled = 1;
constexpr uint32_t kKnowsParent = 0x100;
constexpr uint32_t kParentIsRemote = 0x200;
constexpr int kServerErrorMin = 500;

bool IsHttp(const ServerCall& call) { return call.service.empty(); }

std::string NameOf(const ServerCall& call) {
  return IsHttp(call) ? fmt::format("{} {}", call.method, call.route) : fmt::format("{}/{}", call.service, call.method);
}

void DescribeRpc(std::string_view service, std::string_view method, Code code, Span* span) {
  AddText("rpc.system", "grpc", span->mutable_attributes());
  AddText("rpc.service", service, span->mutable_attributes());
  AddText("rpc.method", method, span->mutable_attributes());
  AddNumber("rpc.grpc.status_code", static_cast<int>(code), span->mutable_attributes());
}

void DescribeServer(const ServerCall& call, const Answered& answered, Span* span) {
  bool is_error = IsServerError(answered.code);
  if (IsHttp(call)) {
    AddText("http.request.method", call.method, span->mutable_attributes());
    AddText("http.route", call.route, span->mutable_attributes());
    AddNumber("http.response.status_code", answered.http_status, span->mutable_attributes());
    is_error = answered.http_status >= kServerErrorMin;
  } else {
    DescribeRpc(call.service, call.method, answered.code, span);
  }
  if (answered.code != Code::kOk) AddText("error.type", CodeName(answered.code), span->mutable_attributes());
  if (is_error) SetError(answered.code, span);
}

void DescribeModel(const Answered& answered, Span* span) {
  if (answered.model.empty()) return;
  AddText("longshore.model.name", answered.model, span->mutable_attributes());
  if (answered.version) AddNumber("longshore.model.version", *answered.version, span->mutable_attributes());
  if (!answered.signature.empty()) AddText("longshore.model.signature", answered.signature, span->mutable_attributes());
}

}  // namespace

uint64_t RandomId() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  for (;;) {
    if (const uint64_t id = random(); id != 0) return id;
  }
}

uint64_t Trace::UnixNs(Run::TimePoint at) const {
  const auto since_1970 = duration_cast<nanoseconds>(arrived_.system.time_since_epoch());
  return static_cast<uint64_t>((since_1970 + duration_cast<nanoseconds>(at - arrived_.steady)).count());
}

Span Trace::Make(Ids ids, std::string name, Run::TimePoint from, Run::TimePoint to) const {
  Span span;
  span.set_trace_id(BytesOf(own_.trace_id));
  span.set_span_id(BytesOf(ids.span_id));
  span.set_trace_state(own_.state);
  if (ids.parent_id != 0) span.set_parent_span_id(BytesOf(ids.parent_id));
  span.set_flags(kSampled | kKnowsParent);
  span.set_name(std::move(name));
  span.set_kind(Span::SPAN_KIND_INTERNAL);
  span.set_start_time_unix_nano(UnixNs(from));
  span.set_end_time_unix_nano(UnixNs(to));
  return span;
}

void Trace::End(const Answered& answered) const try {
  if (!sampled()) return;
  Span span = Make({own_.span_id, parent_id_}, NameOf(call_), arrived_.steady, std::chrono::steady_clock::now());
  span.set_kind(Span::SPAN_KIND_SERVER);
  if (parent_id_ != 0) span.set_flags(span.flags() | kParentIsRemote);
  DescribeServer(call_, answered, &span);
  DescribeModel(answered, &span);
  sink_.Take(std::move(span));
} catch (const std::bad_alloc&) {
}

// Makes the span `batch`, and returns its id.
uint64_t Trace::TakeBatch(const Run& run) const {
  const uint64_t id = RandomId();
  Span span = Make({id, own_.span_id}, "batch", run.started, run.ended);
  AddNumber("longshore.batch.rows", run.batch_rows, span.mutable_attributes());
  AddNumber("longshore.batch.padded_rows", run.padded_rows, span.mutable_attributes());
  for (const Link& other : run.shared_with) {
    auto& link = *span.add_links();
    link.set_trace_id(BytesOf(other.trace_id));
    link.set_span_id(BytesOf(other.span_id));
  }
  span.set_dropped_links_count(static_cast<uint32_t>(run.shared_with_more));
  sink_.Take(std::move(span));
  return id;
}

void Trace::Ran(const Run& run) const try {
  if (!sampled()) return;
  Span queue = Make({RandomId(), own_.span_id}, "queue", run.submitted, run.started);
  AddNumber("longshore.queue.fill_us", duration_cast<std::chrono::microseconds>(run.filled - run.submitted).count(),
            queue.mutable_attributes());
  sink_.Take(std::move(queue));
  const uint64_t parent_id = run.batch_rows == 0 ? own_.span_id : TakeBatch(run);
  sink_.Take(Make({RandomId(), parent_id}, "run", run.started, run.started + run.took));
} catch (const std::bad_alloc&) {
}

// A request that was refused, cancelled or too late has not left the queue.
void Trace::Failed(const FailedRun& run) const try {
  if (!sampled()) return;
  const bool waited =
      run.code == Code::kUnavailable || run.code == Code::kDeadlineExceeded || run.code == Code::kCancelled;
  Span span = Make({RandomId(), own_.span_id}, waited ? "queue" : "run", run.submitted, run.ended);
  SetError(run.code, &span);
  sink_.Take(std::move(span));
} catch (const std::bad_alloc&) {
}

Hop Trace::BeginHop(std::string_view peer, std::string_view method) const { return {shared_from_this(), peer, method}; }

Hop::Hop(TracePtr trace, std::string_view peer, std::string_view method)
    : trace_(std::move(trace)), context_(trace_->own_) {
  if (!trace_->sampled()) return;
  context_.span_id = RandomId();
  peer_ = peer;
  method_ = method.substr(method.starts_with('/') ? 1 : 0);
  began_ = std::chrono::steady_clock::now();
}

void Hop::End(Code code) const try {
  if (!trace_->sampled()) return;
  Span span = trace_->Make({context_.span_id, trace_->own_.span_id}, method_, began_, std::chrono::steady_clock::now());
  span.set_kind(Span::SPAN_KIND_CLIENT);
  const size_t slash = method_.find('/');
  DescribeRpc(method_.substr(0, slash), slash == method_.npos ? "" : method_.substr(slash + 1), code, &span);
  AddText("server.address", peer_, span.mutable_attributes());
  if (code != Code::kOk) SetError(code, &span);
  trace_->sink_.Take(std::move(span));
} catch (const std::bad_alloc&) {
}

}  // namespace longshore::tracing
