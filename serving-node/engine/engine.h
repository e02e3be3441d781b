// The engine seam: loads a SavedModel and runs its signatures, on whatever device.
//
// Everything above this header (batching, warm-up, trials, routing) knows only what stands here, so that the CPU
// engine, a CUDA engine and an engine in a child process fit it alike. Runs are asynchronous; tensors know their
// device.
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

#include "common/error.h"
#include "common/file.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::engine {

// Named tensors of one run: the keys are the names of the signature's inputs or outputs.
using TensorMap = std::map<std::string, tensor::Tensor>;
// What they hold, texts included.
size_t Bytes(const TensorMap& tensors);
// "DT_FLOAT [1,8,8,24]".
std::string TypeText(const tensor::Tensor& tensor);
// What a text holds beside itself: a short one lies within.
size_t TextBytes(const std::string& text);

struct RunProfile;

// Where an engine computes that can choose. On the caller's thread it is at the caller's priority, and calls done from
// within Run.
enum class Thread {
  kEngines,
  kCallersIfShort,  // The caller's when that is likely to take microseconds.
  kCallers,         // The caller waits for nothing else.
};

struct RunRequest {
  std::string signature;             // "serving_default"
  TensorMap inputs;                  // Every input of the signature that has no default, nothing else.
  std::vector<std::string> outputs;  // Which outputs to compute; empty: all.
  Thread thread = Thread::kEngines;
  // Where Run is to note what each node did; null: nowhere, at no cost. The outputs are the same, and are not put
  // there. An engine that cannot look leaves it as it is.
  std::shared_ptr<RunProfile> profile = {};
};

// What a run computed, and for how long: a wait for one of the engine's threads or for the device does not count.
struct RunResult {
  TensorMap outputs;
  std::chrono::nanoseconds took{0};
};

// Called exactly once, on any thread, never from within Run itself while the caller holds a lock of its own; from
// within it only for a request that gives it the caller's thread.
using RunDone = std::function<void(Result<RunResult>)>;

// Where the first NaN or Inf of an output came from.
struct NonFinite {
  std::string output;
  std::string node;  // Of the graph; the name of a fed tensor's node when the request brought it.
  std::string op;    // "Placeholder" then.
};
// 'output "probabilities", made by node "dense/div" (op RealDiv)'.
std::string ToString(const NonFinite& found);
using FindDone = std::function<void(Result<std::optional<NonFinite>>)>;

// What is computed at once: a node of the graph, and others that were drawn into it.
struct PlanStep {
  std::string node;
  std::string op;
  std::string then;   // "BiasAdd, Relu": what was drawn in.
  std::string shape;  // Of the first output, "[1,112,112,64]"; "?" when only the run knows it.
  std::string how;    // What computes it: "onednn brgconv:avx512_core", "loops"; "kernel" is the op's reference kernel.
  int64_t flops = 0;  // Estimated: a multiplication and an addition of a product are two.
};

// How an engine runs a signature for the shapes of one request.
struct PlanView {
  struct Pass {
    std::string name;
    size_t nodes = 0;  // That were left after it.
  };
  size_t nodes = 0;  // As the graph was read, constants not counted.
  std::vector<Pass> passes;
  std::vector<PlanStep> steps;  // In the order in which they run.
  int64_t rows_at_once = 0;     // Of a run that computes its rows a few at a time; 0: all at once.
  size_t run_bytes = 0;         // Of one run beside weights and inputs, as far as shapes are known.
};

// What one step did in a run.
struct NodeRun {
  std::string node;
  std::string op;
  std::string then = {};  // This and the next as of PlanStep.
  std::string how;
  std::string output = {};           // The first, "DT_FLOAT [1,8,8,24]"; "" when there is none.
  std::chrono::nanoseconds took{0};  // Without the steps of the bodies that it ran.
  // Since the run began. Those steps lie between the two, but for the reference engine: there they lie before.
  std::chrono::nanoseconds began{0};
  std::chrono::nanoseconds ended{0};
  int64_t flops = 0;
  size_t bytes = 0;       // Of its outputs.
  size_t held_bytes = 0;  // By the run when the node had run, beside weights and inputs.
};

// A run and what it was made of.
struct RunProfile {
  TensorMap outputs;
  std::vector<NodeRun> nodes;        // As they ended, those of a body before the node that ran it.
  size_t bytes_peak = 0;             // Held at once beside weights and inputs.
  std::chrono::nanoseconds took{0};  // By the whole run.
  std::chrono::nanoseconds plan{0};  // By what is done before the first node: mostly once for a set of shapes.
  std::chrono::steady_clock::time_point began{};  // What the times of nodes count from.
  // What may still be taken in memory, by all profiles that share it; null: without a limit.
  std::atomic<int64_t>* room_bytes = nullptr;
  int64_t left_out = 0;  // Nodes for which there was no room, or no memory.

  // False where there is no room for so much more: then there is none for anything that comes later either.
  bool TakeRoom(size_t bytes);
  // Adds it where there is room, for it and for what is reserved for those that follow.
  void Note(NodeRun node);
};

// What the refusal of a model begins with that has such ops.
inline constexpr std::string_view kUnsupportedOps = "unsupported ops: ";

// An op that an engine cannot run, or a kind of it.
struct UnsupportedOp {
  std::string op;
  std::string reason;  // ": strides above 1", " of DT_COMPLEX64"; "" where the op is not there at all.
  std::string node;    // One of those that need it.
  int more = 0;        // How many others do.
};

// A model in memory. Thread-safe: any number of runs at once.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;

  // The signatures as the file has them: names, types and shape patterns.
  virtual const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const = 0;

  // Computes. Errors: InvalidArgument for inputs that do not fit (names, types, shapes), NotFound for an unknown
  // signature, ResourceExhausted when memory does not suffice, Unavailable when too many runs wait already. The model
  // outlives its runs: callers keep it by shared_ptr.
  virtual void Run(RunRequest request, RunDone done) = 0;

  // Runs and looks at what every op makes: far slower than Run, in the memory of a run, for after something went wrong.
  // nullopt: all outputs are finite. Calls done as Run does, with its errors; Unimplemented for an engine that cannot
  // look.
  virtual void FindNonFinite([[maybe_unused]] RunRequest request, FindDone done) {
    done(Unimplemented("this engine does not look into its runs"));
  }

  // Runs on the caller's thread and looks at every node, for tools. Errors as of Run; Unimplemented for an engine that
  // cannot look.
  virtual Result<RunProfile> Profile([[maybe_unused]] const RunRequest& request) {
    return Unimplemented("this engine does not look into its runs");
  }

  // How a run of the request would go, without running it. Errors as of Profile.
  virtual Result<PlanView> Explain([[maybe_unused]] const RunRequest& request) {
    return Unimplemented("this engine does not tell its plans");
  }

  // Bytes held on the device for weights and plans.
  virtual int64_t memory_bytes() const = 0;
};

struct LoadOptions {
  std::vector<std::string> tags = {"serve"};
  tensor::Device device = {};
  // A row has the same bits in batches of every size, where rows have nothing to do with each other: each is run alone.
  // PlanView::rows_at_once is 1 then. What it costs is in docs/performance.md.
  bool deterministic = false;
};

// What loading and running would need on one device.
struct Estimate {
  int64_t weights_bytes = 0;
  int64_t run_bytes = 0;  // For one run of one row.
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::vector<tensor::Device> devices() const = 0;

  // Without loading: NotFound or DataLoss when the files are not a SavedModel.
  virtual Result<Estimate> EstimateLoad(const Path& version_dir, const LoadOptions& options) const = 0;

  // Reads, checks and prepares a version directory (saved_model.pb, variables/, assets/).
  // Unimplemented when the graph needs ops that the engine lacks: the message names every such op and one node of each.
  // NotFound, DataLoss, FailedPrecondition for missing, damaged or half-copied files: the message names the file.
  virtual Result<std::shared_ptr<LoadedModel>> Load(const Path& version_dir, const LoadOptions& options) = 0;
};

// Runs on this thread where the engine can, and waits: for trials, warm-up, tests and tools.
Result<TensorMap> RunAndWait(LoadedModel& model, RunRequest request);

}  // namespace longshore::engine
