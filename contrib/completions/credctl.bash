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

_credctl_actions=(sign-up confirm resend forgot-password reset-password get change-password
  set-attributes verify-attribute delete-attributes mfa totp devices remember-device forget-device
  delete)

_credctl() {
  local verbs='get token identity status profiles login respond logout account clear release watch exec env endpoint serve metrics check import ping help'
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verb='' action='' named='' socket='' index
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
    --profile | -p | --min-ttl | --wait | --timeout | --format | --kind | --user | --listen | --username | --attribute | --name | --enabled | --preferred | --provider | --scope | --browser-command)
      [[ ${COMP_WORDS[index]} != --profile && ${COMP_WORDS[index]} != -p ]] || named=1
      [[ ${COMP_WORDS[index + 1]} != '=' ]] || ((index += 1))
      ((index += 1)) ;;
    --)
      [[ $verb != exec && $verb != serve ]] || _credctl_command $((index + 1))
      return ;;
    -* | '=') ;;
    *)
      if [[ -z $verb ]]; then
        verb=${COMP_WORDS[index]}
      elif [[ $verb == account && -z $action &&
        " ${_credctl_actions[*]} " == *" ${COMP_WORDS[index]} "* ]]; then
        action=${COMP_WORDS[index]}
      else
        named=1
      fi ;;
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
  --kind) _credctl_reply developer id access; return ;;
  --min-ttl | --wait | --timeout | --listen | --username | --identity-id | --login | --attribute | --custom-role-arn | --client-metadata | --name | --provider | --scope) return ;;
  --browser-command) mapfile -t COMPREPLY < <(compgen -c -- "$word"); return ;;
  --enabled | --preferred) _credctl_reply SMS_MFA EMAIL_OTP SOFTWARE_TOKEN_MFA none; return ;;
  esac
  local options='--help --version'
  [[ $verb == import || $verb == help || $verb$action == account ]] || options+=' --socket'
  case $verb in
  get) options+=' --profile --min-ttl --wait --refresh --user' ;;
  exec) options+=' --profile --min-ttl --wait --refresh --renew --no-config' ;;
  serve) options+=' --profile --listen --token-only --no-config' ;;
  env) options+=' --profile --min-ttl --wait --refresh --format' ;;
  token) options+=' --profile --min-ttl --wait --refresh --kind' ;;
  identity | clear | release | watch) options+=' --profile --json' ;;
  status) options+=' --profile --all --json' ;;
  profiles) options+=' --json' ;;
  metrics) options+=' --no-profiles' ;;
  check) options+=' --profile --all-profiles --json' ;;
  logout) options+=' --profile --global --no-revoke --browser --json' ;;
  account)
    [[ -z $action ]] || options+=' --profile --json --trust-socket'
    case $action in
    sign-up) options+=' --username --password-stdin --attribute' ;;
    confirm) options+=' --username --code-stdin' ;;
    resend | forgot-password) options+=' --username' ;;
    reset-password) options+=' --username --code-stdin --password-stdin' ;;
    change-password) options+=' --password-stdin' ;;
    verify-attribute) options+=' --code-stdin --have-code' ;;
    mfa) options+=' --enabled --preferred' ;;
    totp) options+=' --code-stdin --name' ;;
    remember-device) options+=' --remembered --no-remembered' ;;
    delete) options+=' --yes' ;;
    esac ;;
  login) options+=' --profile --json --username --password-stdin --code-stdin --identity-id'
    options+=' --token-stdin --login --alone --custom-role-arn --client-metadata --trust-socket --browser --paste'
    options+=' --no-browser --device --use-device-code --provider --scope --private'
    options+=' --browser-command' ;;
  respond) options+=' --json --answers-stdin --wait --cancel --client-metadata --trust-socket' ;;
  import) options+=' --profile' ;;
  endpoint) options+=' --profile --no-config' ;;
  ping) options+=' --json --timeout' ;;
  esac
  if [[ $word == -* ]]; then
    [[ $verb != exec && $verb != serve ]] || options+=' --'
    # shellcheck disable=SC2086 # words
    _credctl_reply $options
    return
  fi
  # shellcheck disable=SC2086 # words
  case $verb in
  '' | help) _credctl_reply $verbs ;;
  account)
    # The profile is the word before the action.
    if [[ -z $action ]]; then
      _credctl_reply "${_credctl_actions[@]}"
      if [[ -z $named ]]; then
        local names
        mapfile -t names < <(_credctl_profiles "$socket")
        _credctl_reply "${names[@]}"
      fi
    fi ;;
  import) _credctl_files ;;
  get | token | identity | status | login | logout | clear | release | watch | exec | env | endpoint | serve | check)
    [[ $verb != clear ]] || _credctl_reply credentials identity
    [[ $verb != exec && $verb != serve ]] || _credctl_reply --
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
  --config | --socket | --token-socket) _credctl_files ;;
  --endpoint) _credctl_reply 127.0.0.1:337 ;;
  --log-level) _credctl_reply error warning notice info debug ;;
  *) _credctl_reply --config --socket --endpoint --token-socket --check-config --log-level --help --version ;;
  esac
}

complete -F _credctl credctl
complete -F _credd credd
