// The scripts that `longshore completion SHELL` prints. They only call the program: see completion.h. The flags of
// longshore-node, longshore-controller and longshore-load are those in the text of their --help.
#pragma once

namespace longshore::cli {

// bash splits words at "=", so the script joins them again, and removes what stands before the "=" from the candidates.
inline constexpr const char* kBashScript = R"(# bash completion for longshore
_longshore() {
  local words=() i word last prefix line
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if ((${#words[@]} > 0)) && [[ $word == "=" || ${COMP_WORDS[i - 1]} == "=" ]]; then
      words[-1]+="$word"
    else
      words+=("$word")
    fi
  done
  last="${words[-1]}"
  prefix=""
  [[ $last == -*=* ]] && prefix="${last%%=*}="
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :0) compopt -o default ;;
      :*) ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
  [[ -n $prefix ]] && COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
  return 0
}
complete -F _longshore longshore

_longshore_flags() {
  local word="${COMP_WORDS[COMP_CWORD]}" flags
  COMPREPLY=()
  [[ $word == -* ]] || return 0
  flags=$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -nE 's/^ +(-[A-Za-z],)?(--[a-zA-Z0-9_-]+).*/\2/p' | sort -u)
  COMPREPLY=($(compgen -W "$flags" -- "$word"))
}
complete -o default -F _longshore_flags longshore-node longshore-controller longshore-load
)";

inline constexpr const char* kZshScript = R"(#compdef longshore longshore-node longshore-controller longshore-load
# zsh completion for longshore
_longshore() {
  local -a lines candidates
  local line
  if [[ ${words[1]:t} == longshore-* ]]; then
    if [[ ${words[CURRENT]} != -* || ${words[CURRENT]} == *=* ]]; then _default; return; fi
    lines=($("${words[1]}" --help 2>/dev/null | sed -nE 's/^ +(-[A-Za-z],)?(--[a-zA-Z0-9_-]+).*/\2/p' | sort -u))
    compadd -- $lines
    return
  fi
  lines=("${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    case "$line" in
      (:0) _files; return ;;
      (:*|"") ;;
      (*) line="${line//:/\\:}"; candidates+=("${line/$'\t'/:}") ;;
    esac
  done
  _describe longshore candidates
}
if [ "${funcstack[1]}" = "_longshore" ]; then _longshore "$@"; else compdef _longshore longshore longshore-node longshore-controller longshore-load; fi
)";

inline constexpr const char* kFishScript = R"(# fish completion for longshore
function __longshore_complete
  set -l tokens (commandline -opc)
  set -l current (commandline -ct)
  set -l lines ($tokens[1] __complete $tokens[2..-1] "$current" 2>/dev/null)
  if test "$lines[-1]" = ":0"
    __fish_complete_path "$current"
  else
    printf '%s\n' $lines[1..-2]
  end
end
complete -c longshore -f -a '(__longshore_complete)'

function __longshore_flags
  set -l tokens (commandline -opc)
  $tokens[1] --help 2>/dev/null | string replace -rf '^ +(?:-[A-Za-z],)?(--[a-zA-Z0-9_-]+).*' '$1' | sort -u
end
for program in longshore-node longshore-controller longshore-load
  complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -a '(__longshore_flags)'
end
)";

}  // namespace longshore::cli
