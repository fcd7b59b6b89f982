# bash completion for credctl and credd: what ArgumentParser's, which stands before this, lacks.
#
# Installed as /usr/share/bash-completion/completions/credctl, with a link "credd" to it. It uses no
# function of bash-completion, which only has to find it.

# The line as ArgumentParser's completions can read it: "--format=json" arrives as three words, since
# "=" is in COMP_WORDBREAKS; the profile may stand before the action of "account"; "help" is followed
# by a verb; and the command of "exec" and "serve" has completions of its own.
_credctl_typed() {
  local words=() index verb=0
  for ((index = 0; index <= COMP_CWORD; index++)); do
    if [[ ${COMP_WORDS[index]} != '=' || ${words[-1]} != --* ]]; then
      words+=("${COMP_WORDS[index]}")
    elif ((index == COMP_CWORD)); then
      words+=('')
    fi
    if ((verb == 0 && ${#words[@]} > 1)) && [[ ${words[-1]} != -* && ${words[-2]} != --socket ]]; then
      verb=$((${#words[@]} - 1))
    fi
    if [[ ${words[-1]} == -- && ${words[verb]} == @(exec|serve) ]] && ((index < COMP_CWORD)); then
      _credctl_command $((index + 1))
      return
    fi
  done
  case ${words[verb]} in
  account)
    if ((verb + 1 == ${#words[@]} - 1)); then
      # The profile may be next.
      [[ ${words[-1]} == -* ]] || _credctl_complete "${words[@]:0:verb}" identity "${words[-1]}"
    elif [[ ${words[verb + 1]} != -* ]] && ! declare -F "_credctl_account_${words[verb + 1]}" >/dev/null; then
      words=("${words[@]:0:verb + 1}" "${words[@]:verb + 2}")
    fi ;;
  help) ((verb == ${#words[@]} - 1)) || words=("${words[@]:0:verb}" "${words[-1]}") ;;
  esac
  _credctl_complete "${words[@]}"
  [[ ${words[-1]} == -* ]] || _credctl_without_options "${COMPREPLY[@]}"
}

# ArgumentParser's offers options where no dash was typed.
_credctl_without_options() {
  local candidate
  COMPREPLY=()
  for candidate; do [[ $candidate == -?* && $candidate != -- ]] || COMPREPLY+=("$candidate"); done
}

# _credctl_complete WORD…: completes the last word.
_credctl_complete() {
  local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$* COMP_POINT
  COMP_POINT=${#COMP_LINE}
  _credctl "$1" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
}

# _credctl_command INDEX: the command at INDEX completes the words after it.
_credctl_command() {
  local word=${COMP_WORDS[COMP_CWORD]}
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif (($1 == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}

_credd() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
  --config | --socket | --token-socket)
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return ;;
  --endpoint) words='127.0.0.1:337' ;;
  --log-level) words='error warning notice info debug' ;;
  *) words='--config --socket --endpoint --token-socket --check-config --log-level --help --version' ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _credctl_typed credctl
complete -F _credd credd
