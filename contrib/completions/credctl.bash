# bash completion for credctl and credd.
#
# Installed as /usr/share/bash-completion/completions/credctl, with a link "credd" to it. It uses no
# function of bash-completion, which only has to find it.

# Prints the profiles that are open to the caller, if credd answers at once.
_credctl_profiles() {
  local at=() name in_table=''
  [[ -z $1 ]] || at=(--socket "$1")
  timeout 0.5 credctl profiles "${at[@]}" 2>/dev/null </dev/null |
    while read -r name _; do
      if [[ $name == PROFILE ]]; then in_table=1; elif [[ -n $in_table ]]; then echo "$name"; fi
    done
}

# _credctl_reply CANDIDATE…: offers the candidates that start with the present word.
_credctl_reply() {
  local candidate
  for candidate; do [[ $candidate != "$word"* ]] || COMPREPLY+=("$candidate"); done
}

_credctl_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

# _credctl_command INDEX: the command at INDEX completes the words after it.
_credctl_command() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif (($1 == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
  else
    _credctl_files
  fi
}

_credctl() {
  local verbs='get token identity status profiles login logout account clear release watch exec env import ping help'
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verb='' named='' socket='' index
  COMPREPLY=()
  # "--format=json" arrives as three words, since "=" is in COMP_WORDBREAKS.
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case ${COMP_WORDS[index]} in
    --socket)
      [[ ${COMP_WORDS[index + 1]} != '=' ]] || ((index += 1))
      socket=${COMP_WORDS[++index]} ;;
    --profile | -p | --min-ttl | --wait | --timeout | --format | --user)
      [[ ${COMP_WORDS[index]} != --profile && ${COMP_WORDS[index]} != -p ]] || named=1
      [[ ${COMP_WORDS[index + 1]} != '=' ]] || ((index += 1))
      ((index += 1)) ;;
    --)
      [[ $verb != exec ]] || _credctl_command $((index + 1))
      return ;;
    -* | '=') ;;
    *) if [[ -n $verb ]]; then named=1; else verb=${COMP_WORDS[index]}; fi ;;
    esac
  done
  case $previous in
  --socket) _credctl_files; return ;;
  --profile | -p)
    if [[ $verb != import ]]; then
      local names
      mapfile -t names < <(_credctl_profiles "$socket")
      _credctl_reply "${names[@]}"
    fi
    return ;;
  --user) mapfile -t COMPREPLY < <(compgen -u -- "$word"); return ;;
  --format) _credctl_reply sh fish dotenv json; return ;;
  --min-ttl | --wait | --timeout | --username | --identity-id | --login | --attribute | --custom-role-arn) return ;;
  esac
  local options='--help --version'
  [[ $verb == import || $verb == help ]] || options+=' --socket'
  case $verb in
  get) options+=' --profile --min-ttl --wait --refresh --user' ;;
  exec) options+=' --profile --min-ttl --wait --refresh' ;;
  env) options+=' --profile --min-ttl --wait --refresh --format' ;;
  token) options+=' --profile --min-ttl --wait --refresh' ;;
  identity | clear | release | watch) options+=' --profile --json' ;;
  status) options+=' --profile --all --json' ;;
  profiles) options+=' --json' ;;
  logout) options+=' --profile --global --no-revoke --json' ;;
  account) options+=' --profile --json --username --password-stdin --attribute --trust-socket' ;;
  login) options+=' --profile --json --username --password-stdin --identity-id --token-stdin'
    options+=' --login --alone --custom-role-arn --trust-socket' ;;
  import) options+=' --profile' ;;
  ping) options+=' --json --timeout' ;;
  esac
  if [[ $word == -* ]]; then
    [[ $verb != exec ]] || options+=' --'
    # shellcheck disable=SC2086 # words
    _credctl_reply $options
    return
  fi
  # shellcheck disable=SC2086 # words
  case $verb in
  '' | help) _credctl_reply $verbs ;;
  account) _credctl_reply sign-up ;;
  import) _credctl_files ;;
  get | token | identity | status | login | logout | clear | release | watch | exec | env)
    [[ $verb != clear ]] || _credctl_reply credentials identity
    [[ $verb != exec ]] || _credctl_reply --
    # The profile is the first word.
    if [[ -z $named ]]; then
      local names
      mapfile -t names < <(_credctl_profiles "$socket")
      _credctl_reply "${names[@]}"
    fi ;;
  esac
}

_credd() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
  --config | --socket) _credctl_files ;;
  --log-level) _credctl_reply error warning notice info debug ;;
  *) _credctl_reply --config --socket --check-config --log-level --help --version ;;
  esac
}

complete -F _credctl credctl
complete -F _credd credd
