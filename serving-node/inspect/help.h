// What `longshore model --help` teaches beside the names of verbs and flags.
#pragma once

namespace longshore::inspect {

inline constexpr const char* kAbout = R"(Look at a SavedModel, see whether it runs here, and run it.

  longshore model show /models/digits              its signatures, and how much there is of everything
  longshore model check /models/digits             does it load here, what would a run take
  longshore model explain /models/digits           what becomes of its graph, and what runs where
  longshore model run /models/digits --input image=image.npy
  longshore model ops                              which ops a model may have

DIR is a version (the folder with saved_model.pb) or a model's folder, of which the newest version is taken.)";

inline constexpr const char* kFooter = "Exit codes: 0 done, 1 refused or failed, 2 not understood.";

inline constexpr const char* kShowFooter =
    R"(All tag sets, unless --tags names one. A shape has -1 where any size fits.

  longshore model show /models/digits
  longshore model show /models/digits/3 --json | jq '.graphs[0].signatures.serving_default.inputs')";

inline constexpr const char* kCheckFooter =
    R"(It loads the model as a node would, and runs each signature once with a row of zeros. A multiplication and an
addition are two FLOP. Exit codes: 0 supported, 1 not, 2 not understood.

  longshore model check /models/digits && echo it will load
  longshore model check /models/digits --ops)";

inline constexpr const char* kExplainFooter =
    R"(The graph as it was read, how many nodes each pass leaves, and the steps that a run of these shapes takes. RUNS AS
says who computes: onednn with its implementation, our own loops, or the op's reference kernel, which is slower and of
which a model that matters should have few. Without inputs the shapes are those of a request of --batch rows.

  longshore model explain /models/digits
  longshore model explain /models/digits --batch 32 --json | jq '.steps[] | select(.how == "kernel")'

Answers that look wrong without reason: leave out one pass after the other, here and in run, and tell us which.

  longshore model explain /models/digits --without scales)";

inline constexpr const char* kRunFooter =
    R"(Outputs are JSON as TensorFlow Serving's REST answers it by columns: {"outputs": ...}, a single output without
its name; bytes that are no text are {"b64": "..."}. Timings go to standard error. --out writes the output "a/b" as
a%2Fb.npy.

  longshore model run /models/digits --input image=image.npy --output label
  echo '{"inputs": {"x": [1.0, 2.0]}}' | longshore model run /models/half_plus_two --inputs -
  longshore model run /models/digits --input image=image.npy --out answers --repeat 100 --profile)";

}  // namespace longshore::inspect
