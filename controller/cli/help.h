// What `longshore --help` teaches beside the names of commands and flags.
#pragma once

namespace longshore::cli {

inline constexpr const char* kAbout = R"(Look at models and fleets, and tell their rollouts what to do.

  longshore get models                  what serves, what is wanted, which rollouts are under way
  longshore status                      which models and fleets are as wanted, under way or failed
  longshore explain digits              why this version serves, why a rollout waits, and the numbers
  longshore diff -f digits.yaml         what an apply would change
  longshore apply --dry-run -f FILE     which rollout it would start, step by step, and how long it takes at least
  longshore apply -f digits.yaml        say what should be served; the controller does the rest
  longshore import tfserving FILE       manifests from TensorFlow Serving's or KServe's configuration
  longshore model check /models/digits  whether a SavedModel runs here; show and run it
  longshore profile localhost:8502      what each op of a live node takes, as a trace for Perfetto or Chrome
  longshore promote digits              go on to the next step of the rollout now
  longshore abort digits                all traffic back to the stable version, now

It asks the cluster that kubectl would ask (as `kubectl longshore` too, where a link to it of the name kubectl-longshore
is in the PATH), or a controller on one host by its directory of manifests: --manifests, or LONGSHORE_MANIFESTS in the
environment.)";

inline constexpr const char* kFooter =
    "Exit codes: 0 done, 1 refused or failed, 2 not understood, 3 not found, 4 not in time. "
    "Those of status and diff are in their own --help.";

inline constexpr const char* kStatusFooter =
    R"(Exit codes: 0 all is as wanted, 1 something failed and needs help, 4 something is under way; with --wait, still when
the time is up; 5 no controller is running on this host; with --wait, none for 5 s. A manifest file of this host that no
controller has read yet is under way.

  longshore apply -f digits.yaml && longshore status digits --wait --timeout 30m)";

inline constexpr const char* kDiffFooter =
    R"(A line for each field: + is new, - goes, ~ changes. On a cluster the API server is asked, so that its defaults and
refusals are real. Exit codes: 0 nothing differs, 1 something does, 2 and more it cannot be said.)";

inline constexpr const char* kApplyFooter =
    R"(A dry run writes nothing. What would be refused is refused, and for each model it prints the rollout that would begin:
the history that there would be if nothing went wrong, how long it takes at least, what is checked and what is judged.)";

inline constexpr const char* kProfileFooter =
    R"(The node records the next runs that requests lead to, each with its ops in order: when each ran and for how long, what
it made, how many bytes that takes, what computed it, and what the run held in memory. It ends by itself. While it lasts
these runs are a little slower; answers stay the same, and nothing is recorded but names, shapes and times.

  longshore profile localhost:8502 --model digits --runs 20 --out trace.json
  kubectl port-forward pod/NAME 8502 & longshore profile localhost:8502

Open the file at https://ui.perfetto.dev or in chrome://tracing; both read it in the browser, and send it nowhere.
Exit codes: 0 written, 1 refused or failed (somebody else is recording there), 2 not understood, 3 no such model, 4 no run
came in time.)";

inline constexpr const char* kImportFooter =
    R"(A setting that has no counterpart is a note on standard error, and a comment in the manifest; nothing is dropped
silently, and what is unknown is an error that names file and line. Neither a cluster nor a controller is asked.

  longshore import tfserving models.config --batching_parameters_file batching.txt > models.yaml
  kubectl get inferenceservices -o yaml | longshore import kserve - --fleet main > models.yaml
  longshore apply --dry-run -f models.yaml)";

}  // namespace longshore::cli
