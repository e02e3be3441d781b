// The texts of `longshore model --help`, apart from verbs and flags.
#pragma once

namespace longshore::inspect {

inline constexpr const char* kAbout = R"(Inspect a SavedModel, check whether it runs on this machine, and run it.

  longshore model show /models/digits              its signatures and sizes
  longshore model check /models/digits             whether it loads, and time and memory of a run
  longshore model explain /models/digits           how the engine optimises and runs its graph
  longshore model run /models/digits --input image=image.npy
  longshore model ops                              the supported ops

DIR is a version (the folder with saved_model.pb), or a model's folder: then its newest version is used.)";

inline constexpr const char* kFooter = "Exit codes: 0 success, 1 failure, 2 invalid command line.";

inline constexpr const char* kShowFooter =
    R"(Shows all tag sets, unless --tags selects one. -1 in a shape means any size.

  longshore model show /models/digits
  longshore model show /models/digits/3 --json | jq '.graphs[0].signatures.serving_default.inputs')";

inline constexpr const char* kCheckFooter =
    R"(Loads the model as a node does, and runs each signature once with a row of zeros. A multiply-add counts as two
FLOP. Exit codes: 0 supported, 1 not supported, 2 invalid command line.

  longshore model check /models/digits && echo it will load
  longshore model check /models/digits --ops)";

inline constexpr const char* kExplainFooter =
    R"(Shows how many nodes the graph has as read from the file and after each optimisation pass, and the steps of a run
with the inputs of --input or --inputs; without these flags, with inputs of --batch rows. RUNS AS is the implementation
of a step: onednn (with the name of its kernel), the engine's own loops, or the op's reference kernel. Reference kernels
are slow, so a model should have few of them.

  longshore model explain /models/digits
  longshore model explain /models/digits --batch 32 --json | jq '.steps[] | select(.how == "kernel")'

If answers look wrong, leave out one pass at a time with --without, in explain and in run. If the answers are right
without a certain pass, please report this pass as a bug.

  longshore model explain /models/digits --without scales)";

inline constexpr const char* kRunFooter =
    R"(Outputs are JSON in the columnar format of TensorFlow Serving's REST API: {"outputs": ...}; the name of a
single output is left out. Bytes that are not valid UTF-8 are {"b64": "..."}. Timings go to standard error. --out writes
the output "a/b" to a%2Fb.npy.

  longshore model run /models/digits --input image=image.npy --output label
  echo '{"inputs": {"x": [1.0, 2.0]}}' | longshore model run /models/half_plus_two --inputs -
  longshore model run /models/digits --input image=image.npy --out answers --repeat 100 --profile)";

}  // namespace longshore::inspect
