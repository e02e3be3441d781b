// The engine interface: loads a SavedModel and runs its signatures, on any device.
//
// Everything above this interface (batching, warm-up, rehearsals, routing) depends only on this header, so the CPU
// engine, a CUDA engine and an engine in a child process can implement it alike. Runs are asynchronous; each tensor has
// a device.
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

// The signatures of a model, by their names.
using Signatures = google::protobuf::Map<std::string, tensorflow::SignatureDef>;
// Whether TensorFlow added this signature for its own use, such as __saved_model_init_op for the initialisation at
// load. Clients do not call it.
inline bool IsInternal(std::string_view signature) { return signature.starts_with("__saved_model_"); }
// Named tensors of one run: the keys are the names of the signature's inputs or outputs.
using TensorMap = std::map<std::string, tensor::Tensor>;
// Returns the memory of the tensors, including the contents of strings.
size_t Bytes(const TensorMap& tensors);
// Returns the type and the shape, such as "DT_FLOAT [1,8,8,24]".
std::string TypeText(const tensor::Tensor& tensor);
// Returns the heap memory of a string; 0 for a short one, which is stored inside the object.
size_t TextBytes(const std::string& text);

struct RunProfile;

// On which thread a run computes, if the engine can choose. On the caller's thread the run has the caller's priority,
// and `done` is called from within Run.
enum class Thread {
  kEngines,
  kCallersIfShort,  // The caller's thread if the run is likely to take only microseconds, else an engine thread.
  kCallers,         // The caller's thread, for a caller that would only wait anyway.
};

struct RunRequest {
  std::string signature;  // "serving_default"
  TensorMap inputs;       // All inputs of the signature; those with a default value may be missing.
  std::vector<std::string>
      outputs;  // The outputs to compute, perhaps of several signatures (together.h); all if empty.
  Thread thread = Thread::kEngines;
  // If set, Run notes here what each node did; profile->outputs stays empty. Profiling does not change the outputs.
  // Without a profile this costs nothing. Engines that cannot profile ignore this member.
  std::shared_ptr<RunProfile> profile = {};
};

// `took` is the computing time, without waits for a thread of the engine or for the device.
struct RunResult {
  TensorMap outputs;
  std::chrono::nanoseconds took{0};
  // True if `took` includes the time to plan for shapes that the engine had not seen, or the wait for another run that
  // planned for them. Such a time says nothing about the model's other runs.
  bool planned = false;
};

// Called exactly once, on any thread. Run itself may call it: if the request allows a run on the caller's thread, or if
// there is not enough memory to start the run on another thread. So the caller of Run must not hold a lock that this
// function takes.
using RunDone = std::function<void(Result<RunResult>)>;

// The origin of the first NaN or Inf in an output.
struct NonFinite {
  std::string output;
  std::string node;  // The node that made the NaN or Inf, or the node of an input that contained it.
  std::string op;    // "Placeholder" if an input contained the NaN or Inf.
};
// Returns a text such as 'output "probabilities", made by node "dense/div" (op RealDiv)'.
std::string ToString(const NonFinite& found);
using FindDone = std::function<void(Result<std::optional<NonFinite>>)>;

// A step of a plan: a node of the graph, and other nodes that were fused into it.
struct PlanStep {
  std::string node;
  std::string op;
  std::string then;   // The ops fused into the node, such as "BiasAdd, Relu".
  std::string shape;  // The shape of the first output, such as "[1,112,64]"; "?" if it is known only in the run.
  std::string how;    // Such as "onednn brgconv:avx512_core" or "loops"; "kernel" for the op's reference kernel.
  int64_t flops = 0;  // An estimate: a multiply-add counts as two.
};

// How an engine runs a signature for the shapes of one request.
struct PlanView {
  struct Pass {
    std::string name;
    size_t nodes = 0;  // How many nodes were left after the pass.
  };
  size_t nodes = 0;  // How many nodes the graph has before all passes, without constants.
  std::vector<Pass> passes;
  std::vector<PlanStep> steps;  // In the order in which they run.
  int64_t rows_at_once = 0;     // The rows of a slice; 0 if the run computes all rows at once.
  size_t run_bytes = 0;         // Memory of one run without weights and inputs, as far as shapes are known.
};

// The measurements of one step in a run.
struct NodeRun {
  std::string node;
  std::string op;
  std::string then = {};  // `then` and `how` are as in PlanStep.
  std::string how;
  std::string output = {};           // Type and shape of the first output, such as "DT_FLOAT [1,8,24]"; "" if none.
  std::chrono::nanoseconds took{0};  // Without the steps of the bodies that this step ran.
  // Times since the run began. In a profile of the CPU engine, the steps of a body are between `began` and `ended` of
  // the node that ran the body; in a profile of the interpreter, they are before `began`.
  std::chrono::nanoseconds began{0};
  std::chrono::nanoseconds ended{0};
  int64_t flops = 0;
  size_t bytes = 0;       // The memory of the node's outputs.
  size_t held_bytes = 0;  // The memory that the run holds after this node, without weights and inputs.
};

// The measurements of a run and of its steps.
struct RunProfile {
  TensorMap outputs;
  std::vector<NodeRun> nodes;        // In the order in which they ended: nodes of a body before the node that ran it.
  size_t bytes_peak = 0;             // The most memory held at once, without weights and inputs.
  std::chrono::nanoseconds took{0};  // The time of the whole run.
  std::chrono::nanoseconds plan{0};  // The time before the first node: planning, if the shapes are new.
  bool planned = false;              // As in RunResult.
  std::chrono::steady_clock::time_point began{};  // The start of the run.
  // The memory in bytes that profiles may still use; several profiles may share one budget. Null if it is not limited.
  std::atomic<int64_t>* room_bytes = nullptr;
  int64_t left_out = 0;  // How many nodes were not noted for lack of memory.

  // Takes bytes from the budget. Returns false if it is spent; it stays spent, so later calls fail too.
  bool TakeRoom(size_t bytes);
  // Adds the node, or counts it in left_out if the budget does not suffice.
  void Note(NodeRun node);
};

// The beginning of the error message for a model with unsupported ops.
inline constexpr std::string_view kUnsupportedOps = "unsupported ops: ";

// An op, or a variant of it, that an engine cannot run.
struct UnsupportedOp {
  std::string op;
  std::string reason;  // The variant, such as " of DT_COMPLEX64"; "" if the engine does not have the op at all.
  std::string node;    // One of the nodes with this op.
  int more = 0;        // How many other nodes have this op.
};

// A model in memory. Thread-safe: any number of runs may be active at once.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;

  // The signatures as the file has them: names, types and shape patterns.
  virtual const Signatures& signatures() const = 0;

  // Computes the outputs. Errors: InvalidArgument for inputs with wrong names, types or shapes, NotFound for an unknown
  // signature, ResourceExhausted if memory does not suffice, Unavailable if too many runs are queued. The model must
  // outlive its runs, so callers keep a shared_ptr to it.
  virtual void Run(RunRequest request, RunDone done) = 0;

  // Runs the model and searches the outputs of every op for the origin of a NaN or Inf. Far slower than Run, with the
  // same memory; meant for use after a failure. Calls `done` as Run does: with nullopt if all outputs are finite, with
  // an error of Run, or with Unimplemented if the engine cannot trace its runs.
  virtual void FindNonFinite([[maybe_unused]] RunRequest request, FindDone done) {
    done(Unimplemented("this engine cannot trace its runs"));
  }

  // Runs the model on the caller's thread and measures every node, for tools. Returns the errors of Run, and
  // Unimplemented if the engine cannot profile.
  virtual Result<RunProfile> Profile([[maybe_unused]] const RunRequest& request) {
    return Unimplemented("this engine cannot profile its runs");
  }

  // Returns the plan for the request without running it. Returns the errors of Profile.
  virtual Result<PlanView> Explain([[maybe_unused]] const RunRequest& request) {
    return Unimplemented("this engine cannot report its plans");
  }

  // The memory that weights and plans use on the device.
  virtual int64_t memory_bytes() const = 0;
};

struct LoadOptions {
  std::vector<std::string> tags = {"serve"};
  tensor::Device device = {};
  // If true, and if the rows of the model are independent, the result of a row has the same bits in batches of every
  // size: each row runs separately, and PlanView::rows_at_once is 1. docs/performance.md states the cost.
  bool deterministic = false;
};

// The memory that a model needs on one device when it is loaded.
struct Estimate {
  int64_t weights_bytes = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::vector<tensor::Device> devices() const = 0;

  // Estimates the memory of a model without loading it. Errors: NotFound or DataLoss if the files are not a SavedModel.
  virtual Result<Estimate> EstimateLoad(const Path& version_dir, const LoadOptions& options) const = 0;

  // Reads, checks and prepares a version directory (saved_model.pb, variables/, assets/). Errors:
  // Unimplemented if the graph needs ops that the engine does not have. The message names every such op and one node of
  // each.
  // NotFound, DataLoss or FailedPrecondition for missing, damaged or half-copied files. The message names the file.
  virtual Result<std::shared_ptr<LoadedModel>> Load(const Path& version_dir, const LoadOptions& options) = 0;
};

// Runs the request, on this thread if the engine can, and waits for the result: for rehearsals, warm-up, tests and
// tools.
Result<TensorMap> RunAndWait(LoadedModel& model, RunRequest request);

}  // namespace longshore::engine
