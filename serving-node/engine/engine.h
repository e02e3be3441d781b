// The engine interface: loads a SavedModel and runs its signatures, on any device.
//
// Everything above this interface (batching, warm-up, rehearsals, routing) depends only on this header, so the CPU
// engine, a CUDA engine and an engine in a child process can implement it alike. Runs are asynchronous; tensors know
// their device.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::engine {

// Named tensors of one run: the keys are the names of the signature's inputs or outputs.
using TensorMap = std::map<std::string, tensor::Tensor>;
// The memory of the tensors, with the contents of strings.
size_t Bytes(const TensorMap& tensors);
// Type and shape: "DT_FLOAT [1,8,8,24]".
std::string TypeText(const tensor::Tensor& tensor);
// The heap memory of a string; 0 for a short one, which is stored inside the object.
size_t TextBytes(const std::string& text);

struct RunProfile;

// On which thread a run computes, if the engine can choose. On the caller's thread the run has the caller's priority,
// and `done` is called from within Run.
enum class Thread {
  kEngines,
  kCallersIfShort,  // The caller's thread if the run is likely to take only microseconds, else an engine thread.
  kCallers,         // The caller's thread: the caller would only wait anyway.
};

struct RunRequest {
  std::string signature;             // "serving_default"
  TensorMap inputs;                  // Every input of the signature without a default value, and no other names.
  std::vector<std::string> outputs;  // Which outputs to compute; empty: all.
  Thread thread = Thread::kEngines;
  // If set, Run notes here what each node did; profile->outputs stays empty. Outputs do not change. Null costs nothing.
  // Engines that cannot profile ignore it.
  std::shared_ptr<RunProfile> profile = {};
};

// The outputs of a run and the computing time, without waits for a thread of the engine or for the device.
struct RunResult {
  TensorMap outputs;
  std::chrono::nanoseconds took{0};
};

// Called exactly once, on any thread. It is called from within Run only if the request allows the caller's thread, or
// if there is no memory to hand the run to another thread, so the caller must not hold a lock that `done` takes.
using RunDone = std::function<void(Result<RunResult>)>;

// The origin of the first NaN or Inf in an output.
struct NonFinite {
  std::string output;
  std::string node;  // The node of the graph that made it, or the node of an input if the request contained it.
  std::string op;    // "Placeholder" if the request contained it.
};
// 'output "probabilities", made by node "dense/div" (op RealDiv)'.
std::string ToString(const NonFinite& found);
using FindDone = std::function<void(Result<std::optional<NonFinite>>)>;

// A step of a plan: a node of the graph, and others that were fused into it.
struct PlanStep {
  std::string node;
  std::string op;
  std::string then;   // The ops fused into it: "BiasAdd, Relu".
  std::string shape;  // The shape of the first output, "[1,112,112,64]"; "?" if it is known only in the run.
  std::string how;    // The implementation: "onednn brgconv:avx512_core", "loops"; "kernel": the op's reference kernel.
  int64_t flops = 0;  // An estimate: a multiply-add counts as two.
};

// How an engine runs a signature for the shapes of one request.
struct PlanView {
  struct Pass {
    std::string name;
    size_t nodes = 0;  // How many nodes were left after it.
  };
  size_t nodes = 0;  // How many nodes the graph has before all passes, without constants.
  std::vector<Pass> passes;
  std::vector<PlanStep> steps;  // In the order in which they run.
  int64_t rows_at_once = 0;     // The rows of a slice if the run computes a few rows at a time; 0: all rows at once.
  size_t run_bytes = 0;         // Memory of one run without weights and inputs, as far as shapes are known.
};

// The measurements of one step in a run.
struct NodeRun {
  std::string node;
  std::string op;
  std::string then = {};  // `then` and `how` as in PlanStep.
  std::string how;
  std::string output = {};           // Type and shape of the first output, "DT_FLOAT [1,8,8,24]"; "": no output.
  std::chrono::nanoseconds took{0};  // Without the steps of the bodies that it ran.
  // Times since the run began. The CPU engine runs the steps of a body between `began` and `ended` of the node with the
  // body; the interpreter reports them as before `began`.
  std::chrono::nanoseconds began{0};
  std::chrono::nanoseconds ended{0};
  int64_t flops = 0;
  size_t bytes = 0;       // The memory of its outputs.
  size_t held_bytes = 0;  // The memory of the run after this node, without weights and inputs.
};

// A run and its steps.
struct RunProfile {
  TensorMap outputs;
  std::vector<NodeRun> nodes;        // In the order in which they ended: nodes of a body before the node that ran it.
  size_t bytes_peak = 0;             // The most memory held at once, without weights and inputs.
  std::chrono::nanoseconds took{0};  // The time of the whole run.
  std::chrono::nanoseconds plan{0};  // The time before the first node: planning, mostly once for each set of shapes.
  std::chrono::steady_clock::time_point began{};  // The start of the run.
  // The memory in bytes that profiles may still use; several profiles may share one budget. Null: no limit.
  std::atomic<int64_t>* room_bytes = nullptr;
  int64_t left_out = 0;  // How many nodes were not noted for lack of memory.

  // Takes bytes from the budget. Returns false if it is spent; it stays spent, so later calls fail too.
  bool TakeRoom(size_t bytes);
  // Adds the node, or counts it in left_out if the budget does not suffice.
  void Note(NodeRun node);
};

// The beginning of the error for a model with unsupported ops.
inline constexpr std::string_view kUnsupportedOps = "unsupported ops: ";

// An op, or a variant of it, that an engine cannot run.
struct UnsupportedOp {
  std::string op;
  std::string reason;  // The variant: ": strides above 1", " of DT_COMPLEX64"; "": the engine does not have the op.
  std::string node;    // One of the nodes with this op.
  int more = 0;        // How many other nodes have it.
};

// A model in memory. Thread-safe: any number of runs at once.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;

  // The signatures as in the file: names, types and shape patterns.
  virtual const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const = 0;

  // Computes the outputs. Errors: InvalidArgument for inputs with wrong names, types or shapes, NotFound for an unknown
  // signature, ResourceExhausted if memory does not suffice, Unavailable if too many runs are queued. The model must
  // outlive its runs: callers keep it by shared_ptr.
  virtual void Run(RunRequest request, RunDone done) = 0;

  // Runs and searches the outputs of every op for the origin of a NaN or Inf. Far slower than Run and with the same
  // memory; for use after a failure. nullopt: all outputs are finite. Calls `done` as Run does, with the same errors;
  // Unimplemented if the engine cannot trace its runs.
  virtual void FindNonFinite([[maybe_unused]] RunRequest request, FindDone done) {
    done(Unimplemented("this engine cannot trace its runs"));
  }

  // Runs on the caller's thread and measures every node, for tools. Errors as for Run; Unimplemented if the engine
  // cannot profile.
  virtual Result<RunProfile> Profile([[maybe_unused]] const RunRequest& request) {
    return Unimplemented("this engine cannot profile its runs");
  }

  // The plan for the request, without running it. Errors as for Profile.
  virtual Result<PlanView> Explain([[maybe_unused]] const RunRequest& request) {
    return Unimplemented("this engine cannot report its plans");
  }

  // The memory that weights and plans use on the device.
  virtual int64_t memory_bytes() const = 0;
};

struct LoadOptions {
  std::vector<std::string> tags = {"serve"};
  tensor::Device device = {};
  // The result of a row has the same bits in batches of every size, if the rows of the model are independent: each row
  // runs separately, and PlanView::rows_at_once is 1. docs/performance.md has the cost.
  bool deterministic = false;
};

// The memory that loading and running need on one device.
struct Estimate {
  int64_t weights_bytes = 0;
  int64_t run_bytes = 0;  // For one run of one row.
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::vector<tensor::Device> devices() const = 0;

  // Estimates without loading. Errors: NotFound or DataLoss if the files are not a SavedModel.
  virtual Result<Estimate> EstimateLoad(const Path& version_dir, const LoadOptions& options) const = 0;

  // Reads, checks and prepares a version directory (saved_model.pb, variables/, assets/).
  // Errors: Unimplemented if the graph needs ops that the engine does not have; the message names every such op and one
  // node of each. NotFound, DataLoss or FailedPrecondition for missing, damaged or half-copied files; the message names
  // the file.
  virtual Result<std::shared_ptr<LoadedModel>> Load(const Path& version_dir, const LoadOptions& options) = 0;
};

// Runs, on this thread if the engine can, and waits for the result: for rehearsals, warm-up, tests and tools.
Result<TensorMap> RunAndWait(LoadedModel& model, RunRequest request);

}  // namespace longshore::engine
