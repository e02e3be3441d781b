// The scripts that `longshore completion SHELL` prints. They only call the program: see completion.h.
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
)";

inline constexpr const char* kZshScript = R"(#compdef longshore
# zsh completion for longshore
_longshore() {
  local -a lines candidates
  local line
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
if [ "${funcstack[1]}" = "_longshore" ]; then _longshore "$@"; else compdef _longshore longshore; fi
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
)";

}  // namespace longshore::cli
