// The texts of `longshore --help` around the lists of commands and flags.
#pragma once

namespace longshore::cli {

inline constexpr const char* kAbout = R"(Show models and fleets, change them, and control their rollouts.

  longshore get                         all models and fleets: which versions serve and are wanted, which rollouts run
  longshore status                      which models and fleets are as wanted, under way or failed
  longshore doctor                      what is wrong with the installation, and what to do about it
  longshore explain digits              why this version serves, why a rollout waits, and the numbers
  longshore rollout digits --watch      the steps, both versions side by side and the verdict, live
  longshore diff -f digits.yaml         what an apply would change
  longshore apply --dry-run -f FILE     which rollout it would start, step by step, and its minimum duration
  longshore apply -f digits.yaml        set what should be served; the controller does the rest
  longshore lint -f digits.yaml         check fields, source folders and versions
  longshore set version digits 4        roll out version 4
  longshore import tfserving FILE       convert TensorFlow Serving's or KServe's configuration to manifests
  longshore model check /models/digits  whether a SavedModel runs on Longshore; model show and model run use it
  longshore check-version DIR --model digits   whether this version would pass its rehearsal, offline
  longshore golden from-csv FILE        make a golden set; golden from-log, from-model, show and check
  longshore profile localhost:8502      record how long each op takes on a live node, for Perfetto or Chrome
  longshore logs default.main-0 -f       the log of a node, live; logs fleet/main, logs controller
  longshore promote digits              go to the next step of the rollout now
  longshore abort digits                end the rollout: send all traffic back to the stable version now
  longshore undo digits                 return to the version that served before the last rollout
  longshore validate digits             run the golden set of the version that serves on its nodes now

longshore works with the cluster that kubectl would use. For a controller on this host, name its directory of manifests
with --manifests or the environment variable LONGSHORE_MANIFESTS. If the PATH has a link to longshore with the name
kubectl-longshore, `kubectl longshore` works too.)";

inline constexpr const char* kFooter =
    R"(These flags may also follow a command:

  longshore get models --manifests /etc/longshore/manifests
  longshore get models --kubeconfig ~/.kube/config --context staging
  longshore -n vision status
  longshore status --namespace vision
  longshore get -A
  longshore get --all-namespaces -o wide

Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 not found, 4 timed out. status, diff and doctor have other
exit codes: see their --help.)";

inline constexpr const char* kRolloutFooter =
    R"(On a terminal, --watch draws the view again in place, at least every second, in the size of the window. It ends with
the rollout and says how it ended. If no rollout is under way, a terminal waits for one to begin. Exit codes: 0 the
rollout is complete, 1 it was rolled back, 3 not found, 5 no controller is running (without a terminal).

  longshore rollout digits
  longshore rollout digits -w            the same as --watch)";

inline constexpr const char* kDoctorFooter =
    R"(Reads only; changes nothing. Each finding has its cause and, unless all is well, a command or a sentence that helps.
On a host: the controller, versions, manifests, ports, folders, fleets, models, Prometheus and certificates. On a
cluster: the API server, CRDs, admission policies, the controller's Lease, versions, your rights and the controller's,
fleets, models, pods, Services, network policies, Prometheus, clocks and certificates. What you may not read is "not
known".

  longshore doctor --manifests /etc/longshore/manifests
  longshore doctor -n vision --context staging
  longshore doctor -o json --timeout 20s | jq '.findings[] | select(.verdict == "failure")'

Exit codes: 0 no failure (there may be warnings), 1 a failure, 2 wrong usage, 3 the place does not exist.)";

inline constexpr const char* kGetFooter =
    R"(A kind is model, models, fleet, fleets, servingfleet or servingfleets. jsonpath has the forms of kubectl that select
fields, elements and slices, filters, {range}...{end} and {"text"}.

  longshore get                         all models and fleets; get all is the same
  longshore get models -A -o wide       with labels and sources
  longshore get model digits words
  longshore get model/digits fleet/main --output yaml
  longshore get models -l app=x,tier!=test --no-headers
  longshore get models --selector 'app in (x, y)' -o name
  longshore get model digits --ignore-not-found -o jsonpath='{.status.stableVersion}'
  longshore get models -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}'
  longshore get models -w               the same as --watch)";

inline constexpr const char* kConsoleFooter =
    R"(On a host it prints the address. On a cluster it finds the controller that leads, and runs kubectl port-forward to its
pod until you press Ctrl-C; -n is the namespace in which Longshore is installed. When the pod ends, run it again.

  longshore console --manifests /etc/longshore
  longshore console -n longshore               http://127.0.0.1:8620 is the console of pod longshore-...
  longshore console -n longshore --port 9000)";

inline constexpr const char* kCompletionFooter =
    R"(The scripts complete commands, flags, kinds and the names of live objects, and the flags of longshore-node,
longshore-controller and longshore-load.

  source <(longshore completion bash)                                  in ~/.bashrc
  longshore completion zsh > "${fpath[1]}/_longshore"
  longshore completion fish | source                                   in ~/.config/fish/config.fish

For `kubectl longshore`, put an executable file with the name kubectl_complete-longshore and these lines into the PATH:

  #!/bin/sh
  exec longshore __complete "$@")";

inline constexpr const char* kSetVersionFooter =
    R"(On a host, the number in the manifest file that defines the model changes too; comments and layout stay.

  longshore set version digits 4)";

inline constexpr const char* kLintFooter =
    R"(Needs neither a cluster nor a controller. Goes on after a mistake. Exit codes: 0 no problem, 1 problems, 2 wrong
usage. A source folder is not checked if not even its parent folder is on this host: then it is one of a node.
Fleets of one host must not share a port; with --skip-sources this is not checked either.

  longshore lint -f digits.yaml                     the same as --filename
  longshore lint -R -f manifests --skip-sources     all files of a folder and its subfolders (--recursive)
  longshore lint -f - < digits.yaml)";

inline constexpr const char* kEventsFooter =
    R"(  longshore events                      of all models of the namespace
  longshore events digits
  longshore events -A -l app=x          of all models with this label; the same as --selector)";

inline constexpr const char* kDescribeFooter =
    R"(  longshore describe model digits
  longshore describe model/digits fleet/main --output yaml
  longshore describe models -l app=x    those with this label; the same as --selector)";

inline constexpr const char* kDeleteFooter =
    R"(On a terminal, delete asks before it deletes a fleet that serves models, because these are then no longer served.
With -l or --all it asks also if these models are deleted too, and without a terminal it needs --yes.
On a host, a manifest file of the controller's directory does not create a deleted object again until the object
changes in the file.

  longshore delete model digits words --ignore-not-found
  longshore delete model/digits fleet/main --yes
  longshore delete -f digits.yaml       the objects that the file defines; the same as --filename
  longshore delete -R -f manifests      those of all files in a folder and its subfolders (--recursive)
  longshore delete models --selector app=x
  longshore delete models --all -n vision)";

inline constexpr const char* kStatusFooter =
    R"(Exit codes: 0 all objects are as wanted; 1 one has failed and needs help; 4 one is under way (with --wait: after
the timeout); 5 no controller is running (with --wait: none for 5 s). A manifest file of this host that
no controller has read yet counts as under way.

  longshore status digits
  longshore status fleet/main model/digits
  longshore status -l app=x             models and fleets with this label; the same as --selector
  longshore apply -f digits.yaml && longshore status digits --wait --timeout 30m)";

inline constexpr const char* kDiffFooter =
    R"(Prints one line per field: + is added, - is removed, ~ changes. On a cluster the API server does a dry run, so
its defaults and refusals apply. Exit codes: 0 no differences, 1 differences, 2 or more: the diff failed.

  longshore diff -f digits.yaml
  longshore diff -R -f manifests        all files of a folder and its subfolders
  cat digits.yaml | longshore diff -f -)";

inline constexpr const char* kApplyFooter =
    R"(A dry run writes nothing. It fails if the apply would be refused. For each model it prints the rollout that would
begin: the events that it will have if nothing goes wrong, its minimum duration, and what is checked and judged.

A folder means its files that end with .yaml, .yml or .json and do not begin with a dot. If a file is wrong, nothing is
written.

  longshore apply -f fleet.yaml -f digits.yaml
  longshore apply --recursive --filename manifests     all files of a folder and its subfolders
  cat digits.yaml | longshore apply -f -
  longshore apply --dry-run -f <(sed 's/version: 3/version: 4/' digits.yaml))";

inline constexpr const char* kExplainFooter = R"(  longshore explain digits)";

inline constexpr const char* kCommandFooter =
    R"(The controller answers before the command ends. Without an answer within --timeout the command is withdrawn.

  longshore pause digits
  longshore promote digits --timeout 30s
  longshore abort digits --id deploy-42     a second call with this id prints the first answer and does nothing)";

inline constexpr const char* kEnsureCaFooter = R"(  longshore ca ensure --secret longshore-ca -n longshore)";

inline constexpr const char* kUndoFooter =
    R"(A version that another one has replaced stays loaded for spec.rollout.keepWarm, 10 minutes by default. During this
time undo sends all requests back to it at once, on all nodes, whatever the strategy is. After it, undo begins a rollout
to that version: it skips the steps, but not the rehearsal and the golden set. The answer says which of the two happens.
While a rollout is under way, undo ends it, as abort does. If a version was rolled back by itself, the one before serves
still: an undo would leave that one, so on a terminal longshore asks before.

The version that is left counts as failed, with the reason Undone: it is not rolled out again until the manifest
changes, or until `longshore retry`. A second undo does not go forward to it again, unless --to names it.

  longshore undo digits                 return to the version that served before
  longshore undo digits --to 4          return to version 4, which served at some time before
  longshore undo digits --yes           ask no question
  longshore undo digits --timeout 30s --id deploy-42)";

inline constexpr const char* kValidateFooter =
    R"(Each node on which the version is ready runs the golden set of spec.validation.goldenSet once more, in run slots
for which no request of a user waits. It reads the file again, so a file that was replaced counts. The results do not
change any weight. If goldenSet.every is set, they also count for the condition GoldenSetPasses. With the --id of an
earlier validate, its results are shown and nothing runs again.

Exit codes: 0 the golden set passed on all nodes, 1 refused, or failed on a node, 2 wrong usage, 3 not found, 4 a node has
not ended the run in time; it continues, for an hour at most.

  longshore validate digits             for example after a change of a driver, or of the golden set
  longshore validate digits --timeout 2h --id nightly-7)";

inline constexpr const char* kCheckVersionFooter =
    R"(Loads and runs the version in a process on this host, with the code of the rehearsal: it must load, warm up, accept
the requests of the version that serves, and give the known answers of the golden set. Prints the score and the first
records that do not pass. Nothing is sent to the nodes. The golden set is sought in the Model's source, then next to the
version. Exit codes: 0 it would pass, 1 it would not, 2 wrong usage, 3 the Model or its golden set was not found.

  longshore check-version /models/digits/5 --model digits --rows 0
  longshore check-version export/5 -f digits.yaml --stable /models/digits/4
  longshore check-version export/5 -f manifests --recursive --model digits --json
  longshore check-version export/5 --golden golden.tfrecord --metric tolerance --minimum 1 --relative-tolerance 0.01)";

inline constexpr const char* kProfileFooter =
    R"(The node records the next runs of models that requests cause. For each run the trace has its ops in order: the
start and duration of each op, the shape and size of its output, which implementation computed it, and the memory that
the run held. The recording ends by itself. It makes these runs slightly slower and does not change answers. It
contains names, shapes, sizes and times, but no values.

  longshore profile localhost:8502 --model digits --runs 20 --out trace.json
  longshore profile localhost:8502 --seconds 120 --token-file token.txt --out -
  kubectl port-forward pod/NAME 8502 & longshore profile localhost:8502

Open the file at https://ui.perfetto.dev or in chrome://tracing; both read it in the browser and do not upload it.
Exit codes: 0 the trace was written, 1 refused or failed (for example, another recording is in progress), 2 wrong
usage, 3 the node does not know the model, 4 no run happened in time.)";

inline constexpr const char* kLogsFooter =
    R"(Prints the log of a node, that of each node of a fleet with the node's name in front of each line, or that of the
controller. `longshore describe fleet NAME` lists the nodes. With --follow, the nodes are those that the fleet has now.
On a cluster this needs the verb get on the resource pods/log.

  longshore logs default.main-0                    all that the node keeps
  longshore logs default.main-0 --previous         why did it restart? (the same as -p)
  longshore logs fleet/main --since 5m
  longshore logs fleet/main --follow --tail 20     -f is the same as --follow
  longshore logs controller --tail 100

Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 no such node or no log.)";

inline constexpr const char* kImportTfServingFooter =
    R"(  longshore import tfserving models.config --fleet main > models.yaml
  longshore import tfserving models.config --batching_parameters_file batching.txt --monitoring_config_file m.txt)";

inline constexpr const char* kImportKserveFooter =
    R"(  kubectl get inferenceservices -o yaml | longshore import kserve - --fleet main > models.yaml)";

inline constexpr const char* kImportFooter =
    R"(A setting without a counterpart in Longshore is reported on standard error and as a comment in the manifest; no
setting is dropped silently. An unknown setting is an error that names file and line. The import needs neither a
cluster nor a controller.

  longshore import tfserving models.config --batching_parameters_file batching.txt > models.yaml
  kubectl get inferenceservices -o yaml | longshore import kserve - --fleet main > models.yaml
  longshore apply --dry-run -f models.yaml)";

}  // namespace longshore::cli
